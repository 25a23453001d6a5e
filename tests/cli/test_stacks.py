#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Owners and stacks of a recording appear in the report, in JSON and in folded stacks, also by a user's own rules."""
import json
import os
import re
import stat
import subprocess
import sys
import tempfile

import cases
from cases import BIN, PATIENCE, TOP, check

sys.path.insert(0, os.path.join(TOP, "tests", "recordings"))
import recfile  # noqa: E402
import wire  # noqa: E402

S, MIB = 10**9, 1 << 20
BASE = 1000 * S
PID = 4242
UUID = bytes(range(16))
CLIENT, DEVICE, SPACE = 0xc1d00001, 0x5c000001, 0x5c000002

# Symbols as a PyTorch program has them: id -> (function, module, file, line).
CUDA, TORCH = "/usr/lib/libcuda.so.1", "/opt/venv/lib/python3.11/site-packages/torch/lib/"
SYMBOLS = {
    1: ("cuMemAlloc_v2", CUDA, "", 0),
    2: ("cudaMalloc", TORCH + "libcudart.so.12", "", 0),
    3: ("c10::cuda::CUDACachingAllocator::malloc", TORCH + "libc10_cuda.so", "", 0),
    4: ("at::empty_cuda", TORCH + "libtorch_cuda.so", "", 0),
    5: ("_call_impl", "", TORCH + "../nn/modules/module.py", 1740),
    6: ("forward", "", "/home/me/train.py", 212),
    7: ("main", "", "/home/me/train.py", 300),
    8: ("cuCtxCreate_v2", CUDA, "", 0),
    9: ("ncclCommInitRank", "/usr/lib/libnccl.so.2", "", 0),
    10: ("leak", "/home/me/prog", "/home/me/leak.c", 7),
    11: ("", "/home/me/prog", "", 0),
    12: ("py;evil\n", "", "/home/me/evil.py", 1),
}
STACKS = {
    101: [1, 2, 3, 4, 5, 6, 7],
    102: [1, 2, 3, 4, 5, 6, 7],   # reads like 101
    103: [8, 5, 7],
    104: [1, 2, 9, 7],
    105: [1, 10, 11],
    106: [1, 12],
}


def run(*words):
    env = dict(os.environ, LC_ALL="C", HOME="/nonexistent", XDG_CONFIG_HOME="")
    done = subprocess.run([BIN, *words], capture_output=True, env=env, timeout=PATIENCE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Story:
    def __init__(self):
        self.wire, self.apis, self.records, self.seq = wire.Wire(), wire.apis(), [], 0

    def put(self, kind, at_s, /, tgid=PID, **values):
        self.records.append(self.wire.record(kind, tgid=tgid, tid=tgid, ts_ns=BASE + int(at_s * S), **values))

    def call(self, symbol, at_s, *vals, stack=0, phase=0):
        self.seq += 1
        self.put("CALL", at_s, api=self.apis[symbol].id, seq=self.seq, phase=phase, stack_id=stack,
                 tail=b"".join(v.to_bytes(8, "little") for v in vals))

    def alloc(self, at_s, address, size, stack):
        self.call("cuMemAlloc_v2", at_s, address, size, stack=stack)

    def free(self, at_s, address):
        self.call("cuMemFree_v2", at_s, address, phase=1)

    def kernel(self, at_s, obj, parent, class_id, size=0, symbol="cuInit", stack=0):
        self.put("RM_ALLOC", at_s, client=CLIENT, parent=parent, object=obj, class_id=class_id, size=size,
                 cause__api=self.apis[symbol].id, cause__seq=self.seq + 1, cause__stack_id=stack)

    def names(self, at_s):
        for number, (function, module, file, line) in SYMBOLS.items():
            texts = [t.encode() for t in (function, module, file)]
            tail = b"".join(t + b"\0" for t in texts)
            self.put("SYMBOL", at_s, tgid=0, id=number, line=line, kind=int(not module), offset=0x1f,
                     function_len=len(texts[0]), module_len=len(texts[1]), file_len=len(texts[2]),
                     tail=tail.ljust(-(-len(tail) // 8) * 8, b"\0"))
        for number, symbols in STACKS.items():
            tail = b"".join(s.to_bytes(4, "little") for s in symbols)
            self.put("STACK_FRAMES", at_s, stack_id=number, count=len(symbols),
                     tail=tail.ljust(-(-len(tail) // 8) * 8, b"\0"))


def story():
    s = Story()
    s.put("SESSION", 0, tgid=0, wall_ns=1770113700 * S, layers=7, version="0.1.0", host="node17")
    s.put("GPU", 0, tgid=0, total_bytes=80 << 30, uuid=UUID, name="NVIDIA H100 80GB HBM3")
    s.put("PROC", 0, uid=1000, ns_pid=PID, comm="python", cmdline="python train.py")
    s.put("ATTACH", 0, flags=1)
    for number in STACKS:
        s.put("STACK", 0, id=number, reason=1 if number != 106 else 6)
    s.kernel(0, CLIENT, CLIENT, 0x41)
    s.kernel(0, DEVICE, CLIENT, 0x80)
    s.kernel(0, SPACE, DEVICE, 0x90f1)
    s.put("UVM_VASPACE", 0, client=CLIENT, vaspace=SPACE, uuid=UUID)
    s.kernel(1, 0x100, DEVICE, 0x40, 500 * MIB, "cuCtxCreate_v2", 103)
    for i, (stack, size) in enumerate([(101, 900), (102, 100), (104, 64), (105, 1), (106, 2), (0, 3), (199, 5)]):
        s.kernel(2, 0x200 + i, DEVICE, 0x40, (size + size % 2) * MIB, "cuMemAlloc_v2", stack)
        s.alloc(2, 0x7f0000000000 + (i << 32), size * MIB, stack)
    s.alloc(90, 0x7e0000000000, 300 * MIB, 101)   # the peak, of memory the pool had: no new physical
    s.free(91, 0x7e0000000000)
    s.kernel(95, 0x300, DEVICE, 0x40, 20 * MIB, "cuMemAlloc_v2", 105)
    s.alloc(95, 0x7d0000000000, 10 * MIB, 105)    # new, late
    s.call("cuMemHostAlloc", 96, 0x7c0000000000, 7 * MIB, 0, stack=101)
    s.put("NVML", 97, used_bytes=1600 * MIB, uuid=UUID, when=1)
    s.names(98)
    s.put("GPU", 100, tgid=0, total_bytes=80 << 30, uuid=UUID, name="NVIDIA H100 80GB HBM3")
    return s.records


def report(path):
    rc, out, err = run("report", "--full", path)
    check("a report with stacks: exit code 0 and no message", rc == 0 and not err, err)
    with open(os.path.join(TOP, "tests", "golden", "replay-stacks.txt")) as file:
        wanted = file.read()
    if os.environ.get("UPDATE_GOLDEN"):
        with open(os.path.join(TOP, "tests", "golden", "replay-stacks.txt"), "w") as file:
            file.write(out)
        wanted = out
    check("the report is that in tests/golden/replay-stacks.txt", out == wanted, out)
    rc, full, err = run("replay", "--full-stacks", path)
    check("--full-stacks shows the frames that say nothing", "cudaMalloc (libcudart.so.12)" in full and
          "cudaMalloc" not in out and " more\n" not in full, full)
    rc, few, err = run("report", "--full", "--top", "1", path)
    check("--top 1: one stack in each list, all owners", few.count("  #1  ") >= 1 and "NCCL" in few and
          "ncclCommInitRank" not in few, few)
    rc, none, err = run("report", "--full", "--top", "0", path)
    check("--top 0: owners only", "BY OWNER" in none and "#1" not in none, none)
    rc, old, err = run("report", "--full", "--older-than", "3", path)
    check("--older-than", "not freed for more than 3.0 s" in old and old != out, old)


def rules(path, folder):
    file = os.path.join(folder, "owners.conf")
    with open(file, "w") as out:
        out.write('owner "team blue" file */train.py\n')
    rc, out, err = run("report", "--full", "--owners", file, path)
    check("rules of one's own come first", rc == 0 and "team blue" in out, out + err)
    with open(file, "w") as out:
        out.write("# fine\nowner\n")
    rc, out, err = run("report", "--full", "--owners", file, path)
    check("a rule that is wrong is named by its line", rc == 1 and "owners.conf:2: " in err and not out, err)
    rc, out, err = run("replay", "--owners", file + ".none", path)
    check("so is a file that is not there", rc == 1 and "No such file" in err, err)
    rc, out, err = run("--owners", file, "--", "true")
    check("with a command that is our failure, and it does not run", rc == 125, err)


def as_json(path):
    view = json.loads(run("replay", "--json", path)[1])
    row = view["processes"][0]["gpus"][0]
    stacks = row["stacks"]
    owners = {o["owner"]: o for o in stacks["owners"]}
    check("owners and the rest are the physical bytes", sum(o["live_bytes"] for o in stacks["owners"]) +
          stacks["unexplained_bytes"] == row["physical"]["live_bytes"], stacks)
    check("owners at the peak are the peak",
          sum(o["at_peak_bytes"] for o in stacks["owners"]) == stacks["peak_bytes"], stacks)
    check("who is who, and who took it for them", owners["train.py"]["allocator"] == "PyTorch" and
          not owners["NCCL"]["allocator"])
    check("who holds what", owners["train.py"]["live_bytes"] == 1000 * MIB and owners["NCCL"]["live_bytes"] == 64 * MIB and
          owners["CUDA context"]["live_bytes"] == 500 * MIB and owners["application"]["live_bytes"] == 13 * MIB and
          owners["(without a stack)"]["live_bytes"] == 3 * MIB and owners["(not named)"]["live_bytes"] == 5 * MIB, owners)
    top = stacks["top"]["live"][0]
    stack = view["stacks"][top["stack"]]
    functions = [view["symbols"][i]["function"] for i in stack["frames"]]
    check("stacks lead to symbols", functions[:2] == ["cuMemAlloc_v2", "cudaMalloc"] and functions[-1] == "main" and
          functions[stack["decisive_frame"]] == "forward", functions)
    check("what reads alike is one", top["live_bytes"] == 1000 * MIB and top["live_count"] == 2, top)
    grown = stacks["top"]["growth"]
    check("growth is what came late", len(grown) == 1 and grown[0]["grown_bytes"] == 10 * MIB, grown)
    check("host memory has its own", view["processes"][0]["host_stacks"]["live_bytes"] == 7 * MIB, view)
    unwinding = view["processes"][0]["unwinding"]
    check("how complete stacks are", unwinding["stacks"] == 6 and unwinding["complete"] == 5 and
          unwinding["native"]["no_row"] == 1, unwinding)
    try:
        import jsonschema
    except ImportError:
        check("the schema holds # SKIP no python3-jsonschema", True)
        return
    with open(os.path.join(TOP, "user", "doc", "json-schema.json")) as file:
        errors = list(jsonschema.Draft202012Validator(json.load(file)).iter_errors(view))
    check("the schema holds", not errors, errors)


def folded_sum(text):
    lines = [re.fullmatch(r"([^;]+(?:;[^;]+)*) (\d+)", line) for line in text.splitlines()]
    return sum(int(m[2]) for m in lines if m) if all(lines) else -1


def folded(path, folder):
    file = os.path.join(folder, "live.folded")
    rc, out, err = run("replay", "--folded", file, path)
    with open(file) as text:
        live = text.read()
    physical = json.loads(run("replay", "--json", path)[1])["processes"][0]["gpus"][0]["physical"]["live_bytes"]
    check("--folded writes a file, and the report as ever", rc == 0 and out == run("replay", path)[1], err)
    check("its sum is what the process holds", folded_sum(live) == physical + 7 * MIB, live)
    check("the root comes first", "python (4242);GPU 0;main (train.py:300);forward (train.py:212);"
          "_call_impl (module.py:1740);at::empty_cuda;c10::cuda::CUDACachingAllocator::malloc;cudaMalloc;"
          "cuMemAlloc_v2 %d\n" % (1000 * MIB) in live, live)
    check("nothing breaks a line", "py:evil?" in live or "py:evil " in live, live)
    check("no other file is left", os.listdir(folder).count("live.folded") == 1 and
          not [f for f in os.listdir(folder) if f.endswith(".tmp")], os.listdir(folder))
    rc, out, err = run("report", "--full", "--folded", "-", path)
    check("- is standard output, and the report goes to standard error", out == live and "BY OWNER" in err, out)
    for what, wanted in (("peak", None), ("growth", 17 * MIB), ("allocated", None), ("old", None)):
        rc, out, err = run("replay", "-q", "--folded", "-", "--folded-by", what, path)
        check("--folded-by " + what, rc == 0 and folded_sum(out) > 0 and out != live and
              (wanted is None or folded_sum(out) == wanted), out)
    rc, out, err = run("replay", "--folded", "/nowhere/x", path)
    check("a file that cannot be written is an error", rc == 1 and "/nowhere/x: No such file" in err, err)
    os.mkfifo(os.path.join(folder, "pipe"))
    with subprocess.Popen(["cat", os.path.join(folder, "pipe")], stdout=subprocess.PIPE) as cat:
        rc = run("replay", "--folded", os.path.join(folder, "pipe"), path)[0]
        check("a pipe is written to, not replaced", cat.communicate()[0].decode() == live and rc == 0 and
              stat.S_ISFIFO(os.stat(os.path.join(folder, "pipe")).st_mode))
    check("a new file is its owner's alone", os.stat(file).st_mode & 0o777 == 0o600, oct(os.stat(file).st_mode))
    if not os.geteuid():
        link = os.path.join(folder, "link")
        os.symlink("/dev/null", link)
        os.lchown(link, 65534, 65534)
        rc, out, err = run("replay", "--folded", link, path)
        check("another user's link to a device is refused", rc == 1 and "another user's link" in err, err)
    rc, out, err = run("replay", "--folded", "-", "--json", path)
    check("two things cannot go to standard output", rc == 2 and "standard output" in err, err)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stacks.gmt")
        recfile.write(path, story())
        report(path)
        rules(path, folder)
        as_json(path)
        folded(path, folder)
    return cases.done()


sys.exit(main())
