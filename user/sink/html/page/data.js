// SPDX-License-Identifier: BSD-2-Clause
/* Reads the data in the page: texts, and series of packed numbers. */
const data = JSON.parse(document.getElementById("data").textContent);
const WHY = ["time", "end of iteration", "mark", "failed request"];
const BANDS = 23;                 // by themselves; the rest is one band
// Okabe and Ito's colours, which the colour-blind can tell apart, and lighter ones of the same.
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#7f7f7f",
	"#66aad1", "#f0c566", "#66c4ab", "#e0afca", "#9ad2f2", "#e69e66", "#f6ef8e", "#b2b2b2",
	"#004466", "#8a5f00", "#005f45", "#7a4964", "#336c8c", "#803800", "#908829"];
const REST = "#4d4d4d", CACHED = "#d9d9d9";
const GROUPS = ["line", "stack trace", "module", "owner", "class"];

// ---- numbers ----

function unpack(text) {
	const bytes = atob(text);
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

function bytesText(bytes) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let unit = 0, value = Math.abs(bytes);
	while (value >= 1024 && unit < units.length - 1) {
		value /= 1024;
		unit++;
	}
	const digits = unit && value < 100 && value % 1 ? value.toFixed(1) : Math.round(value);
	return (bytes < 0 ? "-" : "") + digits + " " + units[unit];
}

function timeText(ns) {
	if (data.wall_ms)
		return new Date(data.wall_ms + ns / 1e6).toISOString().slice(11, 23) + " UTC (+" + (ns / 1e9).toFixed(3) + " s)";
	return "+" + (ns / 1e9).toFixed(3) + " s";
}

// ---- series ----

// times, and for each point: its frame, key, bytes, least and most.
function readSeries(series) {
	const n = series.frame_count, { number, change } = unpack(series.frames);
	const out = { times: new Float64Array(n), why: new Uint8Array(n), number: new Uint32Array(n), live: new Float64Array(n),
		least: new Float64Array(n), most: new Float64Array(n), first: new Uint32Array(n + 1), points: [] };
	const now = new Float64Array(series.keys.length);
	let time = 0, live = 0;
	for (let i = 0; i < n; i++) {
		out.times[i] = time += change();
		out.why[i] = number();
		out.number[i] = number();
		out.live[i] = live += change();
		out.least[i] = live - number();
		out.most[i] = live + number();
		out.first[i] = out.points.length / 4;
		let key = 0;
		for (let count = number(); count > 0; count--) {
			key += number();
			now[key] += change();
			out.points.push(key, now[key], now[key] - number(), now[key] + number());
		}
	}
	out.first[n] = out.points.length / 4;
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
