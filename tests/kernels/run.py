#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Boots kernels and reports how gpumemtrace works on them: TAP, a row for each check of each kernel, and the runner's
last line. Started by tests/kernels.sh. Results are kept as JSON, from which table.py makes the README's table."""
import concurrent.futures
import json
import os
import subprocess
import sys

import arm64
import image
import machine
import packages
import table
import wanted

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(TOP, "build")))
TOOL = os.path.join(BUILD, "gpumemtrace")
CACHE = os.path.abspath(os.environ.get("GPUMEMTRACE_KERNELS", os.path.join(TOP, "build/kernels")))
OUT = os.path.join(TOP, "build/kernels")
RESULTS = os.path.join(OUT, "results.json")
DEFAULT = ("bookworm", "trixie", "newest")
PREEMPT_SECONDS = int(os.environ.get("PREEMPT_SECONDS", "60"))
TOOLS = os.environ.get("TOOLS", "").split()     # other binaries, which are only to load (tests/clangs.sh makes some)
LIMIT_SECONDS = 1500                    # for everything else that a guest does
# check: what holds if it passes
CHECKS = {
    "doctor": "doctor is content",
    "load": "every mode loads",
    "totals": "totals are those of this machine and of the programs, nothing lost",
    "stacks": "stacks are complete, or counted with the reason",
    "unwind": "the kernel's walk of stacks of all kinds finds the frames that libgcc finds",
    "native": "native stacks are those that libgcc finds, with return probes, in children and after an exec",
    "python": "Python frames are those of the program's traceback",
    "torch": "PyTorch's blocks",
    "memory": "the tool's own memory is in its bounds",
    "late": "attached late, the sum is the same",
    "limits": "what a kernel lacks or refuses is left out and told",
    "end": "report and recording are complete soon after the end",
    "left": "nothing is left behind",
    "suite": "the demo and tests of the suite hold",
    "pythons": "Python frames are those of the traceback, of each CPython 3.8 to 3.14 that can be had",
    "preempt": "threads that preempt each other do no harm",
    "log": "the kernel's log is silent",
}


SUITE_SECONDS = 5400
TESTS = os.environ.get("TESTS", "demo test_stacks test_torch").split()  # of "suite": words of the paths of what it runs
# CHECKS="load preempt" makes only these; the log is always read. What takes long is made if it is named.
BY_NAME = "suite", "pythons"
UNASKED = " ".join(name for name in CHECKS if name not in BY_NAME)
WANTED = [name for name in CHECKS if name != "log" and name in os.environ.get("CHECKS", UNASKED).split()]


class Tap:
    def __init__(self):
        self.count = self.passed = self.failed = self.skipped = 0

    def row(self, name, wrong=(), skip=""):
        self.count += 1
        bad = list(wrong)
        self.skipped += bool(skip)
        self.failed += bool(bad)
        self.passed += not bad and not skip
        print(f"{'not ' if bad else ''}ok {self.count} - {name}" + (f" # SKIP {skip}" if skip else ""))
        for line in bad:
            print("#   " + str(line).rstrip().replace("\n", "\n#   "))
        sys.stdout.flush()

    def done(self):
        print(f"1..{self.count}" if self.count else "1..0 # SKIP nothing was asked for")
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        sys.exit(1 if self.failed else 0)


def say(text):
    print("# " + text, flush=True)


def reference():
    """What this machine makes of the demo's job, if it may trace, and how fast it is."""
    done = subprocess.run([image.PYTHON, os.path.join(TOP, "tests/kernels/guest/check.py"), "reference"],
                          capture_output=True, text=True, check=False, env={**os.environ, "BUILD": BUILD})
    if done.returncode:
        raise packages.Unavailable("this machine's own run failed: " + done.stderr.strip()[-300:])
    return json.loads(done.stdout)


def judged(outcome):
    """{check: {passed, wrong, facts, seconds}}: what a guest did not reach has failed."""
    rows = {line["check"]: {"passed": not line["wrong"], **{k: line[k] for k in ("wrong", "facts", "seconds")}}
            for line in outcome.lines if "check" in line}
    doing = [line for line in outcome.lines if "doing" in line]
    last = doing[-1]["doing"] if doing else "booting"
    for check in CHECKS:
        if check not in rows and check in WANTED:
            why = f"not done: in \"{last}\", {outcome.ending or 'the checks ended'}"
            facts = doing[-1]["facts"] if check == "preempt" and last.startswith("preempted") else {}
            rows[check] = {"passed": False, "wrong": [why] + outcome.faults[:2], "facts": facts, "seconds": 0}
    wrong = outcome.faults[:12] + ([outcome.ending] if outcome.ending else [])
    rows["log"] = {"passed": not wrong, "wrong": wrong, "facts": {}, "seconds": 0}
    if outcome.faults and rows.get("preempt", {}).get("passed") and last == "end":
        rows["preempt"] = {**rows["preempt"], "passed": False, "wrong": ["the kernel's log is not silent"]}
    return rows


def boot(kernel, initrd):
    own = os.path.join(OUT, f"guest-{kernel.label}.cpio")
    image.with_modules(own, initrd, kernel)
    limit = LIMIT_SECONDS + 4 * PREEMPT_SECONDS + SUITE_SECONDS * sum(name in WANTED for name in BY_NAME)
    outcome = machine.boot(kernel, own, os.path.join(OUT, "out", kernel.label), limit)
    os.unlink(own)
    return outcome


def scripts_reported(tap, release, lines):
    """A row for each case of each script that the guest ran."""
    for line in lines:
        for name, how, why in line.get("cases", ()):
            tap.row(f"{release}: {line['script']}: {name}", [why] if how == "not ok" else (), why if how == "skip" else "")
        if "cases" in line:
            say(f"  {line['script']}: {line['seconds']:.0f} s")


def reported(tap, word, kernel, outcome):
    started = next((line["facts"] for line in outcome.lines if line.get("doing") == "start"), {})
    release = started.get("release", kernel.package) + (", " + kernel.variant if kernel.variant else "")
    rows = judged(outcome)
    scripts_reported(tap, release, outcome.lines)
    for check in [*WANTED, "log"]:
        tap.row(f"{release}: {CHECKS[check]}", rows[check]["wrong"])
    for line in outcome.trace:
        say("  " + line)
    place = os.path.relpath(os.path.join(OUT, "out", kernel.label), TOP)
    say(f"{release}: {outcome.seconds:.0f} s; {place}/console has the kernel's log")
    if outcome.boots > 1:
        say(f"{release}: booted {outcome.boots} times: qemu ran a breakpoint that was in the kernel's code no more "
            f"({place}/console.stale-*)")
    return {"asked": word, "package": kernel.label, "version": kernel.version, "release": release, "started": started,
            "seconds": round(outcome.seconds), "boots": outcome.boots, "rows": rows}


class Images:
    """What guests run in: one for each architecture, made when it is needed."""

    def __init__(self, machines):
        self.machines, self.made = machines, {}
        self.asked = {**reference(), "preempt_seconds": PREEMPT_SECONDS, "checks": WANTED, "tests": TESTS}

    def of(self, arch):
        if arch not in self.made:
            built = self.machines[arch]
            top, tool = TOP, TOOL
            if arch == arm64.ARCH:
                top = arm64.build(TOP, os.path.join(OUT, "tree-" + arch), built.root)
                tool = os.path.join(top, "build/gpumemtrace")
            path = os.path.join(OUT, f"guest-{arch}.cpio")
            checks = [name for name in BY_NAME if name in WANTED]
            places, found = wanted.fetch(top, arch, image.version_of(built), checks, say)
            asked = json.dumps({**self.asked, "pythons": found.programs, "lacking": found.lacking}).encode()
            image.make(path, top, tool, {"tests/kernels/asked.json": asked}, built, TOOLS if top == TOP else [], places,
                       found.libraries)
            self.made[arch] = path
        return self.made[arch]


def find(words):
    """As packages.find(); and {architecture: the machine that its guests are of}"""
    others = [word for word in words if word in arm64.WORDS]
    own = [word for word in words if word not in arm64.WORDS]
    found = packages.find(CACHE, own) if own else []
    pairs, built = arm64.find(CACHE, others) if others else ([], None)
    return found + pairs, {packages.ARCH: image.Here(), arm64.ARCH: built}


def earlier():
    """What earlier runs saw of other kernels, by the order of their versions."""
    try:
        with open(RESULTS, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return []


def guests(found, images, pool):
    """[(word, kernel, a guest that runs or will, why there is none)]"""
    for word, kernel in found:
        if isinstance(kernel, packages.Unavailable):
            yield word, kernel, None, str(kernel)
            continue
        try:
            yield word, kernel, pool.submit(boot, kernel, images.of(kernel.arch)), ""
        except arm64.NotBuilt as why:
            yield word, kernel, None, why


def main():
    tap, words = Tap(), sys.argv[1:] or DEFAULT
    os.makedirs(OUT, exist_ok=True)
    found, machines = find(words)
    for word, kernel in found:
        say(f"{word}: {kernel}")
    results = earlier()
    images = Images(machines) if any(not isinstance(kernel, packages.Unavailable) for _, kernel in found) else None
    # A guest waits half of its time: for the kernel to remove probes.
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for word, kernel, guest, why in list(guests(found, images, pool)):
            if isinstance(kernel, packages.Unavailable):
                tap.row(word, skip=why)
            elif not guest:
                tap.row(f"{word}: the tree is built", [why])
            else:
                results = [row for row in results if row["package"] != kernel.label]
                results.append(reported(tap, word, kernel, guest.result()))
                with open(RESULTS, "w", encoding="utf-8") as file:
                    json.dump(results, file, indent=1)
    for line in table.rows(results):
        say(line)
    tap.done()


if __name__ == "__main__":
    main()
