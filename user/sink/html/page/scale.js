// SPDX-License-Identifier: BSD-2-Clause
/* The axis: where a time lies, and back. By time, the place of a time is the time itself. By iteration, places count
 * iterations: each is as wide as the others, and so is what lies before the first end, and what lies behind the last one. */
const BY_TIME = { place: time => time, time: place => place, length: LENGTH };

function axis() {
	return state.iterations && model.byIteration || BY_TIME;
}

// The line through some points. It is mostly asked for the piece of last time.
function lineThrough(from, to) {
	let i = 0;
	return at => {
		if (at < from[i] || at > from[i + 1])
			i = Math.max(0, Math.min(from.length - 2, indexAt(from, at)));
		return to[i] + (at - from[i]) / (from[i + 1] - from[i]) * (to[i + 1] - to[i]);
	};
}

// null: there are no two ends of iterations, so no iteration is known from its beginning to its end.
function axisByIteration(iterations) {
	const times = [0], places = [0];
	let before = iterations.length ? iterations[0].number - 1 : 0, place = 0;
	for (const { time, number } of [...iterations, { time: LENGTH, number: 0 }]) {
		place += Math.max(1, number - before);      // more than one end where the ends between were merged
		before = number;
		if (time > times[times.length - 1]) {
			times.push(time);
			places.push(place);
		}
	}
	return iterations.length < 2 ? null : { place: lineThrough(times, places), time: lineThrough(places, times), length: place };
}

// ---- whose iterations ----

function endsOf({ row }) {
	const { times, why, number } = readSeries(row.blocks || row.calls), ends = [];
	for (let i = 0; i < times.length; i++)
		if (why[i] === ITERATION)
			ends.push({ time: times[i], number: number[i] });
	return ends;
}

// Of several processes or GPUs, that with the most memory at its peak.
function iterationsOf(view) {
	const all = view.parts.map(part => ({ part, ends: endsOf(part) })).filter(({ ends }) => ends.length);
	return all.reduce((best, one) => best && best.part.row.calls.peak >= one.part.row.calls.peak ? best : one, null) ||
		{ part: null, ends: [] };
}

// Behind a word for iterations: whose they are, where several could be meant.
function whoseIterations() {
	const { parts } = views[state.view], { iterationsPart: part } = model;
	if (parts.length === 1 || !part)
		return "";
	const isAlone = parts.filter(({ process }) => process === part.process).length === 1;
	return " of " + processName(part.process) + (isAlone ? "" : ", " + gpuName(part.row));
}

// ---- ticks: where the tick is, the middle of its text, and the text ----

// 1, 2 or 5 times a power of ten, so large at the least.
function roundStep(least) {
	const power = 10 ** Math.floor(Math.log10(least));
	return [1, 2, 5, 10].map(n => n * power).find(n => n >= least);
}

function timeTicks({ x }) {
	const step = roundStep((state.to - state.from) / 8e9), digits = Math.max(0, -Math.floor(Math.log10(step))), ticks = [];
	for (let s = Math.ceil(state.from / 1e9 / step) * step; s * 1e9 <= state.to; s += step)
		ticks.push({ x: x(s * 1e9), middle: x(s * 1e9), text: s.toFixed(digits) + " s" });
	return ticks;
}

const TICK_WIDTH = 48;            // pixels for a text

function iterationTicks({ x, width }) {
	const { place, length } = axis(), list = model.iterations, last = list[list.length - 1], ticks = [];
	const step = Math.max(1, roundStep(TICK_WIDTH * (place(state.to) - place(state.from)) / width));
	const add = (from, to, text) => {
		if (to >= state.from && from <= state.to)
			ticks.push({ x: x(to), middle: (x(Math.max(from, state.from)) + x(Math.min(to, state.to))) / 2, text });
	};
	add(0, list[0].time, "before " + (list[0].number + 1));
	for (let i = 1; i < list.length; i++)
		if (Math.floor(list[i].number / step) > Math.floor(list[i - 1].number / step))
			add(list[i - 1].time, list[i].time, String(list[i].number));
	add(last.time, LENGTH, "after " + last.number);
	return ticks;
}
