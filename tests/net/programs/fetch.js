// node fetch.js fetch|http|https|parallel URL
const [how, url] = process.argv.slice(2)

const text = (module) => new Promise((done, fail) => {
  require(module).get(url, (answer) => {
    let body = ''
    answer.on('data', (part) => { body += part }).on('end', () => done(body))
  }).on('error', fail)
})
const fetched = async (address) => {
  const answer = await fetch(address)
  if (!answer.ok) throw new Error(`status ${answer.status}`)
  return answer.text()
}
const ways = {
  fetch: () => fetched(url),
  http: () => text('http'),
  https: () => text('https'),
  parallel: async () => {
    const all = await Promise.all(Array.from({ length: 40 }, (_, n) => fetched(`${url}/${n}`)))
    return all.sort().join('')
  },
}
ways[how]().then((body) => process.stdout.write(body), (problem) => {
  console.error(String(problem.cause || problem))
  process.exit(1)
})
