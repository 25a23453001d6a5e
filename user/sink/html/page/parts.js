// SPDX-License-Identifier: BSD-2-Clause
/* The page's elements. Every text of the data comes from traced programs: it goes into the page as text alone
 * (textContent), never as HTML. */
const page = document.getElementById("page"), report = document.getElementById("report");

function make(tag, parent, text, attributes = {}) {
	const element = document.createElement(tag);
	if (text !== undefined)
		element.textContent = text;
	for (const [name, value] of Object.entries(attributes))
		element.setAttribute(name, value);
	parent.append(element);
	return element;
}

const views = [];
data.processes.forEach((process, p) => process.rows.forEach((row, r) => {
	if (row.calls && (row.calls.frame_count || row.blocks))
		views.push({ process, row, p, r, name: process.comm + " (pid " + process.pid + "), GPU " + row.gpu +
			(row.ordinal ? " (" + row.ordinal + ")" : "") });
}));

const top = make("div", page);
page.insertBefore(top, report);
make("h1", top, "gpumemtrace");
for (const finding of data.findings) {
	const box = make("div", top, undefined, { class: "finding" });
	make("b", box, finding.label + " ");
	box.append(finding.sentence + " ");
	make("span", box, "(" + finding.ground + ")", { class: "dim" });
	if (finding.line) {
		make("br", box);
		const link = make("button", box, finding.line, { class: "link" });
		link.onclick = () => chooseLine(finding);
	}
	if (finding.remedy)
		make("div", box, finding.remedy, { class: "dim" });
}
if (data.lost)
	make("p", top, data.lost + " records were lost: see the report below.");
make("h2", top, "Memory over time");
const bar = make("div", top, undefined, { class: "bar" });
const viewChoice = make("select", bar, undefined, { "aria-label": "process and GPU" });
views.forEach((view, i) => make("option", viewChoice, view.name, { value: i }));
const groupChoice = make("select", bar, undefined, { "aria-label": "group by" });
GROUPS.forEach(name => make("option", groupChoice, "by " + name, { value: name }));
const search = make("input", bar, undefined,
	{ type: "search", placeholder: "search frames (regular expression)", "aria-label": "search" });
const reset = make("button", bar, "whole time");
const size = make("label", bar);
const showSize = make("input", size, undefined, { type: "checkbox" });
size.append(" the GPU's size");
const canvas = make("canvas", top, undefined, { tabindex: 0, role: "img", "aria-label": "memory over time" });
const hover = make("div", top, undefined, { id: "hover", class: "dim" });
const bounds = make("p", top, undefined, { class: "dim" });
const table = make("table", top);
const stacks = make("div", top);
make("p", top, "Drag: two instants. Shift and drag, or the wheel: zoom. Keys: left and right move, + and - zoom, a and b set the " +
	"two instants, g groups, / searches, Escape shows all.", { id: "help", class: "dim" });
make("h2", top, "Report");
