// SPDX-License-Identifier: BSD-2-Clause
/* Shows the page. */
search.oninput = () => { state.search = search.value; update(); };
reset.onclick = showAll;
showSize.onchange = redraw;
new ResizeObserver(redraw).observe(canvas);

readAddress();
if (views.length) {
	load();
	update();
} else {
	canvas.hidden = true;
	hover.textContent = "There is no memory over time: no memory on a GPU was seen.";
}
