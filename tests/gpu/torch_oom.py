# SPDX-License-Identifier: BSD-2-Clause
"""Scenarios: GPU memory runs out. gpumemtrace's dumps and recordings are compared with torch's numbers, and the verdict
of a dump must name the planted cause.

Invariant: a step that fills the GPU runs alone.
"""
import json
import os
import subprocess

import lib
from compare import NATIVE
from lib import GPUMEMTRACE, MIB

GIB = 1 << 30
QUIET = {"NCCL_NVLS_ENABLE": "0"}


def oom_of(path):
    """What `gpumemtrace oom` says of a dump or a recording: a list of views."""
    done = subprocess.run([GPUMEMTRACE, "oom", "--json", path], capture_output=True, timeout=60)
    if done.returncode:
        raise lib.Failure(f"gpumemtrace oom ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
    return [json.loads(line) for line in done.stdout.splitlines()]


class Case:
    """A workload under gpumemtrace, and the dumps that come of it."""

    def __init__(self, s, name, options=("--block-stacks",), env=None, pids=()):
        self.s, self.folder = s, os.path.join(s.run.scratch, s.name + ".dumps")
        os.mkdir(self.folder)
        work = s.workload("oom_work.py", name, mode=NATIVE, env=env)
        pids = [word for pid in pids for word in ("-p", str(pid))]
        if pids:
            work.start()
        self.work, self.ready = work, work.next() if pids else None
        self.tool = s.tool(*options, "--oom-dir", self.folder, *(["-p", str(self.ready["pid"])] if pids else []), *pids,
                           workload=None if pids else work)
        self.ready = self.ready or work.next(seconds=150)

    def until_death(self):
        """Fills the GPU; the process ends of it. Its exit status is 1: Python's for an error nobody catches."""
        with self.s.run.filling:
            self.work.go(alone=True)
            self.work.death()

    def dumps(self):
        names = sorted(os.listdir(self.folder))
        return [view for n in names if n.endswith(".gmt") for view in oom_of(os.path.join(self.folder, n))]

    def fatal(self, status_wanted=1):
        """Of a process that died of it: the one request that its dump shows."""
        s = self.s
        self.until_death()
        status, view = self.tool.wait()
        s.equal("end", "exit status", status, status_wanted, "")
        s.equal("end", "records lost", view.lost, 0, "")
        return self.judged()

    def judged(self):
        s, dumps = self.s, self.dumps()
        s.equal("dump", "dumps", [v["oom"]["outcome"] for v in dumps], ["fatal"], "")
        dump = dumps[-1]
        s.info("dump", "verdict", " | ".join(dump["oom"]["verdict"]))
        s.run.say(f"{s.name}: " + "\n    ".join(dump["oom"]["verdict"]))
        recorded = [v for v in oom_of(f"{s.run.scratch}/{s.name}.gmt") if v["oom"]["outcome"] == "fatal"]
        s.equal("recording", "says the same", [v["oom"]["verdict"] for v in recorded], [dump["oom"]["verdict"]], "")
        return dump

    def says(self, dump, *words):
        text = " ".join(dump["oom"]["verdict"])
        for word in words:
            self.s.true("verdict", f"says: {word}", word in text)


def row_of_asker(view):
    oom = view["oom"]
    rows = view["processes"][oom["process"]]["gpus"]
    return next(r for r in rows if r["gpu"] == oom["gpu"])


# ---- an error, a retry, a limit ----

def survives(s):
    """Three kinds of running out, all survived: raised, met by a retry, PyTorch's own limit; counts and sizes = torch's."""
    case = Case(s, "caught")
    before = case.ready["gpus"][0]
    with s.run.filling:
        case.work.go(alone=True)
        truth = case.work.next()
        s.holds("end", case.tool, truth, peaks=False)
        s.finish(case.work, case.tool)      # before another scenario fills the GPU: this one's memory is free again
    gpu = truth["gpus"][0]
    seen = oom_of(f"{s.run.scratch}/{s.name}.gmt")
    outcomes = [v["oom"]["outcome"] for v in seen]
    s.equal("recording", "what happened", outcomes, ["raised", "retry", "raised"], "")
    s.equal("recording", "raised = torch's num_ooms", outcomes.count("raised"), gpu["ooms"] - before["ooms"], "")
    # PyTorch counts each time that it empties its cache and asks again, also those in vain.
    s.equal("recording", "retries that were met = torch's num_alloc_retries, of that time", outcomes.count("retry"),
            truth["retries"], "")
    if len(seen) != 3:
        return
    raised, met, limited = (v["oom"] for v in seen)
    for name, oom, told in (("raised", raised, truth["raised"]), ("limited", limited, truth["limited"])):
        s.equal(name, "what PyTorch was asked for", oom["framework_bytes"], told["asked"])
        s.near(name, "as its message says", oom["framework_bytes"], told["message"], 0.01)
        s.equal(name, "by", oom["by"], "reported", "")
    s.equal("met", "bytes given", met["given_bytes"], truth["met"])
    s.true("met", "it had freed its cache for it", met["freed_bytes"] > 0, met["freed_bytes"])
    s.equal("met", "causes", [c["cause"] for c in met["parts"]["why"]], [], "")
    s.equal("met", "what to do", met["parts"]["do"], ["nothing", "keep_cache"], "")
    s.equal("limited", "no call of the driver failed", limited["call"], None, "")
    s.true("limited", "says how high the limit can be",
           "so the limit is at most about " in " ".join(limited["verdict"]))
    dumps = case.dumps()
    s.equal("dumps", "one for each error", [v["oom"]["outcome"] for v in dumps], ["raised", "raised"], "")
    for dump, oom in zip(dumps, (raised, limited)):
        s.equal("dumps", "says what the recording says", dump["oom"]["asked_bytes"], oom["asked_bytes"])


def launch(s):
    """No room for kernels, handles and streams: each error that a library raised is told, once, and nothing else."""
    case = Case(s, "launch", options=("--oom-max", "64"))
    with s.run.filling:
        case.work.go(alone=True)
        truth = case.work.next(seconds=60)
        s.finish(case.work, case.tool)
    seen = [v for v in oom_of(f"{s.run.scratch}/{s.name}.gmt") if v["oom"]["outcome"] != "retry"]
    for use in truth["full"] + truth["again"]:
        of_it = [v["oom"] for v in seen if use["begin"] <= v["oom"]["first_at"]["monotonic_ns"] <= use["end"]]
        s.info(use["name"], "its error", use["error"])
        s.equal(use["name"], "requests that failed", [oom["outcome"] for oom in of_it],
                ["raised"] if use["error"] else [], "")
        if of_it:
            s.info(use["name"], "by", f"{of_it[0]['call'] or 'the kernel driver'}, {of_it[0]['by']}")
    raised = sum(1 for use in truth["full"] + truth["again"] if use["error"])
    s.true("end", "errors were raised", raised > 10, raised)
    dumps = sorted(v["oom"]["number"] for v in case.dumps())
    errors = sorted(v["oom"]["number"] for v in seen)
    s.equal("end", "failed requests: the errors, and what filled the GPU up", len(errors), raised + 1, "")
    s.equal("dumps", "of the first and the last error", dumps[:1] + dumps[-1:], errors[:1] + errors[-1:], "")
    s.equal("dumps", "of no other request", sorted(set(dumps) - set(errors)), [], "")
    for view in seen:
        verdict = view["oom"]["verdict"][0]
        s.true("verdict", "the GPU is full", view["oom"]["cause"] in ("full", "cache"), view["oom"]["cause"])
        if view["oom"]["refused"]:
            s.true("verdict", "names the driver's function", " in cu" in verdict, verdict)


# ---- planted causes ----

def leak(s):
    """A Python list that only grows: growth is the cause, and the verdict names the line and what to look for."""
    with s.run.filling:            # from its start on: who waits for the GPU does not grow meanwhile
        case = Case(s, "leak")
        dump = case.fatal()
    case.says(dump, "oom_work.py", "remember", "growing all along", "growth: ", "growing all along, at ",
              "find what keeps the memory made at oom_work.py:")
    s.equal("dump", "the cause", dump["oom"]["cause"], "growth", "")
    why = dump["oom"]["parts"]["why"][0]
    torch = row_of_asker(dump)["torch"]
    top = torch["stacks"]["top"]["live"][0]
    s.true("dump", "that line holds most of the tensors", top["live_bytes"] > 0.9 * torch["allocated"]["live_bytes"],
           top["live_bytes"], torch["allocated"]["live_bytes"])
    s.true("dump", "and nearly all of it is growth", why["bytes"] > 0.9 * why["of_bytes"], why["bytes"], why["of_bytes"])


def fragmented(s):
    """Cached memory in pieces: the verdict says that it is there, that no gap is large enough, and what would help."""
    case = Case(s, "fragmented")
    dump = case.fatal()
    facts = dump["oom"]["facts"]
    case.says(dump, "fragmentation: PyTorch caches ", "the largest has 256 MiB", "expandable_segments:True: ")
    s.equal("dump", "the largest gap", facts["largest_gap_bytes"], 256 * MIB)
    s.true("dump", "it would have fit in one piece", facts["fits_in_one_piece"])


def neighbour(s):
    """Another process holds most of the GPU: the verdict says that it would have fit without it."""
    other = s.workload("oom_work.py", "holder", mode=NATIVE).start()
    other_ready = other.next()
    case = Case(s, "neighbour", pids=[other_ready["pid"]])
    with s.run.filling:
        other.go(alone=True)
        held = other.next()
        case.until_death()
        other.go()
        other.death()
    status, view = case.tool.wait()
    s.equal("end", "exit status", status, 0, "")
    dump = case.judged()
    case.says(dump, f"another process: pid {other_ready['pid']} ", "the request would have fit")
    s.true("dump", "and how much that holds", any(r["held_bytes"] > held["holds"] for r in dump["oom"]["rows"]),
           held["holds"] / GIB)


def batch(s):
    """A batch that is too large: most is the activations of one line of forward."""
    case = Case(s, "batch")
    dump = case.fatal()
    case.says(dump, "oom_work.py", "Deep.forward")
    if dump["oom"]["cause"] == "untraced":      # other scenarios hold so much that it would have fit without them
        s.info("verdict", "others hold too much", dump["oom"]["verdict"][1])
    else:
        case.says(dump, "use a smaller batch")
    s.true("dump", "no growth", "growth" not in [c["cause"] for c in dump["oom"]["parts"]["why"]], dump["oom"]["cause"])
    torch = row_of_asker(dump)["torch"]
    top = torch["stacks"]["top"]["live"][0]
    s.true("dump", "that line holds most of the tensors", top["live_bytes"] > 0.4 * torch["allocated"]["live_bytes"],
           top["live_bytes"], torch["allocated"]["live_bytes"])


def nccl(s):
    """Two GPUs: NCCL's buffers fill one; the verdict says that what is held is NCCL's."""
    env = {**QUIET, "NCCL_BUFFSIZE": str(GIB), "NCCL_MIN_NCHANNELS": "16", "NCCL_MAX_NCHANNELS": "16"}
    with s.run.filling:            # its buffers are a tenth of a GPU: another scenario's verdict would blame them, rightly
        case = Case(s, "nccl", options=(), env=env)
        s.info("ready", "NCCL took (MiB)", case.ready["took"] // MIB)
        dump = case.fatal()
    case.says(dump, ", NCCL")


SCENARIOS = {"oom-survives": survives, "oom-launch": launch, "oom-leak": leak, "oom-fragmented": fragmented,
             "oom-neighbour": neighbour, "oom-batch": batch}
TWO_GPUS = {"oom-nccl": nccl}
