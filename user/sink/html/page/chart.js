// SPDX-License-Identifier: BSD-2-Clause
/* Draws memory over time. */
let frame = 0;
function redraw() {
	if (!frame)
		frame = requestAnimationFrame(draw);
}

function matches(band) {
	if (!state.search)
		return true;
	let expression;
	try {
		expression = new RegExp(state.search, "i");
	} catch (error) {
		return false;
	}
	if (expression.test(band.name))
		return true;
	return band.keys.some(({ series, key }) =>
		data.stacks[series.keys[key][0]][0].some(symbol => expression.test(data.symbols[symbol])));
}

function scaleTop() {
	let most = 1;
	const first = Math.max(0, indexAt(model.times, state.from)), last = indexAt(model.times, state.to);
	for (let i = first; i <= last; i++)
		most = Math.max(most, model.total[i]);
	for (const level of levels)
		for (let i = Math.max(0, indexAt(level.times, state.from)); i <= indexAt(level.times, state.to); i++)
			most = Math.max(most, level.values[i]);
	return Math.max(most, showSize.checked ? views[state.view].row.total : 0) * 1.04;
}

function draw() {
	frame = 0;
	const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
	}
	const g = canvas.getContext("2d"), style = getComputedStyle(document.body);
	g.setTransform(ratio, 0, 0, ratio, 0, 0);
	g.clearRect(0, 0, width, height);
	const most = scaleTop(), y = bytes => height - bytes / most * (height - 18);
	const x = time => (time - state.from) / (state.to - state.from) * width;
	// One value for each column: the one with the highest sum, so that no peak is lost.
	const columns = new Int32Array(Math.ceil(width)).fill(-1);
	let index = indexAt(model.times, state.from);
	for (let c = 0; c < columns.length; c++) {
		const end = state.from + (c + 1) / width * (state.to - state.from);
		let best = index;
		while (index + 1 < model.times.length && model.times[index + 1] < end) {
			index++;
			if (best < 0 || model.total[index] > model.total[best])
				best = index;
		}
		columns[c] = best;
	}
	const base = new Float64Array(columns.length);
	for (const band of model.bands) {
		g.globalAlpha = (state.chosen === null || state.chosen === band.name) && matches(band) ? 1 : 0.18;
		g.fillStyle = band.colour;
		g.beginPath();
		for (let c = 0; c < columns.length; c++) {
			const bottom = y(base[c]);
			base[c] += columns[c] < 0 ? 0 : band.values[columns[c]];
			g.lineTo(c, y(base[c]));
			g.lineTo(c + 1, y(base[c]));
			band.bottoms = band.bottoms || [];
			band.bottoms[c] = bottom;
		}
		for (let c = columns.length - 1; c >= 0; c--) {
			g.lineTo(c + 1, band.bottoms[c]);
			g.lineTo(c, band.bottoms[c]);
		}
		g.fill();
	}
	g.globalAlpha = 1;
	drawLines(g, x, y, width, style);
	drawMoments(g, x, height, width, style);
	drawAxis(g, most, y, style);
	drawInstants(g, x, height, style);
}

function drawLines(g, x, y, width, style) {
	g.strokeStyle = style.color;
	levels.forEach((level, n) => {
		g.setLineDash([[6, 3], [2, 3], [9, 2, 2, 2]][n % 3]);
		g.beginPath();
		let last = indexAt(level.times, state.from);
		g.moveTo(0, y(last < 0 ? 0 : level.values[last]));
		for (let i = last + 1; i < level.times.length && level.times[i] <= state.to; i++) {
			g.lineTo(x(level.times[i]), y(last < 0 ? 0 : level.values[last]));
			g.lineTo(x(level.times[i]), y(level.values[i]));
			last = i;
		}
		g.lineTo(width, y(last < 0 ? 0 : level.values[last]));
		g.stroke();
	});
	g.setLineDash([]);
	if (showSize.checked && views[state.view].row.total) {
		g.strokeStyle = "#b00020";
		g.strokeRect(-2, y(views[state.view].row.total), width + 4, 1);
	}
}

function drawMoments(g, x, height, width, style) {
	const shown = model.moments.filter(m => m.time >= state.from && m.time <= state.to);
	const isDense = shown.filter(m => m.why === 1).length > width / 6;
	for (const moment of shown) {
		if (moment.why === 1 && isDense)
			continue;
		g.fillStyle = moment.why === 3 ? "#b00020" : style.color;
		if (moment.why === 1)
			g.fillRect(x(moment.time), 0, 1, 5);
		else
			g.fillRect(x(moment.time) - 1, 0, 3, moment.why === 3 ? height : 12);
	}
}

function drawAxis(g, most, y, style) {
	g.fillStyle = style.color;
	g.font = "11px system-ui";
	const step = 2 ** Math.ceil(Math.log2(most / 6));
	for (let bytes = step; bytes < most; bytes += step) {
		g.globalAlpha = 0.25;
		g.fillRect(0, y(bytes), canvas.clientWidth, 1);
		g.globalAlpha = 1;
		g.fillText(bytesText(bytes), 4, y(bytes) - 3);
	}
}

function drawInstants(g, x, height, style) {
	for (const [name, time] of [["A", state.a], ["B", state.b], ["", state.cursor]]) {
		if (time === null)
			continue;
		g.fillStyle = style.color;
		g.fillRect(x(time), 0, 1, height);
		g.fillText(name, x(time) + 3, 24);
	}
}
