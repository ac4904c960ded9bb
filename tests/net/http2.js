// An origin that speaks HTTP/2 over TLS, and 1.1 to those who ask for that.
const fs = require('fs')
const http2 = require('http2')
const [folder, port] = process.argv.slice(2)

const log = (line) => fs.appendFileSync(`${folder}/origin.log`, line + '\n')
const server = http2.createSecureServer({
  key: fs.readFileSync(`${folder}/origin.key`), cert: fs.readFileSync(`${folder}/origin.pem`), allowHTTP1: true,
})
server.on('request', (request, response) => {
  const host = request.headers[':authority'] || request.headers.host
  const socket = request.stream ? request.stream.session.socket : request.socket
  const address = socket.localAddress.replace(/^::ffff:/, '')
  const where = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
  log(`http ${where} host=${host} method=${request.method} version=${request.httpVersion} target=${request.url}`)
  response.end(`${request.method} ${host} ${request.url} ${request.httpVersion}\n`)
})
server.on('secureConnection', (socket) => log(`tls ${socket.localAddress}:${port} sni=${socket.servername}`))
server.listen(Number(port), '::')
