// SPDX-License-Identifier: BSD-2-Clause
/* The elements of the report's page. */
const verdict = make("section", front, undefined, { "aria-label": "what stands out" });

function makeSwitch(parent, name, text, className, after = update) {
	const label = make("label", parent, undefined, { class: className });
	const box = make("input", label, undefined, { type: "checkbox" });
	label.append(text);
	box.onchange = () => {
		state[name] = box.checked ? 1 : 0;
		after();
	};
	return box;
}

make("h2", front, "Memory over time");
const bar = make("div", front, undefined, { class: "bar" });
const viewChoice = make("select", bar, undefined, { "aria-label": "process and GPU" });
const groupChoice = make("select", bar, undefined, { "aria-label": "group by" });
GROUPS.forEach(name => make("option", groupChoice, "by " + name, { value: name }));
const search = make("input", bar, undefined,
	{ type: "search", placeholder: "search frames (regular expression)", "aria-label": "search frames", title: "/" });
const whole = make("button", bar, "whole time", { title: "Escape" });
const axisSwitch = makeSwitch(bar, "iterations", "by iteration", "");
axisSwitch.parentNode.title = "i";
const partSaid = make("span", bar, "", { class: "dim" });
const lines = make("span", bar, undefined, { class: "lines" });

const switches = {
	kernel: makeSwitch(lines, "kernel", "the kernel gave", "line-kernel"),
	nvml: makeSwitch(lines, "nvml", "nvidia-smi", "line-nvml"),
	reserved: makeSwitch(lines, "reserved", "the framework reserved", "line-reserved"),
	size: makeSwitch(lines, "size", "the GPU's size", "line-size"),
	iterations: axisSwitch,
	cached: makeSwitch(lines, "cached", "cached", "line-cached", () => { load(); update(); }),
};

const chart = make("div", front, undefined, { id: "chart" });
const canvas = make("canvas", chart, undefined, { "aria-hidden": "true" });
const overlay = make("canvas", chart, undefined, { tabindex: 0, role: "img", "aria-label": "memory over time" });
const tip = make("div", chart, undefined, { id: "tip" });
tip.hidden = true;
const legend = make("div", front, undefined, { id: "phases", class: "dim" });
const said = make("div", front, undefined, { id: "hover", class: "dim", role: "status" });
const story = make("div", front, undefined, { id: "story", role: "status" });

const below = make("div", front, undefined, { id: "below" });
const left = make("section", below, undefined, { "aria-label": "table" });
const table = make("table", left);
const stacks = make("div", left);
const right = make("section", below, undefined, { "aria-label": "flame graph" });
const flameBar = make("div", right, undefined, { class: "bar" });
const flameChoice = make("select", flameBar, undefined, { "aria-label": "flame graph of" });
Object.entries(FLAMES).forEach(([name, text]) => make("option", flameChoice, text, { value: name }));
switches.libraries = makeSwitch(flameBar, "libraries", "frames of libraries", "");
const flameSaid = make("span", flameBar, "", { class: "dim" });
const flame = make("div", right, undefined, { id: "flame" });

const placed = make("section", front, undefined, { "aria-label": "segments" });
make("h2", placed, "Segments, blocks and gaps");
const placedBar = make("div", placed, undefined, { class: "bar" });
const instantChoice = make("select", placedBar, undefined, { "aria-label": "instant" });
const orderChoice = make("select", placedBar, undefined, { "aria-label": "order of segments" });
Object.entries(ORDERS).forEach(([name, text]) => make("option", orderChoice, text, { value: name }));
switches.fit = makeSwitch(placedBar, "fit", "each segment as wide as the page", "");
const placedHow = make("p", placed, "A row is a segment: memory that the allocator has from the driver in one piece. " +
	"The pieces with the colours of the bands above are blocks, which the program uses. The striped pieces are gaps: memory " +
	"in the cache that nothing uses. The largest gap has a frame. ", { class: "dim" });
make("span", placedHow, "Click a block to see its band. Drag over a part of a row to zoom in.", { class: "screen" });
const placedSaid = make("p", placed);
const placedBox = make("div", placed, undefined, { id: "placed" });
const placedRows = make("div", placedBox);
const placedCanvas = make("canvas", placedRows, undefined, { tabindex: 0, role: "img", "aria-label": "segments" });
const placedZoom = make("div", placed, undefined, { class: "bar" });
const zoomSaid = make("span", placedZoom, "", { role: "status" });
const wholeSegment = make("button", placedZoom, "whole segment", { title: "Escape" });
const placedMore = make("p", placed, "", { class: "dim" });
const placedTip = make("div", placed, undefined, { class: "tip" });
placedTip.hidden = true;
const pieceSaid = make("div", placed, undefined, { id: "piece", class: "dim", role: "status" });
const placedText = make("details", placed);
make("summary", placedText, "the same as a table");
const placedTable = make("table", placedText, undefined, { id: "segments" });
const bounds = make("p", front, undefined, { class: "dim" });
const help = make("p", front, "Drag: two instants, A and B. Shift and drag, or the wheel: zoom; the wheel to the side, or Shift and" +
	" the wheel: pan. Keys: left and right move, with Shift they pan; up and down choose a band; + and - " +
	"zoom; i makes each iteration as wide as the others; a and b set the instants; p is the peak; g " +
	"groups; v is the next view; f is the next flame graph; l hides libraries; in a table the arrows, " +
	"Home and End go from row to row, and Enter follows; s goes to the segments, where the arrows go from" +
	" segment to segment and from block to gap, Enter chooses the block's band, and + and - zoom in its " +
	"segment; e goes to the single events; / searches; t is dark or light; Escape shows all.",
	{ id: "help", class: "dim" });

// The longest part comes last, behind the report's text.
const events = make("section", document.getElementById("page"), undefined, { "aria-label": "single events" });
events.hidden = data.is_dump;
make("h2", events, "Single events");
const eventLinks = make("div", events, undefined, { class: "links screen" });
const eventsSaid = make("p", events, "", { class: "dim" });
const eventTable = make("table", events, undefined, { tabindex: -1, id: "events" });
