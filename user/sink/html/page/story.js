// SPDX-License-Identifier: BSD-2-Clause
/* Says in words what a band does over the iterations: since which one its memory is kept, and since when it grows. */

// The iterations that end at one end: more than one where the ends between were merged.
function iterationsText(before, number) {
	return number > before + 1 ? "iterations " + (before + 1) + " to " + number : "iteration " + number;
}

// Within each iteration that has an end, the least that the band held at the page's moments, and that it surely held.
function leastOf(band) {
	const { times, iterations } = model, list = [], terms = band.terms();
	let at = 0, before = iterations.length ? iterations[0].number - 1 : 0;
	for (const { time, number } of iterations) {
		let least = Infinity, sure = Infinity;
		// The end of an iteration is the beginning of the next one.
		for (; at < times.length && times[at] <= time; at++) {
			least = Math.min(least, band.values[at]);
			sure = Math.min(sure, times[at] < time ? boundsAt(terms, band.values[at], times[at]).least : band.values[at]);
		}
		at--;
		list.push({ name: iterationsText(before, number), least, sure });
		before = number;
	}
	return list;
}

// Since the iteration in which it came; null where it goes again each time, or nothing is known.
function keptSince(list) {
	const last = list.length - 1;
	let first = last;
	while (first > 0 && list[first - 1].least > 0)
		first--;
	if (last < 1 || !list[last].least)
		return null;
	// It came in the iteration before, whose least is 0.
	return { since: first ? list[first - 1].name : null, first, base: list[first].least, last: list[last] };
}

// What the memory that is kept did since then. It grows where it still grew in the later half of the time.
function growthText(list, { first, base, last }, isSure) {
	const fixed = list.findLastIndex(one => one.least <= base), later = list.slice(fixed + 1);
	if (!later.length) {
		const least = list.slice(first).reduce((sum, one) => Math.min(sum, isSure ? one.sure : one.least), Infinity);
		return "never less than " + bytesText(least) + " afterwards";
	}
	const settled = later.findIndex(one => one.least >= last.least);
	const text = bytesText(list[fixed].least) + " at the least in " + list[fixed].name + ", " + bytesText(last.least);
	if (settled >= later.length / 2)
		return text + " in " + last.name + ": it grows from " + list[fixed].name + " on";
	return text + " since " + later[settled].name;
}

function tellStory(band) {
	const list = views[state.view].parts.length === 1 && !band.isCached ? leastOf(band) : [], kept = keptSince(list);
	if (list.length < 2)
		return "";
	if (!kept)
		return "Not kept: it falls to 0 B within " + list[list.length - 1].name + ".";
	const isSure = list.slice(kept.first).every(one => one.sure > 0);
	return (isSure ? "Kept since " : "Perhaps kept since ") + (kept.since || "before " + list[0].name) + ": " +
		growthText(list, kept, isSure) + "." +
		(isSure ? "" : " Between the moments of this page it may have fallen to 0 B.");
}

function storyOf(band) {
	band.story = band.story === undefined ? tellStory(band) : band.story;
	return band.story;
}

function showStory() {
	const band = chosenBand();
	story.replaceChildren();
	story.classList.toggle("dim", !band);
	if (!band) {
		story.append("Click a band or a row: since when its memory is kept, and its stack traces.");
		return;
	}
	make("b", story, band.name);
	story.append("  " + [band.uses.join(", "), storyOf(band)].filter(Boolean).join(". "));
}

// The iteration that went on at a time; "" where none did, or where the first one began is not known.
function iterationAt(time) {
	const { iterations } = model, next = iterations.findIndex(one => one.time >= time);
	return next > 0 ? iterationsText(iterations[next - 1].number, iterations[next].number) + whoseIterations() : "";
}

