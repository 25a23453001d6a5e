// SPDX-License-Identifier: BSD-2-Clause
/* Says in words what a band does over the iterations: since which one its memory is kept, and since when it grows. */

// The least that the band held within each iteration that has an end: [{ number, least }].
function leastOf(band) {
	const { times, iterations } = model, list = [];
	let at = 0;
	for (const { time, number } of iterations) {
		let least = Infinity;
		// The end of an iteration is the beginning of the next one.
		for (; at < times.length && times[at] <= time; at++)
			least = Math.min(least, band.values[at]);
		at--;
		list.push({ number, least });
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
	return { since: first ? list[first - 1].number : null, first, base: list[first].least, last: list[last] };
}

function storyOf(band) {
	const list = views[state.view].parts.length === 1 && !band.isCached ? leastOf(band) : [], kept = keptSince(list);
	if (list.length < 2)
		return "";
	if (!kept)
		return "Not kept: it falls to 0 B within iteration " + list[list.length - 1].number + ".";
	const { since, first, base, last } = kept, fixed = list.findLastIndex(one => one.least <= base);
	const text = since === null ? "Kept since before iteration " + list[0].number : "Kept since iteration " + since;
	if (fixed === list.length - 1)
		return text + ": never less than " + bytesText(Math.min(...list.slice(first).map(one => one.least))) + " afterwards.";
	return text + ": " + bytesText(list[fixed].least) + " at the least in iteration " + list[fixed].number + ", " +
		bytesText(last.least) + " in iteration " + last.number + ": it grows from iteration " + list[fixed].number + " on.";
}

function showStory() {
	const band = model.bands.find(one => one.name === state.chosen);
	story.replaceChildren();
	story.classList.toggle("dim", !band);
	if (!band) {
		story.append("Click a band or a row: since when its memory is kept, and its stack traces.");
		return;
	}
	make("b", story, band.name);
	story.append("  " + [band.uses.join(", "), storyOf(band)].filter(Boolean).join(". "));
}

// The iteration that went on at a time; null where none did, or where the first one began is not known.
function iterationAt(time) {
	const { iterations } = model, next = iterations.findIndex(one => one.time >= time);
	return next > 0 && views[state.view].parts.length === 1 ? iterations[next].number : null;
}

