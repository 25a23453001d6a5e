// SPDX-License-Identifier: BSD-2-Clause
/* The table below the picture, and the stacks of a band. */
function valueAt(band, time) {
	const index = indexAt(model.times, time);
	return index < 0 ? 0 : band.values[index];
}

// When the sum was highest.
function peakTime() {
	let best = 0;
	for (let i = 1; i < model.times.length; i++)
		if (model.total[i] > model.total[best])
			best = i;
	return model.times.length ? model.times[best] : 0;
}

// The earlier and the later one; without instants, the peak and the end.
function instants() {
	const chosen = [state.a, state.b].filter(time => time !== null).sort((a, b) => a - b);
	if (!chosen.length)
		return { a: peakTime(), b: data.length_ns, names: ["AT THE PEAK", "AT THE END"] };
	return { a: chosen[0], b: chosen[chosen.length - 1], names: ["AT A", "AT B"] };
}

function showTable() {
	const { a, b, names } = instants();
	table.replaceChildren();
	const head = make("tr", make("thead", table));
	for (const text of [...names, "CHANGE", "AT MOST", "BY " + state.by.toUpperCase()])
		make("th", head, text);
	const body = make("tbody", table);
	const rows = model.bands.filter(matches).map(band => ({ band, a: valueAt(band, a), b: valueAt(band, b) }));
	rows.sort((p, q) => names[0] === "AT A" ? (q.b - q.a) - (p.b - p.a) : q.a - p.a || q.band.peak - p.band.peak);
	for (const row of rows) {
		const line = make("tr", body, undefined, { tabindex: 0 });
		for (const bytes of [row.a, row.b, row.b - row.a, row.band.peak])
			make("td", line, bytesText(bytes));
		const cell = make("td", line);
		make("span", cell, undefined, { class: "swatch" }).style.background = row.band.colour;
		cell.append(row.band.name);
		line.classList.toggle("chosen", row.band.name === state.chosen);
		line.onclick = () => choose(row.band.name);
		line.onkeydown = event => event.key === "Enter" && choose(row.band.name);
	}
	showStacks(b);
}

// The stacks of the chosen band, the largest first.
function showStacks(time) {
	const band = model.bands.find(one => one.name === state.chosen);
	stacks.replaceChildren();
	if (!band)
		return;
	make("h2", stacks, band.name);
	const list = band.keys.map(({ series, key }) => ({ key: series.keys[key], peak: series.keys[key][2] }))
		.sort((a, b) => b.peak - a.peak).slice(0, 12);
	for (const { key, peak } of list) {
		const frames = data.stacks[key[0]][0].map(symbol => "  " + data.symbols[symbol]).join("\n");
		make("pre", stacks, bytesText(peak) + " at the peak\n" + (frames || "  " + stackText(data.stacks[key[0]])));
	}
}

function choose(name) {
	state.chosen = state.chosen === name ? null : name;
	update();
}

function chooseLine(finding) {
	const at = views.findIndex(view => view.p === finding.process && (finding.row < 0 || view.r === finding.row));
	if (at >= 0)
		state.view = at;
	state.by = "line";
	load();
	const band = model.bands.find(one => one.name === finding.line) || model.all.find(one => one.name === finding.line);
	state.chosen = band ? band.name : null;
	update();
	canvas.scrollIntoView({ block: "center" });
}

function update() {
	viewChoice.value = state.view;
	groupChoice.value = state.by;
	search.value = state.search;
	writeAddress();
	showTable();
	redraw();
}
