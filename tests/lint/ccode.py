# SPDX-License-Identifier: BSD-2-Clause
"""C sources as the lint tests read them: code without comments, texts and directives, and the functions in it."""
import re

BLANKED = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
# Kernel style: the name is on the line of the parenthesis, the brace alone in the first column.
DEFINITION = re.compile(r"^[ \t]*(?P<head>[A-Za-z_][\w \t*\n]*[\s*])(?P<name>[A-Za-z_]\w*)\((?P<args>[^;{}]*)\)\s*\n\{", re.M)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def code_of(source):
    """The code alone, with each character where it was."""
    return ATTRIBUTE.sub(blank, DIRECTIVE.sub(blank, BLANKED.sub(blank, source)))


def line_of(code, position):
    return code.count("\n", 0, position) + 1


def definitions(source):
    """(line, is static, name) of the functions of a file."""
    code = code_of(source)
    for found in DEFINITION.finditer(code):
        yield line_of(code, found.start("name")), "static" in found["head"].split(), found["name"]
