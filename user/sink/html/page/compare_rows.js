// SPDX-License-Identifier: BSD-2-Clause
/* What a page of a comparison is made of: of two moments, A and B, or of the ranks of a job. The numbers are those of --json;
 * both have tables with rows, and a page differs in what is listed here alone. */
const isDiff = Boolean(data.diff), compared = data.diff || data.ranks;

function signedText(bytes) {
	return (bytes > 0 ? "+" : "") + bytesText(bytes);
}

function countText(count) {
	return count ? (count > 0 ? "+" : "") + count : "";
}

function exactText(bytes) {
	return bytes.toLocaleString("en") + " bytes";
}

function hasChanged(row) {
	return row.difference_bytes !== 0 || row.a_count !== row.b_count;
}

function spreadOf(row) {
	return row.most_bytes - row.least_bytes;
}

// ---- columns: what they are called, their number, its text, and what they are sorted by ----

const DIFF_COLUMNS = [
	{ name: "A", of: row => row.a_bytes, text: bytesText, exact: exactText },
	{ name: "B", of: row => row.b_bytes, text: bytesText, exact: exactText },
	{ name: "change", of: row => row.difference_bytes, text: signedText, exact: exactText, order: Math.abs },
	{ name: "count", of: row => row.b_count - row.a_count, text: countText, exact: count => count + " allocations",
		order: Math.abs },
];
const RANKS_COLUMNS = [
	{ name: "sum", of: row => row.sum_bytes, text: bytesText, exact: exactText },
	{ name: "least", of: row => row.least_bytes, text: bytesText, exact: exactText },
	{ name: "median", of: row => row.median_bytes, text: bytesText, exact: exactText },
	{ name: "most", of: row => row.most_bytes, text: bytesText, exact: exactText },
	{ name: "spread", of: spreadOf, text: bytesText, exact: exactText },
];
const columns = isDiff ? DIFF_COLUMNS : RANKS_COLUMNS;
const byChange = columns.find(column => column.name === (isDiff ? "change" : "spread"));

// ---- which rows are shown ----

const filters = isDiff ? {
	"all changes": hasChanged,
	"grown": row => row.difference_bytes > 0,
	"shrunk": row => row.difference_bytes < 0,
	"new": row => row.state === "new",
	"gone": row => row.state === "gone",
	"also what is the same": () => true,
} : {
	"all rows": () => true,
	"different": row => spreadOf(row) > 0,
};

// ---- whose memory: all together, or a process on one GPU ----

const HOWS = { comm: "  (other arguments)", only: "  (other program)" };

function pairName(pair) {
	const one = pair.b || pair.a, isTwo = pair.a && pair.b && pair.a.pid !== pair.b.pid;
	return one.comm + ", pid " + (isTwo ? pair.a.pid + " and " + pair.b.pid : one.pid);
}

function placeName(memory) {
	const gpu = memory.b_gpu || memory.a_gpu;
	return memory.place === "host" ? "host" : "GPU " + (gpu && gpu.index !== null ? gpu.index : "?");
}

function pairState(pair) {
	return !pair.a ? "  (new)" : !pair.b ? "  (gone)" : HOWS[pair.paired_by] || "";
}

function makeScopes() {
	const scopes = [{ name: isDiff ? "all processes" : "all ranks", tables: compared.tables }];
	for (const pair of isDiff ? compared.processes : [])
		for (const memory of pair.memory)
			if (memory.held || memory.tables.calls.rows.length)
				scopes.push({ name: pairName(pair) + ", " + placeName(memory) + pairState(pair), tables: memory.tables,
					held: memory.held || memory.tables.calls,
					inTensors: memory.lines_of === "tensors" ? memory.tables.lines : null });
	return scopes;
}
const scopes = makeScopes();

// The tables that have rows, by name.
function tablesOf(scope) {
	return Object.entries(scope.tables).filter(([, table]) => table.rows.length).map(([name]) => name);
}

// ---- what a row says of its line of code ----

function lineTexts(row) {
	const sides = isDiff ? [["A", row.a_line], ["B", row.b_line]] : [["", row.line]];
	return sides.filter(([, line]) => line).map(([side, line]) =>
		(side ? side + ": " : "") + (line.file || line.module) + (line.line ? ":" + line.line : "") + " " + line.function);
}

const MATCHES = { function: "The lines are matched by function, as the other recording does not know the line.",
	file_name: "The lines are matched by the name of the file, which lies in another folder in the other recording." };
