// SPDX-License-Identifier: BSD-2-Clause
/* Between two moments: the least and the most that a band, and the sum, can have been. A band is the sum of terms: keys of
 * a series, or a part of its sum (what blocks were for), less other terms. */

// The keys of one series are one term: "20,000 more" has as many groups, and a term has a flag for each key of its series.
function termsOf(groups, sign) {
	const terms = [], ofSeries = new Map();
	for (const group of groups)
		for (const term of group.terms) {
			if (term.keys && ofSeries.has(term.series)) {
				const { keys } = ofSeries.get(term.series);
				term.keys.forEach(key => keys.push(key));
				continue;
			}
			const copy = { ...term, keys: term.keys && [...term.keys], sign: sign * term.sign };
			terms.push(copy);
			if (copy.keys)
				ofSeries.set(term.series, copy);
		}
	return terms;
}

// A flag for each key of the series.
function flagsOf(term) {
	if (!term.flags) {
		term.flags = new Uint8Array(term.series.keys.length);
		term.keys.forEach(key => term.flags[key] = 1);
	}
	return term.flags;
}

// How far the term can have fallen and risen before its series' moment `next`, from the moment before.
function rangeOf(term, next) {
	const read = readSeries(term.series);
	let fall = 0, rise = 0;
	if (term.part !== undefined) {
		for (const [part, change, gone] of readParts(term.series)[next])
			if (part === term.part)
				[fall, rise] = [gone, gone + change];
	} else if (term.keys.length === term.series.keys.length) {
		const before = next ? read.live[next - 1] : 0;
		[fall, rise] = [before - read.least[next], read.most[next] - before];
	} else {
		const flags = flagsOf(term);
		for (let p = read.first[next]; p < read.first[next + 1]; p++)
			if (flags[read.keys[p]]) {
				fall += read.falls[p];
				rise += read.rises[p];
			}
	}
	return [fall, rise];
}

// The least and the most around a time, at which the terms add up to `value`.
function boundsAt(terms, value, time) {
	let least = value, most = value;
	for (const term of terms) {
		const next = indexAt(readSeries(term.series).times, time) + 1;
		if (next >= term.series.frame_count)       // nothing changes any longer
			continue;
		const [fall, rise] = rangeOf(term, next);
		least -= term.sign > 0 ? fall : rise;
		most += term.sign > 0 ? rise : fall;
	}
	return { least: Math.max(0, least), most: Math.max(0, most) };
}

function sumBoundsAt(time) {
	return boundsAt(model.terms, model.total[indexAt(model.times, time)] || 0, time);
}

// No band is more than all bands together can have been.
function bandBoundsAt(band, time) {
	const value = valueAt(band, time), { least, most } = boundsAt(band.terms(), value, time);
	return { least, most: Math.max(value, Math.min(most, sumBoundsAt(time).most)) };
}

function boundsText(before, { least, most }) {
	const texts = [bytesText(least), bytesText(most)];
	return texts[0] === texts[1] ? "" : before + "(" + texts[0] + " to " + texts[1] + " until the next moment)";
}
