// SPDX-License-Identifier: BSD-2-Clause
/* The page of a comparison: the answer, the totals, a table, and what is known of the chosen row. */
const ROWS_SHOWN = 1000;
const state = { table: "lines", scope: 0, filter: Object.keys(filters)[0], sort: byChange.name, up: 0, search: "", chosen: null,
	theme: "" };
const WORDS = ["table", "filter", "sort", "search", "theme"];

// ---- elements ----

const answer = make("section", front, undefined, { "aria-label": "the answer" });
const totals = make("table", front, undefined, { id: "totals" });
const bar = make("div", front, undefined, { class: "bar" });
const tableChoice = make("select", bar, undefined, { "aria-label": "table", title: "g" });
const scopeChoice = make("select", bar, undefined, { "aria-label": "process and GPU", title: "v" });
const filterChoice = make("select", bar, undefined, { "aria-label": "rows", title: "f" });
const search = make("input", bar, undefined,
	{ type: "search", placeholder: "search rows (regular expression)", "aria-label": "search rows", title: "/" });
const reset = make("button", bar, "all", { title: "Escape" });
const said = make("span", bar, "", { class: "dim", role: "status" });
const below = make("div", front, undefined, { id: "below", class: "compare" });
const list = make("table", make("section", below, undefined, { "aria-label": "table" }), undefined, { id: "rows" });
const detail = make("section", below, undefined, { "aria-label": "the chosen row", id: "detail" });
make("p", front, "Keys: up and down choose a row; in the table the arrows, Home and End go from row to row, and Enter " +
	"chooses one; g is the next table, v the next process, f the next choice of rows, s sorts by " +
	"the next column, r turns the order; / searches; t is dark or light; Escape shows all.", { id: "help", class: "dim" });

// ---- what is shown ----

function shownTable() {
	return scopes[state.scope].tables[state.table];
}

// [row, its number in the table]
function shownRows() {
	const column = columns.find(one => one.name === state.sort), order = column && column.order || (number => number);
	const keeps = filters[state.filter], found = shownTable().rows.map((row, i) => [row, i])
		.filter(([row]) => keeps(row) && (!expression || [row.name, ...lineTexts(row)].some(text => expression.test(text))));
	const compare = column ? (p, q) => order(column.of(q)) - order(column.of(p)) : (p, q) => p.name < q.name ? -1 : p.name > q.name;
	found.sort(([p, i], [q, k]) => compare(p, q) || i - k);
	return state.up ? found.reverse() : found;
}

function readAddress() {
	readState();
	state.scope = scopes[state.scope] ? state.scope : 0;
	state.filter = Object.hasOwn(filters, state.filter) ? state.filter : Object.keys(filters)[0];
	state.sort = state.sort === "name" || columns.some(column => column.name === state.sort) ? state.sort : byChange.name;
	chooseTable();
}

// A process may lack the table that was shown.
function chooseTable() {
	const names = tablesOf(scopes[state.scope]);
	state.table = names.includes(state.table) ? state.table : names[0] || "lines";
}

// ---- the table ----

function makeCell(line, column, row) {
	make("td", line, column.text(column.of(row)), { title: column.exact(column.of(row)) });
}

// A change as a bar from the middle, or a bar for each rank.
function makeBars(line, row, most) {
	const cell = make("td", line), track = make("div", cell, undefined, { class: isDiff ? "track" : "ranks" });
	if (isDiff) {
		const part = 50 * Math.abs(row.difference_bytes) / most, box = make("div", track);
		box.className = row.difference_bytes > 0 ? "up" : "down";
		box.style.cssText = (row.difference_bytes > 0 ? "left:50%" : "right:50%") + ";width:" + part + "%";
		return;
	}
	row.rank_bytes.forEach((bytes, rank) => {
		const box = make("div", track, undefined, { title: compared.ranks[rank].name + "\n" + exactText(bytes) });
		box.className = bytes === row.median_bytes ? "" : bytes > row.median_bytes ? "up" : "down";
		box.style.height = Math.max(4, 100 * Math.max(0, bytes) / (row.most_bytes || 1)) + "%";
	});
}

function makeRow(body, row, number, most) {
	const line = make("tr", body, undefined, { class: "stop", "data-key": number });
	columns.forEach(column => makeCell(line, column, row));
	makeBars(line, row, most);
	const name = make("td", line, row.name);
	if (row.state === "new" || row.state === "gone")
		make("span", name, row.state, { class: "ground" });
	line.classList.toggle("chosen", number === state.chosen);
	line.onclick = () => choose(number);
	listenToEnter(line, () => choose(number));
}

function makeHead(head) {
	for (const name of [...columns.map(column => column.name), "", "name"]) {
		const cell = make("th", head), isSorted = name === state.sort;
		if (name) {
			const button = make("button", cell, name === "name" ? state.table.replaceAll("_", " ") : name, { class: "link" });
			button.dataset.key = name;
			button.append(isSorted ? state.up ? " \u25b4" : " \u25be" : "");
			button.onclick = () => set(isSorted ? { up: state.up ? 0 : 1 } : { sort: name, up: 0 });
			cell.setAttribute("aria-sort", isSorted ? state.up ? "ascending" : "descending" : "none");
		}
	}
}

function fillRows() {
	const table = shownTable(), rows = table ? shownRows() : [];
	list.replaceChildren();
	said.textContent = rows.length + (rows.length === 1 ? " row" : " rows");
	if (!table)
		return;
	makeHead(make("tr", make("thead", list)));
	const most = rows.reduce((sum, [row]) => Math.max(sum, Math.abs(byChange.of(row))), 1), body = make("tbody", list);
	rows.slice(0, ROWS_SHOWN).forEach(([row, number]) => makeRow(body, row, number, most));
	const sum = make("tr", make("tfoot", list));
	columns.forEach(column => makeCell(sum, column, table));
	make("td", sum);
	make("td", sum, rows.length < table.rows.length ? "in all, also what is not shown" : "in all");
	if (rows.length > ROWS_SHOWN)
		said.textContent += ", the first " + ROWS_SHOWN + " are shown";
}

function showRows() {
	refill(list, fillRows);
}

// ---- the chosen row ----

function makeNumbers(parent, title, lines) {
	const table = make("table", parent), head = make("tr", make("thead", table)), body = make("tbody", table);
	columns.forEach(column => make("th", head, column.name));
	make("th", head, title);
	for (const [row, name] of lines) {
		const line = make("tr", body);
		columns.forEach(column => makeCell(line, column, row));
		make("td", line, name);
	}
}

// Where the row is: rows of the same name in each process on each GPU.
function showWhere(row) {
	const lines = scopes.slice(1).flatMap(scope => (scope.tables[state.table] || { rows: [] }).rows
		.filter(one => one.name === row.name).map(one => [one, scope.name]));
	if (lines.length)
		makeNumbers(detail, "process and GPU", lines);
}

function showRanks(row) {
	const table = make("table", detail), head = make("tr", make("thead", table)), body = make("tbody", table);
	for (const text of ["bytes", "to median", "rank"])
		make("th", head, text);
	row.rank_bytes.forEach((bytes, rank) => {
		const line = make("tr", body);
		make("td", line, bytesText(bytes), { title: exactText(bytes) });
		make("td", line, signedText(bytes - row.median_bytes), { title: exactText(bytes - row.median_bytes) });
		make("td", line, compared.ranks[rank].name);
	});
}

function showDetail() {
	const row = state.chosen === null ? null : (shownTable() || { rows: [] }).rows[state.chosen];
	detail.replaceChildren();
	if (!row)
		return;
	make("h2", detail, row.name);
	for (const text of lineTexts(row))
		make("pre", detail, text);
	if (Object.hasOwn(MATCHES, row.matched_by))
		make("p", detail, MATCHES[row.matched_by], { class: "note" });
	if (isDiff)
		make("p", detail, row.a_count + " allocations in A, " + row.b_count + " in B", { class: "dim" });
	if (isDiff)
		showWhere(row);
	else
		showRanks(row);
}

function choose(number) {
	set({ chosen: state.chosen === number ? null : number });
}

function chooseNext(step) {
	const numbers = (shownTable() ? shownRows() : []).slice(0, ROWS_SHOWN).map(([, number]) => number);
	const at = Math.max(0, Math.min(numbers.length - 1, numbers.indexOf(state.chosen) + step));
	set({ chosen: numbers.length ? numbers[at] : null });
	const line = list.querySelector("tr.chosen");
	if (line)
		line.scrollIntoView({ block: "nearest" });
}

// ---- the answer and the totals ----

function sideText(name, side) {
	return name + ": " + side.name + (side.dump ? "" : " at +" + (side.at.offset_ns / 1e9).toFixed(3) + " s") +
		(side.host ? ", on " + side.host : "");
}

function showAnswer() {
	const box = make("div", answer, undefined, { class: "finding follows" });
	make("b", box, compared.answer);
	if (isDiff)
		for (const name of ["a", "b"])
			make("div", box, sideText(name.toUpperCase(), compared[name]), { class: "dim" });
	for (const limit of compared.limits || [])
		make("p", answer, limit.text, { class: "note" });
	for (const rank of compared.ranks || [])
		if (rank.lost || rank.incomplete)
			make("p", answer, rank.name + (rank.lost ? " lost records: its numbers may be wrong" :
				" is incomplete: what came later is not known"), { class: "note" });
}

function totalLine(body, cells, name, scope) {
	const line = make("tr", body);
	for (const [text, bytes] of cells)
		make("td", line, text, { title: exactText(bytes) });
	make("td", line, name);
	if (scope !== undefined) {
		line.tabIndex = 0;
		line.onclick = () => changeScope(scope);
		listenToEnter(line, () => changeScope(scope));
	}
}

function diffCells(amount) {
	return [[bytesText(amount.a_bytes), amount.a_bytes], [bytesText(amount.b_bytes), amount.b_bytes],
		[signedText(amount.difference_bytes), amount.difference_bytes]];
}

function showDiffTotals(head, body) {
	for (const text of ["A", "B", "change", "process and GPU"])
		make("th", head, text);
	scopes.slice(1).forEach((scope, i) => {
		totalLine(body, diffCells(scope.held), scope.name, i + 1);
		if (scope.inTensors)
			totalLine(body, diffCells(scope.inTensors), "of it in tensors", i + 1);
	});
	totalLine(make("tfoot", totals), diffCells(compared.held), "on all GPUs", 0);
}

function showRanksTotals(head, body) {
	const all = compared.tables.lines;
	for (const text of ["GPU memory", compared.lines_of === "tensors" ? "tensors" : "lines", "to median", "rank"])
		make("th", head, text);
	compared.ranks.forEach((rank, i) => {
		const change = rank.lines_bytes - all.median_bytes;
		totalLine(body, [[bytesText(rank.gpu_memory_bytes), rank.gpu_memory_bytes], [bytesText(rank.lines_bytes), rank.lines_bytes],
			[signedText(change), change]], rank.name + (rank.host ? ", on " + rank.host : ""));
		body.lastChild.classList.toggle("odd", compared.different.some(odd => odd.rank === i));
	});
}

function showTotals() {
	const head = make("tr", make("thead", totals)), body = make("tbody", totals);
	if (isDiff)
		showDiffTotals(head, body);
	else if (compared.ranks.length)
		showRanksTotals(head, body);
}

// ---- what people do ----

function changeScope(scope) {
	Object.assign(state, { scope, chosen: null });
	chooseTable();
	update();
}

function changeTable(table) {
	set({ table, chosen: null });
}

function changeFilter(filter) {
	set({ filter, chosen: null });
}

function showAll() {
	state.scope = 0;
	chooseTable();
	set({ filter: Object.keys(filters)[0], sort: byChange.name, up: 0, search: "", chosen: null });
}

function choices(select, names, shown) {
	select.replaceChildren();
	names.forEach(([value, text]) => make("option", select, text, { value }));
	select.value = shown;
}

function update() {
	const table = shownTable();
	choices(tableChoice, tablesOf(scopes[state.scope]).map(name => [name, "by " + name.replaceAll("_", " ")]), state.table);
	choices(scopeChoice, scopes.map((scope, i) => [i, scope.name]), state.scope);
	choices(filterChoice, Object.entries(filters).map(([name, keeps]) =>
		[name, name + " (" + (table ? table.rows.filter(keeps).length : 0) + ")"]), state.filter);
	search.value = state.search;
	search.classList.toggle("wrong", !readSearch());
	document.documentElement.dataset.theme = state.theme;
	writeAddress();
	showRows();
	showDetail();
}

readAddress();
tableChoice.onchange = () => changeTable(tableChoice.value);
scopeChoice.onchange = () => changeScope(+scopeChoice.value);
filterChoice.onchange = () => changeFilter(filterChoice.value);
search.oninput = () => set({ search: search.value });
reset.onclick = showAll;
listenToStops(list);
listenTo({
	ArrowUp: () => chooseNext(-1), ArrowDown: () => chooseNext(1),
	g: () => changeTable(next(tablesOf(scopes[state.scope]), state.table)),
	v: () => changeScope((state.scope + 1) % scopes.length),
	f: () => changeFilter(next(Object.keys(filters), state.filter)),
	s: () => set({ sort: next([...columns.map(column => column.name), "name"], state.sort), up: 0 }),
	r: () => set({ up: state.up ? 0 : 1 }),
	t: changeTheme,
	"/": () => search.focus(),
	Escape: showAll,
});
about.textContent = isDiff ? "what B holds more or less than A" : "the ranks of a job beside each other";
showAnswer();
showTotals();
update();
