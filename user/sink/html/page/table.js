// SPDX-License-Identifier: BSD-2-Clause
/* The table below the picture, and the stack traces of a band. */
const STACKS_SHOWN = 8;

function makeCells(line, numbers) {
	for (const bytes of numbers)
		make("td", line, bytesText(bytes));
}

function makeRow(body, row, style) {
	const line = make("tr", body, undefined, { class: "stop" });
	makeCells(line, [row.a, row.b, row.b - row.a, row.band.peak]);
	const cell = make("td", line), swatch = make("span", cell, undefined, { class: "swatch" });
	swatch.style.background = colourOf(row.band, style);
	cell.append(row.band.name);
	if (row.band.uses.length)
		make("span", cell, "  " + row.band.uses.join(", "), { class: "dim" });
	line.dataset.band = line.dataset.key = row.band.name;
	line.classList.toggle("chosen", row.band.name === state.chosen);
	line.onclick = () => choose(row.band.name);
	listenToEnter(line, () => choose(row.band.name));
}

function fillTable() {
	const { a, b, names } = instants(), style = getComputedStyle(document.documentElement);
	table.replaceChildren();
	const head = make("tr", make("thead", table));
	for (const text of [...names, "change", "highest", state.by])
		make("th", head, text);
	const body = make("tbody", table);
	const rows = model.bands.filter(band => band.matches !== false)
		.map(band => ({ band, a: valueAt(band, a), b: valueAt(band, b) }));
	const more = state.b === null ? (p, q) => q.b - p.b || q.band.peak - p.band.peak : (p, q) => (q.b - q.a) - (p.b - p.a);
	rows.sort((p, q) => Boolean(p.band.isCached) - Boolean(q.band.isCached) || more(p, q));
	rows.forEach(row => makeRow(body, row, style));
	const sum = make("tr", make("tfoot", table)), most = mostOf(model.total);
	const whole_ = time => model.total[indexAt(model.times, time)] || 0;
	makeCells(sum, [whole_(a), whole_(b), whole_(b) - whole_(a), most]);
	make("td", sum, expression ? "all, also what the search leaves out" : "all");
}

function showTable() {
	refill(table, fillTable);
}

// The stack traces of the chosen band, the largest at the second instant first.
function showStacks() {
	const band = chosenBand(), { b, names } = instants(), lives = new Map();
	stacks.replaceChildren();
	if (!band || !band.keys.length)
		return;
	const liveOf = ({ series, key }) => {
		if (!lives.has(series))
			lives.set(series, liveAt(series, b));
		return lives.get(series)[key];
	};
	const list = band.keys.map(one => ({ key: one.series.keys[one.key], bytes: liveOf(one) })).sort((p, q) =>
		q.bytes - p.bytes || q.key[2] - p.key[2]);
	make("h2", stacks, band.name);
	for (const { key, bytes } of list.slice(0, STACKS_SHOWN)) {
		const held = bytesText(bytes) + (state.by === "use" ? " of all uses " : " ") + names[1];
		make("div", stacks, held + ", " + bytesText(key[2]) + " at the peak of its process",
			{ class: "dim" });
		const trace = make("pre", stacks);
		for (const symbol of framesOf(key))
			if (state.libraries || isOwn(symbol))
				make("span", trace, data.symbols[symbol][0] + "\n", { class: isOwn(symbol) ? "own" : "dim" });
		if (!trace.childNodes.length)
			trace.textContent = stackText(data.stacks[key[0]]);
	}
	if (list.length > STACKS_SHOWN)
		make("div", stacks, (list.length - STACKS_SHOWN) + " more stack traces", { class: "dim" });
}

function choose(name) {
	state.chosen = state.chosen === name ? null : name;
	update();
}

function chooseNext(step) {
	const names = [...table.querySelectorAll("tbody tr")].map(row => row.dataset.band);
	const next = names.indexOf(state.chosen) + step;
	state.chosen = names.length ? names[Math.max(0, Math.min(names.length - 1, next))] : null;
	update();
}
