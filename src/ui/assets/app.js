// SPDX-License-Identifier: Apache-2.0
// Keeps the page live, moves with the keyboard, loads older rows.  The page works without it.
const $ = (selector, from = document) => from.querySelector(selector);
const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
const main = $("#main");
const live = $("#live");

// ---- the exchange of an invitation ----
const enter = $("#enter");
if (enter) enter.submit();

// ---- live ----
const QUIET_MS = 400; // between two updates of the page
let timer = 0, last = 0, source = null, loading = false;
const older = () => new URLSearchParams(location.search).has("before");

// A question that has just moved under the pointer, or under a key, is not the one that the person has read.
const READ_MS = 600;
const ids = () => $$("form[action='/answer'] [name=id]", main).map((one) => one.value).join();
let resting = 0;

function rest() {
	clearTimeout(resting);
	main.classList.add("fresh");
	resting = setTimeout(() => main.classList.remove("fresh"), READ_MS);
}

function keep() {
	const at = $(".at", main);
	const focus = document.activeElement;
	const form = focus?.closest?.("form");
	return {
		at: at?.dataset.href,
		button: form && main.contains(form) ? [form.action, new FormData(form).get("id"), focus.textContent] : null,
		scroll: $$("pre", main).map((pre) => [pre.scrollTop, pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 4]),
	};
}

function restore(kept) {
	if (kept.at) $$("[data-href]", main).find((row) => row.dataset.href === kept.at)?.classList.add("at");
	$$("pre", main).forEach((pre, i) => {
		const [top, end] = kept.scroll[i] ?? [0, false];
		pre.scrollTop = end ? pre.scrollHeight : top;
	});
	if (kept.button) {
		const [action, id, label] = kept.button;
		$$("form", main).find((form) => form.action === action && new FormData(form).get("id") === id &&
			$("button", form).textContent === label)?.querySelector("button").focus();
	}
}

async function update() {
	if (loading) return void plan();
	loading = true;
	last = Date.now();
	try {
		const url = new URL(location.href);
		url.searchParams.set("part", "main");
		const answer = await fetch(url, {headers: {Accept: "text/html"}});
		if (answer.status === 401) return void location.reload();
		if (!answer.ok || getSelection()?.type === "Range") return;
		const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body;
		if (fresh.innerHTML === main.dataset.was) return;
		const kept = keep(), before = ids();
		main.dataset.was = fresh.innerHTML;
		main.replaceChildren(...fresh.childNodes);
		if (ids() !== before) rest();
		dress();
		restore(kept);
	} catch {
		// The daemon ended, or the computer slept: the stream ends.
	} finally {
		loading = false;
	}
}

function plan() {
	if (timer || document.hidden || older() || grown) return;
	timer = setTimeout(() => { timer = 0; update(); }, Math.max(50, last + QUIET_MS - Date.now()));
}

function connect() {
	if (source || !live || document.hidden) return;
	source = new EventSource("/events");
	source.onopen = () => { live.hidden = false; live.classList.remove("off"); live.textContent = "live"; plan(); };
	source.onmessage = (message) => { if (JSON.parse(message.data).kind !== "hello") plan(); };
	source.onerror = () => {
		live.hidden = false; live.classList.add("off"); live.textContent = "not connected";
		if (source.readyState === EventSource.CLOSED) { source = null; setTimeout(connect, 3000); }
	};
}

// A browser has few connections for one server: a page that nobody sees gives its own back.
document.addEventListener("visibilitychange", () => {
	if (!document.hidden) connect();
	else { source?.close(); source = null; }
});
addEventListener("pagehide", () => { source?.close(); source = null; });
addEventListener("pageshow", () => connect());

// ---- older rows, when the reader comes near the end ----
let grown = false;
const nearEnd = new IntersectionObserver(async (seen) => {
	const link = seen.find((one) => one.isIntersecting)?.target;
	if (!link) return;
	nearEnd.unobserve(link);
	const url = new URL(link.href);
	url.searchParams.set("part", "main");
	const answer = await fetch(url);
	if (!answer.ok) return;
	const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
	const rows = $$("table.list > tbody > tr", fresh);
	$("table.list > tbody", main)?.append(...rows);
	grown = grown || rows.length > 0;
	link.closest("p").replaceWith(...$$("p.more", fresh));
	dress();
}, {rootMargin: "600px"});

// ---- times and durations that pass ----
const words = (s) => s < 5 ? "now" : s < 60 ? `${s} s ago` : s < 3600 ? `${Math.floor(s / 60)} min ago` :
	s < 86400 ? `${Math.floor(s / 3600)} h ago` : null;
const lasted = (ms) => ms < 60000 ? `${(ms / 1000).toFixed(1)} s` :
	ms < 3600000 ? `${Math.floor(ms / 60000)} min ${Math.floor(ms % 60000 / 1000)} s` :
	`${Math.floor(ms / 3600000)} h ${Math.floor(ms % 3600000 / 60000)} min`;
setInterval(() => {
	if (document.hidden) return;
	for (const time of $$("time[datetime]")) {
		const text = words(Math.floor((Date.now() - Date.parse(time.dateTime)) / 1000));
		if (text && text !== time.textContent) time.textContent = text;
	}
	for (const span of $$("[data-since]")) span.textContent = lasted(Date.now() - Number(span.dataset.since));
}, 1000);

// ---- what scripts add to the content ----
function dress() {
	for (const code of $$("code.copy", main)) {
		if (code.nextElementSibling?.classList.contains("copier")) continue;
		const button = document.createElement("button");
		button.type = "button"; button.className = "copier"; button.textContent = "Copy";
		button.setAttribute("aria-label", `Copy ${code.textContent}`);
		button.onclick = async (event) => {
			event.stopPropagation();
			await navigator.clipboard?.writeText(code.textContent);
			button.textContent = "Copied";
			setTimeout(() => { button.textContent = "Copy"; }, 1500);
		};
		code.after(button);
	}
	for (const link of $$("a[rel=next]", main)) nearEnd.observe(link);
}
document.addEventListener("submit", (event) => {
	if (event.target.matches(".fresh form[action='/answer']")) return void event.preventDefault();
	if (event.target.closest("main")) for (const button of $$("button", event.target)) button.disabled = true;
});
document.addEventListener("click", (event) => {
	const row = event.target.closest("[data-href]");
	if (row && !event.target.closest("a, button, form, summary") && getSelection()?.type !== "Range") location = row.dataset.href;
});

// ---- keyboard ----
const KEYS = [["j / k", "next, previous row"], ["Enter", "open the row"], ["/", "search the audit log"],
	["n s c p a g", "now, sessions, commands, pending, audit, charts"], ["y / x", "answer the first question: allow once, refuse"],
	["Esc", "close this list, leave the search"], ["?", "this list"]];

function help() {
	const old = $("dialog");
	if (old) return void old.close();
	const box = document.createElement("dialog");
	box.setAttribute("aria-label", "Keys");
	const list = document.createElement("dl");
	list.className = "facts";
	for (const [key, text] of KEYS) {
		const dt = document.createElement("dt"), dd = document.createElement("dd"), kbd = document.createElement("kbd");
		kbd.textContent = key; dt.append(kbd); dd.textContent = text; list.append(dt, dd);
	}
	const close = document.createElement("button");
	close.textContent = "Close"; close.onclick = () => box.close();
	box.append(list, close);
	box.onclose = () => box.remove();
	document.body.append(box);
	box.showModal();
}

function move(step) {
	const rows = $$("[data-href]", main);
	if (!rows.length) return;
	const now = rows.findIndex((row) => row.classList.contains("at"));
	const to = now < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, now + step));
	rows[now]?.classList.remove("at");
	rows[to].classList.add("at");
	($("a", rows[to]) ?? rows[to]).focus({preventScroll: true});
	rows[to].scrollIntoView({block: "nearest"});
}

const press = (word) => $$("form[action='/answer']", main).find((form) => new FormData(form).get("word") === word)?.requestSubmit();
document.addEventListener("keydown", (event) => {
	const typing = event.target.closest("input, textarea, select");
	if (typing && event.key === "Escape") return void typing.blur();
	if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
	const actions = {
		j: () => move(1), k: () => move(-1), "?": help, "/": () => $("#search")?.focus(),
		Enter: () => {
			if (event.target.closest("a, button")) return false;
			const row = $(".at", main);
			if (!row) return false;
			location = row.dataset.href;
		},
		y: () => press("allow"), x: () => press("refuse"),
	};
	const link = $(`nav a[data-key='${CSS.escape(event.key)}']`);
	const action = actions[event.key] ?? (link && (() => link.click()));
	if (action && action() !== false) event.preventDefault();
});

if (live) {
	$(".keys")?.removeAttribute("hidden");
	dress();
	rest();
	connect();
}
