#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""PyTorch's caching allocator as its reports show it: the truth is the statistics of a stand-in libc10."""
import json
import os

import debian_c10
import lib
from c10lib import truth_of
from lib import C10, C10_ENDBR, GPU_A, GPU_B, Target, Tool, check, equal, process_of, row_of

BACKENDS = {GPU_B: "native", GPU_A: "expandable_segments"}


def seen(process, uuid):
    """What the report says, by the workload's names; None without PyTorch."""
    row = row_of(process, uuid)
    t = row and row["torch"]
    return t and {
        "allocated.live": t["allocated"]["live_bytes"], "allocated.peak": t["allocated"]["peak_bytes"],
        "reserved.live": t["reserved"]["live_bytes"], "reserved.peak": t["reserved"]["peak_bytes"],
        "blocks": t["blocks"]["live_count"], "allocs": t["blocks"]["allocs"], "frees": t["blocks"]["frees"],
    }


def compare(report, pid, out, what=None):
    process = process_of(report, pid)
    wrong = []
    for (uuid, name), wanted in truth_of(out).items():
        got = seen(process, uuid)
        if (not what or name in what) and (got and got[name]) != wanted:
            wrong.append(f"{uuid} {name}: {got and got[name]}, not {wanted}")
    check(not wrong, "\n".join(wrong))
    return process


def probed(report, path):
    found = [l for l in report["libraries"] if l["inode"] == os.stat(path).st_ino]
    check(len(found) == 1, f"{path} is {len(found)} times in", report["libraries"])
    return found[0]


def from_loading(path, shifted, env=None):
    """From before the library is mapped, to the end of the run."""
    tool = Tool("-a").ready()
    target = Target("torch", path, hold="loaded,end", env=env)
    target.wait("loaded")
    tool.probes(path)
    target.go()
    target.wait("end")
    report = lib.settled(tool, target.pid)
    target.go()
    status, out = target.finish()
    equal(status, 0, "exit status " + target.stderr())
    compare(report, target.pid, out)
    process = lib.compare(report, target.pid, lib.books_of(out))
    library = probed(report, path)
    equal((library["probes"], library["absent"], library["behind_endbr64"]), (2, 0, shifted), "probes of libc10")
    for uuid, backend in BACKENDS.items():
        t = row_of(process, uuid)["torch"]
        equal(t["backend"], backend, "backend")
        equal(t["segments"]["live_bytes"], t["reserved"]["live_bytes"], "bytes of segments")
        equal(t["blocks"]["live_bytes"], t["allocated"]["live_bytes"], "bytes of blocks")
        check(t["largest_free_gap_bytes"], "no gap")
    return report


def loaded_later():
    """a libc10 that is opened after attach: every number is the allocator's own, reserved is that of its segments"""
    from_loading(C10, 0)


def behind_endbr64():
    """... and one of another release, whose function begins with endbr64"""
    lib.needs_endbr64()
    from_loading(C10_ENDBR, 2)


def real_pytorch():
    """... and the real one: Debian's PyTorch 1.13, whose function is called for a GPU that is not there"""
    path = lib.packaged(debian_c10.PLACE, debian_c10.COMPONENT, debian_c10.FILE, *debian_c10.PACKAGES)
    from_loading(path, 0, env={"LD_LIBRARY_PATH": os.path.dirname(lib.LIB) + ":" + os.path.dirname(path)})


def attached_late():
    """attached in the middle: allocated and reserved are exact from the next event on, older blocks are no riddle"""
    target = Target("torch", C10, hold="half")
    target.wait("half")
    tool = Tool("-p", str(target.pid)).ready()
    target.go()
    status, out = target.finish()
    equal(status, 0, "exit status")
    report = tool.report()
    process = compare(report, target.pid, out, ("allocated.live", "reserved.live"))
    for name in "torch_missed", "torch_reserved":
        equal(process["anomalies"][name], 0, name)
    equal(sum(report["losses"].values()), 0, "losses")
    equal(probed(report, C10)["probes"], 2, "probes")


def marked():
    """SIGUSR2 in the middle: peaks are those since then, as after torch.cuda.reset_peak_memory_stats(); a replay agrees"""
    recording = lib.folder() + "/run.gmt"
    target = Target("torch", C10, hold="loaded,half")
    target.wait("loaded")
    tool = Tool("-p", str(target.pid), "-o", recording).ready()
    equal((tool.views()[0]["marks"], tool.views()[0]["marked_at"]), (0, None), "marks nobody asked for")
    target.go()
    target.wait("half")
    tool.send(lib.signal.SIGUSR2)
    tool.wait_line(lambda: "gpumemtrace: mark 1: " in tool.stderr(), "the mark")
    target.go()
    status, out = target.finish()
    equal(status, 0, "exit status")
    report = tool.report()
    process = process_of(report, target.pid)
    for (uuid, name), wanted in truth_of(out, "since_half.").items():
        equal(seen(process, uuid)[name], wanted, f"{uuid} {name} since the mark")
    check(any(truth_of(out)[key] > wanted for key, wanted in truth_of(out, "since_half.").items()), "no peak differs")
    compare(report, target.pid, out, ("allocated.live", "reserved.live", "blocks", "allocs", "frees"))
    equal(report["marks"], 1, "marks")
    equal(process["window_start"], report["marked_at"], "the window")
    for row in process["gpus"]:
        equal(row["stacks"]["growth_since"], report["marked_at"], "growth")
    again = json.loads(lib.run([lib.TOOL, "replay", "--json", recording]).stdout)
    equal(process_of(again, target.pid), process, "the replay")


def block_stacks():
    """--block-stacks: who allocated each block; what lives adds up to the blocks, and so does the peak"""
    target = Target("torch", C10, hold="loaded")
    target.wait("loaded")
    tool = Tool("-p", str(target.pid), "--block-stacks").ready()
    tool.idle()                    # the tables are there: without them a burst of so many is not walked
    target.go()
    target.finish()
    process = process_of(tool.report(), target.pid)
    for uuid in (GPU_A, GPU_B):
        t = row_of(process, uuid)["torch"]
        owners = {(o["owner"], o["allocator"]): o for o in t["stacks"]["owners"]}
        equal(t["stacks"]["live_bytes"], t["blocks"]["live_bytes"], "live bytes by stack")
        check(("(without a stack)", None) not in owners, "blocks without a stack", owners)
        equal(sum(o["allocs"] for o in owners.values()), t["blocks"]["allocs"], "allocations by owner")
        equal(sum(o["frees"] for o in owners.values()), t["blocks"]["frees"], "frees by owner")
        equal(sum(o["at_peak_bytes"] for o in owners.values()), t["stacks"]["peak_bytes"], "at the peak")
        check(t["stacks"]["stack_count"], "stacks", t["stacks"])
    unwound = process["unwinding"]
    check(unwound["stacks"] - unwound["complete"] <= lib.MOST_INCOMPLETE * unwound["stacks"], "incomplete", unwound)


def folded(recording, *options):
    """A flame graph's file of a recording: its lines as pairs of frames and bytes, and what standard error says."""
    path = os.path.join(lib.folder(), "x.folded")
    done = lib.run([lib.TOOL, "report", "-o", path, *options, recording])
    equal(done.returncode, 0, done.stderr)
    with open(path, encoding="utf-8") as file:
        pairs = [line.rstrip("\n").rpartition(" ") for line in file]
    return [(frames.split(";"), int(size)) for frames, _, size in pairs], done.stderr


def folded_blocks():
    """--folded has the blocks in place of their segments, and the sum stays the driver's; an empty file says why"""
    path = os.path.join(lib.folder(), "run.gmt")
    target = Target("torch", C10, hold="loaded,half")
    target.wait("loaded")
    tool = Tool("-p", str(target.pid), "--block-stacks", "-o", path).ready()
    tool.idle()
    target.go()
    target.wait("half")
    tool.idle()
    row = row_of(process_of(tool.stop(), target.pid), GPU_A)
    lines, said = folded(path)
    on_gpu = [(frames, size) for frames, size in lines if frames[1] == "GPU 0"]
    rest = sum(size for frames, size in on_gpu if frames[2:] == ["[rounding, pool reserve]"])
    equal(sum(size for _, size in on_gpu) - rest, row["stacks"]["live_bytes"], "the sum is that of the driver's memory")
    cached = sum(size for frames, size in on_gpu if frames[2:] == ["[cached, in no block]"])
    equal(cached, row["torch"]["segments"]["live_bytes"] - row["torch"]["blocks"]["live_bytes"], "in no block")
    check(not said, said)
    lines, said = folded(path, "--folded-by", "old", "--older-than", "1h")
    equal(lines, [], "old memory")
    check("x.folded is empty: no live memory is that old" in said, said)


def two_names():
    """a libc10 on overlayfs whose lower file is probed as well, without a build id to tell: no block counts twice"""
    work = lib.folder()
    tool = Tool("-a").ready()
    before = Target("torch", C10_ENDBR, hold="loaded")    # so that the lower file is probed
    before.wait("loaded")
    script = (f'mount -t tmpfs tmpfs "{work}" && mkdir "{work}/u" "{work}/w" "{work}/m" && '
              f'mount -t overlay overlay -o "lowerdir={os.path.dirname(C10_ENDBR)},upperdir={work}/u,'
              f'workdir={work}/w" "{work}/m" && exec "$@"')
    inside = Target("torch", work + "/m/libc10.so", hold="loaded",
                    prefix=("unshare", "--mount", "/bin/sh", "-c", script, "sh"))
    inside.wait("loaded")
    # In a chroot the kernel tells paths in another mount namespace from that one's root on.
    ends = (C10_ENDBR, work + "/m/libc10.so")
    tool.wait_line(lambda: sum(l["path"].endswith(ends) for l in tool.views()[-1]["libraries"]) == 2,
                   "the probes of both files")
    inside.go()
    status, out = inside.finish()
    equal(status, 0, "exit status " + inside.stderr())
    report = lib.settled(tool, inside.pid)
    process = compare(report, inside.pid, out)
    check(not lib.strange(report, process), lib.strange(report, process))


def in_a_container():
    """a libc10 that only a container sees, in a mount and a pid namespace of its own"""
    own = lib.folder()
    script = (f'mount -t tmpfs tmpfs "{own}" && mkdir "{own}/torch" && cp "{C10}" "{own}/torch/libc10.so.2" && exec "$@"')
    tool = Tool("-a").ready()
    target = Target("torch", own + "/torch/libc10.so.2", hold="loaded",
                    prefix=("unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c", script, "sh"))
    target.wait("loaded")
    with open(f"/proc/{target.pid}/task/{target.pid}/children", encoding="ascii") as file:
        pid = int(file.read().split()[0])
    tool.wait_line(lambda: any(l["path"].endswith(own + "/torch/libc10.so.2") for l in tool.views()[-1]["libraries"]),
                   "the probe")
    os.kill(pid, lib.signal.SIGUSR1)
    status, out = target.finish()
    equal(status, 0, "exit status " + target.stderr())
    report = lib.settled(tool, pid)
    compare(report, pid, out)


def switched_off():
    """--layers without framework: nothing of libc10 is probed; without api, its numbers are the same"""
    tool = Tool("-a", "--layers", "api,kernel,nvml").ready()
    target = Target("torch", C10, hold="loaded")
    target.wait("loaded")
    target.go()
    status, out = target.finish()
    equal(status, 0, "exit status")
    report = lib.settled(tool, target.pid)
    check(not any("libc10" in l["path"] for l in report["libraries"]), report["libraries"])
    check(all(row["torch"] is None for row in process_of(report, target.pid)["gpus"]), "PyTorch's numbers")
    tool = Tool("-a", "--layers", "kernel,nvml,framework").ready()
    target = Target("torch", C10, hold="loaded")
    target.wait("loaded")
    tool.probes(C10)
    target.go()
    status, out = target.finish()
    equal(status, 0, "exit status")
    process = compare(lib.settled(tool, target.pid), target.pid, out, ("allocated.live", "allocated.peak", "blocks"))
    equal(process["anomalies"]["torch_reserved"], 0, "reserved bytes compared with what is not known")


def alone():
    """the layer alone, with a perf event for the probe as before Linux 6.6: totals, but not on which GPU"""
    tool = Tool("-a", "--layers", "framework", env={"GPUMEMTRACE_NO_UPROBE_MULTI": "1"}).ready()
    target = Target("torch", C10, hold="loaded")
    target.wait("loaded")
    tool.probes(C10)
    target.go()
    status, out = target.finish()
    equal(status, 0, "exit status")
    report = lib.settled(tool, target.pid)
    rows = process_of(report, target.pid)["gpus"]
    equal([row["uuid"] for row in rows], [None], "GPUs")
    for name, got in ("allocated.live", rows[0]["torch"]["allocated"]["live_bytes"]), \
                     ("allocs", rows[0]["torch"]["blocks"]["allocs"]):
        equal(got, sum(v for (_, what), v in truth_of(out).items() if what == name), name)


if __name__ == "__main__":
    lib.main(loaded_later, behind_endbr64, real_pytorch, attached_late, marked, block_stacks, folded_blocks, two_names, in_a_container,
             switched_off, alone)
