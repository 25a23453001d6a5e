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
	showTable();
	showStacks();
	showFlame();
	showBounds();
	redraw();
}

readAddress();
load();
views.forEach((view, i) => make("option", viewChoice, view.name, { value: i }));
viewChoice.onchange = () => changeView(+viewChoice.value);
groupChoice.onchange = () => regroup(groupChoice.value);
flameChoice.onchange = () => set({ flame: flameChoice.value });
search.oninput = () => set({ search: search.value });
whole.onclick = showAll;
themeButton.onclick = changeTheme;
showAbout();
makeVerdict();
if (model) {
	new ResizeObserver(redraw).observe(canvas);
	matchMedia("(prefers-color-scheme: dark)").onchange = redraw;
	addEventListener("beforeprint", draw);
} else {
	for (const part of [bar, chart, below])
		part.hidden = true;
	said.textContent = "There is no memory over time: no memory on a GPU was seen.";
}
update();
