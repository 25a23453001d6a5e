#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares names, lines and demangling with nm, readelf, addr2line and c++filt, for thousands of addresses of real
files."""
import bisect
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMES = os.path.join(os.environ.get("BUILD", os.path.join(TOP, "build")), "tests", "symbol", "names")
ADDRESSES = 3000

SOURCE = r"""
#include <map>
#include <string>
#include <vector>
namespace outer { namespace {
template <typename T> struct Box { T value; __attribute__((noinline)) T take(T by) { value += by; return value; } };
} }
static inline __attribute__((always_inline)) int inner(int x)
{
	return x * 3 +
	       x / 7;
}
__attribute__((noinline)) int middle(int x)
{
	int sum = 0;
	for (int i = 0; i < x; i++)
		sum += inner(i) ^ x;
	return sum;
}
struct Op { int v; bool operator<(const Op &o) const; Op operator()(int) const; };
__attribute__((noinline)) bool Op::operator<(const Op &o) const { return v < o.v; }
__attribute__((noinline)) Op Op::operator()(int x) const { return Op{ v + x }; }
int main(int argc, char **argv)
{
	outer::Box<int> a{ argc };
	outer::Box<std::string> b{ argv[0] };
	std::map<std::string, std::vector<int>> m;
	m["x"].push_back(middle(argc));
	Op op{ argc };
	return a.take(2) + (int)b.take("y").size() + (int)m.size() + (op < op(3)) + op(4).v;
}
"""


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"Bail out! {' '.join(command[:4])}: {done.stderr[:300]}")
    return done.stdout


def have(*tools):
    return next((f"there is no {t}" for t in tools if not shutil.which(t)), None)


class Tap:
    def __init__(self):
        self.count = self.bad = 0

    def case(self, name, findings, skip=None):
        self.count += 1
        findings = [] if skip else list(findings)
        self.bad += bool(findings)
        print(f"{'not ' if findings else ''}ok {self.count} - {name}" + (f" # SKIP {skip}" if skip else ""))
        for finding in findings[:20]:
            print("#", finding)


def library(name):
    """The path of a shared library, as the loader finds it."""
    for line in run("/sbin/ldconfig", "-p").splitlines():
        found = re.match(rf"\s+{re.escape(name)} .*x86-64.* => (\S+)", line)
        if found or (line.strip().startswith(name + " ") and "=>" in line):
            return line.split("=> ")[1]
    return None


def functions(path, dynamic=True):
    """{name: (address, size)} of all functions that readelf sees in a symbol table."""
    found = []
    for line in run("readelf", "-W", "--dyn-syms" if dynamic else "-s", path).splitlines():
        part = line.split()
        if len(part) >= 8 and part[3] in ("FUNC", "IFUNC") and part[6] not in ("UND", "ABS"):
            found.append((int(part[1], 16), int(part[2], 0), part[7].split("@")[0]))
    return found


def ask(path, addresses, *debug, lines=True):
    lines = run(NAMES, *([] if lines else ["-f"]), path, *debug, text="".join(f"{a:x}\n" for a in addresses)).splitlines()
    assert len(lines) == len(addresses), (len(lines), len(addresses))
    return [line.split("\t") for line in lines]


def wrong_names(path, symbols, debug=()):
    """Every name must be one of a symbol that covers the address, and the innermost one; none only if none does."""
    random.seed(1)
    addresses = [s[0] + random.randrange(max(s[1], 1)) for s in random.choices(symbols, k=ADDRESSES)]
    low, high = min(s[0] for s in symbols), max(s[0] + s[1] for s in symbols)
    addresses += [random.randrange(low, high) for _ in range(ADDRESSES)]
    addresses += [s[0] + s[1] for s in random.choices(symbols, k=500)] + [s[0] for s in random.choices(symbols, k=500)]
    starts = sorted(symbols)
    longest = max(s[1] for s in symbols)
    named = 0
    for address, (name, *_) in zip(addresses, ask(path, addresses, *debug, lines=False)):
        near = starts[bisect.bisect_left(starts, (address - longest,)):bisect.bisect_right(starts, (address + 1,))]
        covering = {s for s in near if s[0] <= address < s[0] + s[1]}
        innermost = max((s[0] for s in covering), default=None)
        names = {s[2] for s in covering if s[0] == innermost}
        named += name != "-"
        if name == "-" and names:
            yield f"{address:x} has no name, {sorted(names)} expected"
        if name != "-" and names and name not in names:
            yield f"{address:x} is called {name}, not {sorted(names)}"
        if name != "-" and not names and not any(s[2] == name and s[1] == 0 for s in near):
            yield f"{address:x} is called {name}, though nothing covers it"
    if named < ADDRESSES:
        yield f"only {named} of {len(addresses)} got a name"


def wrong_lines(path, addresses):
    """The chain of inlined places, file (its last part) and line, is that of addr2line -i."""
    answer = run("addr2line", "-i", "-a", "-e", path, *[f"{a:x}" for a in addresses])
    blocks = re.split(r"^0x([0-9a-f]+)\n", answer, flags=re.M)[1:]
    wanted = {int(a, 16): [re.sub(r" \(discriminator \d+\)", "", x) for x in text.split()] for a, text in
              zip(blocks[::2], [re.sub(r" \(discriminator \d+\)", "", t) for t in blocks[1::2]])}
    compared = inlined = 0
    for address, (_, *places) in zip(addresses, ask(path, addresses)):
        want = [os.path.basename(w) for w in wanted[address]]
        got = [os.path.basename(p) for p in places]
        if any("?" in w for w in want):
            continue
        compared += 1
        inlined += len(got) > 1
        if got != want:
            yield f"{address:x}: {got}, but addr2line says {want}"
    if compared < len(addresses) / 2 or not inlined:
        yield f"only {compared} of {len(addresses)} addresses have a line, {inlined} inlined ones"


def wrong_demangled(symbols):
    text = "".join(s + "\n" for s in symbols)
    want = run("c++filt", "-i", text=text).splitlines()
    got = run(NAMES, "-d", text=text).splitlines()
    for symbol, theirs, ours in zip(symbols, want, got):
        # return types of template functions are dropped here on purpose: c++filt writes "void f<int>(int)"
        if ours != theirs and not theirs.endswith(" " + ours) and not (ours in theirs and "<" in theirs):
            yield f"{symbol}: {ours}, but c++filt says {theirs}"
    if len(got) != len(symbols):
        yield f"{len(got)} answers to {len(symbols)} names"


def wrong_short(symbols):
    text = "".join(s + "\n" for s in symbols)
    full = run("c++filt", "-i", text=text).splitlines()
    for width in (20, 60, 100):
        for symbol, name, short in zip(symbols, full, run(NAMES, "-s", str(width), text=text).splitlines()):
            if len(short) > width or not short:
                yield f"{symbol} in {width} columns: {short}"
            # the name of the function itself is what must survive, if it fits
            last = re.match(r".*?((?:operator *[^\w\s]+|~?\w+))\(", re.sub(r"<.*>|\(anonymous namespace\)", "", name))
            if width == 100 and last and last.group(1) not in short:
                yield f"{symbol} in {width} columns: {short}, of {name}"


def compare_library(tap, name):
    path = library(name)
    skip = have("readelf", "nm") or (None if path else f"there is no {name}")
    path = path and os.path.realpath(path)
    tap.case(f"names of {name}, by its .dynsym", [] if skip else wrong_names(path, functions(path)), skip)


def compare_nm(path):
    """Every function that nm -D lists has its own name, or one of its aliases', at its address."""
    listed = [line.split() for line in run("nm", "-D", "--defined-only", path).splitlines()]
    listed = [(int(a, 16), n.split("@")[0]) for a, t, n in (x for x in listed if len(x) == 3) if t in "TW"]
    known = functions(path)
    for (address, name), (got, *_) in zip(listed, ask(path, [a for a, _ in listed])):
        aliases = {s[2] for s in known if s[0] == address}
        if name in aliases and got not in aliases:
            yield f"{address:x}: {got}, but nm says {name}"
    if len(listed) < 500:
        yield f"nm lists only {len(listed)}"


def own_program(tap, folder):
    source, program = os.path.join(folder, "a.cc"), os.path.join(folder, "a")
    stripped, debug = os.path.join(folder, "a.stripped"), os.path.join(folder, "a.debug")
    skip = have("g++", "readelf", "addr2line", "objcopy", "strip")
    if not skip:
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        run("g++", "-g", "-O1", "-std=gnu++17", "-o", program, source)
        run("objcopy", "--only-keep-debug", program, debug)
        run("strip", "-o", stripped, program)
    symbols = [] if skip else functions(program, dynamic=False)
    code = [s[0] + i for s in symbols for i in range(s[1])]
    tap.case("names of a program with .symtab", [] if skip else wrong_names(program, symbols), skip)
    tap.case("names of a stripped program with a debug file",
             [] if skip else wrong_names(stripped, symbols, (debug,)), skip)
    tap.case("a stripped program without its debug file has none of its names", [] if skip else
             [f"{n} for {a:x}" for a, (n, *_) in zip(code, ask(stripped, code)) if n != "-"], skip)
    random.seed(2)
    tap.case("lines and inlined functions", [] if skip else wrong_lines(program, random.sample(code, min(1500, len(code)))),
             skip)
    if not skip:
        code = random.sample(code, min(1500, len(code)))
        by_file, by_debug = ask(program, code), ask(stripped, code, debug)
        tap.case("a debug file says the same as the program", [f"{a:x}: {x} {y}" for a, x, y in
                                                               zip(code, by_file, by_debug) if x != y])
    else:
        tap.case("a debug file says the same as the program", [], skip)


def mini_debug_info(tap, folder):
    """As Fedora makes it: the functions that .dynsym lacks, in an xz of an ELF file inside of the file."""
    skip = have("gcc", "objcopy", "strip", "xz", "readelf")
    wrong = []
    if not skip:
        plain, stripped, mini = (os.path.join(folder, n) for n in ("m", "m.stripped", "m.mini"))
        with open(plain + ".c", "w", encoding="ascii") as file:
            file.write("static __attribute__((noinline)) int hidden(int x) { return x * x; }\n"
                       "int main(int c, char **v) { (void)v; return hidden(c) + hidden(c + 1); }\n")
        run("gcc", "-O1", "-fno-inline", "-fno-ipa-icf", "-o", plain, plain + ".c")
        run("strip", "-o", stripped, plain)
        run("objcopy", "-S", "--keep-symbol=hidden", "--keep-symbol=main", plain, mini)
        run("xz", "-f", mini)
        run("objcopy", "--add-section", f".gnu_debugdata={mini}.xz", stripped)
        for address, size, name in functions(plain, dynamic=False):
            if name in ("hidden", "main"):
                wrong += [f"{a:x}: {n}, not {name}" for a in range(address, address + size)
                          for n, *_ in ask(stripped, [a]) if n != name]
    tap.case("names of .gnu_debugdata", wrong, skip)


def main():
    tap = Tap()
    if not os.access(NAMES, os.X_OK):
        sys.exit(f"Bail out! {NAMES} is not built")
    for name in ("libc.so.6", "libstdc++.so.6"):
        compare_library(tap, name)
    path = library("libstdc++.so.6")
    skip = have("nm", "c++filt") or (None if path else "there is no libstdc++")
    path = path and os.path.realpath(path)
    tap.case("every function that nm lists", [] if skip else compare_nm(path), skip)
    mangled = [] if skip else sorted({s[2] for s in functions(path) if s[2].startswith("_Z")})
    tap.case("demangling as c++filt does", [] if skip else wrong_demangled(mangled), skip)
    tap.case("short names", [] if skip else wrong_short(mangled), skip)
    with tempfile.TemporaryDirectory(prefix="gmt-test-") as folder:
        own_program(tap, folder)
        mini_debug_info(tap, folder)
    print(f"1..{tap.count}")
    return 1 if tap.bad else 0


if __name__ == "__main__":
    sys.exit(main())
