#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks how gpumemtrace works on this kernel, and prints one JSON line for each check:

  check.py PLACE          asked.json beside the folder says what is compared with; lines go to PLACE, a serial line
  check.py reference      what guests are to be compared with, as this machine has it
"""
import ctypes
import glob
import json
import os
import sys
import termios
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import tracing  # noqa: E402
from tracing import MODES, lib  # noqa: E402
import bpf_stats  # noqa: E402
import preempt  # noqa: E402
import suite  # noqa: E402
import test_detach  # noqa: E402
import test_late  # noqa: E402
import test_limits  # noqa: E402
import test_stacks  # noqa: E402
import test_stacks_python  # noqa: E402
import test_torch  # noqa: E402

PYTHON_TESTS = "test_stacks_python", "test_stacks_odd", "symbol/test_python"     # words of their paths
ASKED = os.path.join(os.path.dirname(HERE), "asked.json")
END_SECONDS = 2                         # after which report and recording are complete, on the machine that asks
MOST_SLOWER = 5                         # what an emulated machine, 10 to 40 times as slow, is allowed of that
MOST_INCOMPLETE = 0.1                   # of the stacks: those from before the tables of a program that allocates at once
MEMORY_MOST = {"full": 100, "block-stacks": 200}        # MiB of the tracer and its readers, beside so many processes
PROCESSES = 21
ROOM = {"STANDIN_MEM_MIB": "1000000"}   # of the stand-in's GPUs, for all of them at once
MAPS_MOST = 64                          # MiB of all BPF maps then; the man page says what of it grows with the CPUs
WALKED = ("full", "native", "block-stacks")
NEXT_ID = {"programs": 11, "maps": 12, "links": 31}     # BPF_*_GET_NEXT_ID of include/uapi/linux/bpf.h
BATCH = (("basic",), ("threads", "8", "300"), ("contexts",), ("pools",), ("vmm",), ("host",), ("arrays",), ("modules",),
         ("graphs",), ("errors",), ("procaddr",), ("green",), ("ipc",), ("last_thread",))


class Guest:
    """The checks, in the order in which they are made; each returns (facts, what is wrong)."""

    def __init__(self, asked, out):
        self.asked, self.out = asked, out
        self.jobs = {}

    def tell(self, **line):
        self.out.write(json.dumps(line) + "\n")
        self.out.flush()

    def cases(self, *functions, arguments=()):
        """Test functions of the tree: what they say is wrong."""
        return {}, [why for function in functions for why in self.case(function, arguments)]

    def case(self, function, arguments):
        """[what is wrong], after at most tracing.RUNS runs where the kernel skipped a program (see tracing.unskipped())."""
        for _ in range(tracing.RUNS):
            wrong = []
            self.tell(doing=f"{function.__module__}.{function.__name__}", facts={})
            try:
                function(*arguments)
            except lib.Skip:
                pass
            except Exception as why:    # one that crashes has failed; the others still run
                text = str(why) if isinstance(why, lib.Failure) else traceback.format_exc()
                wrong.append(f"{function.__module__}.{function.__name__}: " + " ".join(text.split())[-600:])
            clean()
            if not any(tracing.SKIPPED in why for why in wrong):
                break
        return wrong

    def doctor(self):
        got = lib.run([lib.TOOL, "doctor", "--driver-root", lib.BUILT])
        odd = [line for line in got.stdout.splitlines() if line and not line.startswith("ok ")]
        return {"status": got.returncode, "not_ok": odd}, [] if not got.returncode else [f"exit status {got.returncode}"]

    def load(self):
        """Every mode loads and attaches to a program that runs."""
        facts, wrong = {}, []
        target = lib.Target("longrun", "forever")
        target.wait("ready")
        for mode, options in MODES.items():
            begin = time.monotonic()
            tool = lib.Tool("-p", str(target.pid), *options)
            try:
                tool.ready()
                facts[mode] = {"ready_s": round(time.monotonic() - begin, 1)}
                # A feature that the kernel lacks is a limit; a program that its verifier refuses is a mistake.
                wrong += [f"{mode}: {limit}" for limit in tracing.stopped(tool)["limits"] if "verifier" in limit["why"]]
            except lib.Failure as why:
                wrong.append(f"{mode}: " + " ".join(str(why).split())[-400:])
            facts.setdefault(mode, {})["said"] = tracing.said(tool.stderr())
        return facts, wrong + self.others(target) + tracing.ended()

    def others(self, target):
        """What is wrong with the other binaries (TOOLS of run.py): each is to load all programs, those of both ways to
        take stacks."""
        wrong = []
        for path in sorted(glob.glob(os.path.join(lib.TOP, "build/tools/*"))):
            for mode in "block-stacks", "fp":
                self.tell(doing=f"load, {os.path.basename(path)}, {mode}", facts={})
                tool = lib.Tool("-p", str(target.pid), *MODES[mode], binary=path)
                try:
                    tool.ready()
                    wrong += [f"{path}, {mode}: {limit}" for limit in tracing.stopped(tool)["limits"]]
                except lib.Failure as why:
                    wrong.append(f"{path}, {mode}: " + " ".join(str(why).split())[-400:])
        return wrong

    def totals(self):
        """The demo's job has the totals that it has on the machine that asks; other programs have their own."""
        for mode in MODES:
            self.tell(doing=f"totals, {mode}", facts={})
            self.jobs[mode] = tracing.unskipped(mode)
        wanted = {mode: job.get("totals") for mode, job in self.asked["jobs"].items()}
        wrong = []
        for mode, job in self.jobs.items():
            if "refused" in job:
                wrong.append(f"{mode}: {job['refused']}")
                continue
            if job["totals"] != (wanted.get(mode) or next(filter(None, wanted.values()), job["totals"])):
                wrong.append(f"{mode}: totals differ from those of the machine that asks: {job['totals']}")
            if job["troubles"] or not job["replay_same"]:
                wrong.append(f"{mode}: lost {job['troubles']}, "
                             f"replayed {'alike' if job['replay_same'] else 'differently'}")
        for mode in "off", "full":
            self.tell(doing=f"totals of programs, {mode}", facts={})
            wrong += [f"{mode}: {line}" for line in self.cases(batch, arguments=(mode,))[1]]
        return {"jobs": self.jobs, "programs": len(BATCH)}, wrong + tracing.ended()

    def stacks(self):
        facts, wrong = {}, []
        for mode, job in self.jobs.items():
            if "refused" in job or mode not in WALKED:
                continue
            facts[mode] = {"stacks": job["stacks"], "complete": job["complete"], "reasons": job["reasons"]}
            most = lib.MOST_INCOMPLETE * job["stacks"]
            if not job["stacks"] or job["stacks"] - job["complete"] > most:
                wrong.append(f"{mode}: {job['complete']} of {job['stacks']} complete, {job['reasons']}, {job['troubles']}")
            if job["stacks"] - job["complete"] != sum(job["reasons"].values()):
                wrong.append(f"{mode}: incomplete without a reason: {job}")
        if "full" not in facts:
            wrong.append("full: refused")
        return facts, wrong

    def unwind(self):
        """The unwinder alone, on stacks of programs that were compiled in several ways."""
        facts, wrong = {}, []
        for path in sorted(glob.glob(os.path.join(lib.BUILD, "tests/symbol/test_unwind_bpf*"))):
            name = os.path.basename(path).removeprefix("test_unwind_bpf").lstrip("_") or "plain"
            got = lib.run([path])
            lines = got.stdout.splitlines()
            facts[name] = sum(line.startswith("ok ") for line in lines)
            wrong += [f"{name}: {line}" for line in lines + got.stderr.splitlines() if not line.startswith(("ok ", "1.."))]
            if got.returncode or not facts[name]:
                wrong.append(f"{name}: exit status {got.returncode}, {facts[name]} passed")
        return facts, wrong[:60] + ([] if facts else ["no program was found"])

    def native(self):
        return self.cases(test_stacks.all_kinds, test_stacks.return_probes, test_stacks.without_waiting,
                          test_stacks.fork_child, test_stacks.another_program, test_stacks.many_alike,
                          test_stacks.ends_at_once)

    def python(self):
        return self.cases(test_stacks_python.every_version)

    def torch(self):
        return self.cases(test_torch.loaded_later, test_torch.attached_late, test_torch.block_stacks)

    def memory(self):
        """The tool's own memory stays in its bounds beside as many programs as a GPU machine has had."""
        facts, wrong = {}, []
        for mode, most in MEMORY_MOST.items():
            tool = lib.Tool("-a", *MODES[mode], options=tracing.SLOW).ready()
            targets = [lib.Target("basic", hold="end", env=ROOM) for _ in range(PROCESSES)]
            for target in targets:
                target.wait("end")
            tracing.more_views(tool, 2)
            for target in targets:
                target.go()
                target.books()
            report = tracing.stopped(tool)
            own = facts[mode] = {name: round(report["own_memory"][name] / lib.MIB, 1) for name in ("most_bytes", "maps_bytes")}
            seen = {process["pid"] for process in report["processes"]}
            if own["most_bytes"] > most or not 16 < own["maps_bytes"] <= MAPS_MOST or seen != {t.pid for t in targets}:
                wrong.append(f"{mode}: {own} MiB, at most {most} and {MAPS_MOST}; {len(seen)} processes were seen")
        return facts, wrong + tracing.ended()

    def late(self):
        return self.cases(test_late.adds_up, test_late.held_adds_up)

    def limits(self):
        """What a kernel lacks or refuses is left out and told: helpers that it has are hidden, programs refused."""
        return self.cases(test_limits.without_helpers, test_limits.stacks_of_the_kernel)

    def end(self):
        """Report and recording are complete soon after the job's end; how soon, for this machine's speed."""
        slower = max(1.0, tracing.speed() / self.asked["speed"])
        limit = END_SECONDS * min(slower, MOST_SLOWER)
        facts, wrong = {"slower": round(slower, 1), "limit_s": round(limit, 1)}, []
        for mode, job in self.jobs.items():
            if "refused" in job:
                continue
            facts[mode] = {name: job[name] for name in ("report_s", "recording_s")}
            late = max(job["report_s"], job["recording_s"])
            if late > limit:
                wrong.append(f"{mode}: after {late} s, not {facts['limit_s']}")
        return facts, wrong if len(facts) > 2 else ["nothing was traced"]

    def left(self):
        """Nothing is left in the target, in the kernel or in a file, however the tool ends."""
        facts, wrong = {}, []
        target = lib.Target("longrun", "forever")
        target.wait("ready")
        before = left_of(target)
        for number in lib.signal.SIGINT, lib.signal.SIGKILL:
            tool = lib.Tool("-p", str(target.pid)).ready()
            during = left_of(target)
            begin = time.monotonic()
            tool.send(number)
            tool.finish()
            while left_of(target) != before and time.monotonic() - begin < lib.PATIENCE:
                time.sleep(0.1)
            facts[number.name] = {"gone_s": round(time.monotonic() - begin, 1),
                                  "breakpoints": sum(a != b for a, b in zip(before["code"], during["code"])),
                                  **{kind: len(during[kind] - before[kind]) for kind in NEXT_ID}}
            after = left_of(target)
            wrong += [f"{number.name}: {kind} are left" for kind in before if after[kind] != before[kind]]
            if facts[number.name]["breakpoints"] < 100:
                wrong.append(f"{number.name}: the target was not probed: {facts[number.name]}")
        if target.popen.poll() is not None:
            wrong.append("the target has ended")
        return facts, wrong

    def suite(self):
        """Tests of the tree as they are, and the demo."""
        return suite.told(self.asked["tests"], self.tell)

    def pythons(self):
        """Tests of Python's stacks, with each CPython that the image has."""
        self.tell(script="CPython", seconds=0, cases=[[version, "skip", why] for version, why in self.asked["lacking"].items()])
        programs = [os.path.join(lib.TOP, path) for path in self.asked["pythons"]]
        return suite.told(PYTHON_TESTS, self.tell, PYTHONS=" ".join(programs))

    def preempt(self):
        return preempt.preempted(self.asked["preempt_seconds"], lambda name, facts: self.tell(doing=name, facts=facts))

    def run(self):
        self.tell(doing="start", facts={"release": os.uname().release, "version": os.uname().version,
                                        "cpus": os.cpu_count(), "possible_cpus": possible_cpus(), "preemption": preempt.models()[0],
                                        "page_bytes": os.sysconf("SC_PAGE_SIZE"), "signs_returns": signs_returns()})
        for name in self.asked["checks"]:
            check = getattr(self, name)
            self.tell(doing=name, facts={})
            begin = time.monotonic()
            try:
                facts, wrong = check()
            except Exception as why:
                facts = {}
                wrong = [str(why) if isinstance(why, lib.Failure) else traceback.format_exc()]
            clean()
            self.tell(check=name, wrong=wrong, facts=facts, seconds=round(time.monotonic() - begin, 1))
        self.tell(doing="end", facts={})


def possible_cpus():
    """As the kernel has it: "0-71"."""
    with open("/sys/devices/system/cpu/possible", encoding="ascii") as file:
        return file.read().strip()


def signs_returns():
    """Whether the CPU has arm64's pointer authentication."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        return " paca" in file.read()


def clean():
    lib.Process.end_all()
    while lib.folders:
        lib.shutil.rmtree(lib.folders.pop(), ignore_errors=True)


def batch(mode):
    """Workloads, one after the other, as there is no room for all; each has its own books while it holds."""
    tool = lib.Tool("-a", *MODES[mode], options=tracing.SLOW).ready()
    wrong = []
    for argv in BATCH:
        target = lib.Target(*argv, hold="end")
        target.wait("end")
        view = tracing.more_views(tool, 2)
        target.go()
        try:
            lib.compare(view, target.pid, target.books())
        except lib.Failure as why:
            wrong.append(f"{' '.join(argv)}: {why}")
    troubles = tracing.troubles(tracing.stopped(tool))
    lib.check(not wrong and not troubles, "\n".join(wrong), troubles)


def ids(command):
    """Of everything of a kind that the kernel has."""
    libc, attr, found = ctypes.CDLL(None, use_errno=True), (ctypes.c_uint32 * 32)(), set()
    while not libc.syscall(bpf_stats.BPF[os.uname().machine], command, ctypes.byref(attr), ctypes.sizeof(attr)):
        found.add(attr[1])
        attr[0] = attr[1]
    return found


def left_of(target):
    places = [p for p in ("/tmp", "/run", "/root", "/dev/shm", "/sys/fs/bpf", lib.TOP) if os.path.isdir(p)]
    files = {os.path.join(p, name) for p in places for name in os.listdir(p)}
    with open("/proc/mounts", encoding="utf-8") as file:
        mounts = file.read()
    return {"code": test_detach.code_of(target.pid), "files": files, "mounts": mounts,
            **{kind: ids(command) for kind, command in NEXT_ID.items()}}


def main():
    if sys.argv[1] == "reference":
        print(json.dumps(tracing.reference()))
        return
    lib.MOST_INCOMPLETE = max(lib.MOST_INCOMPLETE, MOST_INCOMPLETE)
    with open(ASKED, encoding="utf-8") as file:
        asked = json.load(file)
    with open(sys.argv[1], "w", encoding="ascii") as out:
        if out.isatty():
            raw = termios.tcgetattr(out)
            raw[1] &= ~termios.OPOST
            raw[3] &= ~termios.ECHO
            termios.tcsetattr(out, termios.TCSANOW, raw)
        Guest(asked, out).run()


if __name__ == "__main__":
    main()
