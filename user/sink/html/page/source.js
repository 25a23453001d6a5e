// SPDX-License-Identifier: BSD-2-Clause
/* Lines of source text beside a finding. The text is anybody's: it goes into the page as text alone. */
function makeSource(parent, source) {
	if (!source)
		return;
	const box = make("pre", parent, undefined, { class: "source" });
	source.lines.forEach((text, i) => {
		const number = source.first + i, isIt = number === source.line;
		make("span", box, String(number).padStart(6) + (isIt ? " > " : "   ") + text + "\n", { class: isIt ? "own" : "dim" });
	});
	if (source.changed)
		make("div", parent, "The file is newer than the recording: the line may be another one.", { class: "dim" });
}
