// SPDX-License-Identifier: BSD-2-Clause
/* The phases of a training: a ribbon above the picture, and in words. Where a column of the ribbon has several phases, or
 * several GPUs do, each phase takes its share of the column's height. */
// Of Okabe and Ito's colours, as those of bands; dark texts can be read on them.
const PHASE_COLOURS = ["#56b4e9", "#e69f00", "#009e73", "#cc79a7"];
const RIBBON = { height: 11, letter: 7 };

// Of each span its beginning and end, and of each phase the time in it before each span.
function readPhases(row) {
	if (row.phasesRead)
		return row.phasesRead;
	const { count, spans } = row.phases, { number, change } = unpack(spans), from = new Float64Array(count);
	const until = new Float64Array(count), before = data.phases.map(() => new Float64Array(count + 1));
	for (let i = 0, time = 0; i < count; i++) {
		from[i] = time += change();
		until[i] = time + number();
		for (const list of before)
			list[i + 1] = list[i] + number();
	}
	row.phasesRead = { from, until, before };
	return row.phasesRead;
}

function phasesOf(view) {
	return view.parts.filter(({ row }) => row.phases).map(({ row }) => readPhases(row));
}

// Adds the time in each phase before each of some times, which rise.
function addPhaseTimes({ from, until, before }, times, sums) {
	let i = indexAt(from, times[0]);
	times.forEach((time, n) => {
		while (i + 1 < from.length && from[i + 1] <= time)
			i++;
		if (i < 0)
			return;
		const part = until[i] > from[i] ? Math.min(1, (time - from[i]) / (until[i] - from[i])) : 0;
		before.forEach((list, phase) => sums[phase][n] += list[i] + part * (list[i + 1] - list[i]));
	});
}

// Of each phase its share between each of some times and the next one.
function phaseShares(times) {
	const sums = data.phases.map(() => new Float64Array(times.length));
	for (const read of model.phases)
		addPhaseTimes(read, times, sums);
	return sums.map(list => Float64Array.from({ length: times.length - 1 },
		(_, n) => (list[n + 1] - list[n]) / (times[n + 1] - times[n]) / model.phases.length));
}

// "forward"; "forward 40 %, backward 60 %"; "" in none.
function phasesText(from, to) {
	const shares = phaseShares([from, to]).map(list => list[0]), whole = shares.findIndex(share => share > 0.995);
	return whole >= 0 ? data.phases[whole] :
		shares.map((share, phase) => share >= 0.005 ? data.phases[phase] + " " + Math.round(100 * share) + " %" : "")
			.filter(Boolean).join(", ");
}

// What the ribbon shows at a time.
function phaseAt(time) {
	const places = placesOf(canvas), x = places.x(time);
	return model.phases.length ? phasesText(places.time(x - 0.5), places.time(x + 0.5)) : "";
}

// The name of a phase, where a run of whole columns has room for it.
function namePhases(g, y, tops) {
	g.fillStyle = "#1a1a1a";
	let begin = 0, phase = -1;
	for (let c = 0; c <= tops[0].length; c++) {
		const now = c < tops[0].length ? tops.findIndex((list, n) => list[c] - (n ? tops[n - 1][c] : 0) === RIBBON.height) : -1;
		if (now === phase)
			continue;
		if (phase >= 0 && c - begin > RIBBON.letter * data.phases[phase].length)
			g.fillText(data.phases[phase], AREA.left + begin + 3, y + RIBBON.height - 2);
		[begin, phase] = [c, now];
	}
}

function drawPhases(g, style) {
	if (!model.phases.length)
		return;
	const count = shown.columns.length, y = AREA.top - RIBBON.height - 4;
	const shares = phaseShares(Array.from({ length: count + 1 }, (_, c) => shown.places.time(AREA.left + c)));
	const tops = shares.map(() => new Int8Array(count));
	for (let c = 0; c < count; c++)
		for (let phase = 0, sum = 0; phase < tops.length; phase++) {
			sum += shares[phase][c];
			tops[phase][c] = Math.round(sum * RIBBON.height);
		}
	g.fillStyle = style.getPropertyValue("--dim");
	g.fillText("phases", 6, y + RIBBON.height - 2);
	tops.forEach((list, phase) => {
		const below = c => phase ? tops[phase - 1][c] : 0;
		g.fillStyle = PHASE_COLOURS[phase];
		g.beginPath();
		for (let c = 0, next; c < count; c = next) {
			for (next = c + 1; next < count && list[next] === list[c] && below(next) === below(c); next++)
				;
			if (list[c] > below(c))
				g.rect(AREA.left + c, y + RIBBON.height - list[c], next - c, list[c] - below(c));
		}
		g.fill();
	});
	namePhases(g, y, tops);
}

// The ribbon in words: the share of each phase in the time that is shown.
function tellPhases() {
	const text = model.phases.length ? phasesText(state.from, state.to) : "";
	legend.hidden = !model.phases.length;
	if (legend.dataset.text === text)
		return;
	legend.dataset.text = text;
	legend.replaceChildren("Phases of the training:");
	data.phases.forEach((name, phase) => {
		const one = make("span", legend);
		make("span", one, "", { class: "swatch", style: "background:" + PHASE_COLOURS[phase] });
		one.append(name);
	});
	make("span", legend, text ? "in the time that is shown: " + text : "none in the time that is shown");
}
