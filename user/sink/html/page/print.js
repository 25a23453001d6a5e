// SPDX-License-Identifier: BSD-2-Clause
/* On paper: light, about as wide as paper, and nothing is closed. Before it prints, a browser lets the page draw while the
 * page still has the screen's width; what was drawn then is only made larger or smaller. */
const PAPER_ROWS = 40;            // of segments: a page of paper has room for them
let wasOpen = false;

function isOnPaper() {
	return document.documentElement.classList.contains("paper");
}

function goToPaper() {
	wasOpen = placedText.open;
	document.documentElement.classList.add("paper");
	document.documentElement.dataset.theme = "light";
	placedText.open = true;
	showTable();
	draw();
	drawInstants(canvas.getContext("2d"), instantLines());   // one canvas above another one would hide the lower one
	showSegments();
}

function comeFromPaper() {
	document.documentElement.classList.remove("paper");
	placedText.open = wasOpen;
	update();
}
