// SPDX-License-Identifier: Apache-2.0
// <corral-indicator level=full net=none duration-ms=4200 exit=0>npm test</corral-indicator>
//
// Shows beside the output of a command that it ran sandboxed: lock, level, network, duration.  A host product sets the
// attributes from the result of `corral run --json` or from /api/run/ID; the element fetches nothing.
const STYLE = `:host{display:inline-flex;gap:.5em;align-items:center;font:12.5px/1.5 system-ui,sans-serif;flex-wrap:wrap}
svg{width:12px;height:12px;fill:currentColor}.lock{display:inline-flex;gap:4px;align-items:center;font-weight:600}
.full,.standard,.good{color:light-dark(#1b6b3f,#78d09c)}.minimal{color:light-dark(#7d5200,#f0c268)}
.none,.bad{color:light-dark(#b0261d,#ff9288)}.unknown,.dim{color:light-dark(#5c6169,#9ba2ad)}`;
const CLOSED = "M4 7V5a4 4 0 0 1 8 0v2h.5c.8 0 1.5.7 1.5 1.5v5c0 .8-.7 1.5-1.5 1.5h-9C2.7 15 2 14.3 2 13.5v-5C2 7.7 2.7 7 3.5 " +
	"7H4Zm1.8 0h4.4V5a2.2 2.2 0 0 0-4.4 0v2Z";
const OPEN = "M5.8 7h6.7c.8 0 1.5.7 1.5 1.5v5c0 .8-.7 1.5-1.5 1.5h-9C2.7 15 2 14.3 2 13.5v-5C2 7.7 2.7 7 3.5 7H4V4a3.6 3.6 0 0 1 " +
	"7-1.1l-1.7.6A1.8 1.8 0 0 0 5.8 4v3Z";
const LEVELS = ["full", "standard", "minimal", "none"];

class CorralIndicator extends HTMLElement {
	static observedAttributes = ["level", "net", "duration-ms", "exit", "state"];

	connectedCallback() { this.draw(); }

	attributeChangedCallback() { if (this.isConnected) this.draw(); }

	part_(className, text) {
		const span = document.createElement("span");
		span.className = className;
		span.textContent = text;
		return span;
	}

	draw() {
		const root = this.shadowRoot ?? this.attachShadow({mode: "open"});
		if (!root.adoptedStyleSheets.length) {
			const sheet = new CSSStyleSheet();
			sheet.replaceSync(STYLE);
			root.adoptedStyleSheets = [sheet];
		}
		const level = this.getAttribute("level") ?? "", net = this.getAttribute("net") ?? "";
		const known = LEVELS.includes(level) ? level : "unknown";
		const lock = this.part_(`lock ${known}`, known === "unknown" ? "sandbox unknown" : known === "none" ? "not sandboxed" : level);
		const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
		const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
		svg.setAttribute("viewBox", "0 0 16 16");
		svg.setAttribute("aria-hidden", "true");
		path.setAttribute("d", known === "none" || known === "unknown" ? OPEN : CLOSED);
		svg.append(path);
		lock.prepend(svg);
		const parts = [lock];
		if (net) parts.push(this.part_("dim", net === "none" ? "network denied" : `network ${net}`));
		if (this.getAttribute("state") === "running") parts.push(this.part_("dim", "running"));
		if (this.hasAttribute("exit")) {
			const good = this.getAttribute("exit") === "0";
			parts.push(this.part_(good ? "good" : "bad", `${good ? "✓" : "✗"} exit ${this.getAttribute("exit")}`));
		}
		const ms = Number(this.getAttribute("duration-ms"));
		if (this.hasAttribute("duration-ms") && ms >= 0) {
			parts.push(this.part_("dim", ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`));
		}
		root.replaceChildren(...parts, document.createElement("slot"));
	}
}

customElements.define("corral-indicator", CorralIndicator);
