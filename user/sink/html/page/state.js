// SPDX-License-Identifier: BSD-2-Clause
/* What is shown: the page's address keeps it. */
const state = { view: 0, by: "line", from: 0, to: data.length_ns || 1, a: null, b: null, chosen: null, search: "", cursor: null };

function readAddress() {
	for (const part of location.hash.slice(1).split("&")) {
		const [name, value] = part.split("=").map(decodeURIComponent);
		if (!(name in state) || value === undefined)
			continue;
		if (["by", "search", "chosen"].includes(name))
			state[name] = value;
		else if (Number.isFinite(+value))
			state[name] = +value;
	}
	if (!views[state.view])
		state.view = 0;
	if (!GROUPS.includes(state.by))
		state.by = "line";
	if (!(state.to > state.from))
		[state.from, state.to] = [0, data.length_ns || 1];
}

function writeAddress() {
	const parts = Object.entries(state).filter(([name, value]) => name !== "cursor" && value !== null && value !== "")
		.map(([name, value]) => name + "=" + encodeURIComponent(value));
	history.replaceState(null, "", "#" + parts.join("&"));
}

let model = null, levels = [];

function load() {
	model = makeBands(views[state.view].row, state.by);
	levels = readLevels(views[state.view].row);
	const series = views[state.view].row.blocks || views[state.view].row.calls;
	const left = series.left_out.map((count, why) => count && why ? count + " " + WHY[why] + "s" : "").filter(Boolean);
	bounds.textContent = "Exact at " + (model.calls.times.length + (model.blocks ? model.blocks.times.length : 0)) +
		" moments: at the peak, failed requests, marks, ends of iterations, and at most each " +
		(series.slot_ns / 1e6).toPrecision(2) + " ms; between two of them, within the bounds shown." +
		(left.length ? " Moments without a frame of their own: " + left.join(", ") + "." : "") +
		(views[state.view].process.from_start ? "" : " Attached late: older memory is not shown.");
}
