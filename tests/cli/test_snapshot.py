#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Snapshots made from recordings open in their consumers: PyTorch's _memory_viz.py and its viewer."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import cases
from cases import BIN, PATIENCE, TOP, check, skip

sys.path[:0] = [os.path.join(TOP, "tests"), os.path.join(TOP, "tests", "recordings")]
import recfile  # noqa: E402
import vizlib  # noqa: E402
import wire  # noqa: E402

S, MIB, PID, WALL = 10**9, 1 << 20, 4242, 1770113700
NATIVE, PIECES, OTHER = 0x7f0000000000, 0x7e0000000000, 0x7d0000000000
SYMBOLS = {
    1: ("cuMemAlloc_v2", "/usr/lib/libcuda.so.1", "", 0),
    2: ("", "/opt/prog", "", 0),
    3: ("f\u00f6rward \u2713", "", "/home/me/train.py", 212),
    4: (b"br\xffken", "", "/home/me/train.py", 300),
}
STACKS = {101: [1, 2, 3], 102: [1, 3, 4]}


def replay(*words):
    done = subprocess.run([BIN, "replay", *words], capture_output=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr.decode()


class Story:
    """A program with PyTorch on two devices, native and with expandable segments, beside NCCL's memory."""

    def __init__(self):
        self.wire, self.apis, self.records, self.seq, self.now = wire.Wire(), wire.apis(), [], 0, S
        self.tid = 0                                              # 0: the first thread
        self.pid, self.allocated, self.reserved = PID, {0: 0, 1: 0}, {0: 0, 1: 0}

    def put(self, kind, /, tgid=None, **values):
        self.now += 1000000
        self.records.append(self.wire.record(kind, tgid=self.pid if tgid is None else tgid, tid=self.tid or self.pid,
                                             ts_ns=self.now, **values))

    def call(self, symbol, *vals, stack=0, rc=0):
        self.seq += 1
        self.put("CALL", api=self.apis[symbol].id, seq=self.seq, phase=int(self.apis[symbol].release), stack_id=stack,
                 rc=rc, tail=b"".join(v.to_bytes(8, "little") for v in vals))

    def block(self, device, ptr, size, stack=0):
        self.allocated[device] += size
        self.put("FW_MEM", ptr=ptr, delta=size, total_allocated=self.allocated[device], device_type=1,
                 total_reserved=self.reserved[device], device_index=device, stack_id=stack)

    def piece(self, device, handle, ptr):
        self.call("cuMemCreate", handle, 20 * MIB, 1, device, 1, stack=102)
        self.call("cuMemMap", ptr, 20 * MIB, 0, handle)
        self.reserved[device] += 20 * MIB

    def names(self):
        for number, (function, module, file, line) in SYMBOLS.items():
            texts = [t if isinstance(t, bytes) else t.encode() for t in (function, module, file)]
            tail = b"".join(t + b"\0" for t in texts)
            self.put("SYMBOL", tgid=0, id=number, line=line, kind=int(not module), offset=0x1f, function_len=len(texts[0]),
                     module_len=len(texts[1]), file_len=len(texts[2]), tail=tail.ljust(-(-len(tail) // 8) * 8, b"\0"))
        for number, symbols in STACKS.items():
            tail = b"".join(s.to_bytes(4, "little") for s in symbols)
            self.put("STACK_FRAMES", stack_id=number, count=len(symbols), tail=tail.ljust(-(-len(tail) // 8) * 8, b"\0"))


def begin():
    s = Story()
    s.put("SESSION", tgid=0, wall_ns=WALL * S, layers=9, version="0.1.0", host="node17")
    for number in range(2):
        s.put("GPU", tgid=0, index=number, total_bytes=80 << 30, uuid=bytes(range(number, 16 + number)), name="H100")
    s.put("ATTACH", flags=1)
    for number in range(2):
        uuid = bytes(range(number, 16 + number))
        s.call("cuDeviceGetUuid_v2", int.from_bytes(uuid[:8], "little"), int.from_bytes(uuid[8:], "little"), number)
    s.call("cuDevicePrimaryCtxRetain", 0xc0, 0)
    s.call("cuCtxSetCurrent", 0xc0)
    return s


def story():
    s = begin()
    s.reserved[0] += 20 * MIB
    s.call("cuMemAlloc_v2", NATIVE, 20 * MIB, stack=101)
    s.block(0, NATIVE, 4 * MIB, stack=101)
    s.block(0, NATIVE + 4 * MIB, 6 * MIB, stack=102)
    s.call("cuMemAlloc_v2", OTHER, 64 * MIB, stack=103)           # NCCL's; its stack has no names
    s.block(0, NATIVE, -4 * MIB)
    for i in range(3):
        s.piece(1, 1 + i, PIECES + i * 20 * MIB)
    s.block(1, PIECES, 50 * MIB, stack=102)
    s.block(1, PIECES + 50 * MIB, MIB)
    s.call("cuMemAlloc_v2", 0, 500 << 30, stack=102, rc=2)
    s.call("cuMemAlloc_v2", 0, 500 << 30, stack=102, rc=2)        # the retry
    s.block(1, PIECES, -50 * MIB)
    s.call("cuMemUnmap", PIECES, 20 * MIB)
    s.call("cuMemRelease", 1)
    s.names()
    return s


def contents(path):
    rc, out, err = replay("--snapshot", path + ".pickle", path)
    check("a snapshot of a recording: exit status 0 and no message", rc == 0 and not err and out, err)
    check("no viewer chokes on it", not vizlib.problems(path + ".pickle"), "\n".join(vizlib.problems(path + ".pickle")))
    snapshot = vizlib.load(path + ".pickle")
    got = [[e["action"] for e in trace] for trace in snapshot["device_traces"]]
    freed = ["free_requested", "free_completed"]
    check("each device has its events, in order", got == [
        ["segment_alloc", "alloc", "alloc", "segment_alloc", "alloc", *freed, "oom"],
        ["segment_map"] * 3 + ["alloc", "alloc", *freed, "segment_unmap"]], got)
    got = [(g["device"], g["address"], g["total_size"], g["allocated_size"], g["is_expandable"])
           for g in snapshot["segments"]]
    check("segments are there by address, pieces as one", got == [
        (0, OTHER, 64 * MIB, 64 * MIB, False), (1, PIECES + 20 * MIB, 40 * MIB, MIB, True),
        (0, NATIVE, 20 * MIB, 6 * MIB, False)], got)
    frames = snapshot["segments"][2]["blocks"][1]["frames"]
    check("a block has its frames, the innermost first, in whole UTF-8", frames == [
        {"name": "cuMemAlloc_v2", "filename": "/usr/lib/libcuda.so.1", "line": 0},
        {"name": "f\u00f6rward \u2713", "filename": "/home/me/train.py", "line": 212},
        {"name": "br?ken", "filename": "/home/me/train.py", "line": 300}], frames)
    trace = snapshot["device_traces"][0]
    check("a frame without a name is an offset", trace[0]["frames"][1] ==
          {"name": "0x1f", "filename": "/opt/prog", "line": 0}, trace[0]["frames"])
    check("one frame is one object", trace[0]["frames"][2] is frames[1] and trace[1]["frames"] is trace[0]["frames"])
    check("what has no names or no stack says so",
          "names of this stack" in trace[3]["frames"][0]["name"] and
          "no stack" in snapshot["device_traces"][1][4]["frames"][0]["name"], trace[3])
    check("an out-of-memory is one event, with its size", (trace[-1]["size"], trace[-1]["device_free"]) ==
          (500 << 30, (80 << 30) - 84 * MIB), trace[-1])
    first = WALL * 10**6
    check("times are those of the wall clock", first < trace[0]["time_us"] < first + 10**6, trace[0])


def spellings(path, folder):
    with open(path + ".pickle", "rb") as file:
        wanted = file.read()
    rc, _, err = replay("-o", folder + "/o.pickle", path)
    with open(folder + "/o.pickle", "rb") as file:
        check("-o FILE.pickle is the same", rc == 0 and file.read() == wanted, err)
    rc, out, err = replay("--snapshot", "-", path)
    check("- is standard output, and the report goes to standard error", rc == 0 and out == wanted and "GPU 0" in err, err)
    rc, out, err = replay("--json", "-o", folder + "/o.pickle", path)
    check("beside JSON", rc == 0 and json.loads(out.splitlines()[-1])["type"] == "report", err)
    rc, _, err = replay("-q", "--window", "4", "--snapshot", folder + "/few.pickle", path)
    few = vizlib.load(folder + "/few.pickle")
    check("the newest events are kept", rc == 0 and not err and not vizlib.problems(folder + "/few.pickle") and
          [len(t) for t in few["device_traces"]] == [1, 4], [len(t) for t in few["device_traces"]])
    frames = few["device_traces"][1][1]["frames"]
    check("... and a free without its allocation says by whom that was", len(frames) == 4 and
          "allocated before the events" in frames[0]["name"], frames)
    rc, _, err = replay("--window", "4", "--snapshot", folder + "/few.pickle", path)
    check("... and so does a message", rc == 0 and "older events: give a larger --window" in err, err)


def many(folder):
    s = begin()
    s.call("cuMemAlloc_v2", OTHER, MIB)
    s.pid = 77
    s.call("cuMemAlloc_v2", OTHER, 3 * MIB)
    recfile.write(folder + "/two.gmt", s.records)
    rc, _, err = replay("-o", folder + "/a.b/two.pickle", folder + "/two.gmt")
    check("a folder that is not there: status 1 and a message", rc == 1 and "No such file" in err, err)
    rc, _, err = replay("-o", folder + "/two.pickle", folder + "/two.gmt")
    sizes = [vizlib.load(f"{folder}/two.{pid}.pickle")["segments"][0]["total_size"] for pid in (PID, 77)]
    check("two processes are two files, and it is said", rc == 0 and sizes == [MIB, 3 * MIB] and err.count("two.77.pickle") == 1,
          err)
    check("... and nothing else", sorted(os.path.basename(p) for p in glob.glob(folder + "/two*")) ==
          ["two.4242.pickle", "two.77.pickle", "two.gmt"], glob.glob(folder + "/two*"))
    rc, out, err = replay("--snapshot", "-", folder + "/two.gmt")
    check("... which standard output cannot be", rc == 1 and not out and "can write only one process" in err, err)
    recfile.write(folder + "/none.gmt", begin().records)
    rc, _, err = replay("-o", folder + "/none.pickle", folder + "/none.gmt")
    check("without device memory there is no file, and it is said", rc == 0 and "no process" in err and
          not os.path.exists(folder + "/none.pickle"), err)


def window(folder):
    """A dump, as tracing writes them: what is made of its window, also when the picture is an OOM's."""
    s = begin()
    s.names()
    first, torch, unseen = 1000, 1, 0xffffffffffffffff
    s.put("OOM", number=7, api=s.apis["cuMemAlloc_v2"].id, outcome=2, sign=4, class_id=0, asked_bytes=8 * MIB,
          first_ns=s.now, last_ns=s.now, decided_ns=s.now)
    s.put("HISTORY", since=400, first=first)
    s.put("HISTORY_UNSEEN", device=0, allocated=3 * MIB, reserved=20 * MIB)
    s.put("HISTORY_RANGE", base=NATIVE, length=20 * MIB, born=990, stack_id=101, flags=torch, device=0)
    s.put("HISTORY_RANGE", base=NATIVE + MIB, length=MIB, born=unseen, is_block=1, device=0)
    s.put("HISTORY_RANGE", base=PIECES + MIB, length=MIB, born=1001, is_block=1, device=0)     # in no segment
    for kind, at, size, born, stack in ((1, NATIVE, MIB, 1000, 102), (0, 0, 0, 0, 0), (2, NATIVE, MIB, 1000, 102),
                                        (5, 5 * MIB, 8 * MIB, 7, 102), (9, NATIVE, MIB, 1004, 0)):  # the last is no kind
        s.put("HISTORY_EVENT", address=at, size=size, born=born, stack_id=stack, kind=kind, device=0)
    path = folder + "/dump.gmt"
    recfile.write(path, s.records)
    said = subprocess.run([BIN, "oom", "-o", folder + "/dump.pickle", path], capture_output=True, timeout=PATIENCE, text=True)
    # the kind that there is not is refused, the block that is in no segment is left out
    check("a dump: what was said before, and how much older there was", said.returncode == 0 and
          "OUT OF MEMORY #7" in said.stdout and " lacks 600 older events" in said.stderr, said)
    wrong = vizlib.problems(folder + "/dump.pickle")
    check("... no viewer chokes on its snapshot", not wrong, "\n".join(wrong))
    snapshot = vizlib.load(folder + "/dump.pickle")
    got = [(e["action"], e.get("addr", e.get("device_free")), e["size"], len(e["frames"]))
           for e in snapshot["device_traces"][0]]
    check("... which has the events up to the failure, with stacks", got == [
        ("alloc", NATIVE, MIB, 3), ("free_requested", NATIVE, MIB, 4), ("free_completed", NATIVE, MIB, 4),
        ("oom", 5 * MIB, 8 * MIB, 3)], got)
    got = [(g["address"] >> 50, g["total_size"], g["allocated_size"]) for g in snapshot["segments"]]
    check("... and what lived then", got == [(0, 20 * MIB, MIB), (1, 20 * MIB, 3 * MIB)], got)
    with open(folder + "/dump.pickle", "rb") as file:
        wanted = file.read()
    rc, _, err = replay("-q", "-o", folder + "/again.pickle", path)
    with open(folder + "/again.pickle", "rb") as file:
        check("... replay writes the same", rc == 0 and file.read() == wanted, err)
    said = subprocess.run([BIN, "oom", "-q", "--json", "--snapshot", "-", path], capture_output=True, timeout=PATIENCE)
    check("... and --json beside '-' is refused", said.returncode == 2, said)
    said = subprocess.run([BIN, "oom", "-q", "--snapshot", "-", path], capture_output=True, timeout=PATIENCE)
    check("... without it, words go to standard error", said.stdout == wanted and b"#7" in said.stderr, said)


def training(folder):
    """Two iterations with ranges: what blocks are for. Then a window of nothing but blocks whose purpose is told."""
    s, ranges = begin(), wire.Wire().consts
    s.reserved[0] += 20 * MIB
    s.call("cuMemAlloc_v2", NATIVE, 20 * MIB, stack=101)
    s.block(0, NATIVE, MIB)
    for iteration in range(2):
        s.block(0, NATIVE + MIB, MIB)
        s.put("FW_RANGE", what=ranges["GMT_RANGE_BACKWARD"])
        s.tid = 99                                                # autograd's thread
        s.block(0, NATIVE + 2 * MIB + iteration * MIB, MIB)
        s.block(0, NATIVE + MIB, -MIB)
        s.tid = 0
        s.put("FW_RANGE", object=8, what=ranges["GMT_RANGE_BEGIN"], name="Optimizer.step#SGD.step")
        s.put("FW_RANGE", object=8, what=ranges["GMT_RANGE_END"])
    path = folder + "/training"
    recfile.write(path + ".gmt", s.records)
    rc, _, err = replay("-o", path + ".pickle", path + ".gmt")
    wrong = vizlib.problems(path + ".pickle")
    got = [e["category"] for e in vizlib.load(path + ".pickle")["device_traces"][0] if "free" not in e["action"]]
    check("a training's blocks have categories, its segment is unknown", rc == 0 and not wrong and got ==
          ["unknown", "parameter", "activation", "gradient", "activation", "gradient"], (err, wrong, got))
    got = [(a["name"], a["stage"], a["device"]) for a in vizlib.load(path + ".pickle")["external_annotations"]]
    check("... its ranges are annotations", got == [("Optimizer.step#SGD.step", "START", 0),
                                                    ("Optimizer.step#SGD.step", "END", 0)] * 2, got)
    rc, _, err = replay("-q", "--window", "3", "-o", path + "-few.pickle", path + ".gmt")
    wrong = vizlib.problems(path + "-few.pickle")
    check("... and something is, always", rc == 0 and not wrong, (err, wrong))
    check("without a training there are none", not any("category" in e for trace in
          vizlib.load(folder + "/run.gmt.pickle")["device_traces"] for e in trace))


def real(folder):
    for path in sorted(glob.glob(os.path.join(TOP, "tests/data/h100-*.gmt"))):
        name = os.path.basename(path)[:-4]
        rc, out, err = replay("--json", "-o", f"{folder}/{name}.pickle", path)
        wrong = vizlib.problems(f"{folder}/{name}.pickle")
        check(f"{name}: no viewer chokes on it", rc == 0 and not wrong, "\n".join([err] + wrong))
        if name == "h100-expandable":    # it makes memory that it never maps, which has no address
            continue
        row = json.loads(out.splitlines()[-1])["processes"][0]["gpus"][0]
        snapshot = vizlib.load(f"{folder}/{name}.pickle")
        check(f"{name}: its segments and its peak are those of the report", vizlib.totals(snapshot, 0)[1] ==
              row["attributed"]["live_bytes"] and vizlib.active_peak(snapshot, 0) == row["attributed"]["peak_bytes"],
              (vizlib.totals(snapshot, 0), vizlib.active_peak(snapshot, 0), row["attributed"]))


# What draws flame graphs for it: hands out the stacks that they would be drawn of.
FLAMEGRAPH = "#!/bin/sh\nexec cat\n"
# `compare` does not take what its command line gives it: it wants the lists of segments.
COMPARE = """
import importlib.util, pickle, sys
spec = importlib.util.spec_from_file_location("viz", sys.argv[1])
viz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(viz)
one, other = (pickle.load(open(name, "rb")) for name in sys.argv[2:])
print(viz.compare(one["segments"], other["segments"]))
"""


def waiting(folder):
    """A backward allocates in a thread of autograd, whose own frames have no line of the program."""
    rc, _, err = replay("-q", "-o", folder + "/waited.pickle", os.path.join(TOP, "tests/data/found/h200-logits.gmt"))
    with_line, wrong = 0, []
    for event in (e for trace in vizlib.load(folder + "/waited.pickle")["device_traces"] for e in trace):
        own, asked = vizlib.own_and_waiting(event)
        names = [frame["name"] for frame in own]
        if "torch::autograd::Engine::thread_main" not in names or not any("CachingAllocator" in name for name in names):
            wrong += [names] if asked else []
            continue
        line = [f["line"] for f in asked if f["filename"].endswith("train.py") and f["name"] == "train"]
        with_line += line == [69]
        wrong += [names] if line != [69] else []
    check("below the frames of a thread of autograd stand those of the line that called backward()",
          rc == 0 and with_line > 10000 and not wrong, (err, with_line, len(wrong), wrong[:1]))


def folded_sum(text, what):
    return sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines() if what in line)


def memory_viz(path, folder):
    names = ["stats", "trace", "segments and memory", "compare", "trace_plot and segment_plot", "all of them take the snapshots of real recordings"]
    try:
        script = vizlib.memory_viz_script()
    except vizlib.Unavailable as why:
        for name in names:
            skip("_memory_viz.py: " + name, why)
        return
    file, other = path + ".pickle", folder + "/h100-native.pickle"
    os.makedirs(folder + "/.cache")
    with open(folder + "/.cache/flamegraph.pl", "w", encoding="ascii", opener=lambda *a: os.open(*a, 0o755)) as draw:
        draw.write(FLAMEGRAPH)

    def run(*words):
        return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=folder,
                              env={**os.environ, "HOME": folder})

    def drawn(action):
        done = run(script, action, "-o", action + ".svg", file)
        with open(f"{folder}/{action}.svg", encoding="utf-8") as lines:
            return lines.read() if done.returncode == 0 else done.stderr
    done = run(script, "stats", file)
    check("_memory_viz.py: stats", done.returncode == 0 and "total_reserved: 124.0MiB" in done.stdout and
          "total_allocated: 71.0MiB" in done.stdout, done.stdout + done.stderr)
    done = run(script, "trace", file)
    check("_memory_viz.py: trace", done.returncode == 0 and "Device 1" in done.stdout and
          "OutOfMemoryError" in done.stdout and "500.0GiB requested" in done.stdout, done.stdout + done.stderr)
    with open(script, encoding="utf-8") as text:
        options = text.read()
    drawings = [[action, "-o", action + ".svg"] for action in ("segments", "memory")]
    if "~/.cache" in options:
        segments, memory = drawn("segments"), drawn("memory")
        check("_memory_viz.py: segments and memory", folded_sum(segments, "active_allocated") ==
              folded_sum(memory, "active_allocated") == 71 * MIB, segments + memory)
    else:
        drawings = []
        skip("_memory_viz.py: segments and memory", "an old one, which gets what draws for it elsewhere")
    done = run("-c", COMPARE, script, file, other)
    check("_memory_viz.py: compare", folded_sum(done.stdout, "only_before;") == 124 * MIB, done.stdout + done.stderr)
    plots = [["trace_plot"], ["trace_plot", "-s"], ["segment_plot"]] + [["trace_plot", "-f"]] * ("filter_freed" in options)
    done = [run(script, *words, "-o", "plot.html", file) for words in plots]
    check("_memory_viz.py: trace_plot and segment_plot", not any(d.returncode or "without free_requested" in d.stdout
                                                                for d in done), done)
    ways = [[*words, "-o", "plot.html"] for words in plots] + drawings + [["stats"], ["trace"]]
    done = [run(script, *words, file) for file in glob.glob(folder + "/h100*.pickle") for words in ways]
    wrong = [d.stderr for d in done if d.returncode]
    check("_memory_viz.py: all of them take the snapshots of real recordings", not wrong, "\n".join(wrong))


def viewer(path, folder):
    name = "PyTorch's viewer in a browser shows all tabs of all devices"
    try:
        page = vizlib.Page(folder)
    except vizlib.Unavailable as why:
        skip(name, why)
        return
    wrong = []
    for file in [path + ".pickle", folder + "/training.pickle"] + sorted(glob.glob(folder + "/h100*.pickle")):
        shown, snapshot = page.show(file), vizlib.load(file)
        wrong += [f"{os.path.basename(file)}: {error}" for error in shown["errors"]]
        for tab, devices in shown["tabs"].items():
            for device, what in devices.items():
                if "Settings" not in tab and not what["shapes"]:
                    wrong.append(f"{os.path.basename(file)}: nothing is drawn for device {device} in {tab}")
                if "History" in tab and not what["events"]:
                    wrong.append(f"{os.path.basename(file)}: no events of device {device}")
                end = re.search(r"\((\d+) bytes\) allocated / .*?\((\d+) bytes\) reserved", what["text"])
                if "History" in tab and (not end or tuple(map(int, end.groups())) != vizlib.totals(snapshot, int(device))):
                    wrong.append(f"{os.path.basename(file)}: device {device} is {vizlib.totals(snapshot, int(device))}, in "
                                 f"{tab} {what['text'][:100]}")
        if len(shown["tabs"]) < 4:
            wrong.append(f"{os.path.basename(file)}: tabs {list(shown['tabs'])}")
    check(name, not wrong, "\n".join(wrong))


def main():
    with tempfile.TemporaryDirectory(prefix="gmt-test-") as folder:
        path = os.path.join(folder, "run.gmt")
        recfile.write(path, story().records)
        contents(path)
        spellings(path, folder)
        many(folder)
        window(folder)
        training(folder)
        real(folder)
        waiting(folder)
        memory_viz(path, folder)
        viewer(path, folder)
    sys.exit(cases.done())


if __name__ == "__main__":
    main()
