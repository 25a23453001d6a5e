// SPDX-License-Identifier: BSD-2-Clause
/* Draws memory over time: bands, lines, iterations, flags and axes. */
// Okabe and Ito's colours, then others that lie far from these and from each other, also for the colour-blind.
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#aadd88", "#992222", "#0077ee",
	"#eecccc", "#664466", "#2244aa", "#11aa55", "#ccdd66", "#ddccee", "#2299ee", "#883344", "#bb4422", "#ff8899", "#773388",
	"#227766", "#aaaa44"];
const AREA = { left: 70, top: 30, right: 12, bottom: 22 };
const DASHES = [[], [7, 4], [2, 3]];
const LINES = ["kernel", "nvml", "reserved"];

function colourOf(band, style) {
	if (band.isCached)
		return style.getPropertyValue("--cached");
	return band.isRest ? style.getPropertyValue("--rest") : COLOURS[band.colour % COLOURS.length];
}

// The picture's places: pixels of a time, and back.
function placesOf(element) {
	const width = element.clientWidth - AREA.left - AREA.right, height = element.clientHeight - AREA.top - AREA.bottom;
	const { place, time } = axis(), from = place(state.from), span = place(state.to) - from;
	return { width, height, bottom: AREA.top + height,
		x: at => AREA.left + (place(at) - from) / span * width,
		time: x => time(from + (x - AREA.left) / width * span) };
}

// A canvas as large as its place on the screen, empty.
function cleared(element) {
	const ratio = devicePixelRatio || 1, width = element.clientWidth, height = element.clientHeight;
	const g = element.getContext("2d");
	if (element.width !== Math.round(width * ratio) || element.height !== Math.round(height * ratio)) {
		element.width = Math.round(width * ratio);
		element.height = Math.round(height * ratio);
	}
	g.setTransform(ratio, 0, 0, ratio, 0, 0);
	g.clearRect(0, 0, width, height);
	g.font = "11px system-ui, sans-serif";
	return g;
}

// One moment for each column: that with the highest sum, so that no peak is lost. -1: before all moments.
function chooseColumns(places) {
	const columns = new Int32Array(Math.max(1, Math.ceil(places.width))), { times, total } = model;
	let index = indexAt(times, state.from);
	for (let c = 0; c < columns.length; c++) {
		const end = places.time(AREA.left + c + 1);
		let best = index;
		while (index + 1 < times.length && times[index + 1] < end) {
			index++;
			if (best < 0 || total[index] > total[best])
				best = index;
		}
		columns[c] = best;
	}
	return columns;
}

function mostShown(columns) {
	let most = 1;
	for (const index of columns)
		if (index >= 0 && model.total[index] > most)
			most = model.total[index];
	model.levels.forEach((level, n) => {
		if (state[LINES[n]])
			for (let i = Math.max(0, indexAt(level.times, state.from)); i <= indexAt(level.times, state.to); i++)
				most = Math.max(most, level.values[i] || 0);
	});
	return Math.max(most, state.size ? views[state.view].total : 0) * 1.06;
}

let frame = 0;
let shown = null;                 // what the picture shows: for the pointer
function redraw() {
	if (!frame)
		frame = requestAnimationFrame(draw);
}

function draw() {
	frame = 0;
	placeRibbons();
	const g = cleared(canvas), style = getComputedStyle(document.documentElement), places = placesOf(canvas);
	const columns = chooseColumns(places), most = mostShown(columns), scale = places.height / most;
	shown = { columns, tops: [], scale, most, places };
	drawGrid(g, style);
	g.save();
	g.beginPath();
	g.rect(AREA.left, AREA.top, places.width, places.height);
	g.clip();
	drawBands(g, style);
	drawLevels(g, style);
	drawSize(g, style);
	g.restore();
	drawIterations(g, style);
	drawPhases(g, style);
	drawFlags(g, style);
	drawTicks(g, style);
	drawOverlay();
	tellPhases();
	tellPart();
}

function drawBands(g, style) {
	const { columns, places, scale, tops } = shown, count = columns.length;
	let bottom = new Float32Array(count).fill(places.bottom);
	for (const band of model.bands) {
		const up = new Float32Array(count);
		let any = false;
		for (let c = 0; c < count; c++) {
			const value = columns[c] < 0 ? 0 : band.values[columns[c]];
			up[c] = bottom[c] - value * scale;
			any = any || value > 0;
		}
		if (any) {
			g.globalAlpha = (state.chosen === null || state.chosen === band.name) && band.matches !== false ? 1 : 0.22;
			g.fillStyle = colourOf(band, style);
			fillBetween(g, up, bottom);
		}
		tops.push(up);
		bottom = up;
	}
	g.globalAlpha = 1;
}

// Steps, with a corner only where the value changes.
function fillBetween(g, up, bottom) {
	const count = up.length;
	g.beginPath();
	g.moveTo(AREA.left, up[0]);
	for (let c = 1; c < count; c++)
		if (up[c] !== up[c - 1]) {
			g.lineTo(AREA.left + c, up[c - 1]);
			g.lineTo(AREA.left + c, up[c]);
		}
	g.lineTo(AREA.left + count, up[count - 1]);
	g.lineTo(AREA.left + count, bottom[count - 1]);
	for (let c = count - 1; c > 0; c--)
		if (bottom[c] !== bottom[c - 1]) {
			g.lineTo(AREA.left + c, bottom[c]);
			g.lineTo(AREA.left + c, bottom[c - 1]);
		}
	g.lineTo(AREA.left, bottom[0]);
	g.fill();
}

function drawLevels(g, style) {
	const { places, scale } = shown, y = bytes => places.bottom - bytes * scale;
	g.strokeStyle = style.getPropertyValue("--text");
	g.lineWidth = 1.5;
	model.levels.forEach((level, n) => {
		if (!state[LINES[n]] || !level.values.length)
			return;
		let last = indexAt(level.times, state.from);
		g.setLineDash(DASHES[n]);
		g.beginPath();
		g.moveTo(AREA.left, y(level.values[last] || 0));
		for (let i = last + 1; i < level.times.length && level.times[i] <= state.to; i++) {
			g.lineTo(places.x(level.times[i]), y(level.values[last] || 0));
			g.lineTo(places.x(level.times[i]), y(level.values[i]));
			last = i;
		}
		g.lineTo(AREA.left + places.width, y(level.values[last] || 0));
		g.stroke();
	});
	g.setLineDash([]);
	g.lineWidth = 1;
}

function drawSize(g, style) {
	const { total } = views[state.view], y = Math.round(shown.places.bottom - total * shown.scale);
	if (!total || !state.size)
		return;
	g.fillStyle = style.getPropertyValue("--bad");
	g.fillRect(AREA.left, y, shown.places.width, 2);
	g.fillText("the GPU has " + bytesText(total), AREA.left + 6, y + 14);
}

function drawGrid(g, style) {
	const { most, scale, places } = shown, step = Math.max(1, 2 ** Math.ceil(Math.log2(most / 6)));
	g.textAlign = "right";
	for (let bytes = 0; bytes < most; bytes += step) {
		const y = Math.round(places.bottom - bytes * scale);
		g.fillStyle = style.getPropertyValue("--rule");
		g.fillRect(AREA.left, y, places.width, 1);
		g.fillStyle = style.getPropertyValue("--dim");
		g.fillText(bytesText(bytes), AREA.left - 6, y + 4);
	}
	g.textAlign = "left";
}

// Below the picture: times, or iterations and whose they are. A text has its place unless another one is there.
function drawTicks(g, style) {
	const { places } = shown, isTime = axis() === BY_TIME, y = places.bottom + 15, whose = isTime ? "" : whoseIterations();
	let free = AREA.left - (isTime ? 20 : 0), end = AREA.left + places.width;
	g.fillStyle = style.getPropertyValue("--dim");
	if (!isTime)
		g.fillText("iteration", 6, y);
	if (whose) {
		g.textAlign = "right";
		g.fillText(whose, end, y);
		end -= g.measureText(whose).width;
	}
	g.textAlign = "center";
	for (const { x, middle, text } of isTime ? timeTicks(places) : iterationTicks(places)) {
		const half = g.measureText(text).width / 2;
		if (x <= AREA.left + places.width)
			g.fillRect(Math.round(x), places.bottom, 1, 4);
		if (middle - half < free || middle + half > end)
			continue;
		g.fillText(text, middle, y);
		free = middle + half + 6;
	}
	g.textAlign = "left";
}

// Which part of the time is drawn.
function tellPart() {
	const text = state.from > 0 || state.to < LENGTH ?
		secondsText(state.from) + " to " + secondsText(state.to) + " of " + secondsText(LENGTH) : "";
	if (partSaid.textContent !== text)
		partSaid.textContent = text;
}

// The ribbon of iterations has its place at the top, and that of phases below it.
const ITERATIONS = { top: 15, height: 11 };
function placeRibbons() {
	AREA.top = ITERATIONS.top + (model.phases.length ? 2 * ITERATIONS.height + 7 : ITERATIONS.height + 4);
}

// Every second iteration is darker; where they are too thin, one ribbon stands for all.
function drawIterations(g, style) {
	const { places } = shown, right = AREA.left + places.width, within = x => Math.max(AREA.left, Math.min(right, x));
	const all = model.iterations, first = all.findIndex(one => one.time > state.from);
	const list = first < 0 ? [] : all.slice(first, all.findLastIndex(one => one.time <= state.to) + 2);
	if (!list.length)
		return;
	const edges = list.map(one => within(places.x(one.time)));
	const start = within(places.x(first ? all[first - 1].time : list[0].time) - (first ? 0 : 8));
	const width = Math.max(1e-6, (edges[edges.length - 1] - start) / edges.length), isDense = width < 3;
	g.fillStyle = style.getPropertyValue("--dim");
	g.fillText("iterations", 6, ITERATIONS.top + 8);
	const step = Math.max(1, roundStep(24 / width));
	for (let i = 0; i < edges.length; i++) {
		const begin = i ? edges[i - 1] : start, wide = edges[i] - begin;
		g.globalAlpha = isDense || list[i].number % 2 ? 0.45 : 0.2;
		g.fillRect(begin, ITERATIONS.top, wide, ITERATIONS.height);
		g.globalAlpha = 1;
		if (wide > 24 || (wide > width / 2 && list[i].number % step === 0)) {
			g.fillStyle = style.getPropertyValue("--text");
			g.fillText(list[i].number, begin + 3, ITERATIONS.top + 9);
			g.fillStyle = style.getPropertyValue("--dim");
		}
	}
}

// A word stands behind the last flag that would lie over the word: the last ones of many requests stand close together.
function drawFlags(g, style) {
	const { places } = shown, right = AREA.left + places.width;
	const flags = model.moments.filter(({ why, time }) => why !== ITERATION && time >= state.from && time <= state.to)
		.map(({ why, time }) => ({ x: Math.round(places.x(time)), isBad: why === REQUEST }));
	let free = 0;
	for (const [n, { x, isBad }] of flags.entries()) {
		const word = isBad ? "OUT OF MEMORY" : "mark", { width } = g.measureText(word), next = flags[n + 1];
		g.fillStyle = style.getPropertyValue(isBad ? "--bad" : "--dim");
		g.fillRect(x, isBad ? 2 : 4, isBad ? 2 : 1, places.bottom - 2);
		const isLeft = x + 4 + width > right, at = isLeft ? x - 4 - width : x + 4;
		if (at < free || (!isLeft && next && next.isBad === isBad && next.x < at + width))
			continue;
		g.fillText(word, at, 11);
		free = at + width + 6;
	}
}

// ---- above the picture: what follows the pointer ----

function instantLines() {
	const isTurned = state.a !== null && state.b !== null && state.b < state.a;
	return [[isTurned ? "B" : "A", state.a], [isTurned ? "A" : "B", state.b]];
}

function drawOverlay() {
	drawInstants(cleared(overlay), [...instantLines(), ["", state.cursor]]);
}

function drawInstants(g, lines) {
	const style = getComputedStyle(document.documentElement), { places } = shown, text = style.getPropertyValue("--text");
	if (state.a !== null && state.b !== null) {
		const [from, to] = [places.x(Math.min(state.a, state.b)), places.x(Math.max(state.a, state.b))];
		g.fillStyle = text;
		g.globalAlpha = 0.08;
		g.fillRect(from, AREA.top, to - from, places.height);
		g.globalAlpha = 1;
	}
	for (const [name, time] of lines) {
		if (time === null || time < state.from || time > state.to)
			continue;
		const x = Math.round(places.x(time));
		g.fillStyle = text;
		g.fillRect(x, AREA.top, 1, places.height);
		if (name) {
			g.fillRect(x - 8, AREA.top - 1, 17, 15);
			g.fillStyle = style.getPropertyValue("--back");
			g.fillText(name, x - 3, AREA.top + 11);
		}
	}
}

let overlayFrame = 0;
function redrawOverlay() {
	if (!overlayFrame)
		overlayFrame = requestAnimationFrame(() => {
			overlayFrame = 0;
			drawOverlay();
		});
}
