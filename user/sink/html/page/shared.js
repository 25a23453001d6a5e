// SPDX-License-Identifier: BSD-2-Clause
/* What all pages share: the data, texts, elements, the address, the search, dark and light, and keys. A page has `state`,
 * the WORDS in it, `search` and update() of its own. */
const data = JSON.parse(document.getElementById("data").textContent);

function bytesText(bytes) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let unit = 0, value = Math.abs(bytes);
	while (value >= 1024 && unit < units.length - 1) {
		value /= 1024;
		unit++;
	}
	const digits = unit && value < 100 && value % 1 ? value.toFixed(1) : Math.round(value);
	return (bytes < 0 ? "-" : "") + digits + " " + units[unit];
}

// Every text of the data comes from traced programs: it goes into the page as text alone (textContent), never as HTML.
function make(tag, parent, text, attributes = {}) {
	const element = document.createElement(tag);
	if (text !== undefined)
		element.textContent = text;
	for (const [name, value] of Object.entries(attributes))
		element.setAttribute(name, value);
	parent.append(element);
	return element;
}

const front = make("div", document.body);
document.getElementById("page").prepend(front);
const header = make("header", front);
make("h1", header, "gpumemtrace");
const about = make("span", header, "", { class: "dim" });
const themeButton = make("button", header, "dark or light", { title: "t" });
themeButton.onclick = changeTheme;

// ---- the address keeps what is shown ----

// Fills in what the address says.
function readState() {
	for (const part of location.hash.slice(1).split("&")) {
		const [name, value] = part.split("=").map(text => {
			try {
				return decodeURIComponent(text);
			} catch (error) {
				return "";
			}
		});
		if (!Object.hasOwn(state, name) || value === undefined)
			continue;
		if (WORDS.includes(name))
			state[name] = value;
		else if (Number.isFinite(+value))
			state[name] = +value;
	}
}

// Browsers refuse an address that changes too often.
let addressTimer = 0;
function writeAddress() {
	clearTimeout(addressTimer);
	addressTimer = setTimeout(() => {
		const parts = Object.entries(state).filter(([name, value]) => name !== "cursor" && value !== null && value !== "")
			.map(([name, value]) => name + "=" + encodeURIComponent(value));
		history.replaceState(null, "", "#" + parts.join("&"));
	}, 100);
}

// ---- search ----

let expression = null;
function readSearch() {
	try {
		expression = state.search ? new RegExp(state.search, "i") : null;
		return true;
	} catch (error) {
		expression = null;
		return false;
	}
}

// ---- dark and light, keys ----

function changeTheme() {
	const isDark = state.theme ? state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
	state.theme = isDark ? "light" : "dark";
	update();
}

function set(change) {
	Object.assign(state, change);
	update();
}

// ---- one stop of Tab for all rows of a table: there the keys go from row to row ----

const MOVES = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };

function stopsOf(parent) {
	return [...parent.querySelectorAll(".stop")];
}

// The row that had the focus last is the stop, or else the first one.
function keepOneStop(parent) {
	const rows = stopsOf(parent), stop = rows.find(row => row.dataset.key === parent.dataset.stop) || rows[0];
	rows.forEach(row => row.tabIndex = row === stop ? 0 : -1);
}

// A handler that returns false would keep Tab in the row.
function listenToEnter(row, act) {
	row.onkeydown = event => {
		if (event.key === "Enter")
			act();
	};
}

function listenToStops(parent, moves = MOVES) {
	parent.addEventListener("focusin", ({ target }) => {
		if (target.classList.contains("stop")) {
			parent.dataset.stop = target.dataset.key;
			keepOneStop(parent);
		}
	});
	parent.addEventListener("keydown", event => {
		if (!moves[event.key] || !event.target.classList.contains("stop") || event.ctrlKey || event.metaKey || event.altKey)
			return;
		const rows = stopsOf(parent), at = rows.indexOf(event.target) + moves[event.key];
		event.preventDefault();
		event.stopPropagation();
		rows[Math.max(0, Math.min(rows.length - 1, at))].focus();
	});
}

// Fills a part of the page again. What had the focus has it afterwards.
function refill(parent, fill) {
	const active = document.activeElement, key = parent.contains(active) ? active.dataset.key : undefined;
	fill();
	keepOneStop(parent);
	const same = key === undefined ? null : [...parent.querySelectorAll("[data-key]")].find(one => one.dataset.key === key);
	if (same)
		same.focus({ preventScroll: true });
}

function next(list, one) {
	return list[(list.indexOf(one) + 1) % list.length];
}

function listenTo(keys) {
	document.addEventListener("keydown", event => {
		const isTyping = event.target === search || event.target.tagName === "SELECT";
		if (event.ctrlKey || event.metaKey || event.altKey || (isTyping && event.key !== "Escape") || !keys[event.key])
			return;
		event.preventDefault();
		if (isTyping)
			event.target.blur();
		keys[event.key](event);
	});
}
