// SPDX-License-Identifier: BSD-2-Clause
/* A flame graph of what was held at an instant, or of what two instants differ in; the outermost frame is at the top. */
const FLAME_NODES = 1500, FLAME_PART = 0.002;  // the most that are drawn; the least part of the whole that is drawn
let zoomed = null;                // the path of the frame that fills the graph

function isOwn(symbol) {
	return data.symbols[symbol][1] === 1;
}

// What a key adds, from what it held at A and at B.
const measures = {
	live: (a, b) => b,
	then: a => a,
	grown: (a, b) => Math.max(0, b - a),
	freed: (a, b) => Math.max(0, a - b),
};

function addPath(root, key, bytes) {
	let node = root;
	root.bytes += bytes;
	const found = framesOf(key), frames = found.length ? found : [-1];
	for (let i = frames.length - 1; i >= 0; i--) {
		const symbol = frames[i], name = symbol < 0 ? stackText(data.stacks[key[0]]) : data.symbols[symbol][0];
		if (symbol >= 0 && !state.libraries && !isOwn(symbol))
			continue;
		if (!node.children.has(name))
			node.children.set(name, { name, bytes: 0, children: new Map(), isOwn: symbol >= 0 && isOwn(symbol) });
		node = node.children.get(name);
		node.bytes += bytes;
	}
}

function keepsKey(part, key, chosen) {
	if (part.row.blocks && key.isCall && key.of[3])      // a segment: its blocks are there
		return false;
	return !chosen || chosen.has(key.of);
}

function makeFlame() {
	const { a, b } = instants(), measure = measures[state.flame];
	const root = { name: "all", bytes: 0, children: new Map() };
	const band = chosenBand(), chosen = band && new Set(band.keys.map(({ series, key }) => series.keys[key]));
	for (const part of views[state.view].parts)
		for (const series of [part.row.calls, part.row.blocks].filter(Boolean)) {
			const then = liveAt(series, a), now = liveAt(series, b);
			series.keys.forEach((of, k) => {
				const bytes = measure(then[k], now[k]);
				if (bytes && keepsKey(part, { of, isCall: series === part.row.calls }, chosen) &&
				    (!expression || stackMatches(of)))
					addPath(root, of, bytes);
			});
		}
	return root;
}

// One frame and what it called, at a place in parts of the whole.
function placeNodes(node, path, x, width, depth, out) {
	if (out.length >= FLAME_NODES || width < FLAME_PART)
		return;
	out.push({ node, path, x, width, depth });
	for (const child of [...node.children.values()].sort((p, q) => q.bytes - p.bytes)) {
		const part = width * child.bytes / node.bytes;
		placeNodes(child, path + "\n" + child.name, x, part, depth + 1, out);
		x += part;
	}
}

function findPath(root, path) {
	let node = root;
	for (const name of path.split("\n").slice(1))
		node = node && node.children.get(name);
	return node;
}

const WARM = ["#e8743b", "#eda24b", "#e0883f", "#f0b860"], COOL = ["#9db4c8", "#aabfd0", "#b5c7d6"];

function makeNode({ node, path, x, width, depth }, root) {
	const box = make("button", flame, width > 0.03 ? node.name : "", { class: "frame stop" });
	const part = (100 * node.bytes / root.bytes).toFixed(1), colours = node.isOwn ? WARM : COOL;
	box.dataset.key = path;
	box.title = node.name + "\n" + bytesText(node.bytes) + ", " + part + " %";
	box.style.cssText = "left:" + 100 * x + "%;width:calc(" + 100 * width + "% - 1px);top:" + 19 * depth + "px";
	box.style.background = colours[node.name.length % colours.length];
	box.onclick = () => {
		zoomed = zoomed === path ? null : path;
		showFlame();
	};
}

function fillFlame() {
	const root = makeFlame(), from = zoomed === null ? root : findPath(root, zoomed), list = [];
	if (!from)
		zoomed = null;
	flame.replaceChildren();
	if (root.bytes)
		placeNodes(from || root, from ? zoomed || "" : "", 0, 1, 0, list);
	list.forEach(one => makeNode(one, root));
	flame.style.height = 19 * (1 + Math.max(0, ...list.map(one => one.depth))) + "px";
	const ofBand = state.by === "use" ? " of all uses, by the stack traces of the chosen band" : " of the chosen band";
	const of = state.chosen === null ? "" : ofBand;
	flameSaid.textContent = root.bytes ? bytesText(root.bytes) + of : "nothing";
}

function showFlame() {
	refill(flame, fillFlame);
}
