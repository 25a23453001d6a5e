#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a person who was paged reads: the first 24 lines of the report, and of the verdict where memory ran out.

    tests/gpu/answers.py [MODE...]

Traces the programs of answers_work.py from their start, side by side. Programs that keep memory must have their line
and the reason named; the others must have neither a leak nor growth named. Prints what was compared, and with $OUT keeps
the texts there. Exit status: 1 if an answer is wrong.
"""
import concurrent.futures
import glob
import os
import subprocess
import sys
import tempfile

import lib
import nvml

SECONDS = 12                    # how long a program trains
LINES = 24                      # of an answer
PATIENCE = 240
WORK = os.path.join(lib.HERE, "answers_work.py")
# MODE: words that stand at the head of the report, and words that stand at the head of the verdict (None: no request fails).
# "LINE" is the file and line that is marked with the mode.
NOTHING = None
MODES = {
    "images": (NOTHING, None),
    "words": (NOTHING, None),
    "generation": (NOTHING, None),
    "validation": (["LEAK", "Block.forward"], None),       # a graph keeps what the lines of the model made
    "logits": (["LEAK", "LINE"], None),
    "caches": (["GROWTH", "LINE"], None),
    "batch": (["OOM"], ["OUT OF MEMORY", "ASKED", "answers_work.py", "batch"]),
    "limit": (["OOM", "LINE"], ["OUT OF MEMORY", "a leak", "LINE"]),
    "resnet": (NOTHING, None),
    "llama": (NOTHING, None),
    "chats": (["GROWTH", "LINE"], None),
    "ranks": (["LEAK", "LINE"], None),
}
ACCUSING = ("LEAK", "GROWTH", "KEPT", "STATE", "OOM")
ALONE = ("batch",)              # these ask how much memory is free
ON_TWO = ("ranks",)             # GPUs


def line_of(mode):
    with open(WORK, encoding="utf-8") as file:
        return next((f"answers_work.py:{n}" for n, line in enumerate(file, 1) if line.endswith(f"  # {mode}\n")), "")


def head_of(*arguments):
    done = subprocess.run([lib.GPUMEMTRACE, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)
    return (done.stdout + done.stderr).splitlines()[:LINES]


def keep(name, lines):
    if os.environ.get("OUT"):
        with open(os.path.join(os.environ["OUT"], name), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


def missing(words, lines, mode):
    text = "\n".join(lines)
    return [word for word in words if (line_of(mode) if word == "LINE" else word) not in text]


def answers(mode):
    """(what is wrong with the answers, the head of the report)"""
    in_report, in_verdict = MODES[mode]
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(os.environ.get("OUT", folder), mode + ".gmt")
        subprocess.run([lib.GPUMEMTRACE, *lib.OPTIONS, "-q", "--block-stacks", "--oom-dir", folder, "-o", recording, "--",
                        sys.executable, WORK, mode, str(SECONDS)], stdin=subprocess.DEVNULL, capture_output=True,
                       timeout=PATIENCE, check=False)
        report = head_of("report", recording)
        keep(mode + ".report.txt", report)
        if in_report is NOTHING:
            wrong = [line for line in report if line.split()[:1] and line.split()[0] in ACCUSING]
        else:
            wrong = [f"the report lacks {word}" for word in missing(in_report, report, mode)]
        if in_verdict:
            dumps = sorted(path for path in glob.glob(folder + "/*.gmt") if path != recording)
            verdict = head_of("oom", dumps[-1]) if dumps else []
            keep(mode + ".verdict.txt", verdict)
            wrong += [f"the verdict lacks {word}" for word in missing(in_verdict, verdict, mode)]
    return wrong, report


def main():
    if os.environ.get("OUT"):
        os.makedirs(os.environ["OUT"], exist_ok=True)
    modes = [mode for mode in MODES if mode in (sys.argv[1:] or MODES)]
    if len(nvml.Nvml().uuids()) < 2:
        modes = [mode for mode in modes if mode not in ON_TWO]
    with concurrent.futures.ThreadPoolExecutor(len(MODES)) as pool:
        found = dict(zip((m for m in modes if m not in ALONE), pool.map(answers, (m for m in modes if m not in ALONE))))
    found |= {mode: answers(mode) for mode in modes if mode in ALONE}
    for mode, (wrong, report) in found.items():
        print(f"{'FAIL' if wrong else 'ok  '} {mode}: {'; '.join(wrong) or 'as it should be'}")
        if wrong:
            print("\n".join("     | " + line for line in report))
    failed = sum(bool(wrong) for wrong, _ in found.values())
    print(f"{len(found)} answers, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
