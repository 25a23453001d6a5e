// SPDX-License-Identifier: BSD-2-Clause
/* What people do with the mouse and the keyboard. */
function timeAt(event) {
	const x = event.clientX - overlay.getBoundingClientRect().left;
	return Math.max(state.from, Math.min(state.to, placesOf(overlay).time(x)));
}

function bandAt(event) {
	const box = overlay.getBoundingClientRect(), y = event.clientY - box.top;
	const column = Math.floor(event.clientX - box.left - AREA.left);
	if (!shown || y > shown.places.bottom)
		return null;
	const at = shown.tops.findIndex(up => up[column] <= y);
	return at < 0 ? null : model.bands[at];
}

function say(time, band) {
	const total = model.total[indexAt(model.times, time)] || 0;
	const { x, width } = placesOf(overlay), at = x(time), reach = width / 300, apart = moment => Math.abs(x(moment.time) - at);
	const near = model.moments.reduce((best, one) => apart(one) < (best ? apart(best) : reach) ? one : best, null);
	const doing = [iterationAt(time), phaseAt(time)].filter(Boolean).join(", ");
	const text = [timeText(time), doing && "   " + doing, "   sum " + bytesText(total),
		boundsText("   ", sumBoundsAt(time)),
		band ? "\n" + bytesText(valueAt(band, time)) + "  " + band.name + boundsText("\n", bandBoundsAt(band, time)) : "",
		near ? "\n" + WHY[near.why] + (near.why === ITERATION ? " " + near.number : "") : ""].join("");
	said.textContent = text;
	return text;
}

// Beside the pointer, in a box; `down`: so far below the pointer.
function showTip(event, text, element = tip, box = overlay.getBoundingClientRect(), down = -10) {
	const x = event.clientX - box.left, isRight = x > box.width / 2;
	element.hidden = false;
	element.textContent = text;
	element.style.left = isRight ? "" : x + 14 + "px";
	element.style.right = isRight ? box.width - x + 14 + "px" : "";
	element.style.top = Math.max(0, event.clientY - box.top + down) + "px";
}

// ---- time ----

function showSpan(from, span) {
	[state.from, state.to] = spanWithin(from, span);
	writeAddress();
	redraw();
}

// A part of the axis, from one place on.
function showPlaces(from, span) {
	const { time, length } = axis(), whole = Math.min(length, span), begin = Math.max(0, Math.min(from, length - whole));
	showSpan(time(begin), time(begin + whole) - time(begin));
}

// What of the axis is shown: the first place, and how much.
function placesShown() {
	const { place } = axis(), from = place(state.from);
	return { from, span: place(state.to) - from };
}

function zoom(centre, factor) {
	const { from, span } = placesShown(), at = axis().place(centre);
	showPlaces(at - (at - from) / span * Math.min(axis().length, span * factor), span * factor);
}

function pan(part) {
	const { from, span } = placesShown();
	showPlaces(from + part * span, span);
}

function middle() {
	const { from, span } = placesShown();
	return state.cursor === null ? axis().time(from + span / 2) : state.cursor;
}

// ---- the pointer ----

let dragged = null, tableFrame = 0;

// While the pointer moves, the table follows once a picture.
function showTableSoon() {
	if (!tableFrame)
		tableFrame = requestAnimationFrame(() => {
			tableFrame = 0;
			showTable();
		});
}

overlay.onpointerdown = event => {
	if (event.button)
		return;
	dragged = { time: timeAt(event), x: event.clientX, shift: event.shiftKey };
	overlay.setPointerCapture(event.pointerId);
};

overlay.onpointermove = event => {
	const time = timeAt(event);
	if (dragged && Math.abs(event.clientX - dragged.x) > 3) {
		[state.a, state.b] = [dragged.time, time];
		if (!dragged.shift)
			showTableSoon();
	}
	state.cursor = time;
	showTip(event, say(time, bandAt(event)));
	redrawOverlay();
};

overlay.onpointerup = event => {
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
		state.a = state.b = null;
		showSpan(Math.min(start.time, time), Math.abs(time - start.time));
	}
	update();
};

overlay.onpointercancel = () => {
	dragged = null;
};

overlay.onpointerleave = () => {
	state.cursor = null;
	tip.hidden = true;
	redrawOverlay();
};

overlay.addEventListener("wheel", event => {
	event.preventDefault();
	if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
		pan((event.deltaX || event.deltaY) / 1000);
	else
		zoom(timeAt(event), event.deltaY > 0 ? 1.25 : 0.8);
}, { passive: false });

// ---- keys ----

function moveCursor(part) {
	const { from, span } = placesShown(), { place, time } = axis(), at = state.cursor === null ? from : place(state.cursor);
	state.cursor = Math.min(state.to, Math.max(state.from, time(at + part * span)));
	say(state.cursor, chosenBand());
	redrawOverlay();
}

function regroup(by) {
	Object.assign(state, { by, chosen: null });
	load();
	update();
}

function changeView(view) {
	Object.assign(state, { view, chosen: null });
	load();
	update();
}

function showAll() {
	Object.assign(state, { from: 0, to: LENGTH, a: null, b: null, chosen: null, search: "" });
	zoomed = null;
	update();
}

function toPeak() {
	set({ cursor: peakTime() });
	say(state.cursor, null);
}

const KEYS = {
	ArrowLeft: event => event.shiftKey ? pan(-0.1) : moveCursor(-0.005),
	ArrowRight: event => event.shiftKey ? pan(0.1) : moveCursor(0.005),
	ArrowUp: () => chooseNext(-1), ArrowDown: () => chooseNext(1),
	"+": () => zoom(middle(), 0.5), "-": () => zoom(middle(), 2),
	a: () => set({ a: state.cursor }), b: () => set({ b: state.cursor }),
	i: () => model.byIteration && set({ iterations: state.iterations ? 0 : 1 }),
	p: toPeak,
	g: () => regroup(next(GROUPS, state.by)),
	v: () => changeView((state.view + 1) % views.length),
	f: () => set({ flame: next(Object.keys(FLAMES), state.flame) }),
	l: () => set({ libraries: state.libraries ? 0 : 1 }),
	e: goToEvents,
	s: goToSegments,
	t: changeTheme,
	"/": () => search.focus(),
	Escape: showAll,
};
