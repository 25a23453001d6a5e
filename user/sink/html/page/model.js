// SPDX-License-Identifier: BSD-2-Clause
/* Adds series up to the bands of a grouping: each band's value at each moment. A view is one process on one GPU, or
 * several of these together. */
const BANDS = 23;                 // by themselves; the rest is one band
const GROUPS = ["line", "use", "stack trace", "owner", "module", "class", "process", "GPU"];
const LEVELS = ["kernel", "nvidia-smi", "reserved"];

function processName(process) {
	return process.comm + " (pid " + process.pid + ")";
}

function gpuName(row) {
	return "GPU " + row.gpu + (row.ordinal ? " (" + row.ordinal + ")" : "");
}

// ---- views ----

function makeViews() {
	const views = [], bare = [], byGpu = new Map();
	data.processes.forEach((process, p) => process.rows.forEach((row, r) => {
		if (!row.calls || !(row.calls.frame_count || row.blocks))
			return;
		const part = { process, row, p, r };
		(row.is_bare ? bare : views).push({ name: processName(process) + ", " + gpuName(row), parts: [part], total: row.total });
		byGpu.set(row.gpu, [...(byGpu.get(row.gpu) || []), part]);
	}));
	views.push(...bare);
	const parts = views.flatMap(view => view.parts);
	for (const [gpu, list] of byGpu)
		if (list.length > 1)
			views.push({ name: "GPU " + gpu + ", all " + list.length + " processes", parts: list,
				total: list[0].row.total });
	if (byGpu.size > 1)
		views.push({ name: "all " + byGpu.size + " GPUs", parts, total: 0 });
	return views;
}

// ---- names ----

function stackText(stack) {
	return stack[0].length ? stack[3] : stack[4] === 0 ? "(without a stack trace)" : "(not named)";
}

// The frames of a key, the innermost first. A thread of autograd's has none of the program's: those of the thread that
// waited for it follow.
function framesOf(key) {
	const frames = data.stacks[key[0]][0];
	return key[4] === key[0] ? frames : [...frames, ...data.stacks[key[4]][0]];
}

// Where no call was seen, memory without a stack trace is what the kernel, or nvidia-smi, says.
function lineName({ row }, key) {
	const stack = data.stacks[key[4]];
	return row.is_bare && !stack[0].length ? data.classes[key[1]] : stackText(stack);
}

const namers = {
	"line": lineName,
	"stack trace": (part, key) => stackText(data.stacks[key[0]]) + "  #" + key[0],
	"owner": (part, key) => data.owners[data.stacks[key[0]][1]],
	"module": (part, key) => {
		const module = data.stacks[key[0]][2];
		return module < 0 ? "(outside of modules)" : data.modules[module];
	},
	"use": (part, key, isBlock) => isBlock ? UNKNOWN_USE : data.classes[key[1]] || "?",
	"class": (part, key, isBlock) => isBlock ? "tensors" : data.classes[key[1]] || "?",
	"process": part => processName(part.process),
	"GPU": part => gpuName(part.row),
};

// ---- sums ----

// Times of all lists, each once.
function mergeTimes(lists) {
	const all = new Float64Array(lists.reduce((sum, list) => sum + list.length, 0));
	let at = 0;
	for (const list of lists) {
		all.set(list, at);
		at += list.length;
	}
	all.sort();
	return all.filter((time, i) => !i || time !== all[i - 1]);
}

// Adds a series to the groups: of each group its changes, as pairs of an index in times and bytes.
function addSeries(groups, part, series, times, nameOf) {
	const read = readSeries(series), now = new Float64Array(series.keys.length);
	const groupOf = series.keys.map((key, k) => {
		const name = nameOf(key);
		const group = putGroup(groups, name);
		group.keys.push({ part, series, key: k });
		if (!group.terms.length || group.terms[group.terms.length - 1].series !== series)
			group.terms.push({ series, keys: [], sign: 1 });
		group.terms[group.terms.length - 1].keys.push(k);
		return group;
	});
	for (let i = 0, at = 0; i < read.times.length; i++) {
		while (times[at] < read.times[i])
			at++;
		for (let p = read.first[i]; p < read.first[i + 1]; p++) {
			const key = read.keys[p], change = read.values[p] - now[key], group = groupOf[key];
			now[key] = read.values[p];
			addChange(group, at, change, times[at]);
		}
	}
}

const UNKNOWN_USE = data.categories[data.categories.length - 1];

function putGroup(groups, name) {
	if (!groups.has(name))
		groups.set(name, { name, keys: [], terms: [], area: 0, at: growing(), by: growing() });
	return groups.get(name);
}

function addChange(group, at, bytes, time) {
	group.at.push(at);
	group.by.push(bytes);
	group.area += bytes * (LENGTH - time);
}

// Takes what blocks were for out of what is not known, which has all blocks.
function addUses(groups, series, times) {
	const read = readSeries(series), parts = series.parts ? readParts(series) : [], unknown = putGroup(groups, UNKNOWN_USE);
	for (let i = 0, at = 0; i < parts.length; i++) {
		while (times[at] < read.times[i])
			at++;
		for (const [part, bytes] of parts[i]) {
			addChange(putGroup(groups, data.categories[part]), at, bytes, times[at]);
			addChange(unknown, at, -bytes, times[at]);
		}
	}
	for (const part of new Set(parts.flatMap(list => list.map(([one]) => one)))) {
		putGroup(groups, data.categories[part]).terms.push({ series, part, sign: 1 });
		unknown.terms.push({ series, part, sign: -1 });
	}
}

// Blocks' stack traces belong to what most of their memory is for.
function sortKeys(groups) {
	const unknown = groups.get(UNKNOWN_USE), keys = unknown.keys;
	unknown.keys = [];
	for (const one of keys) {
		const use = one.series.keys[one.key][5];
		(groups.get(data.categories[use]) || unknown).keys.push(one);
	}
}

function mostOf(values) {
	return values.reduce((a, b) => Math.max(a, b), 0);
}

// The changes of groups as a value at each time.
function valuesOf(groups, times) {
	const values = new Float64Array(times.length);
	for (const group of groups) {
		const at = group.at.end(), by = group.by.end();
		for (let i = 0; i < at.length; i++)
			values[at[i]] += by[i];
	}
	for (let i = 1; i < values.length; i++)
		values[i] += values[i - 1];
	return values;
}

// A function whose answer is computed when it is first asked for.
function once(compute) {
	let answer;
	return () => answer || (answer = compute());
}

function makeBand(name, groups, times) {
	const values = valuesOf(groups, times), area = groups.reduce((sum, group) => sum + group.area, 0);
	return { name, values, area, peak: mostOf(values), uses: [], keys: groups.flatMap(group => group.keys), colour: 0,
		terms: once(() => termsOf(groups, 1)) };
}

// What most of the tensors are for, the greatest first.
function usesOf(keys) {
	const sums = new Map();
	for (const { series, key } of keys) {
		const [, , bytes, , , use] = series.keys[key];
		if (use >= 0 && data.categories[use] !== UNKNOWN_USE)
			sums.set(use, (sums.get(use) || 0) + bytes);
	}
	return [...sums].sort((a, b) => b[1] - a[1]).slice(0, 2).map(([use]) => data.categories[use]);
}

// The reserve that no block uses, of all parts.
function cachedBand(segments, blocks, times) {
	const band = makeBand("[cached, in no block]", segments, times), used = valuesOf(blocks, times);
	for (let i = 0; i < times.length; i++)
		band.values[i] = Math.max(0, band.values[i] - used[i]);
	return { ...band, peak: mostOf(band.values), keys: [], isCached: true,
		terms: once(() => [...termsOf(segments, 1), ...termsOf(blocks, -1)]) };
}

// ---- bands ----

const SEGMENTS = "\u0000segments", BLOCKS = "\u0000blocks";

function readGroups(view, by, times) {
	const groups = new Map(), sums = new Map(), nameOf = namers[by];
	for (const part of view.parts) {
		const { calls, blocks } = part.row;
		addSeries(groups, part, calls, times, key => blocks && key[3] ? SEGMENTS : nameOf(part, key, false));
		if (blocks) {
			addSeries(groups, part, blocks, times, key => nameOf(part, key, true));
			addSeries(sums, part, blocks, times, () => BLOCKS);
			if (by === "use") {
				addUses(groups, blocks, times);
				sortKeys(groups);
			}
		}
	}
	const segments = groups.get(SEGMENTS);
	groups.delete(SEGMENTS);
	return { list: [...groups.values()].sort((a, b) => b.area - a.area), segments, blocks: sums.get(BLOCKS) };
}

function momentsOf(view) {
	const moments = [];
	for (const { process, row } of view.parts)
		for (const series of row.blocks ? [row.blocks, row.calls] : [row.calls]) {
			const read = readSeries(series);
			for (let i = 0; i < read.times.length; i++)
				if (read.why[i] === ITERATION || (SHOWN.includes(read.why[i]) && series === row.calls))
					moments.push({ time: read.times[i], why: read.why[i], number: read.number[i], process });
		}
	return moments.sort((a, b) => a.time - b.time);
}

function sumOf(bands, times) {
	const sum = new Float64Array(times.length);
	for (const band of bands)
		for (let i = 0; i < sum.length; i++)
			sum[i] += band.values[i];
	return sum;
}

// What the sum of all bands is made of: blocks lie in segments, which are there as a whole or not at all.
function sumTerms(view, withSegments) {
	const terms = [];
	for (const { row: { calls, blocks } } of view.parts) {
		const hasSegments = blocks && calls.keys.some(key => key[3]);
		terms.push({ series: calls, sign: 1,
			keys: [...calls.keys.keys()].filter(k => withSegments || !hasSegments || !calls.keys[k][3]) });
		if (blocks && !(hasSegments && withSegments))
			terms.push({ series: blocks, sign: 1, keys: [...blocks.keys.keys()] });
	}
	return terms;
}

function makeModel(view, by, withCached) {
	const all = view.parts.flatMap(({ row }) => [row.calls, row.blocks].filter(Boolean));
	const times = mergeTimes(all.map(series => readSeries(series).times));
	const { list, segments, blocks } = readGroups(view, by, times);
	const wanted = new Set(by === "line" ? data.findings.map(finding => finding.line) : []);
	const shown = list.filter((group, i) => i < BANDS || wanted.has(group.name));
	const rest = list.filter((group, i) => i >= BANDS && !wanted.has(group.name));
	const bands = shown.map(group => makeBand(group.name, [group], times));
	bands.forEach((band, i) => {
		band.colour = i;
		band.uses = by === "use" ? [] : usesOf(band.keys);
	});
	// What changes least lies at the bottom.
	bands.sort((a, b) => b.area / (b.peak || 1) - a.area / (a.peak || 1));
	if (rest.length)
		bands.push({ ...makeBand(rest.length + " more", rest, times), isRest: true });
	if (segments && withCached)
		bands.push(cachedBand([segments], blocks ? [blocks] : [], times));
	const total = sumOf(bands, times), held = sumOf(bands.filter(band => !band.isCached), times), iterations = iterationsOf(view);
	return { times, bands, total, held, hasCache: Boolean(segments), moments: momentsOf(view), series: all, levels: makeLevels(view),
		terms: sumTerms(view, withCached), phases: phasesOf(view), iterations: iterations.ends, iterationsPart: iterations.part,
		byIteration: axisByIteration(iterations.ends) };
}

// ---- sums beside the bands ----

function makeLevels(view) {
	return LEVELS.map((name, what) => {
		const groups = new Map(), times = mergeTimes(view.parts.map(({ row }) => readSeries(row.levels).times));
		for (const part of view.parts)
			addSeries(groups, part, part.row.levels, times, key => key[1]);
		return { name, times, values: groups.has(what) ? valuesOf([groups.get(what)], times) : new Float64Array(0) };
	});
}
