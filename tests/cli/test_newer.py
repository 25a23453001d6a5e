#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Recordings and dumps of a newer version can be read: unknown numbers become "unknown", and everything else is
read."""
import json
import os
import pickle
import subprocess
import sys
import tempfile

from cases import BIN, TOP, check, done

sys.path.insert(0, os.path.join(TOP, "tests", "recordings"))
import synthetic  # noqa: E402

MIB = 1 << 20


def run(*words):
    said = subprocess.run([BIN, *words], capture_output=True, timeout=60, text=True)
    return said.returncode, said.stdout, said.stderr


def dump(path, number):
    """A dump whose every term is `number`, cut to its field; the ids of functions are beyond the table."""
    byte, api = min(number, 255), min(number | 256, 65535)
    s = synthetic.Story("9.9.9")
    s.process(1001)
    s.frames(50)
    s.put("OOM", number=1, api=api, outcome=byte, sign=byte, class_id=min(byte, 254), flags=2, failures=1,
          asked_bytes=1 << 30, failed_bytes=1 << 30, first_ns=s.now, last_ns=s.now, decided_ns=s.now, exit_ns=s.now,
          uuid=synthetic.UUIDS[0])
    s.put("OOM_ROW", number=1, uuid=synthetic.UUIDS[0], flags=8, torch_backend=byte, phase=byte, iteration=3,
          class_bytes=[MIB] * 16, attributed=16 * MIB, torch_allocated=16 << 20, torch_reserved=32 << 20,
          category_bytes=[4096] * 16, stacks=1, stacks_live=MIB)
    s.put("OOM_STACK", number=1, stack_id=50, live=MIB, count=1, purpose=number)
    s.put("OOM_ROW", number=1, uuid=synthetic.UUIDS[0], flags=32, stacks=1, stacks_live=MIB)
    s.put("OOM_STACK", number=1, stack_id=50, live=MIB, count=1, purpose=number)
    s.put("OOM_ROW", number=1, flags=1, class_bytes=[MIB] * 16)
    s.put("HISTORY", since=0, first=0)
    base = synthetic.ALLOC
    s.put("HISTORY_RANGE", base=base, length=8 * MIB, born=(1 << 64) - 1, flags=1, device=0)
    s.put("HISTORY_RANGE", base=base, length=MIB, born=(1 << 64) - 1, is_block=1, category=byte, device=0)
    s.put("HISTORY_EVENT", kind=byte, address=3, size=5, category=byte, flags=byte)
    s.put("HISTORY_EVENT", kind=1, address=base + 2 * MIB, size=MIB, born=1, device=0)
    s.put("HISTORY_EVENT", kind=2, address=base + 2 * MIB, size=MIB, born=1, device=0, category=byte)
    s.put("STACK", id=51, count=0, reason=byte, py_reason=byte)
    s.put("FW_RANGE", object=1, what=byte, name="new")
    s.call("cuMemAlloc_v2", base, MIB)
    s.put("CALL", api=1, phase=byte, seq=99)
    s.put("CALL", api=api, seq=100)
    s.put("FRAMEWORK", flags=0xffffffff)
    s.put("RM_ALLOC", client=1, parent=1, object=2, class_id=0x40, size=MIB, cause__api=api)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    s.write(os.path.dirname(path), os.path.basename(path)[:-4], reason=number)


def one(folder, number):
    path = os.path.join(folder, f"newer{number}.gmt")
    dump(path, number)
    code, out, err = run("oom", "--json", path)
    view = json.loads(out)
    oom, process = view["oom"], view["processes"][0]
    check(f"{number}: it is read", (code, err, view["records"]["malformed"]) == (0, "", 0), (code, err, view["records"]))
    if number > 60:     # 16 and more are categories, 255 is "no class"
        said = oom["outcome"], oom["by"], oom["class"], oom["call"], view["end_reason"]
        check(f"{number}: unknown terms", said == ("unknown", "unknown", None, None, None), said)
        torch = process["gpus"][0]["torch"]
        check(f"{number}: backend and phase", (torch["backend"], torch["training"]["phase"]) == (None, "unknown"), torch)
        check(f"{number}: category of a stack", torch["stacks"]["top"]["live"][0]["category"] == "unknown", torch)
    torch = process["gpus"][0]["torch"]
    check(f"{number}: all categories are in the sum", sum(c["live_bytes"] for c in torch["categories"]) == 16 * 4096, torch)
    check(f"{number}: all classes are in the sum", {r["held_bytes"] for r in oom["rows"]} == {16 * MIB, 0}, oom["rows"])
    code, out, err = run("oom", path)
    check(f"{number}: as text", code == 0 and "OUT OF MEMORY (" in out and not err, out + err)
    code, out, err = run("replay", "--json", path)
    check(f"{number}: replay", code == 0 and json.loads(out)["records"]["malformed"] == 0, err)
    code, out, err = run("replay", path)
    check(f"{number}: replay as text", code == 0, err)
    pickled = os.path.join(folder, "x.pickle")
    code, out, err = run("oom", "-q", "-o", pickled, path)
    with open(pickled, "rb") as file:
        snapshot = pickle.load(file)
    check(f"{number}: a snapshot", code == 0 and [e["action"] for t in snapshot["device_traces"] for e in t][:1] == ["alloc"],
          (code, err, snapshot["device_traces"]))
    categories = {e["category"] for t in snapshot["device_traces"] for e in t if "category" in e}
    check(f"{number}: a category of a newer version is unknown in the snapshot", categories <= {"unknown"}, categories)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for number in (16, 18, 77, 203, 255, 65535, 0xffffffff):
            one(folder, number)
    return done()


raise SystemExit(main())
