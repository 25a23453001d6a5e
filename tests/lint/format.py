#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The layout of C code is the kernel's style, as far as a line or two can show. Tables are laid out by hand."""
import re

from tap import Tap, files, text

CONTROL = r"(?:if|for|while|switch)"
TYPE = r"(?:char|void|bool|int|long|float|double|size_t|u?int\d+_t|__u\d+|struct \w+)"
BINARY = r"(?:==|!=|<=|>=|&&|\|\||<<=?|>>=?|[-+*/|&^%]=|=)"
# A rule, what breaks the rule in code without comments and texts, and a line that does.
RULES = [
    ("tabs indent, fewer than 8 blanks align", r"^\t*(?: +\t| {8,}[^ *])", "        return 0;"),
    ("a blank stands between a keyword and what it governs", rf"\b(?:{CONTROL}|return|case|do|else)[({{]", "\tif(x)"),
    ("no blank stands within parentheses", r"\([ \t]+[^ \t\\;]|[^\s;][ \t]+\)", "\tcall( x);"),
    ("no blank stands before a call's parenthesis", r"^\t+(?:[\w.>*-]+ = )?(?!(?:if|for|while|switch|return|case|else|do)\b)"
     r"[a-z_]\w* \([^*(\n]*\);$", "\tcall (x);"),
    ("sizeof stands beside its parenthesis", r"\bsizeof \(", "\tx = sizeof (y);"),
    ("a comma is followed by a blank", r",[^\s\\)}]", "\tcall(x,y);"),
    ("a star stands beside the name", rf"\b{TYPE}\*+ ?\w", "\tchar* x;"),
    ("blanks stand around an operator", rf"[\w)\]]{BINARY}(?!\w*>)|(?<![-+*/|&^%=!<>]){BINARY}[\w(\"'~]", "\tx=y;"),
    ("a body's brace ends the line of its head", rf"^\t+(?:\}} )?(?:else )?{CONTROL} \(.*\)\{{$|\belse\{{|\bdo\{{", "\tif (x){"),
    ("a function's brace begins a line", r"^\w[^=\n]*\)[ \t]*\{", "int main(void) {"),
    ("a comment is /* */", r"//", "\tx = y; // why"),
    ("else stands beside the brace before it", r"^\t*\}\n\s*else\b", "\t}\n\telse {"),
    ("no blank line stands beside a brace, nor beside another one", r"\n\n\n|\{\n\n|\n\n\t*\}", "\tif (x) {\n\n"),
]
QUOTED = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
DECLARATION = re.compile(
    rf"(?!(?:{CONTROL}|do|return|goto|else|case|typedef)\b)(?:(?:static|extern|const|volatile|unsigned|long|enum|struct|union) )*"
    r"(?:[A-Za-z_]\w*|\{.*\})(?: \*+(?:const |volatile )?| )(?:\w+|\(\*\w+\))(?:\[[^=]*\])*(?: =.*|,.*|;|\(.*)?$"
    r"|(?:static |const )*(?:struct|union|enum) \{|LIBBPF_OPTS\(")


def code_of(source):
    """Of comments a form feed a line is left, of texts x: lines stay, and none becomes empty."""
    def keep(match):
        found = match.group(0)
        if found[0] in "\"'":
            return found[0] + "x" * (len(found) - 2) + found[-1]
        return re.sub(r"[^\n]+", "\f", found)
    return re.sub(rf'/\*.*?\*/|{QUOTED}', keep, re.sub(r"^//.*", "\f", source), flags=re.S)


def findings(pattern, source):
    """Numbers of the lines at which a rule is broken. What the preprocessor reads has a look of its own."""
    for found in re.finditer(pattern, source, flags=re.M):
        start = source.rfind("\n", 0, found.start()) + 1
        if not source[start:].lstrip().startswith("#") and not source[:start].endswith("\\\n"):
            yield source.count("\n", 0, found.start()) + 1


def without_pairs(line):
    """The line without what stands in parentheses and braces."""
    shorter = re.sub(r"\([^()]*\)|\{[^{}]*\}", "", line)
    return line if shorter == line else without_pairs(shorter)


def by_line(pattern):
    def finder(source):
        for number, line in enumerate(source.split("\n"), 1):
            if re.search(pattern, without_pairs(line)):
                yield number
    return finder


def undivided(source):
    """Lines of a function with a statement right below the block's declarations. A table may go with its user."""
    indent, declared, in_body = None, False, False
    for number, line in enumerate(source.split("\n"), 1):
        words, depth = line.strip(), len(line) - len(line.lstrip("\t"))
        if line.startswith(("{", "}")):
            indent, declared, in_body = 1, False, line.startswith("{")
        elif in_body and words.endswith("{") and not DECLARATION.match(words):
            indent, declared = depth + 1, False
        elif not in_body or indent is None or words.startswith("#") or (depth > indent and words):
            continue
        elif depth == indent and DECLARATION.match(words):
            declared = True
        elif declared and not words and line:
            continue                # a comment
        else:
            if declared and depth == indent and words and not words.startswith("}"):
                yield number
            indent = None           # also behind a table: its only reader may follow


def broken(rule):
    for name in C:
        for number in rule(SOURCES[name]):
            yield f"{name}:{number}: {LINES[name][number - 1].strip()[:100]}"


def by_pattern(pattern):
    return lambda source: findings(pattern, source)


C = files("user", "bpf", "include", "tests", "demos", ends=(".c", ".h"))
SOURCES = {name: code_of(text(name)) for name in C}
LINES = {name: text(name).split("\n") for name in C}
ALL = [(rule, by_pattern(pattern), example) for rule, pattern, example in RULES] + [
    ("a line has one statement", by_line(r"^\t+(?!case )[^(){}]*;\s*[^\s\\}]"), "\tx = y; y = x;"),
    ("a body has a line of its own", by_line(rf"^\t+(?:else )?{CONTROL}\s+[^\s;{{(\\]"), "\tif (x) return;"),
    ("a blank line stands between declarations and statements", undivided, "{\n\tint x = y;\n\tcall(x);\n}"),
]
tap = Tap()
tap.check("each rule finds its example", [rule for rule, finds, example in ALL if not list(finds(code_of(example + "\n")))])
for rule_name, finder, _ in ALL:
    tap.check(rule_name, broken(finder))
tap.done()
