// SPDX-License-Identifier: BSD-2-Clause
/* What stands out, with links to its band, its stack trace and its events. */

// The newest moment since then at which a band held the most: a program that has ended holds nothing at its end.
function newestMost(band, since) {
	let best = -1;
	for (let i = 0; band && i < model.times.length; i++)
		if (model.times[i] > since && (best < 0 || band.values[i] >= band.values[best]))
			best = i;
	return best < 0 ? LENGTH : model.times[best];
}

// The moments between which a finding shows; null where there are none.
function spanOf(finding, band) {
	const requests = model.moments.filter(moment => moment.why === REQUEST), { iterations } = model;
	if (finding.name === "out_of_memory" && requests.length)
		return { a: beginOfPicture(), b: requests[requests.length - 1].time };
	if (["leak", "kept"].includes(finding.name) && iterations.length > 1)
		return { a: iterations[Math.min(2, iterations.length - 2)].time, b: iterations[iterations.length - 1].time };
	if (finding.name === "growth")
		return { a: finding.since_ns, b: newestMost(band, finding.since_ns) };
	return null;
}

function viewOf(finding) {
	return views.findIndex(({ parts }) => parts.length === 1 && parts[0].p === finding.process &&
		(finding.row < 0 || parts[0].r === finding.row));
}

function goTo(finding) {
	state.view = Math.max(0, viewOf(finding));
	state.by = "line";
	load();
	const band = model.bands.find(one => one.name === finding.line), span = spanOf(finding, band);
	state.chosen = band ? band.name : null;
	[state.from, state.to] = [0, LENGTH];
	[state.a, state.b] = span ? [span.a, span.b] : [null, null];
	if (span) {
		const room = 0.1 * (span.b - span.a);
		[state.from, state.to] = spanWithin(span.a - room, span.b - span.a + 2 * room);
	}
	state.flame = finding.name === "out_of_memory" ? "live" : "grown";
	update();
}

// The report of a dump is the verdict on the request.
function makeRemedy(links, finding) {
	if (data.is_dump && finding.name === "out_of_memory")
		make("button", links, "why, and what to do", { class: "link screen" }).onclick = () =>
			document.getElementById("report").scrollIntoView({ block: "center" });
	else if (finding.remedy)
		make("span", links, finding.remedy, { class: "dim" });
}

function makeFinding(finding) {
	const box = make("div", verdict, undefined, { class: "finding " + finding.ground });
	const line = make("div", box);
	make("b", line, finding.label);
	line.append(" " + finding.sentence + " ");
	make("span", line, finding.ground, { class: "ground" });
	const links = make("div", box, undefined, { class: "links" });
	if (viewOf(finding) >= 0) {
		const link = make("button", links, finding.line || "show in time",
			{ class: finding.line ? "link" : "link screen" });
		link.onclick = () => {
			goTo(finding);
			chart.scrollIntoView({ block: "center" });
		};
		if (finding.line) {
			const stack = make("button", links, "its stack traces", { class: "link screen" });
			stack.onclick = () => {
				goTo(finding);
				stacks.scrollIntoView({ block: "center" });
			};
		}
		const at = instantOfFinding(finding);
		if (at >= 0) {
			const segments = make("button", links, "its segments and gaps", { class: "link screen" });
			segments.onclick = () => {
				goTo(finding);
				set({ instant: at, place: null, ...NO_ZOOM });
				goToSegments();
			};
		}
		if (!events.hidden) {
			const single = make("button", links, "its events", { class: "link screen" });
			single.onclick = () => {
				goTo(finding);
				goToEvents();
			};
		}
	}
	makeSource(box, finding.source);
	makeRemedy(links, finding);
}

function makeVerdict() {
	if (!data.findings.length)
		make("p", verdict, data.was_looked_at ? "Nothing stands out." : "Nothing was found, because nothing could be looked at.",
			{ class: "dim" });
	data.findings.forEach(makeFinding);
	for (const note of data.notes)
		make("p", verdict, note, { class: "note" });
}

function showAbout() {
	const start = data.wall_ms ? new Date(data.wall_ms).toISOString().slice(0, 19).replace("T", " ") + " UTC, " : "";
	const span = secondsText(data.length_ns);
	about.textContent = start + (data.is_dump ? "the last " + span + " before a dump" : span) + ", " + data.processes.length +
		(data.processes.length === 1 ? " process: " + (data.processes[0].command || data.processes[0].comm) : " processes");
}

// How exact the picture is, and what it lacks.
function showBounds() {
	const left = WHY.map((_, why) => mostOf(model.series.map(series => series.left_out[why] || 0)));
	const slot = Math.max(...model.series.map(series => series.slot_ns));
	const merged = model.series.reduce((sum, series) => sum + series.keys_merged, 0);
	const phases = views[state.view].parts.reduce((sum, { row }) => sum + (row.phases ? row.phases.merged : 0), 0);
	const late = [...new Set(views[state.view].parts.filter(({ process }) => !process.from_start).map(({ process }) =>
		processName(process) + " was attached at " + timeText(process.attach_ns) + ": older memory is not shown."))];
	bounds.textContent = [
		"The picture is exact at " + counted(model.times.length, "moment", "moments") + ": the peak, requests that failed, " +
			"marks, ends of iterations, and about every " + spanText(slot) + " while memory changed. Between two moments, " +
			"the pointer shows the least and the most that the sum and a band can have been.",
		...SHOWN.filter(why => left[why]).map(why =>
			"There were too many moments of one kind (" + WHY[why] + "): " + left[why] + " of them are not exact."),
		merged ? merged + " allocations are shown without their stack trace, for want of room." : "",
		phases ? phases + " phases are drawn together with the phase before them: there were too many." : "", ...late,
	].filter(Boolean).join(" ");
}
