# SPDX-License-Identifier: BSD-2-Clause
"""Writes a terminal's screen as an SVG file: text as text on an exact grid, no script, no reference to anything else."""
import collections
import itertools
import re
from xml.sax import saxutils

# One character of a screen: width 1 or 2; color a key of COLORS or "default".
Cell = collections.namedtuple("Cell", "text width color bold dim reverse", defaults=(1, "default", False, False, False))

WIDTH, HEIGHT, FONT, BASE, MARGIN = 6, 13, 10, 10, 8    # of a cell and its font; BASE: from a cell's top to its base line
SCALE = 1.5                                             # pixels for each of these
FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
THEMES = {
    "dark": {"paper": "#0d1117", "edge": "#30363d", "default": "#e6edf3", "dim": "#8b949e", "red": "#ff7b72",
             "yellow": "#e3b341", "green": "#56d364", "cyan": "#39c5cf", "blue": "#79c0ff"},
    "light": {"paper": "#ffffff", "edge": "#d0d7de", "default": "#1f2328", "dim": "#6e7781", "red": "#cf222e",
              "yellow": "#8a5a00", "green": "#1a7f37", "cyan": "#0f7682", "blue": "#0550ae"},
}
COLORS = {"red": "r", "yellow": "y", "green": "g", "cyan": "c", "blue": "b"}    # and the names of their classes
LOWER = "▁▂▃▄▅▆▇█"          # a font's blocks leave gaps: they are drawn
SHADES = {"░": ".3", "▒": ".5", "▓": ".7"}
DRAWN = set(LOWER) | set(SHADES)
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")     # in XML 1.0


def quoted(text):
    return saxutils.escape(FORBIDDEN.sub("\ufffd", text), {'"': "&quot;"})


def cells_of(screen):
    """The lines of a pyte screen. Faint text is in italics there (terminallib.py)."""
    lines = []
    for y in range(screen.lines):
        row, cells = screen.buffer[y], []
        for x in range(screen.columns):
            char = row[x]
            if not char.data:           # the second half of a wide character
                if cells:
                    cells[-1] = cells[-1]._replace(width=2)
                continue
            color = {"brown": "yellow"}.get(char.fg, char.fg)
            cells.append(Cell(char.data, 1, color if color in COLORS else "default", char.bold, char.italics, char.reverse))
        lines.append(cells)
    return lines


def style_of(cell):
    """Cells of equal style are one run."""
    return cell.color, cell.bold, cell.dim, cell.reverse, cell.text in DRAWN and cell.text, cell.width


def runs(cells):
    """(column, columns, cells) of equal style, without the blanks around them."""
    column = 0
    for _, group in itertools.groupby(cells, style_of):
        group = list(group)
        columns = sum(cell.width for cell in group)
        yield column, columns, group
        column += columns


def words(column, group):
    """(column, text, columns) of a run, cut where two blanks are: a reader of SVG may join them. What a font may make
    narrower or wider than its cells stands alone."""
    if group[0].width == 1 and all(len(cell.text) == 1 for cell in group):
        for match in re.finditer(r"[^ ]+(?: [^ ]+)*", "".join(cell.text for cell in group)):
            yield column + match.start(), match.group(), len(match.group())
        return
    for cell in group:
        if cell.text != " ":
            yield column, cell.text, cell.width
        column += cell.width


def class_of(cell):
    """The attribute, if there is need of one."""
    names = ["v"] if cell.reverse else [COLORS[cell.color]] if cell.color in COLORS else ["d"] if cell.dim else []
    names += ["B"] if cell.bold and cell.text not in DRAWN else []
    return f' class="{" ".join(names)}"' if names else ""


def rectangle(column, line, columns, eighths, attributes):
    """Of so much of the cells' height, from below."""
    height = HEIGHT * eighths / 8
    return (f'<rect x="{MARGIN + WIDTH * column}" y="{MARGIN + HEIGHT * (line + 1) - height:g}" width="{WIDTH * columns}"'
            f' height="{height:g}"{attributes}/>')


def elements(number, cells):
    """What draws a line."""
    for column, columns, group in runs(cells):
        cell = group[0]
        if cell.reverse:
            yield rectangle(column, number, columns, 8, class_of(cell._replace(reverse=False, bold=False)))
        if cell.text in DRAWN:
            opacity = f' opacity="{SHADES[cell.text]}"' if cell.text in SHADES else ""
            yield rectangle(column, number, columns, LOWER.find(cell.text) + 1 or 8, class_of(cell) + opacity)
            continue
        for start, text, size in words(column, group):
            yield (f'<text x="{MARGIN + WIDTH * start}" y="{MARGIN + HEIGHT * number + BASE}"'
                   f' textLength="{WIDTH * size}"{class_of(cell)}>{quoted(text)}</text>')


def rules(theme):
    color = THEMES[theme]
    yield f"text{{font:{FONT}px {FONTS};fill:{color['default']}}}rect{{fill:{color['default']}}}"
    yield f".d{{fill:{color['dim']}}}.v{{fill:{color['paper']}}}.B{{font-weight:bold}}"
    yield "".join(f".{name}{{fill:{color[key]}}}" for key, name in COLORS.items())
    yield f".paper{{fill:{color['paper']};stroke:{color['edge']}}}"


def svg(lines, columns, theme, title):
    """The file's text. lines: lists of cells; theme: a key of THEMES; title: for those who do not see the picture"""
    width, height = 2 * MARGIN + WIDTH * columns, 2 * MARGIN + HEIGHT * len(lines)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width * SCALE:g}"'
           f' height="{height * SCALE:g}" role="img">',
           "<!-- SPDX-License-Identifier: BSD-2-Clause -->",
           f"<title>{quoted(title)}</title>",
           f"<style>{quoted(chr(10).join(rules(theme)))}</style>",
           f'<rect class="paper" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="6"/>']
    for number, cells in enumerate(lines):
        out += elements(number, cells)
    return "\n".join(out + ["</svg>", ""])
