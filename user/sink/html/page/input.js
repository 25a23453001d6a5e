// SPDX-License-Identifier: BSD-2-Clause
/* What people do with the mouse and the keyboard. */
function timeAt(event) {
	const box = canvas.getBoundingClientRect();
	return state.from + (event.clientX - box.left) / box.width * (state.to - state.from);
}

function bandAt(event) {
	const box = canvas.getBoundingClientRect(), column = Math.floor(event.clientX - box.left), y = event.clientY - box.top;
	let found = null;
	for (const band of model.bands)
		if (band.bottoms && band.bottoms[column] >= y)
			found = band;
	return found;
}

function say(time, band) {
	const index = indexAt(model.times, time), total = index < 0 ? 0 : model.total[index];
	const near = model.moments.find(m => Math.abs(m.time - time) < (state.to - state.from) / 300);
	const read = model.blocks || model.calls, next = Math.min(indexAt(read.times, time) + 1, read.times.length - 1);
	hover.textContent = timeText(time) + "   sum " + bytesText(total) +
		(next >= 0 ? " (" + bytesText(read.least[next]) + " to " + bytesText(read.most[next]) +
			(model.blocks ? " in tensors" : "") + " until the next frame)" : "") +
		(band ? "\n" + bytesText(valueAt(band, time)) + "  " + band.name : "") +
		(near ? "\n" + WHY[near.why] + (near.why === 1 ? " " + near.number : "") : "");
}

function zoom(centre, factor) {
	const span = Math.min(data.length_ns || 1, Math.max(1000, (state.to - state.from) * factor));
	const part = (centre - state.from) / (state.to - state.from);
	state.from = Math.max(0, Math.min(centre - part * span, (data.length_ns || 1) - span));
	state.to = state.from + span;
	writeAddress();
	redraw();
}

let dragged = null;
canvas.onpointerdown = event => {
	dragged = { time: timeAt(event), x: event.clientX, shift: event.shiftKey };
	canvas.setPointerCapture(event.pointerId);
};
canvas.onpointermove = event => {
	const time = timeAt(event);
	if (dragged && Math.abs(event.clientX - dragged.x) > 3)
		[state.a, state.b] = [dragged.time, time];
	state.cursor = time;
	say(time, bandAt(event));
	redraw();
};
canvas.onpointerup = event => {
	const time = timeAt(event), start = dragged;
	dragged = null;
	if (!start)
		return;
	if (Math.abs(event.clientX - start.x) <= 3) {
		const band = bandAt(event);
		if (band)
			choose(band.name);
		return;
	}
	if (start.shift) {
		[state.from, state.to] = [Math.min(start.time, time), Math.max(start.time, time)];
		state.a = state.b = null;
	}
	update();
};
canvas.onpointerleave = () => {
	state.cursor = null;
	redraw();
};
canvas.addEventListener("wheel", event => {
	event.preventDefault();
	zoom(timeAt(event), event.deltaY > 0 ? 1.25 : 0.8);
}, { passive: false });

function moveCursor(part) {
	const span = state.to - state.from;
	state.cursor = Math.min(state.to, Math.max(state.from, (state.cursor === null ? state.from : state.cursor) + part * span));
	say(state.cursor, null);
	redraw();
}

const KEYS = {
	ArrowLeft: () => moveCursor(-0.01), ArrowRight: () => moveCursor(0.01),
	"+": () => zoom(state.cursor === null ? (state.from + state.to) / 2 : state.cursor, 0.5),
	"-": () => zoom(state.cursor === null ? (state.from + state.to) / 2 : state.cursor, 2),
	a: () => { state.a = state.cursor; update(); },
	b: () => { state.b = state.cursor; update(); },
	g: () => { state.by = GROUPS[(GROUPS.indexOf(state.by) + 1) % GROUPS.length]; state.chosen = null; load(); update(); },
	"/": () => search.focus(),
	Escape: () => showAll(),
};

function showAll() {
	Object.assign(state, { from: 0, to: data.length_ns || 1, a: null, b: null, chosen: null, search: "" });
	update();
}

document.addEventListener("keydown", event => {
	const isTyping = event.target === search;
	if (event.ctrlKey || event.metaKey || event.altKey || (isTyping && event.key !== "Escape"))
		return;
	if (!KEYS[event.key])
		return;
	event.preventDefault();
	KEYS[event.key]();
});
viewChoice.onchange = () => { state.view = +viewChoice.value; state.chosen = null; load(); update(); };
groupChoice.onchange = () => { state.by = groupChoice.value; state.chosen = null; load(); update(); };
