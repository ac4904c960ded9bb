// SPDX-License-Identifier: Apache-2.0
// The page in chromium: every view, light and dark, wide and narrow, keyboard only, without JavaScript, axe-core.
// real.py starts it with the address of the npm packages and of the world it made, and reads its TAP lines.
import {existsSync, readFileSync, unlinkSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";

const world = JSON.parse(readFileSync(process.argv[2], "utf8"));
const require = createRequire(`${world.place}/package.json`);
const {chromium} = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync"];
const WIDE = {width: 1280, height: 860}, NARROW = {width: 360, height: 740};
const VIEWS = ["/", "/sessions", `/sessions/${world.session}`, "/runs", `/runs/${world.session}.1`, `/runs/${world.session}.2`, "/audit",
	"/audit?kind=deny", "/audit?search=no-such-record", "/pending", `/pending/${world.pending[0]}`, "/charts", "/runs/missing"];

let count = 0;
const say = (good, name, note = "") => {
	for (const line of String(note).split("\n").filter(Boolean)) console.log(`# ${line}`);
	console.log(`${good ? "ok" : "not ok"} ${++count} - ${name}`);
};

async function test(name, body) {
	try {
		await body();
		say(true, name);
	} catch (problem) {
		say(false, name, problem.stack ?? problem);
	}
}

const check = (good, text) => { if (!good) throw new Error(text); };
const browser = await chromium.launch({executablePath: world.chromium, args: FLAGS});

// A new address, from the other side.
async function invitation() {
	const file = `${world.orders}.url`;
	writeFileSync(`${world.orders}/invite`, "");
	for (let i = 0; i < 600 && !existsSync(file); i++) await new Promise((done) => setTimeout(done, 50));
	const url = readFileSync(file, "utf8");
	unlinkSync(file);
	return url;
}

// Opens the page as a person does, and notes every error and every request.
async function enter(options = {}) {
	const context = await browser.newContext({viewport: WIDE, ...options});
	const page = await context.newPage();
	page.problems = [];
	page.hosts = new Set();
	page.on("console", (message) => { if (["error", "warning"].includes(message.type())) page.problems.push(message.text()); });
	page.on("pageerror", (error) => page.problems.push(error.message));
	page.on("dialog", (dialog) => { page.problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
	page.on("request", (request) => page.hosts.add(new URL(request.url()).host));
	await page.goto(await invitation());
	if (options.javaScriptEnabled === false) await page.click("button");
	await page.waitForURL((url) => url.pathname === "/");
	page.base = new URL(page.url()).origin;
	return page;
}

await test("every view, light and dark, wide and narrow: axe-core finds nothing, nothing overflows, no error", async () => {
	const page = await enter();
	const found = [];
	for (const colorScheme of ["light", "dark"]) {
		await page.emulateMedia({colorScheme});
		for (const size of [WIDE, NARROW]) {
			await page.setViewportSize(size);
			for (const path of VIEWS) {
				const where = `${colorScheme} ${size.width} ${path}`;
				await page.goto(page.base + path);
				if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) found.push(`${where}: wider than the window`);
				const result = await page.evaluate(`(async () => { ${axe}; return (globalThis.axe ?? module.exports).run(document); })()`);
				for (const one of result.violations) found.push(`${where}: ${one.id}: ${one.nodes[0].html.slice(0, 160)}`);
			}
		}
	}
	const problems = page.problems.filter((text) => !text.includes("404"));
	check(!found.length && !problems.length, [...found, ...problems].join("\n"));
	check(page.hosts.size === 1, `it sends requests to ${[...page.hosts]}`);
	await page.context().close();
});

await test("markup and terminal sequences of commands, files and hosts are text", async () => {
	const page = await enter();
	for (const path of VIEWS) {
		await page.goto(page.base + path);
		check(await page.locator("img, iframe, object").count() === 0, `an element of the output in ${path}`);
	}
	await page.goto(`${page.base}/runs/${world.session}.1`);
	check((await page.locator("pre.output").innerText()).includes("<img src=x onerror=alert(1)>"), "the output is not shown");
	check(page.problems.every((text) => !text.startsWith("dialog")), page.problems.join("\n"));
	await page.context().close();
});

await test("keyboard only: rows, Enter, search, views, the list of keys", async () => {
	const page = await enter();
	await page.keyboard.press("?");
	check(await page.locator("dialog[open]").count() === 1, "? shows no keys");
	await page.keyboard.press("Escape");
	check(await page.locator("dialog[open]").count() === 0, "Escape does not close the keys");
	await page.keyboard.press("c");
	await page.waitForURL("**/runs");
	await page.keyboard.press("j");
	await page.keyboard.press("j");
	await page.keyboard.press("k");
	check(await page.locator(".at").count() === 1, "j and k mark no row");
	await page.keyboard.press("Enter");
	await page.waitForURL("**/runs/*");
	await page.keyboard.press("/");
	await page.keyboard.type(".envrc");
	await page.keyboard.press("Enter");
	await page.waitForURL("**/audit?search=*");
	check((await page.locator("main").innerText()).includes(".envrc"), "the search finds nothing");
	await page.keyboard.press("n");
	await page.waitForURL((url) => url.pathname === "/");
	for (let i = 0; i < 60 && await page.evaluate(() => document.activeElement.textContent) !== "Sign out"; i++) await page.keyboard.press("Tab");
	check(await page.evaluate(() => document.activeElement.textContent) === "Sign out", "Tab does not reach the end of the page");
	await page.context().close();
});

await test("the page follows events without a reload, and keeps the marked row", async () => {
	const page = await enter();
	await page.locator("#live:not(.off)").waitFor();
	await page.evaluate(() => { window.stays = true; });
	await page.keyboard.press("j");
	const marked = await page.locator(".at").getAttribute("data-href");
	writeFileSync(`${world.orders}/run`, "");
	await page.locator("text=live-marker").first().waitFor({timeout: 60000});
	check(await page.evaluate(() => window.stays), "the page was loaded again");
	check(await page.locator(".at").getAttribute("data-href") === marked, "the marked row is another");
	await page.context().close();
});

for (const [key, word] of [["y", "allowed"], ["x", "refused"]]) {
	await test(`a question is ${word} with the keyboard`, async () => {
		const page = await enter();
		await page.evaluate((which) => { // a key that was meant for what was there before
			const watch = new MutationObserver(() => {
				if (!document.querySelector(".question")) return;
				watch.disconnect();
				queueMicrotask(() => {
					document.body.dispatchEvent(new KeyboardEvent("keydown", {key: which, bubbles: true}));
					window.early = true;
				});
			});
			watch.observe(document.querySelector("main"), {childList: true, subtree: true});
		}, key);
		writeFileSync(`${world.orders}/ask-${word}`, "");
		await page.locator(".question").first().waitFor({timeout: 60000});
		check((await page.locator(".question").innerText()).includes(`page-${word}.txt`), "another question");
		await page.waitForFunction(() => window.early && !document.querySelector(".fresh"));
		check(await page.locator(".question").count() === 1, "a key answers a question that nobody can have read");
		await page.keyboard.press(key);
		await page.locator(".question").waitFor({state: "detached", timeout: 60000});
		await page.context().close();
	});
}

await test("older rows come when the reader is near the end", async () => {
	const page = await enter();
	await page.goto(`${page.base}/audit`);
	const rows = page.locator("table.list > tbody > tr");
	const first = await rows.count();
	for (let i = 0; i < 20 && await rows.count() <= first; i++) {
		await page.mouse.wheel(0, 4000);
		await page.waitForTimeout(100);
	}
	check(await rows.count() > first, `there are ${first} rows, and no more come`);
	await page.context().close();
});

await test("a copy button, and a difference applied with a click", async () => {
	const page = await enter();
	check(await page.locator("button.copier").count() > 0, "no grant can be copied");
	await page.goto(`${page.base}/pending/${world.pending[0]}`);
	check((await page.locator("pre.diff .add").first().innerText()).startsWith("+"), "no difference is shown");
	await page.click("text=Apply to the workspace");
	await page.waitForURL("**/pending");
	check(!(await page.locator("main").innerText()).includes(world.pending[0]), "it is still pending");
	await page.context().close();
});

await test("without JavaScript: the views, the search, a change discarded, signing out", async () => {
	const page = await enter({javaScriptEnabled: false});
	for (const path of VIEWS.filter((one) => !one.includes(world.pending[0]) && !one.includes("missing"))) {
		const answer = await page.goto(page.base + path);
		check(answer.status() === 200 && (await page.locator("main").innerText()).length > 20, `${path} is empty`);
	}
	await page.fill("#search", ".envrc");
	await page.press("#search", "Enter");
	check((await page.locator("main").innerText()).includes(".envrc"), "the search finds nothing");
	await page.goto(`${page.base}/pending/${world.pending[1]}`);
	await page.click("text=Discard");
	check(!(await page.locator("main").innerText()).includes(world.pending[1]), "it is still pending");
	await page.click("text=Sign out");
	check((await page.goto(`${page.base}/`)).status() === 401, "the cookie is valid after signing out");
	await page.context().close();
});

await test("another site cannot read, frame or use the page; its cookie is not sent", async () => {
	const page = await enter();
	const foreign = await page.context().newPage();
	await foreign.goto(world.foreign);
	const result = await foreign.evaluate(async (base) => {
		const seen = {};
		seen.read = await fetch(`${base}/api/overview`, {credentials: "include"}).then((r) => r.text()).catch(() => "refused");
		seen.blind = await fetch(`${base}/leave`, {method: "POST", mode: "no-cors", credentials: "include", body: "form=x"}).then((r) => r.type).catch(() => "refused");
		seen.script = await new Promise((done) => {
			const script = document.createElement("script");
			script.src = `${base}/assets/app.js`; script.onload = () => done("loaded"); script.onerror = () => done("refused");
			document.body.append(script);
		});
		return seen;
	}, page.base);
	check(result.read === "refused" && result.script === "refused", JSON.stringify(result));
	await foreign.evaluate((base) => { const f = document.createElement("iframe"); f.src = base; document.body.append(f); }, page.base);
	await foreign.waitForTimeout(300);
	check(!(await Promise.all(foreign.frames().map((f) => f.content().catch(() => "")))).some((text) => text.includes("Running now")), "it is in a frame");
	check((await page.goto(`${page.base}/`)).status() === 200, "the visit has ended");
	await page.context().close();
});

await test("the web component shows lock, level, network and duration, and no markup", async () => {
	const page = await enter();
	const text = await page.evaluate(async () => { // in one step: an update of the page replaces the content of main
		await import("/assets/corral-indicator.js");
		const one = document.createElement("corral-indicator");
		for (const [name, value] of Object.entries({level: "full", net: "<img src=x>", "duration-ms": "4200", exit: "0"})) one.setAttribute(name, value);
		document.body.prepend(one);
		return one.shadowRoot.textContent;
	});
	check(["full", "network <img src=x>", "4.2 s", "exit 0"].every((word) => text.includes(word)), text);
	check(!page.problems.length, page.problems.join("\n"));
	await page.context().close();
});

if (world.timed) {
	await test("the first paint takes less than 100 ms", async () => {
		const page = await enter();
		const times = [];
		for (let i = 0; i < 15; i++) {
			await page.goto(`${page.base}/`);
			times.push(await page.evaluate(async () => {
				for (let k = 0; k < 100; k++) {
					const paint = performance.getEntriesByName("first-contentful-paint")[0];
					if (paint) return paint.startTime;
					await new Promise((done) => setTimeout(done, 10));
				}
				return Infinity;
			}));
		}
		console.log(`# first paint: fastest ${Math.min(...times).toFixed(0)} ms of ${times.length}`);
		check(Math.min(...times) < 100, `${times}`);
		await page.context().close();
	});
}

if (world.shots) {
	const page = await enter();
	for (const [name, path, colorScheme, viewport] of [["ui-now", "/", "light", {width: 1200, height: 780}],
		["ui-command", `/runs/${world.session}.1`, "dark", {width: 1200, height: 700}], ["ui-charts", "/charts", "light", {width: 1200, height: 760}],
		["ui-narrow", "/", "dark", {width: 390, height: 780}]]) {
		await page.emulateMedia({colorScheme});
		await page.setViewportSize(viewport);
		await page.goto(page.base + path);
		await page.waitForTimeout(300);
		await page.screenshot({path: `${world.shots}/${name}.png`});
	}
	await page.context().close();
}

await browser.close();
console.log(`1..${count}`);
