// SPDX-License-Identifier: BSD-2-Clause
/* Where memory lay at an instant: the allocator's segments, with blocks and the gaps between them. */
const SEGMENT_FRAMEWORK = 1, SEGMENT_EXPANDABLE = 2, SEGMENT_GUESSED = 4, HAS_BIRTH = 8, HAS_WAITING = 16, HAS_ASKED = 32;

// ---- the data ----

function readPlaced({ number, change }, flags, before) {
	const thing = { address: before.end + change(), bytes: number(), stack: number() };
	thing.waiting = flags & HAS_WAITING ? number() : thing.stack;
	thing.born = flags & HAS_BIRTH ? (before.born += change()) : null;
	before.end = thing.address + thing.bytes;
	return thing;
}

function readBlock(numbers, before) {
	const flags = numbers.number(), block = readPlaced(numbers, flags, before);
	block.isBlock = true;
	block.purpose = numbers.number();
	block.asked = flags & HAS_ASKED ? block.bytes - numbers.number() : null;
	return block;
}

// A segment's blocks and gaps, by address. One of no framework's is one piece, which is used.
function piecesOf(segment, blocks) {
	if (!segment.isFramework)
		return [{ ...segment, isBlock: false, isWhole: true }];
	const pieces = [];
	let at = segment.address;
	const addGap = end => end > at && pieces.push({ address: at, bytes: end - at, isGap: true });
	for (const block of blocks) {
		addGap(block.address);
		pieces.push(block);
		at = block.address + block.bytes;
	}
	addGap(segment.address + segment.bytes);
	return pieces;
}

function readSegment(numbers, before) {
	const flags = numbers.number(), segment = readPlaced(numbers, flags, before);
	const inside = { end: segment.address, born: before.born }, blocks = [];
	Object.assign(segment, { isFramework: Boolean(flags & SEGMENT_FRAMEWORK), isExpandable: Boolean(flags & SEGMENT_EXPANDABLE),
		isGuessed: Boolean(flags & SEGMENT_GUESSED) });
	for (let count = numbers.number(); count > 0; count--)
		blocks.push(readBlock(numbers, inside));
	segment.blocks = blocks.length;
	segment.held = segment.isFramework ? blocks.reduce((sum, block) => sum + block.bytes, 0) : segment.bytes;
	segment.free = segment.bytes - segment.held;
	segment.pieces = piecesOf(segment, blocks);
	return segment;
}

function readInstant(instant) {
	if (instant.read)
		return instant.read;
	const numbers = unpack(instant.segments), before = { end: 0, born: 0 };
	instant.read = Array.from({ length: instant.segment_count }, () => readSegment(numbers, before));
	instant.segments = "";
	return instant.read;
}

// ---- which instant ----

function instantsShown() {
	const { parts } = views[state.view];
	return (data.instants || []).map((instant, i) => i).filter(i => parts.some(({ p, r }) =>
		data.instants[i].process === p && (data.instants[i].row === null || data.instants[i].row === r)));
}

// The chosen one; else the newest request that failed, or else the peak.
function shownInstant() {
	const list = instantsShown(), of = why => list.filter(i => data.instants[i].why === why);
	if (list.includes(state.instant))
		return state.instant;
	return [...of("request").slice(-1), ...of("peak"), ...list][0] ?? -1;
}

// Where the newest request of a finding's process failed; -1: none did, or the finding is about something else.
function instantOfFinding({ name, process, row }) {
	if (!["out_of_memory", "fragmented"].includes(name))
		return -1;
	return (data.instants || []).findLastIndex(one => one.why === "request" && one.process === process &&
		(row < 0 || one.row === null || one.row === row));
}

const INSTANT_WORDS = { request: "a request failed", peak: "most was held", mark: "a mark", end: "the end" };

function instantName(instant, isAlone) {
	const { process, row, why, asked, ns } = instant, of = data.processes[process];
	const what = why === "request" && asked ? "a request for " + bytesText(asked) + " failed" : INSTANT_WORDS[why];
	return what + " (" + secondsText(ns) + ")" +
		(isAlone ? "" : ", " + processName(of) + (row === null ? "" : ", " + gpuName(of.rows[row])));
}

// ---- sums ----

function sumsOf(segments) {
	const own = segments.filter(segment => segment.isFramework), gaps = own.flatMap(one => one.pieces.filter(piece => piece.isGap));
	const sum = (list, name) => list.reduce((total, one) => total + one[name], 0);
	const most = mostOf(segments.map(segment => segment.bytes));
	return { most, count: own.length, reserved: sum(own, "bytes"), held: sum(own, "held"), blocks: sum(own, "blocks"),
		gaps: gaps.length, free: sum(gaps, "bytes"), largest: gaps.reduce((best, gap) => gap.bytes > (best ? best.bytes : 0) ?
			gap : best, null), others: segments.length - own.length, otherBytes: sum(segments, "bytes") - sum(own, "bytes") };
}

// Why a request failed, as far as the gaps say it.
function gapsVerdict({ asked }, { count, free, largest }) {
	const most = largest ? largest.bytes : 0;
	if (!asked || !count)
		return "";
	if (most >= asked)
		return "The largest gap is large enough: it is another pool's or stream's, or a limit refused the request.";
	if (free >= asked)
		return "All gaps together are larger than the request, and each gap alone is smaller: what is free lies in pieces.";
	return "All gaps together are smaller than the request: it would fail even if all of them were one gap.";
}

function counted(count, one, more) {
	return count + " " + (count === 1 ? one : more);
}

function placedWords(instant, sums) {
	const words = [];
	if (sums.count)
		words.push("The allocator had " + bytesText(sums.reserved) + " in " + counted(sums.count, "segment", "segments") + ": " +
			bytesText(sums.held) + " in " + counted(sums.blocks, "block", "blocks") + ", and " + bytesText(sums.free) +
			" cached in " + counted(sums.gaps, "gap", "gaps") +
			(sums.largest ? ", the largest of " + bytesText(sums.largest.bytes) + "." : "."));
	else
		words.push("No caching allocator was seen: each row is an allocation that the program has from the driver.");
	words.push(gapsVerdict(instant, sums));
	if (sums.count && sums.others)
		words.push("Not the allocator's: " + counted(sums.others, "allocation", "allocations") + ", " +
			bytesText(sums.otherBytes) + " in all.");
	if (instant.unseen)
		words.push(bytesText(instant.unseen) + " from before tracing began are not in the picture.");
	if (instant.left_out)
		words.push(counted(instant.left_out, "smaller segment", "smaller segments") + " with " + bytesText(instant.bytes_left_out) +
			" are left out, of these " + bytesText(instant.held_left_out) + " in blocks.");
	if (data.instants_left_out)
		words.push(counted(data.instants_left_out, "older instant has", "older instants have") + " no picture.");
	return words.filter(Boolean).join(" ");
}
