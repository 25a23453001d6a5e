// SPDX-License-Identifier: BSD-2-Clause
/* One segment may show a part of its addresses across the whole width: where thousands of blocks are in a segment, each is
 * thinner than a pixel. */
const PART_LEAST = 512;           // bytes: the allocator makes no smaller blocks

function isZoomed(segment) {
	return state.zoom === segment.address;
}

// What of a segment is drawn: bytes from its address on. The page's address may say anything.
function partOf(segment) {
	if (!isZoomed(segment))
		return { from: 0, bytes: segment.bytes };
	const bytes = Math.max(Math.min(PART_LEAST, segment.bytes), Math.min(segment.bytes, state.zoomBytes));
	return { from: Math.max(0, Math.min(segment.bytes - bytes, state.zoomFrom)), bytes };
}

function zoomedSegment() {
	return segmentsShown.order.find(isZoomed) || null;
}

// The whole segment is no part of it.
function showPart(segment, from, bytes) {
	const isPart = bytes < segment.bytes;
	Object.assign(state, isPart ? { zoom: segment.address, zoomFrom: Math.floor(from), zoomBytes: Math.ceil(bytes) } : NO_ZOOM);
	if (isPart)
		state.zoomFrom = partOf(segment).from;
	writeAddress();
	tellZoom();
	drawSegments();
}

function showWholeSegment() {
	const segment = zoomedSegment();
	if (segment)
		showPart(segment, 0, segment.bytes);
}

// Around a place, which stays where it is.
function zoomSegment(segment, at, factor) {
	const { from, bytes } = partOf(segment), wanted = Math.max(PART_LEAST, bytes * factor);
	showPart(segment, at - (at - from) * wanted / bytes, wanted);
}

function panSegment(part) {
	const segment = zoomedSegment(), { from, bytes } = segment ? partOf(segment) : {};
	if (segment)
		showPart(segment, from + part * bytes, bytes);
}

// Around the chosen piece, which comes to the middle.
function zoomToPiece(factor) {
	const { order } = segmentsShown, found = state.place === null ? null : findPiece(state.place);
	const { segment, piece } = found || { segment: order[0], piece: order[0].pieces[0] };
	const bytes = Math.max(PART_LEAST, partOf(segment).bytes * factor);
	state.place = piece.address;
	sayPiece();
	showPart(segment, piece.address + piece.bytes / 2 - segment.address - bytes / 2, bytes);
}

// The part follows a piece that is not in it.
function followPiece(segment, piece) {
	const { from, bytes } = partOf(segment), begin = piece.address - segment.address;
	if (begin + piece.bytes <= from || begin >= from + bytes)
		showPart(segment, begin + piece.bytes / 2 - bytes / 2, bytes);
}

function piecesShown(segment) {
	const { from, bytes } = partOf(segment), begin = segment.address + from;
	return segment.pieces.filter(piece => piece.address < begin + bytes && piece.address + piece.bytes > begin);
}

function tellZoom() {
	const segment = zoomedSegment();
	placedZoom.hidden = !segment;
	if (!segment)
		return;
	const { from, bytes } = partOf(segment), pieces = piecesShown(segment), gaps = pieces.filter(piece => piece.isGap).length;
	zoomSaid.textContent = "Zoomed in: " + bytesText(bytes) + " of the segment of " + bytesText(segment.bytes) + " at 0x" +
		segment.address.toString(16) + ", from " + bytesText(from) + " on, with " +
		counted(pieces.length - gaps, "block", "blocks") + " and " + counted(gaps, "gap", "gaps") + ".";
}

// Below the row of the segment: which part of it is drawn.
function drawPart(g, style, segment, y) {
	const { from, bytes } = partOf(segment), scale = barWidth() / segment.bytes;
	g.fillStyle = style.getPropertyValue("--rule");
	g.fillRect(GUTTER, y + BAR + 1, barWidth(), 3);
	g.fillStyle = style.getPropertyValue("--accent");
	g.fillRect(GUTTER + from * scale, y + BAR + 1, Math.max(2, bytes * scale), 3);
}

// ---- the pointer ----

let pulled = null;                // a pull over a row: its segment, and where it began and is

function drawPulled(g, style, y) {
	g.globalAlpha = 0.25;
	g.fillStyle = style.getPropertyValue("--text");
	g.fillRect(Math.min(pulled.x, pulled.to), y - 1, Math.abs(pulled.to - pulled.x), BAR + 2);
	g.globalAlpha = 1;
}

function isPulled() {
	return pulled !== null && Math.abs(pulled.to - pulled.x) > 3;
}

function byteAt(segment, x) {
	return partOf(segment).from + (Math.max(GUTTER, Math.min(GUTTER + barWidth(), x)) - GUTTER) / scaleOf(segment);
}

placedCanvas.onpointerdown = event => {
	const found = event.button ? null : pieceAt(event);
	if (!found)
		return;
	pulled = { segment: found.segment, x: event.offsetX, to: event.offsetX };
	placedCanvas.setPointerCapture(event.pointerId);
};

placedCanvas.onpointerup = event => {
	const wasPulled = isPulled(), one = pulled, found = pieceAt(event);
	pulled = null;
	if (one && wasPulled) {
		const [from, to] = [byteAt(one.segment, one.x), byteAt(one.segment, one.to)].sort((a, b) => a - b);
		showPart(one.segment, from, Math.max(PART_LEAST, Math.min(one.segment.bytes, to) - from));
	} else if (one && found) {
		choosePiece(found.piece);
	}
};

placedCanvas.onpointercancel = () => {
	pulled = null;
	drawSegments();
};

// The wheel alone goes through the rows.
placedCanvas.addEventListener("wheel", event => {
	const found = pieceAt(event), isSide = Math.abs(event.deltaX) > Math.abs(event.deltaY);
	if (!found || !(event.ctrlKey || (isSide && isZoomed(found.segment))))
		return;
	event.preventDefault();
	if (isSide)
		panSegment(event.deltaX / 1000);
	else
		zoomSegment(found.segment, byteAt(found.segment, event.offsetX), event.deltaY > 0 ? 1.25 : 0.8);
}, { passive: false });

wholeSegment.onclick = showWholeSegment;
