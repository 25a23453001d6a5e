// SPDX-License-Identifier: BSD-2-Clause
/* Shows the page. */
function update() {
	viewChoice.value = state.view;
	groupChoice.value = state.by;
	flameChoice.value = state.flame;
	search.value = state.search;
	search.classList.toggle("wrong", !readSearch());
	for (const [name, box] of Object.entries(switches))
		box.checked = Boolean(state[name]);
	document.documentElement.dataset.theme = state.theme;
	writeAddress();
	if (!model)
		return;
	markMatches();
	showAxis();
	showSwitches();
	showTable();
	showStory();
	showStacks();
	showFlame();
	showBounds();
	showEventsSoon();
	showSegments();
	redraw();
}

// A switch without anything to show is not there.
function showSwitches() {
	const has = { size: views[state.view].total > 0, cached: model.hasCache };
	model.levels.forEach((level, n) => has[LINES[n]] = mostOf(level.values) > 0);
	for (const [name, is] of Object.entries(has))
		switches[name].parentNode.hidden = !is;
}

function showAxis() {
	const label = axisSwitch.parentNode;
	label.hidden = !model.byIteration;
	label.lastChild.textContent = "by iteration" + whoseIterations();
}

// What is much more than all bands together would leave no room for them; its switch shows it again.
const DWARFS = 8;
function hideWhatDwarfs() {
	const held = mostOf(model.held) * DWARFS;
	model.levels.forEach((level, n) => state[LINES[n]] = mostOf(level.values) > held ? 0 : 1);
	state.cached = mostOf(model.total) > held ? 0 : 1;
	if (!state.cached)
		load();
}

function skipEmptyTime() {
	const from = beginOfPicture();
	if (from > 0)
		[state.from, state.to] = spanWithin(from, LENGTH - from);
}

readAddress();
load();
if (model && !location.hash && mostOf(model.held))
	hideWhatDwarfs();
if (model && !location.hash)
	skipEmptyTime();
if (model && !location.hash && !makeFlame().bytes)
	state.flame = "live";
views.forEach((view, i) => make("option", viewChoice, view.name, { value: i }));
viewChoice.onchange = () => changeView(+viewChoice.value);
groupChoice.onchange = () => regroup(groupChoice.value);
flameChoice.onchange = () => set({ flame: flameChoice.value });
search.oninput = () => set({ search: search.value });
whole.onclick = showAll;
showAbout();
makeVerdict();
if (model) {
	listenTo(KEYS);
	[table, eventTable].forEach(one => listenToStops(one));
	listenToStops(flame, { ...MOVES, ArrowLeft: -1, ArrowRight: 1 });
	new ResizeObserver(() => isOnPaper() || redraw()).observe(canvas);
	new ResizeObserver(() => isOnPaper() || drawSegments()).observe(placedBox);
	matchMedia("(prefers-color-scheme: dark)").onchange = redraw;
	addEventListener("beforeprint", goToPaper);
	addEventListener("afterprint", comeFromPaper);
} else {
	for (const part of [bar, chart, below, placed, events, help])
		part.hidden = true;
	said.textContent = "There is no memory over time: no allocation on a GPU was seen, or the file is a dump that does not say " +
		"which GPU it was on.";
}
update();
