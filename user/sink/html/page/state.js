// SPDX-License-Identifier: BSD-2-Clause
/* What is shown: the page's address keeps it. */
const NO_ZOOM = { zoom: null, zoomFrom: null, zoomBytes: null };   // of segments: an address, and the part from there
const state = { view: 0, by: "line", from: 0, to: LENGTH, a: null, b: null, chosen: null, search: "", flame: "grown",
	libraries: data.symbols.some(symbol => symbol[1]) ? 0 : 1, size: 0, cached: 1, kernel: 1, nvml: 1, reserved: 1,
	iterations: 0, instant: null, order: "free", fit: 0, place: null, ...NO_ZOOM, theme: "", cursor: null };
const WORDS = ["by", "search", "chosen", "flame", "order", "theme"];
const ORDERS = { free: "by free bytes", size: "by size", address: "by address" };
const FLAMES = { live: "held at B", then: "held at A", grown: "more at B than at A", freed: "less at B than at A" };
const views = makeViews();

function readAddress() {
	readState();
	state.view = views[state.view] ? state.view : 0;
	state.by = GROUPS.includes(state.by) ? state.by : "line";
	state.flame = Object.hasOwn(FLAMES, state.flame) ? state.flame : "grown";
	state.order = Object.hasOwn(ORDERS, state.order) ? state.order : "free";
	[state.from, state.to] = state.to > state.from ? spanWithin(state.from, state.to - state.from) : [0, LENGTH];
	for (const name of ["a", "b", "cursor"])
		state[name] = state[name] === null ? null : Math.max(0, Math.min(LENGTH, state[name]));
}

// A part of the time that can be drawn: its beginning and its end.
function spanWithin(from, span) {
	const length = Math.min(LENGTH, Math.max(Math.min(1000, LENGTH), span)), begin = Math.max(0, Math.min(from, LENGTH - length));
	return [begin, begin + length];
}

// ---- the model of what is shown ----

let model = null;

function chosenBand() {
	return model.bands.find(band => band.name === state.chosen) || null;
}

function load() {
	model = views.length ? makeModel(views[state.view], state.by, state.cached) : null;
	if (model && !chosenBand())
		state.chosen = null;
}

function stackMatches(key) {
	return framesOf(key).some(symbol => expression.test(data.symbols[symbol][0]));
}

function matches(band) {
	if (!expression)
		return true;
	return expression.test(band.name) || band.keys.some(({ series, key }) => stackMatches(series.keys[key]));
}

function markMatches() {
	for (const band of model.bands)
		band.matches = matches(band);
}

// ---- instants ----

// A program loads for a while before it has memory: the picture begins a little before the first memory.
const EMPTY = 0.15, LEAD = 0.05;
function beginOfPicture() {
	const firstOf = ({ times, values }) => times[values.findIndex(value => value > 0)];
	const firsts = [{ times: model.times, values: model.total }, ...model.levels].map(firstOf);
	const first = Math.min(...firsts.filter(time => time !== undefined));
	return first < LENGTH && first > EMPTY * LENGTH ? Math.max(0, first - LEAD * (LENGTH - first)) : 0;
}

// When the sum was highest since the newest mark, as in the report.
function peakTime() {
	const { times, total } = model, marks = model.moments.filter(moment => moment.why === MARK);
	const from = marks.length ? marks[marks.length - 1].time : 0;
	let best = times.findIndex(time => time >= from);
	for (let i = best + 1; i < times.length; i++)
		if (total[i] > total[best])
			best = i;
	return best < 0 ? 0 : times[best];
}

// When most was held, without what lay unused in a cache.
function fullestTime() {
	const best = model.held.indexOf(mostOf(model.held));
	return best < 0 ? 0 : model.times[best];
}

// The earlier and the later one; without instants, the beginning and the peak.
function instants() {
	const chosen = [state.a, state.b].filter(time => time !== null).sort((a, b) => a - b);
	if (!chosen.length)
		return { a: 0, b: fullestTime(), names: ["at the beginning", "when most was held"] };
	if (chosen.length === 1)
		return { a: 0, b: chosen[0], names: ["at the beginning", state.a === null ? "at B" : "at A"] };
	return { a: chosen[0], b: chosen[1], names: ["at A", "at B"] };
}

function valueAt(band, time) {
	const index = indexAt(model.times, time);
	return index < 0 ? 0 : band.values[index];
}
