// SPDX-License-Identifier: BSD-2-Clause
/* Single events: allocations and frees around the chosen instant, or between two instants. */
const EVENTS_SHOWN = 100;
const ENDS = ["", "freed", "exec", "exit", "changed", "lost"];  // enum life_end
const FLAG_END = 7, FLAG_BLOCK = 8, FLAG_SEGMENT = 16, FLAG_CONTINUES = 32, FLAG_ASKED = 64;
const EVENT_MOMENTS = ["the peak", "the end", "a baseline", "a mark", "a request that failed"];   // enum life_why
const placesOfRows = data.processes.flatMap((process, p) => process.rows.map((row, r) => ({ process, row, p, r })));
let lives = null;                 // each life with its place: { process, row }

// A key of a series, as the names of bands (model.js) take keys.
function keyOfLife(life) {
	return [life.stack, life.what, 0, life.isSegment, life.asked];
}

function readLife({ number, change }, time) {
	const birth = time + change(), flags = number(), end = flags & FLAG_END;
	const life = { birth, end, death: end ? birth + change() : null, isBlock: Boolean(flags & FLAG_BLOCK),
		isSegment: Boolean(flags & FLAG_SEGMENT), continues: Boolean(flags & FLAG_CONTINUES) };
	life.what = number();
	life.bytes = number();
	life.stack = number();
	life.asked = flags & FLAG_ASKED ? number() : life.stack;
	life.part = placesOfRows[number()];
	life.iteration = life.isBlock ? number() : 0;
	return life;
}

function readLives() {
	if (lives)
		return lives;
	const numbers = unpack(data.lives || "");
	let time = 0;
	lives = [];
	for (let i = 0; i < (data.life_count || 0); i++) {
		lives.push(readLife(numbers, time));
		time = lives[i].birth;
	}
	data.lives = "";
	return lives;
}

// ---- which events ----

function useOf(life) {
	if (life.isSegment)
		return "segment";
	return life.isBlock ? data.categories[life.what] : data.classes[life.what] || "?";
}

function bandOfLife(life) {
	if (state.by === "use")
		return useOf(life);
	return namers[state.by](life.part, keyOfLife(life), life.isBlock);
}

// What a band takes: a name, or what no other band has.
function makeChooser(band) {
	if (!band)
		return () => true;
	if (band.isCached)
		return life => life.isSegment && life.part.row.blocks !== null;
	const isIn = life => !(life.isSegment && life.part.row.blocks);
	if (!band.isRest)
		return life => isIn(life) && bandOfLife(life) === band.name;
	const others = new Set(model.bands.map(one => one.name));
	return life => isIn(life) && !others.has(bandOfLife(life));
}

// All events of the page, the earliest first: of a life its birth, and its end before the program's.
let allEvents = null;
function readEvents() {
	if (allEvents)
		return allEvents;
	allEvents = [];
	for (const life of readLives()) {
		allEvents.push({ time: life.birth, sign: 1, life });
		if (life.death !== null && !["exec", "exit"].includes(ENDS[life.end]))
			allEvents.push({ time: life.death, sign: -1, life });
	}
	return allEvents.sort((a, b) => a.time - b.time || a.sign - b.sign);
}

// Whether the search finds a life. There are far fewer stack traces than lives: each is searched once.
function makeFinder() {
	const known = new Map();
	return life => {
		const pair = life.stack * data.stacks.length + life.asked;
		if (!known.has(pair))
			known.set(pair, !expression || stackMatches(keyOfLife(life)));
		return known.get(pair);
	};
}

// The events of what is shown.
function eventsOf(from, to) {
	const rows = new Set(views[state.view].parts.map(part => part.row)), isChosen = makeChooser(chosenBand()), isFound = makeFinder();
	return readEvents().filter(({ time, life }) => time >= from && time <= to && rows.has(life.part.row) && isFound(life) &&
		isChosen(life));
}

// So many of a list, which are the largest.
function largestOf(list, count) {
	const sizes = Float64Array.from(list, event => event.life.bytes).sort(), least = sizes[sizes.length - count];
	let equal = count - list.reduce((sum, event) => sum + (event.life.bytes > least), 0);
	return list.filter(({ life }) => life.bytes > least || (life.bytes === least && equal-- > 0));
}

// So many of a list, which are around a time.
function nearestOf(list, count, time) {
	const after = list.findIndex(event => event.time > time);
	let from = after < 0 ? list.length : after, to = from;
	while (to - from < count)
		if (from && (to === list.length || time - list[from - 1].time <= list[to].time - time))
			from--;
		else
			to++;
	return list.slice(from, to);
}

// The span, and which events of it: with two instants the largest, else those that are nearest.
function chooseEvents() {
	const { a, b } = instants(), isSpan = state.a !== null && state.b !== null;
	const all = isSpan ? eventsOf(a, b) : eventsOf(0, LENGTH), count = all.length;
	if (count <= EVENTS_SHOWN)
		return { list: all, count, isSpan };
	return { list: isSpan ? largestOf(all, EVENTS_SHOWN) : nearestOf(all, EVENTS_SHOWN, b), count, isSpan };
}

// ---- the table ----

function spanText(ns) {
	const [scale, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]].find(([one]) => ns >= one) || [1, "ns"];
	return Number((ns / scale).toPrecision(3)) + " " + unit;
}

function livedText(life) {
	if (life.death === null)
		return "lives on";
	const text = "lived " + spanText(life.death - life.birth);
	return ["exec", "exit"].includes(ENDS[life.end]) ? text + ", until the program's end" : text;
}

function makeEvent(body, { time, sign, life }) {
	const line = make("tr", body, undefined, { class: sign > 0 ? "born stop" : "died stop" });
	line.dataset.key = [time, sign, life.bytes, life.stack].join(" ");
	const owner = data.owners[data.stacks[life.stack][1]];
	for (const text of [secondsText(time), (sign > 0 ? "+" : "-") + bytesText(life.bytes), useOf(life), livedText(life),
		gpuName(life.part.row), owner])
		make("td", line, text);
	const name = stackText(data.stacks[life.asked]), cell = make("td", line, name);
	cell.title = framesOf(keyOfLife(life)).map(symbol => data.symbols[symbol][0]).join("\n");
	const go = () => {
		state.by = "line";
		load();
		const band = model.bands.find(one => makeChooser(one)(life));
		set({ chosen: band ? band.name : null });
	};
	line.onclick = go;
	listenToEnter(line, go);
	line.onmouseenter = () => {
		state.cursor = time;
		redrawOverlay();
	};
}

function momentName([, why, isOfBlocks, row], isAlone) {
	const name = EVENT_MOMENTS[why] + (isOfBlocks ? " of tensors" : "");
	return isAlone ? name : name + ", " + placesOfRows[row].process.comm + " " + gpuName(placesOfRows[row].row);
}

// Moments that have events around them, as links.
function makeMoments() {
	const shownRows = new Set(views[state.view].parts.map(part => part.row)), seen = new Set();
	for (const moment of data.life_moments || []) {
		const name = momentName(moment, shownRows.size === 1), key = moment[0] + name;
		if (!shownRows.has(placesOfRows[moment[3]].row) || seen.has(key))
			continue;
		seen.add(key);
		const link = make("button", eventLinks, name + " (" + secondsText(moment[0]) + ")", { class: "link" });
		link.onclick = () => set({ a: moment[0], b: null });
	}
}

function leftOutText(chosen) {
	const left = [];
	if (chosen.count > chosen.list.length)
		left.push(chosen.count - chosen.list.length + " more here are not in this table.");
	const { around, moments, processes, is_all } = data.lives_left || {};
	if (data.lives_left_out && is_all)
		left.push(data.lives_left_out + " allocations are of processes or GPUs that are not on this page.");
	else if (data.lives_left_out)
		left.push("The page has " + data.life_count + " allocations, those around the moments above and the largest; " +
			data.lives_left_out + " others are left out (gpumemtrace report --events=all, from a recording, writes all)" +
			(around ? ", at most " + around + " of them around these moments, for want of room." : "."));
	if (moments)
		left.push(moments + " other moments have no events.");
	if (processes)
		left.push(processes + " processes have no events around moments, for want of room.");
	return left.join(" ");
}

function fillEvents() {
	const { b, names } = instants(), chosen = chooseEvents();
	eventTable.replaceChildren();
	eventLinks.replaceChildren("Events around: ");
	makeMoments();
	eventsSaid.textContent = (chosen.list.length ? "" : "The page has no single event here. ") +
		(chosen.isSpan ? "The largest between A and B." :
			"Nearest to " + secondsText(b) + " (" + names[1].replace("at ", "") + ").") +
		(state.chosen === null ? "" : " Of the chosen band.") + " " + leftOutText(chosen);
	const head = make("tr", make("thead", eventTable)), body = make("tbody", eventTable);
	for (const text of ["time", "bytes", "use", "life", "GPU", "owner", "line"])
		make("th", head, text);
	chosen.list.forEach(event => makeEvent(body, event));
}

function showEvents() {
	refill(eventTable, fillEvents);
}

// The page is drawn before its events are read.
let eventsTimer = 0;
function showEventsSoon() {
	clearTimeout(eventsTimer);
	eventsTimer = setTimeout(showEvents, 20);
}

function goToEvents() {
	events.scrollIntoView({ block: "start" });
	eventTable.focus({ preventScroll: true });
}
