// SPDX-License-Identifier: BSD-2-Clause
/* Adds series up to the bands of a grouping: each band's value at each moment. */
function stackText(stack) {
	return stack[0].length ? stack[3] : stack[4] === 0 ? "(without a stack)" : "(not named)";
}

function groupName(key, by) {
	const stack = data.stacks[key[0]];
	if (by === "class")
		return data.classes[key[1]] || "?";
	if (by === "owner")
		return data.owners[stack[1]];
	if (by === "module")
		return stack[2] < 0 ? "(outside of modules)" : data.modules[stack[2]];
	if (by === "stack trace")
		return stackText(stack) + "  #" + key[0];
	return stackText(data.stacks[key[4]]);
}

// Times of both lists, each once.
function mergeTimes(a, b) {
	const all = new Float64Array(a.length + b.length);
	all.set(a);
	all.set(b, a.length);
	all.sort();
	return all.filter((time, i) => !i || time !== all[i - 1]);
}

// Adds a series to the groups: of each group its value at each time.
function addSeries(groups, series, read, times, nameOf) {
	const groupOf = series.keys.map((key, k) => {
		const name = nameOf(key);
		if (!groups.has(name))
			groups.set(name, { name, values: null, keys: [], area: 0, peak: 0, changes: [] });
		groups.get(name).keys.push({ series, read, key: k });
		return groups.get(name);
	});
	const now = new Float64Array(series.keys.length);
	for (let i = 0; i < read.times.length; i++) {
		const at = indexAt(times, read.times[i]);
		for (let p = read.first[i]; p < read.first[i + 1]; p++) {
			const key = read.points[4 * p], live = read.points[4 * p + 1];
			groupOf[key].changes.push(at, live - now[key]);
			now[key] = live;
		}
	}
}

function fillValues(group, times) {
	const values = new Float64Array(times.length);
	for (let c = 0; c < group.changes.length; c += 2)
		values[group.changes[c]] += group.changes[c + 1];
	for (let i = 1; i < values.length; i++)
		values[i] += values[i - 1];
	for (let i = 0; i < values.length; i++) {
		group.area += values[i] * ((i + 1 < times.length ? times[i + 1] : data.length_ns) - times[i]);
		group.peak = Math.max(group.peak, values[i]);
	}
	group.values = values;
}

function mostOf(values) {
	return values.reduce((a, b) => Math.max(a, b), 0);
}

// The reserve that no block uses.
function cachedGroup(groups, segments, blocks, times) {
	const values = new Float64Array(times.length);
	for (let i = 0; i < times.length; i++)
		values[i] = Math.max(0, segments.values[i] - blocks[i]);
	return { name: "[cached, in no block]", values, keys: [], area: 0, peak: mostOf(values), colour: CACHED };
}

function makeBands(row, by) {
	const groups = new Map(), calls = readSeries(row.calls), blocks = row.blocks && readSeries(row.blocks);
	const times = mergeTimes(calls.times, blocks ? blocks.times : new Float64Array(0));
	const SEGMENTS = "\u0000segments";
	addSeries(groups, row.calls, calls, times, key => blocks && key[3] ? SEGMENTS : groupName(key, by));
	if (blocks)
		addSeries(groups, row.blocks, blocks, times, key => by === "class" ? "tensors" : groupName(key, by));
	for (const group of groups.values())
		fillValues(group, times);
	const segments = groups.get(SEGMENTS);
	groups.delete(SEGMENTS);
	const list = [...groups.values()].sort((a, b) => b.area - a.area || b.peak - a.peak);
	const bands = list.slice(0, BANDS), rest = list.slice(BANDS);
	bands.forEach((band, i) => band.colour = COLOURS[i]);
	if (rest.length) {
		const values = new Float64Array(times.length);
		for (const group of rest)
			for (let i = 0; i < values.length; i++)
				values[i] += group.values[i];
		bands.push({ name: rest.length + " more", values, keys: [], colour: REST, peak: mostOf(values) });
	}
	if (segments) {
		const sum = new Float64Array(times.length);
		for (let i = 0; i < times.length; i++)
			sum[i] = blocks.live[indexAt(blocks.times, times[i])] || 0;
		bands.push(cachedGroup(groups, segments, sum, times));
	}
	const total = new Float64Array(times.length);
	for (const band of bands)
		for (let i = 0; i < total.length; i++)
			total[i] += band.values[i];
	const moments = [];
	for (const read of blocks ? [blocks, calls] : [calls])
		for (let i = 0; i < read.times.length; i++)
			if (read.why[i] && !(read === calls && blocks && read.why[i] !== 3))
				moments.push({ time: read.times[i], why: read.why[i], number: read.number[i] });
	return { times, bands, total, moments, calls, blocks, all: list };
}

function readLevels(row) {
	const read = readSeries(row.levels), names = ["the driver gave", "nvidia-smi", "reserved by the framework"];
	return row.levels.keys.map((key, k) => {
		const times = [], values = [];
		for (let i = 0; i < read.times.length; i++)
			for (let p = read.first[i]; p < read.first[i + 1]; p++)
				if (read.points[4 * p] === k) {
					times.push(read.times[i]);
					values.push(read.points[4 * p + 1]);
				}
		return { name: names[key[1]], times: Float64Array.from(times), values };
	});
}
