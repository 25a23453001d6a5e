# SPDX-License-Identifier: BSD-2-Clause
"""What the tests with real probes share: TAP, workloads on the stand-in driver, gpumemtrace beside them, and
comparisons.

A workload (tests/standin/workloads) holds in a phase (Target.wait) while the tool's report is taken, so both
speak of the same moment. Reports are the tool's --json; what they are compared with are the workload's own books,
the simulated driver's account and NVML.
"""
import atexit
import glob
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(TOP, "tests"))
from patience import LOOK, PATIENCE, until  # noqa: E402

BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(TOP, "build")))
TOOL = os.path.join(BUILD, "gpumemtrace")
STANDIN = os.path.join(TOP, "build/standin")
BUILT = os.path.join(STANDIN, "root")
LIB = os.path.join(BUILT, "usr/lib/libcuda.so.1")
LIB_ENDBR = os.path.join(BUILT, "usr/lib-endbr/libcuda.so.1")
C10 = os.path.join(BUILT, "usr/lib-torch/libc10.so")
C10_ENDBR = os.path.join(BUILT, "usr/lib-torch-endbr/libc10.so")
C10_CUDA = os.path.join(BUILT, "usr/lib-torch/libc10_cuda.so")
GPU_A = "GPU-b71e4d02-6f53-4c1a-9d30-27a8e45b9011"      # nvidia-smi's 0, CUDA's 1
GPU_B = "GPU-2c90f68e-11d4-4e77-8b42-c35d069fe822"      # nvidia-smi's 1, CUDA's 0
MIB = 1 << 20
READERS = "gmt-parse"                                   # so the names begin of processes that read files (user/parse)
RESTS = 5               # looks in a row: the tool reads a process that maps much every 0.05 s
PAUSES = 5              # ... and leaves it alone for four times as long as the reading took (READ_SHARE, stack_worker_state.c)
REST_MOST = 3.0         # seconds; for what takes longer is not the reading of a process
BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}              # a Python with this keeps it: PyTorch loads in half the time


MOST_INCOMPLETE = 0     # of a workload's stacks, as a share


class Skip(Exception):
    pass


class Failure(Exception):
    pass


def check(condition, *what):
    if not condition:
        raise Failure(" ".join(map(str, what)))


def equal(got, wanted, what):
    check(got == wanted, f"{what}: {got!r}, not {wanted!r}")


def ready():
    """Ends the test where it cannot run."""
    if os.geteuid() != 0:
        print("1..0 # skip needs root")
        sys.exit(0)
    for path in (TOOL, LIB):
        if not os.path.exists(path):
            print(f"1..1\nnot ok 1 - {path} has not been built")
            sys.exit(1)


def needs_endbr64():
    if os.uname().machine != "x86_64":
        raise Skip("the instruction is x86-64's")


def main(*tests):
    """Runs functions as TAP cases; the first line of a function's docstring is its name."""
    ready()
    print(f"1..{len(tests)}", flush=True)
    bad = 0
    for number, test in enumerate(tests, 1):
        name = (test.__doc__ or test.__name__).splitlines()[0]
        try:
            test()
            print(f"ok {number} - {name}", flush=True)
        except Skip as why:
            print(f"ok {number} - {name} # SKIP {why}", flush=True)
        except Exception as error:      # a case that crashes has failed; the others still run
            bad += 1
            trace_back = "".join(traceback.format_exc().splitlines(True)[-5:])
            text = str(error) if isinstance(error, Failure) else trace_back
            print(f"not ok {number} - {name}\n# " + text.rstrip().replace("\n", "\n# "), flush=True)
        finally:
            Process.end_all()
            while folders:
                shutil.rmtree(folders.pop(), ignore_errors=True)
    sys.exit(1 if bad else 0)


folders = []


def folder(prefix="gmt-test-", **options):
    """A temporary folder that goes with the case."""
    folders.append(tempfile.mkdtemp(prefix=prefix, **options))
    return folders[-1]


def make_root(driver="580", libraries=True):
    """Another root of the simulated driver: GPUs of its own, of another release."""
    path = folder()
    subprocess.run([os.path.join(TOP, "tests/standin/mkroot.sh"), path, driver], check=True)
    if libraries:
        shutil.copytree(os.path.join(BUILT, "usr"), os.path.join(path, "usr"))
    if os.path.isdir(BUILT + "/lib"):
        shutil.copytree(os.path.join(BUILT, "lib"), os.path.join(path, "lib"))
    return path


def own_root():
    """The root that this test's processes use: its GPUs are used by nobody else on the machine."""
    path = make_root(libraries=False)
    folders.remove(path)
    os.environ["GPUMEMTRACE_STANDIN_ROOT"] = path
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


ROOT = own_root() if os.path.exists(LIB) else BUILT


def workload(name):
    return os.path.join(STANDIN, "workloads", name)


def environment(lib=LIB, **more):
    """The environment of a program that is to load `lib`."""
    return {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(lib), **more}


def run(argv, **options):
    """A program run to its end."""
    options = {"env": environment(), "text": True, **options}
    return subprocess.run(argv, capture_output=True, timeout=PATIENCE, check=False, **options)


def of_proc(path):
    """A file's text; nothing where the process has ended meanwhile."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def descendants(pid):
    found = [int(child) for path in glob.glob(f"/proc/{pid}/task/*/children") for child in of_proc(path).split()]
    return found + [pid for child in found for pid in descendants(child)]


class Process:
    """A child whose output lines can be waited for."""
    running = []

    def __init__(self, argv, **options):
        self.popen = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      text=True, **options)
        self.pid = self.popen.pid
        self.out, self.err = [], []
        self.news = queue.Queue()
        self.readers = [self._reader(self.popen.stdout, self.out), self._reader(self.popen.stderr, self.err)]
        Process.running.append(self)

    def _reader(self, pipe, lines):
        def read():
            for line in pipe:
                lines.append(line)
                self.news.put(True)
            self.news.put(False)
        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread

    def wait_line(self, found, what):
        """Until found() is true; a failure if the child ends or takes too long."""
        end = time.monotonic() + PATIENCE
        while not found():
            try:
                self.news.get(timeout=0.1)
            except queue.Empty:
                pass
            check(time.monotonic() < end, f"{what}: waited for {PATIENCE} s", self.stderr())
            if self.popen.poll() is not None and not any(r.is_alive() for r in self.readers):
                check(found(), f"{what}: it ended with {self.popen.returncode}", self.stderr())

    def stderr(self):
        return "".join(self.err)

    def send(self, number):
        self.popen.send_signal(number)

    def line(self, text="\n"):
        self.popen.stdin.write(text)
        self.popen.stdin.flush()

    def finish(self):
        """Waits for the end: (exit status as subprocess gives it, stdout)."""
        try:
            self.popen.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.popen.args} does not end; it said {self.stderr()}") from None
        for reader in self.readers:
            reader.join(PATIENCE)
        return self.popen.returncode, "".join(self.out)

    @classmethod
    def end_all(cls):
        for process in cls.running:
            if process.popen.poll() is None:
                left = descendants(process.pid)         # a tool's command would hold what it has in the next case
                process.popen.kill()
                process.popen.wait()
                for pid in left:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
        cls.running.clear()


class Target(Process):
    """A workload; hold: the phase in which it waits for go()."""

    def __init__(self, *argv, hold=None, lib=LIB, env=None, prefix=(), **options):
        if not os.path.isabs(argv[0]):
            argv = (workload(argv[0]),) + argv[1:]
        more = dict(env or {}, **({"WL_HOLD": hold} if hold else {}))
        super().__init__(list(prefix) + list(argv), env=environment(lib, **more), **options)

    def phases(self):
        return [line[6:].strip() for line in self.err if line.startswith("phase=")]

    def wait(self, phase, times=1):
        self.wait_line(lambda: self.phases().count(phase) >= times, f"phase {phase}")

    def go(self):
        self.send(signal.SIGUSR1)

    def books(self):
        status, out = self.finish()
        equal(status, 0, f"{self.popen.args}: exit status ({self.stderr()})")
        return books_of(out)


def books_of(out):
    return {k: int(v) for k, v in (line.split("=", 1) for line in out.splitlines() if "=" in line)
            if k.startswith(("gpu.", "proc."))}


def readers_of(pid):
    """Folders in /proc of the processes in which a tool has files read."""
    return [f"/proc/{child}" for child in descendants(pid) if of_proc(f"/proc/{child}/comm").startswith(READERS)]


def workers_wait(pid):
    """Whether the readers of a process, and all its threads but the first one, wait for something to do. A thread that
    waits for a CPU does not; what was stopped, or has ended, is not waited for."""
    threads = [path for path in glob.glob(f"/proc/{pid}/task/*") if not path.endswith(f"/{pid}")]
    states = [of_proc(path + "/stat").rpartition(")")[2].split()[:1] for path in threads + readers_of(pid)]
    return not any(state in (["R"], ["D"]) for state in states)


class Rest:
    """Of a tool that has done what there was to do: tables of stacks, names, dumps. Look at it again and again."""

    def __init__(self, pid):
        self.pid, self.looks = pid, 0
        self.worked_from = self.worked_until = time.monotonic()

    def has_come(self):
        now = time.monotonic()
        if not workers_wait(self.pid):
            self.worked_from = now - LOOK if self.looks >= RESTS else self.worked_from
            self.worked_until, self.looks = now, 0
            return False
        self.looks += 1
        pause = min(PAUSES * (self.worked_until - self.worked_from), REST_MOST)
        return self.looks >= RESTS and now - self.worked_until >= pause


class Tool(Process):
    """gpumemtrace with --json on the simulated driver; dumps: the folder for them."""

    def __init__(self, *arguments, lib=LIB, root=ROOT, env=None, json_output=True, options=("--interval", "0.1"),
                 dumps="off", binary=None, **more):
        argv = [binary or TOOL, "--driver-root", root, "--oom-dir", dumps] + (["--json"] if json_output else [])
        argv += list(options) + list(arguments)
        super().__init__(argv, env=environment(lib, GPUMEMTRACE_STANDIN_ROOT=root, **(env or {})), **more)
        self.read, self.parsed = 0, []

    def views(self):
        lines = self.out[self.read:]
        self.read += len(lines)
        self.parsed += [json.loads(line) for line in lines if line.startswith("{")]
        return self.parsed

    def ready(self):
        """Until the probes are in place: the first view says so."""
        self.wait_line(lambda: any(line.startswith("{") for line in self.out), "the first view")
        return self

    def probes(self, path):
        """Until a library is probed: this file, not one that another program on the machine has."""
        inode = os.stat(path).st_ino
        self.wait_line(lambda: any(l["inode"] == inode for l in self.views()[-1]["libraries"]), "the probe")

    def more_views(self, count=3):
        """Until it has shown so many more: in between NVML was asked, and all records were taken."""
        seen = len(self.views())
        self.wait_line(lambda: len(self.views()) >= seen + count, f"{count} more views")

    def idle(self):
        """Until it has done what there was to do."""
        self.more_views()
        rest = Rest(self.pid)
        check(until(rest.has_come), "it always has something to do", self.stderr())

    def report(self):
        status, _ = self.finish()
        reports = [v for v in self.views() if v["type"] == "report"]
        check(len(reports) == 1, f"{len(reports)} reports, exit status {status}: {self.stderr()}")
        reports[0]["exit_status"] = status
        return reports[0]

    def stop(self, number=signal.SIGINT):
        self.send(number)
        report = self.report()
        equal(report["exit_status"], 0, "exit status " + self.stderr())
        return report


def packaged(place, component, file, *packages):
    """A file of Debian packages that are not installed, below build/; a Skip where it cannot be had."""
    script = os.path.join(TOP, "tests/bpf/get_packages.sh")
    got = subprocess.run([script, os.path.join(TOP, "build", place), component, file, *packages],
                         capture_output=True, text=True, check=False)
    if got.returncode:
        raise Skip(got.stderr.strip() or "it cannot be had")
    return got.stdout.strip()


def unknown_copy(path):
    """A copy of a libcuda under a name that no tracer looks for: the breakpoints in it are those of who was given it."""
    return shutil.copy(path, os.path.join(folder(), "libunknown.so"))


def process_of(report, pid):
    found = [p for p in report["processes"] if p["pid"] == pid]
    check(len(found) == 1, f"{len(found)} processes with pid {pid} in", [p["pid"] for p in report["processes"]])
    return found[0]


def row_of(process, uuid):
    found = [g for g in process["gpus"] if g["uuid"] == uuid]
    return found[0] if found else None


METRICS = {"live": "live_bytes", "peak": "peak_bytes", "allocs": "allocs", "frees": "frees", "failed": "failed"}


def compare(report, pid, books, clean=True, skip=()):
    """The report's numbers of a process against what the workload noted; skip: metrics that do not count."""
    process = process_of(report, pid)
    wrong = []
    for key, wanted in books.items():
        parts = key.split(".")
        if parts[-1] in skip:
            continue
        if parts[0] == "proc":
            got = process["classes"][parts[1]][METRICS[parts[2]]]
        else:
            row = row_of(process, parts[1])
            if row is None:
                got = None
            elif parts[2] == "physical":
                got = row["physical"] and row["physical"]["live_bytes"]
            else:
                got = row["classes"][parts[2]][METRICS[parts[3]]]
        if got != wanted:
            wrong.append(f"{key}: {got}, not {wanted}")
    if clean:
        wrong += strange(report, process, skip)
    check(not wrong, "\n".join(wrong))
    return process


def strange(report, process, skip=()):
    """What a faultless run does not have: losses, anomalies, memory nobody named, bytes on no known GPU. skip: "residual"
    where NVML may have been asked while a call was on its way, as it may of each process that has ended."""
    wrong = [f"lost {k}: {v}" for k, v in report["losses"].items() if v]
    wrong += [f"anomaly {k}: {v}" for k, v in process["anomalies"].items() if v]
    for row in process["gpus"]:
        if row["uuid"] not in (GPU_A, GPU_B):
            held = [c for c, v in row["classes"].items() if v["allocs"] or v["live_bytes"] or v["frees"]]
            if held or row["attributed"]["live_bytes"] or row["physical"] and row["physical"]["peak_bytes"]:
                wrong.append(f"memory on an unknown GPU: {held} {row['physical']}")
            continue
        nvml = row["nvml"]
        alive = not process["exited"]   # one that was there for a moment only, NVML was not asked about
        physical = row["physical"] and row["physical"]["live_bytes"]
        if alive and physical and "nvml" in report["session"]["layers"] and not nvml:
            wrong.append(f"NVML said nothing about {row['uuid']}")
        if nvml and sum(nvml["sum"].values()) != nvml["used_bytes"]:
            wrong.append(f"NVML's number is not the sum on {row['uuid']}: {nvml}")
        residual = nvml and nvml["sum"]["residual_bytes"]
        if process["from_start"] and alive and residual and "residual" not in skip:
            wrong.append(f"residual on {row['uuid']}: {nvml}")
        if process["from_start"] and row["before_attach_bytes"]:
            wrong.append(f"memory from before attach on {row['uuid']}: {row['before_attach_bytes']}")
    return wrong


def trace(*argv, hold="end", phase=None, tool=(), clean=True, skip=(), lib=LIB, root=ROOT, env=None):
    """A workload traced with -a from its start, the report taken while it holds.

    Returns the process in the report, the report, the workload's stdout."""
    tracer = Tool("-a", *tool, lib=lib, root=root).ready()
    target = Target(*argv, hold=hold, lib=lib, env=env)
    target.wait(phase or hold)
    report = settled(tracer, target.pid)
    target.go()
    status, out = target.finish()
    equal(status, 0, "the workload's exit status")
    return compare(report, target.pid, books_of(out), clean, skip), report, out


def settled(tracer, pid):
    """The report, not before NVML has been asked once more, the ring has been emptied and stacks have names."""
    tracer.idle()
    return tracer.stop()
