// SPDX-License-Identifier: BSD-2-Clause
/* Draws the segments of an instant (placed.js), one row each, and goes from piece to piece. */
const ROW = 20, BAR = 15, GUTTER = 150, SEGMENTS_HEIGHT = 420, SEGMENTS_SHOWN = 200;
let segmentsShown = null;         // the instant, its segments in order, and what is drawn of them

// ---- bands ----

function bandOfPiece(piece) {
	const { instant, bands } = segmentsShown, process = data.processes[instant.process], row = process.rows[instant.row ?? 0];
	if (piece.isGap || !row)
		return null;
	const key = [piece.stack, -1, 0, 0, piece.waiting, -1];
	const name = state.by === "use" && piece.isBlock ? data.categories[piece.purpose] :
		namers[state.by]({ process, row }, key, piece.isBlock);
	return bands.get(name) || bands.get(null) || null;
}

function isFaint(piece, band) {
	if (state.chosen !== null && (!band || band.name !== state.chosen))
		return true;
	return Boolean(expression) && (piece.isGap || !stackMatches([piece.stack, 0, 0, 0, piece.waiting]));
}

// ---- drawing ----

// Stripes on the colour of what is cached.
function hatched(g, style) {
	const tile = document.createElement("canvas"), ink = tile.getContext("2d");
	tile.width = tile.height = 6;
	ink.fillStyle = style.getPropertyValue("--back");
	ink.fillRect(0, 0, 6, 6);
	ink.strokeStyle = style.getPropertyValue("--dim");
	ink.beginPath();
	for (const x of [-6, 0, 6]) {
		ink.moveTo(x, 6);
		ink.lineTo(x + 6, 0);
	}
	ink.stroke();
	return g.createPattern(tile, "repeat");
}

function barWidth() {
	return placedCanvas.clientWidth - GUTTER - 4;
}

function scaleOf(segment) {
	return barWidth() / (state.fit || isZoomed(segment) ? partOf(segment).bytes : segmentsShown.most);
}

// Without what lies outside of the picture's row.
function placeOf(segment, piece) {
	const scale = scaleOf(segment), x = GUTTER + (piece.address - segment.address - partOf(segment).from) * scale;
	const begin = Math.max(GUTTER, x), end = Math.min(GUTTER + barWidth(), x + piece.bytes * scale);
	return { x: begin, width: Math.max(1, end - begin) };
}

function drawPiece(g, style, segment, piece, y) {
	const { x, width } = placeOf(segment, piece), band = bandOfPiece(piece), gap = width > 4 ? 1 : 0;
	g.globalAlpha = isFaint(piece, band) ? 0.22 : 1;
	g.fillStyle = piece.isGap ? segmentsShown.hatch : band ? colourOf(band, style) : style.getPropertyValue("--rest");
	g.fillRect(x, y, width - gap, BAR);
	g.globalAlpha = 1;
	if (piece === segmentsShown.sums.largest) {
		g.strokeStyle = style.getPropertyValue("--bad");
		g.strokeRect(x + 0.5, y + 0.5, Math.max(1, width - 1), BAR - 1);
	}
	if (piece.address === state.place) {
		g.strokeStyle = style.getPropertyValue("--text");
		g.lineWidth = 2;
		g.strokeRect(x - 1, y - 1, width + 1, BAR + 2);
		g.lineWidth = 1;
	}
}

function drawSegment(g, style, segment, y) {
	g.fillStyle = style.getPropertyValue("--dim");
	g.fillText(bytesText(segment.bytes) + (segment.free ? ", " + bytesText(segment.free) + " free" : ""), 4, y + 11);
	piecesShown(segment).forEach(piece => drawPiece(g, style, segment, piece, y));
	if (isZoomed(segment))
		drawPart(g, style, segment, y);
	if (isPulled() && pulled.segment === segment)
		drawPulled(g, style, y);
}

// What was asked for, as wide as a gap would have to be.
function drawAsked(g, style, y) {
	const { asked } = segmentsShown.instant, { most } = segmentsShown;
	const width = Math.min(1, asked / most) * barWidth();
	g.fillStyle = g.strokeStyle = style.getPropertyValue("--bad");
	g.fillText("asked " + bytesText(asked), 4, y + 11);
	g.setLineDash([4, 3]);
	g.strokeRect(GUTTER + 0.5, y + 0.5, width - 1, BAR - 1);
	g.setLineDash([]);
	if (asked > most)
		g.fillText("more than any segment", GUTTER + 6, y + 11);
}

function rowsAbove() {
	return segmentsShown.instant.asked && !state.fit ? 1 : 0;
}

function drawSegments() {
	if (!segmentsShown || placed.hidden)
		return;
	const count = segmentsShown.order.length + rowsAbove(), most = isOnPaper() ? PAPER_ROWS * ROW : SEGMENTS_HEIGHT;
	const height = Math.min(most, count * ROW + 4), more = count - Math.floor(height / ROW);
	placedMore.textContent = counted(more, "more segment is", "more segments are") + " not in the picture.";
	placedMore.hidden = !isOnPaper() || more <= 0;
	placedRows.style.height = count * ROW + 4 + "px";
	placedBox.style.height = placedCanvas.style.height = height + "px";
	const g = cleared(placedCanvas), style = getComputedStyle(document.documentElement);
	const top = (isOnPaper() ? 0 : placedBox.scrollTop) - 2;
	segmentsShown.hatch = hatched(g, style);
	if (rowsAbove())
		drawAsked(g, style, -top);
	const first = Math.max(0, Math.floor(top / ROW) - rowsAbove()), last = Math.ceil((top + height) / ROW);
	for (let i = first; i < Math.min(last, segmentsShown.order.length); i++)
		drawSegment(g, style, segmentsShown.order[i], (i + rowsAbove()) * ROW - top);
}

// ---- words ----

function pieceText(segment, piece) {
	const inside = " in a segment of " + bytesText(segment.bytes) + (segment.isGuessed ? " (its size is a guess)" : "");
	if (piece.isGap)
		return bytesText(piece.bytes) + ", a gap: cached" + inside;
	const age = piece.born === null ? "from before tracing began" :
		"made " + spanText(Math.max(0, segmentsShown.instant.ns - piece.born)) + " before";
	const what = [stackText(data.stacks[piece.waiting]), piece.isBlock ? data.categories[piece.purpose] : "not the allocator's", age];
	return bytesText(piece.bytes) + (piece.asked ? " (asked for " + bytesText(piece.asked) + ")" : "") + ", " + what.join(", ") +
		(piece.isWhole ? "" : inside);
}

function pieceIn(segment, address) {
	return segment.pieces.find(one => address < one.address + one.bytes);
}

function findPiece(address) {
	for (const segment of segmentsShown.order)
		if (address >= segment.address && address < segment.address + segment.bytes)
			return { segment, piece: pieceIn(segment, address) };
	return null;
}

function sayPiece() {
	const found = state.place === null ? null : findPiece(state.place);
	pieceSaid.textContent = found ? pieceText(found.segment, found.piece) : "";
}

function fillSegmentTable() {
	placedTable.replaceChildren();
	if (!placedText.open || !segmentsShown)
		return;
	const head = make("tr", make("thead", placedTable)), body = make("tbody", placedTable);
	for (const text of ["bytes", "in blocks", "free", "largest gap", "blocks", "address", "whose"])
		make("th", head, text);
	for (const segment of segmentsShown.order.slice(0, SEGMENTS_SHOWN)) {
		const line = make("tr", body), gaps = segment.pieces.filter(piece => piece.isGap).map(piece => piece.bytes);
		for (const text of [bytesText(segment.bytes), bytesText(segment.held), bytesText(segment.free), bytesText(mostOf(gaps)),
			segment.blocks, "0x" + segment.address.toString(16), segment.isFramework ? "the allocator's" : "another's"])
			make("td", line, text);
		line.onclick = () => choosePiece(segment.pieces[0]);
	}
	const left = segmentsShown.order.length - SEGMENTS_SHOWN;
	if (left > 0)
		make("td", make("tr", make("tfoot", placedTable)), left + " more", { colspan: 7 });
}

// ---- what is shown ----

function fillInstants(at) {
	const list = instantsShown(), isAlone = views[state.view].parts.length === 1;
	instantChoice.replaceChildren();
	for (const i of list)
		make("option", instantChoice, instantName(data.instants[i], isAlone), { value: i });
	instantChoice.value = at;
}

const BY = { size: (a, b) => b.bytes - a.bytes, free: (a, b) => b.free - a.free || b.bytes - a.bytes,
	address: (a, b) => a.address - b.address };

function showSegments() {
	const at = shownInstant(), instant = (data.instants || [])[at];
	placedBox.hidden = placedBar.hidden = placedText.hidden = placedHow.hidden = !instant;
	if (!instant) {
		segmentsShown = null;
		placedSaid.textContent = "No device memory at an address was seen here.";
		return;
	}
	const segments = readInstant(instant), bands = new Map(model.bands.map(band => [band.isRest ? null : band.name, band]));
	instant.sums = instant.sums || sumsOf(segments);
	segmentsShown = { instant, bands, sums: instant.sums, order: segments.slice().sort(BY[state.order]),
		most: Math.max(1, instant.sums.most) };
	fillInstants(at);
	orderChoice.value = state.order;
	placedHow.hidden = !instant.sums.count;
	placedSaid.textContent = placedWords(instant, segmentsShown.sums);
	placedCanvas.setAttribute("aria-label", "segments when " + instantName(instant, true) + ". " + placedSaid.textContent);
	sayPiece();
	tellZoom();
	fillSegmentTable();
	drawSegments();
}

// ---- the pointer ----

function pieceAt(event) {
	const box = placedCanvas.getBoundingClientRect(), x = event.clientX - box.left;
	const row = Math.floor((event.clientY - box.top + placedBox.scrollTop - 2) / ROW) - rowsAbove();
	const segment = segmentsShown && segmentsShown.order[row];
	if (!segment || x < GUTTER)
		return null;
	const at = segment.address + partOf(segment).from + (x - GUTTER) / scaleOf(segment);
	const piece = x > GUTTER + barWidth() ? null : pieceIn(segment, at);
	return piece ? { segment, piece } : null;
}

function choosePiece(piece) {
	const band = bandOfPiece(piece);
	set({ place: piece.address, chosen: band && !band.isRest ? band.name : state.chosen });
}

placedCanvas.onpointermove = event => {
	const found = pieceAt(event);
	if (pulled) {
		pulled.to = event.offsetX;
		drawSegments();
	}
	placedTip.hidden = !found;
	if (found)
		showTip(event, pieceText(found.segment, found.piece), placedTip, placed.getBoundingClientRect(), 14);
};
placedCanvas.onpointerleave = () => placedTip.hidden = true;
placedBox.onscroll = drawSegments;
instantChoice.onchange = () => set({ instant: +instantChoice.value, place: null, ...NO_ZOOM });
orderChoice.onchange = () => set({ order: orderChoice.value });
placedText.ontoggle = fillSegmentTable;

// ---- keys: one stop of Tab for the whole picture ----

function goToPiece(segment, piece) {
	const row = segmentsShown.order.indexOf(segment) + rowsAbove();
	if (row * ROW < placedBox.scrollTop || (row + 1) * ROW > placedBox.scrollTop + placedBox.clientHeight)
		placedBox.scrollTop = row * ROW - placedBox.clientHeight / 2;
	state.place = piece.address;
	writeAddress();
	sayPiece();
	followPiece(segment, piece);
	drawSegments();
}

function movePiece(rows, pieces) {
	const { order } = segmentsShown, now = (state.place !== null && findPiece(state.place)) || null;
	if (!now) {
		goToPiece(order[0], order[0].pieces[0]);
		return;
	}
	const within = (list, i) => list[Math.max(0, Math.min(list.length - 1, i))];
	const segment = within(order, order.indexOf(now.segment) + rows), part = now.piece.address - now.segment.address;
	const piece = segment === now.segment ? within(segment.pieces, segment.pieces.indexOf(now.piece) + pieces) :
		pieceIn(segment, segment.address + part) || within(segment.pieces, Infinity);
	goToPiece(segment, piece);
}

const SEGMENT_KEYS = {
	ArrowUp: () => movePiece(-1, 0), ArrowDown: () => movePiece(1, 0),
	ArrowLeft: event => event.shiftKey ? panSegment(-0.25) : movePiece(0, -1),
	ArrowRight: event => event.shiftKey ? panSegment(0.25) : movePiece(0, 1),
	"+": () => zoomToPiece(0.5), "-": () => zoomToPiece(2), Escape: showWholeSegment,
	PageUp: () => movePiece(-10, 0), PageDown: () => movePiece(10, 0),
	Home: () => movePiece(0, -Infinity), End: () => movePiece(0, Infinity),
	Enter: () => {
		const found = state.place === null ? null : findPiece(state.place);
		if (found)
			choosePiece(found.piece);
	},
};
placedCanvas.onkeydown = event => {
	if (!segmentsShown || !SEGMENT_KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey ||
	    (event.key === "Escape" && !zoomedSegment()))
		return;
	event.preventDefault();
	event.stopPropagation();
	SEGMENT_KEYS[event.key](event);
};

function goToSegments() {
	placed.scrollIntoView({ block: "start" });
	placedCanvas.focus({ preventScroll: true });
}
