# SPDX-License-Identifier: BSD-2-Clause
"""Reads from torch_training.py's log what happened on a device: iterations, phases, ranges, and the purpose of each
block.

The program knows what it does, so this is counting; the report's words have their meaning here (see user/core/framework/phases.h):
forward is what is in no other phase, and begins with its first block. Backward lasts until the thread that asked for it
allocates, or begins a range. An iteration ends with the first optimizer step after a backward, or with the backward
that its steps are in.
"""
KNOWN = {"backward": "backward", "Optimizer.step#": "optimizer", "Optimizer.zero_grad#": "zero_grad"}


def phase_of(name):
    return next((phase for prefix, phase in KNOWN.items() if name.startswith(prefix)), None)


class Cell(dict):
    """Allocated bytes of a phase or range."""

    def __init__(self, before, **more):
        super().__init__(begin_bytes=before, end_bytes=before, peak_bytes=before, alloc_bytes=0, **more)

    def see(self, allocated, size=0):
        self["end_bytes"] = allocated
        self["peak_bytes"] = max(self["peak_bytes"], allocated)
        self["alloc_bytes"] += max(size, 0)


class Story:
    """A device's log, told; since: the hold after which it counts."""

    def __init__(self, log, device=0, since=None):
        self.iterations, self.ranges, self.blocks = [{}], {}, []
        self.complete = 0
        self.allocated = self.peak = self.span = self.depth = self.peak_at = 0
        self.open = []                          # phases and ranges that go on, as names
        self.unknown = 0                        # the outermost of them, which began before the attach
        self.is_over = True                     # no backward, or its thread goes on
        self.had_backward = self.had_step = self.was_backward = False
        self.in_forward = self.is_between = False
        self.late = []
        self.is_whole = since is None
        self.alive = {}
        self.counts = since is None
        self.allocs = self.frees = 0
        for self.now, (kind, its_device, ptr, what, allocated, is_autograd) in enumerate(log):
            if kind == "hold":
                if what == since:       # what began before is not known
                    self.counts, self.had_backward, self.unknown = True, False, len(self.open)
            elif its_device != device:
                continue
            elif kind == "block":
                self.block(ptr, what, allocated, is_autograd)
            elif kind == "tag":
                self.alive[ptr]["category"] = what
            else:
                getattr(self, kind)(what, is_autograd)

    def phase(self):
        for name in reversed(self.open[self.unknown:]):
            if phase_of(name):
                return phase_of(name)
        return "backward" if self.is_between else "forward"

    def cell(self, phase, before):
        return self.iterations[-1].setdefault(phase, Cell(before))

    def range(self, name):
        return self.ranges.setdefault(name, Cell(self.allocated, times=0))

    def begin_late(self):
        """Ranges of autograd's thread are not seen on the device before they have a block."""
        late, self.late = self.late, []
        for name in late:
            self.begin_now(name)

    def begin_now(self, name):
        if not self.counts:
            return
        if phase_of(name):
            self.in_forward = False
            self.cell(phase_of(name), self.allocated).see(self.allocated)
        if name != "backward":
            cell = self.range(name)
            cell["times"] += 1
            cell["begin_bytes"] = self.allocated
            cell.see(self.allocated)

    def next_iteration(self):
        self.in_forward = self.is_between = False
        self.had_backward = self.had_step = False
        self.span += 1
        if self.counts:
            self.iterations.append({})
            self.complete += 1

    def end_backward(self):
        """At the latest moment: when something else begins."""
        if self.is_over or self.depth:
            return
        self.is_over = self.is_between = True
        self.open.remove("backward")
        self.unknown = min(self.unknown, len(self.open))
        self.span += 1
        if self.had_step:
            self.next_iteration()

    def begin(self, name, is_autograd):
        if name == "backward":
            self.end_backward()
            self.depth += 1
            if self.depth > 1:
                return
            self.is_over, self.had_backward = False, True
            self.was_backward |= self.counts
        elif not is_autograd:
            self.end_backward()
        self.open.append(name)
        if phase_of(name):
            self.span += 1
            self.is_between = False
        if is_autograd:
            self.late.append(name)
        else:
            self.begin_now(name)

    def end(self, name, _):
        if name == "backward":
            self.depth -= 1
            return                              # over with what its thread does next
        if self.open[-1] == "backward":
            self.end_backward()                 # a range around it: it was the last
        assert self.open.pop() == name
        is_seen = name not in self.late and len(self.open) >= self.unknown
        self.unknown = min(self.unknown, len(self.open))
        self.late = [other for other in self.late if other != name]
        if phase_of(name):
            self.span += 1
        if self.counts and is_seen:
            self.ranges[name].see(self.allocated)
        if phase_of(name) == "optimizer":
            if not self.is_over:
                self.had_step = True
            elif self.had_backward:
                self.next_iteration()

    def block(self, ptr, size, allocated, is_autograd):
        if size > 0 and not is_autograd:
            self.end_backward()
            self.is_between = False
        if size > 0:
            self.alive[ptr] = {"size": size, "born": (self.phase(), self.span), "freed": None, "category": None,
                               "at": self.now, "gone": None}
            self.blocks.append(self.alive[ptr])
        else:
            block = self.alive.pop(ptr)
            phase = "outside" if self.phase() == "backward" and not self.depth else self.phase()
            block["freed"], block["gone"] = (phase, self.span), self.now
        self.begin_late()
        if self.counts:
            self.allocs, self.frees = self.allocs + (size > 0), self.frees + (size < 0)
            cell = self.cell(self.phase(), self.allocated)
            if self.phase() == "forward" and not self.in_forward:
                cell.see(self.allocated)
            self.in_forward = self.phase() == "forward"
            cell.see(allocated, size)
            for name in set(self.open[self.unknown:]) - {"backward"}:
                self.range(name).see(allocated, size)
        if allocated > self.peak:
            self.peak, self.peak_at = allocated, self.now
        self.allocated = allocated

    def blocks_counted(self):
        return {"allocs": self.allocs, "frees": self.frees}

    def category(self, block):
        """As the program said, or what follows from when it came and went."""
        if block["category"]:
            return block["category"]
        if block["freed"] == block["born"]:
            return "temporary"
        if block["freed"] and (block["born"][0], block["freed"][0]) == ("forward", "backward"):
            return "activation"
        if block["freed"] and (block["born"][0], block["freed"][0]) == ("forward", "outside"):
            return "input"                      # or an output: what the program holds a while
        return "unknown"

    def categories(self):
        """{category: live bytes, blocks, bytes at the peak}."""
        sums = {}
        for block in self.blocks:
            c = sums.setdefault(self.category(block), {"live_bytes": 0, "live_count": 0, "at_peak_bytes": 0})
            if block["gone"] is None:
                c["live_bytes"] += block["size"]
                c["live_count"] += 1
            if block["at"] <= self.peak_at and (block["gone"] is None or block["gone"] > self.peak_at):
                c["at_peak_bytes"] += block["size"]
        return sums
