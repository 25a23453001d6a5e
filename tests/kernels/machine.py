# SPDX-License-Identifier: BSD-2-Clause
"""Boots a kernel under qemu's emulation: no KVM, no disk, no network; the checks answer through a serial line."""
import dataclasses
import json
import os
import re
import subprocess
import tempfile
import time

# By architecture: qemu, the console, and the second serial line with the arguments for it. The machine "virt" has one line
# of its own; signatures of return addresses cost less in a way of qemu's own (pauth-impdef).
MACHINES = {
    "amd64": (("qemu-system-x86_64", "-cpu", "max"), "ttyS0", "ttyS1", ("-serial", "file:{}")),
    "arm64": (("qemu-system-aarch64", "-M", "virt,gic-version=3", "-cpu", "max,pauth-impdef=on"), "ttyAMA0", "ttyS0",
              ("-chardev", "file,id=results,path={}", "-device", "pci-serial,chardev=results")),
}
CPUS, MEMORY_MIB = 2, 2048
STALL_SECONDS = 400                     # without a word; a check waits for less
# An oops is the end. What only says that something took long tells of the emulation, not of the kernel. A task that hangs
# is told with what the CPUs do, and so is a grace period of RCU that does not end.
APPEND = ("panic=-1 oops=panic nowatchdog rcupdate.rcu_cpu_stall_timeout=200 sysctl.kernel.hung_task_all_cpu_backtrace=1 "
          "workqueue.watchdog_thresh=0 random.trust_cpu=on")
BEGIN = "gpumemtrace: the checks begin"
# What a kernel that is well does not write; the fault of a program ("traps:", "segfault") counts, for ours have none.
FAULTS = re.compile(r"Oops|BUG\b|WARNING:|general protection|NULL pointer|Kernel panic|kernel panic|Call Trace|UBSAN|"
                    r"KASAN|refcount_t|invalid opcode|divide error|double fault|stack guard|corrupt|blocked for more|"
                    r"scheduling while atomic|RIP: .*bpf_prog_|segfault at|traps: |Out of memory|page allocation failure|"
                    r"Call trace|Internal error|Unable to handle")
# With a thread for each CPU, qemu (7.2, 10.0) at times runs a breakpoint that another CPU has taken out of the kernel's
# code again. With kernel.sched_schedstats switched on and off all the time, and nothing else, 6.12, 6.16 and 6.17 died
# within seconds; with one thread for all CPUs 6.16 did not in 150 s. A BPF program's code is not the kernel's text.
STALE = re.compile(r"\bint3: \d+ .*\[#1\].*\n(?:.*\n){0,4}.*RIP: 0010:(?!bpf_)\w+\+0x")
BOOTS_MOST = 3
# A task that the kernel calls blocked again and again will not go on: the end of the time limit would tell no more.
BLOCKED, BLOCKED_MOST = re.compile(r"blocked for more than \d+ seconds"), 6
TRACE_LINES_MOST = 60
POWER_OFF = re.compile(r"sysrq: Power Off|reboot: Power down")


@dataclasses.dataclass
class Outcome:
    lines: list         # what the guest told, in its order
    faults: list        # lines of the kernel's log since the checks began
    ending: str         # how it ended, if not well
    seconds: float
    trace: list = dataclasses.field(default_factory=list)   # the first fault, and the lines after it
    is_stale: bool = False      # qemu ran code that was no more
    boots: int = 1              # how often it was booted: again where that happened


def lines_since(console):
    """Lines of the kernel's log since the checks began, without times."""
    found = console.partition(BEGIN)[2].splitlines()[1:]
    return [re.sub(r"^\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ?", "", line).rstrip() for line in found]


def faults_of(console):
    """Those of the lines that tell of a fault."""
    return [line.strip() for line in lines_since(console) if FAULTS.search(line)]


def trace_of(console):
    """What follows the first fault: the kernel's own words of it."""
    lines = lines_since(console)
    first = next((i for i, line in enumerate(lines) if FAULTS.search(line)), len(lines))
    return lines[first:first + TRACE_LINES_MOST]


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def told(path):
    found = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                found.append(json.loads(line))
            except ValueError:      # cut off by the end
                pass
    return found


def watched(argv, files, limit):
    """Runs qemu until it ends, or nothing was written to `files` (the console is the first) for too long, or tasks stay
    blocked; how it ended, if not well."""
    begin = last = time.monotonic()
    sizes = []
    with tempfile.TemporaryFile() as errors, subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                                              stderr=errors) as qemu:
        while True:
            try:
                qemu.wait(1)
                text = os.pread(errors.fileno(), 300, 0).decode(errors="replace").strip()
                return f"qemu ended with {qemu.returncode}: {text}" if qemu.returncode else ""
            except subprocess.TimeoutExpired:
                pass
            now, before = time.monotonic(), sizes
            sizes = [os.path.getsize(path) for path in files]
            last = now if sizes != before else last
            if sizes != before and len(BLOCKED.findall(text_of(files[0]))) >= BLOCKED_MOST:
                qemu.kill()
                return f"tasks were blocked for good after {now - begin:.0f} s"
            if now - last > STALL_SECONDS or now - begin > limit:
                qemu.kill()
                return f"it said nothing for {now - last:.0f} s" if now - last > STALL_SECONDS else \
                    f"it had not ended after {limit} s"


def is_stale(console):
    return bool(STALE.search(console))


def boot(kernel, image, place, limit, append=""):
    """Runs the checks in `image` on `kernel`; console and results are files in the folder `place`."""
    for boots in range(1, BOOTS_MOST + 1):
        outcome = booted(kernel, image, place, limit, append)
        if not outcome.is_stale or boots == BOOTS_MOST:
            break
        os.replace(os.path.join(place, "console"), os.path.join(place, f"console.stale-{boots}"))
    return dataclasses.replace(outcome, boots=boots)


def booted(kernel, image, place, limit, append):
    """As boot(), once."""
    os.makedirs(place, exist_ok=True)
    console, results = os.path.join(place, "console"), os.path.join(place, "results")
    for path in console, results:
        with open(path, "wb"):
            pass
    qemu, tty, line, second = MACHINES[kernel.arch]
    # The last of two arguments with one name holds.
    argv = [*qemu, "-accel", "tcg,thread=" + kernel.threads, "-m", str(MEMORY_MIB), "-smp", str(CPUS),
            *kernel.arguments, "-nodefaults", "-nographic", "-no-reboot", "-monitor", "none", "-serial", "file:" + console,
            *(word.format(results) for word in second), "-kernel", kernel.image(), "-initrd", image,
            "-append", f"console={tty} results={line} {APPEND} {kernel.append} {append}"]
    begin = time.monotonic()
    ending = watched(argv, (console, results), limit)
    text = text_of(console)
    faults = faults_of(text)
    if not ending and not POWER_OFF.search(text):
        ending = "it ended without being told to"
    if BEGIN not in text:
        faults = [line.strip() for line in text.splitlines()[-3:]]
        ending = "it did not boot: " + (ending or "the checks did not begin")
    return Outcome(told(results), faults, ending, time.monotonic() - begin, trace_of(text),
                   is_stale(text))
