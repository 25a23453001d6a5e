// SPDX-License-Identifier: BSD-2-Clause
/* Reads the data in the page: texts, and series of packed numbers. */
const LENGTH = Math.max(1, data.length_ns);
// Why a frame is there. Nothing shows a baseline, from which gpumemtrace may count growth: nobody set it.
const TIME = 0, ITERATION = 1, MARK = 2, REQUEST = 3, BASELINE = 4, PEAK = 5;
const WHY = ["", "end of iteration", "mark: peaks and growth count from here", "request for memory failed", "", "peak"];
const SHOWN = [ITERATION, MARK, REQUEST];

// ---- texts ----

function secondsText(ns) {
	return (ns / 1e9).toFixed(LENGTH < 1e8 ? 6 : 3) + " s";
}

function timeText(ns) {
	if (!data.wall_ms)
		return "+" + secondsText(ns);
	return new Date(data.wall_ms + ns / 1e6).toISOString().slice(11, 23) + " UTC (+" + secondsText(ns) + ")";
}

// ---- packed numbers: bytes of seven bits in Base64 ----

function unpack(text) {
	const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
	let at = 0;
	const number = () => {
		let value = 0, scale = 1, byte;
		do {
			byte = bytes.charCodeAt(at++);
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte & 128);
		return value;
	};
	const change = () => {
		const value = number();
		return value % 2 ? -(value + 1) / 2 : value / 2;
	};
	return { number, change };
}

// A list of numbers that grows.
function growing() {
	let list = new Float64Array(16), count = 0;
	return {
		push(value) {
			if (count === list.length) {
				const larger = new Float64Array(2 * count);
				larger.set(list);
				list = larger;
			}
			list[count++] = value;
		},
		end: () => list.slice(0, count),
	};
}

// Of each frame its time, reason, sum and bounds, and the first of its points; of each point its key and bytes, and how
// far the key had fallen and risen since the frame before.
function readSeries(series) {
	if (series.read)
		return series.read;
	const n = series.frame_count, { number, change } = unpack(series.frames);
	const out = { times: new Float64Array(n), why: new Uint8Array(n), number: new Uint32Array(n), live: new Float64Array(n),
		least: new Float64Array(n), most: new Float64Array(n), first: new Uint32Array(n + 1) };
	const now = new Float64Array(series.keys.length), keys = growing(), values = growing(), falls = growing(), rises = growing();
	let time = 0, live = 0, points = 0;
	for (let i = 0; i < n; i++) {
		out.times[i] = time += change();
		out.why[i] = number();
		out.number[i] = number();
		out.live[i] = live += change();
		out.least[i] = live - number();
		out.most[i] = live + number();
		out.first[i] = points;
		let key = 0;
		for (let count = number(); count > 0; count--, points++) {
			key += number();
			const before = now[key];
			now[key] += change();
			keys.push(key);
			values.push(now[key]);
			falls.push(before - now[key] + number());
			rises.push(now[key] - before + number());
		}
	}
	out.first[n] = points;
	out.keys = keys.end();
	out.values = values.end();
	out.falls = falls.end();
	out.rises = rises.end();
	series.read = out;
	series.frames = "";
	return out;
}

// For each frame, the changes of the parts of its sum: a category, the change, and the bytes that went.
function readParts(series) {
	if (series.partsRead)
		return series.partsRead;
	const { number, change } = unpack(series.parts), out = [];
	for (let i = 0; i < series.frame_count; i++) {
		const list = [];
		for (let count = number(), part = 0; count > 0; count--) {
			part += number();
			list.push([part, change(), number()]);
		}
		out.push(list);
	}
	series.partsRead = out;
	return out;
}

// The newest index whose time is not later; -1: none.
function indexAt(times, time) {
	let low = 0, high = times.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (times[middle] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

// What each key of a series held at a time.
function liveAt(series, time) {
	const read = readSeries(series), live = new Float64Array(series.keys.length);
	for (let p = 0, end = read.first[indexAt(read.times, time) + 1]; p < end; p++)
		live[read.keys[p]] = read.values[p];
	return live;
}
