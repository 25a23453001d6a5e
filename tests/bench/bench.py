#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures what tracing costs, side by side with empty probes and with bpftrace doing the same job. Run by `make
bench`, as root.

One process allocates and frees (pairs.c) on one core; tracers come and go around it, in turns, on the other
cores. Machines are noisy: a round's time is that of its fastest batch, and a tracer's cost the median over rounds of
its time less the untraced time of the same round.
"""
import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from tracers import BUILD, STANDIN, Bpftrace, Empty, Gpumemtrace, Workload, die, report_of, table

BPFTRACE = "bpftrace, an event each"
BPFTRACE_EVENTS = """
uprobe:LIB:cuMemAlloc_v2 { @out[tid] = arg0; @size[tid] = arg1; }
uretprobe:LIB:cuMemAlloc_v2 /@size[tid]/ {
  if (retval == 0) { printf("A %d %d %llx %llu %llu\\n", pid, tid, *(uint64 *)@out[tid], @size[tid], nsecs); }
  delete(@out[tid]); delete(@size[tid]);
}
uprobe:LIB:cuMemFree_v2 { printf("F %d %d %llx %llu\\n", pid, tid, arg0, nsecs); @free[tid] = arg0; }
uretprobe:LIB:cuMemFree_v2 /@free[tid]/ {
  if (retval != 0) { printf("U %d %d %llx %llu\\n", pid, tid, @free[tid], nsecs); }
  delete(@free[tid]);
}
interval:ms:100 { printf("ready\\n"); }
"""
# As memory tools in bpftrace do it: no event reaches user space, so no history, no peak's time, no other process.
BPFTRACE_MAPS = """
uprobe:LIB:cuMemAlloc_v2 { @out[tid] = arg0; @size[tid] = arg1; }
uretprobe:LIB:cuMemAlloc_v2 /@size[tid]/ {
  if (retval == 0) { @live[pid, *(uint64 *)@out[tid]] = @size[tid]; @bytes[pid] += @size[tid]; }
  delete(@out[tid]); delete(@size[tid]);
}
uprobe:LIB:cuMemFree_v2 { @bytes[pid] -= @live[pid, arg0]; delete(@live[pid, arg0]); }
interval:ms:100 { printf("ready\\n"); }
"""


def interleaved(workload, tracers, rounds):
    """{name: [ns added to a pair, a round]}, and the untraced times."""
    added, untraced = {t.name: [] for t in tracers}, []
    for number in range(rounds):
        for tracer in tracers[number % len(tracers):] + tracers[:number % len(tracers)]:
            before = workload.ns_per_pair()
            tracer.start(workload)
            traced = workload.ns_per_pair()
            tracer.stop()
            base = (before + workload.ns_per_pair()) / 2
            untraced.append(base)
            added[tracer.name].append(traced - base)
    return added, untraced


def cost(workload, tracers, rounds):
    added, untraced = interleaved(workload, tracers, rounds)
    base = statistics.median(untraced)
    middle = {name: statistics.median(values) for name, values in added.items()}
    empty = middle["empty probes"]
    rows = [("", "ns a pair", "added", "x empty", "rounds from .. to")]
    rows.append(("untraced", f"{base:.0f}", "", "", f"{min(untraced):.0f} .. {max(untraced):.0f}"))
    for name, values in added.items():
        rows.append((name, f"{base + middle[name]:.0f}", f"{middle[name]:.0f}", f"{middle[name] / empty:.2f}",
                     f"{min(values):.0f} .. {max(values):.0f}"))
    print(f"\nOne cuMemAlloc + cuMemFree pair of the stand-in (medians of {rounds} interleaved rounds)")
    table(rows, (26, 10, 8, 8, 20))
    return middle


def storm(workload, command, seconds):
    """As many pairs as one core makes: what arrives, what is lost, what the collector needs for it."""
    tracer = Gpumemtrace("gpumemtrace", command)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    tracer.start(workload)
    pairs, elapsed = 0, 0.0
    while elapsed < seconds:
        elapsed += workload.run(20000)
        pairs += 20000
    report = report_of(tracer.stop())
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return report, pairs, elapsed, cpu


def print_storm(report, pairs, elapsed, cpu):
    records = sum(c["allocs"] + c["frees"] for p in report["processes"] for c in p["classes"].values())
    lost = {cause: count for cause, count in report["losses"].items() if count}
    rows = [("pairs made", f"{pairs}", f"{pairs / elapsed / 1e6:.2f} M/s"),
            ("records through the ring", f"{report['records']['total']}", f"{report['records']['total'] / elapsed / 1e6:.2f} M/s"),
            ("calls counted", f"{records}", "all" if records >= 2 * pairs else f"{2 * pairs - records} MISSING"),
            ("lost", f"{report['lost']}", " ".join(f"{k} {v}" for k, v in lost.items()) or "none"),
            ("collector's CPU time", f"{cpu:.2f} s", f"{cpu / elapsed * 100:.0f} % of a core"),
            ("  of it for a record", f"{cpu / max(1, report['records']['total']) * 1e9:.0f} ns", "")]
    table(rows, (26, 12, 20))


def print_replay(workload, command, seconds):
    """A recording of the storm, through reader, decoder and ledger; then the ledger alone."""
    with tempfile.NamedTemporaryFile(suffix=".gmt") as recording:
        report, _, elapsed, cpu = storm(workload, command + ["-o", recording.name], seconds)
        records, size = report["records"]["total"], os.path.getsize(recording.name)
        took = []
        for _ in range(3):
            started = time.monotonic()
            subprocess.run([command[0], "replay", "--json", recording.name], check=True, stdout=subprocess.DEVNULL)
            took.append(time.monotonic() - started)
    print("\nRecording and replay (aim: 5 M records/s replayed on one core)")
    table([("recorded while tracing", f"{records}", f"{size / records:.1f} bytes a record"),
           ("collector's CPU time", f"{cpu:.2f} s", f"{cpu / elapsed * 100:.0f} % of a core"),
           ("lost", f"{report['lost']}", ""),
           ("replay of that file", f"{min(took):.2f} s", f"{records / min(took) / 1e6:.1f} M records/s")], (26, 12, 20))
    print("\nThe ledger alone, from memory: records, speed, live allocations, memory for each")
    sys.stdout.flush()
    subprocess.run([os.path.join(BUILD, "tests/bench/ledger_bench")], check=True)
    print("\nA dump with what had happened before it (aim: 100,000 events in under 0.5 s)")
    sys.stdout.flush()
    subprocess.run([os.path.join(BUILD, "tests/bench/dump_bench")], check=True)
    print("\nThe screen of the live view (aim: less than 10 ms of a core for each picture)")
    sys.stdout.flush()
    subprocess.run([os.path.join(BUILD, "tests/bench/screen_bench")], check=True)


def print_attach(tracer):
    print("\nAttach and detach, while the program allocates (aim: attach in under 100 ms)")
    table([("attach, all probes", median_ms(tracer.attach_seconds)),
           ("start to first view", median_ms(tracer.start_seconds)),
           ("Ctrl-C to exit", median_ms(tracer.stop_seconds))], (26, 30))


def median_ms(values):
    return f"{statistics.median(values) * 1000:.1f} ms ({min(values) * 1000:.1f} .. {max(values) * 1000:.1f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=5, help="of the storm")
    args = parser.parse_args()
    if os.geteuid():
        die("needs root: sudo make bench")
    folder = tempfile.TemporaryDirectory(prefix="gmt-bench-")
    library = os.path.join(folder.name, "libcuda.so.1")  # a file of its own: nobody else's probes are in it
    shutil.copy(os.path.join(STANDIN, "usr/lib/libcuda.so.1"), library)
    command = [os.path.join(BUILD, "gpumemtrace"), "--json", "-i", "0.5", "--driver-root", STANDIN, "-p", "PID"]
    tracers = [Empty("empty probes", [os.path.join(BUILD, "tests/bench/empty"),
                                      os.path.join(BUILD, "tests/bench/empty.bpf.o"), library]),
               Gpumemtrace("gpumemtrace", command),
               Gpumemtrace("gpumemtrace, no stacks", command + ["--stacks", "off"])]
    if shutil.which("bpftrace"):
        tracers.append(Bpftrace(BPFTRACE, BPFTRACE_EVENTS, library))
        tracers.append(Bpftrace("bpftrace, maps only", BPFTRACE_MAPS, library))
    workload = Workload([os.path.join(BUILD, "tests/bench/pairs"), library])
    middle = cost(workload, tracers, args.rounds)
    print(f"  gpumemtrace is {middle['gpumemtrace'] / middle['empty probes']:.2f} x the empty probes (aim: 1.3)"
          + (f" and {middle['gpumemtrace'] / middle[BPFTRACE]:.2f} x bpftrace (aim: 0.5)"
             if BPFTRACE in middle else "; bpftrace is not installed"))
    report, pairs, elapsed, cpu = storm(workload, command, args.seconds)
    print("\nAs much as one core can produce")
    print_storm(report, pairs, elapsed, cpu)
    print_attach(tracers[1])
    print_replay(workload, command, args.seconds)
    workload.end()


if __name__ == "__main__":
    main()
