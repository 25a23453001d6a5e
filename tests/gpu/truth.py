# SPDX-License-Identifier: BSD-2-Clause
"""Torch's own numbers about its memory, taken in the process that uses the memory. The comparisons take these numbers
for the truth.

Invariant: nothing here allocates device memory, or frees any but that of garbage. Peaks of the whole run and of a
window survive torch.cuda.reset_peak_memory_stats(), which each phase needs: call restart(), never it.
"""
import contextlib
import gc

import torch

PEAKS = {"allocated_peak": "allocated_bytes.all.peak", "reserved_peak": "reserved_bytes.all.peak",
         "active_peak": "active_bytes.all.peak"}
of_run, of_window = {}, {}         # device -> the highest of what was reset


def devices():
    return range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()


def note_peaks():
    for i in devices():
        stats = torch.cuda.memory_stats(i)
        for kept in of_run, of_window:
            now = kept.setdefault(i, dict.fromkeys(PEAKS, 0))
            for name, key in PEAKS.items():
                now[name] = max(now[name], stats.get(key, 0))


def restart():
    """Peaks of torch begin anew; what they were is kept."""
    note_peaks()
    for i in devices():
        torch.cuda.reset_peak_memory_stats(i)


def begin_window():
    """Peaks of a window count from now on."""
    restart()
    of_window.clear()
    note_peaks()


def gpus():
    """What torch says of each GPU it can use; peaks are of the whole run, those in "window" of the window."""
    gc.collect()                   # it would be collected when nobody expects it
    note_peaks()
    out = []
    for i in devices():
        stats = torch.cuda.memory_stats(i)
        out.append({"uuid": str(torch.cuda.get_device_properties(i).uuid).removeprefix("GPU-"), "device": i,
                    "allocated": torch.cuda.memory_allocated(i), "reserved": torch.cuda.memory_reserved(i),
                    "active": stats.get("active_bytes.all.current", 0),
                    "requested": stats.get("requested_bytes.all.current", 0),
                    "blocks": stats.get("allocation.all.current", 0),
                    "allocs": stats.get("allocation.all.allocated", 0),
                    "retries": stats.get("num_alloc_retries", 0), "ooms": stats.get("num_ooms", 0),
                    **of_run[i], "window": dict(of_window[i])})
    return out


def pinned():
    """Bytes of pinned host memory that torch has got from CUDA."""
    return torch.cuda.host_memory_stats().get("allocated_bytes.current", 0) if torch.cuda.is_initialized() else 0


def said():
    return {"gpus": gpus(), "pinned": pinned(), "torch": torch.__version__}


def block_bytes(tensors):
    """The bytes of the blocks that these tensors are in: what their memory is to the allocator."""
    sizes = {}
    for segment in torch.cuda.memory_snapshot():
        for block in segment["blocks"]:
            sizes[block["address"]] = block["size"]
    return sum(sizes[address] for address in {t.untyped_storage().data_ptr() for t in tensors if t is not None} - {0})


def roles(model, optimizer, inputs=()):
    """Bytes of blocks by what they are for, as far as the objects of the training tell."""
    parameters = list(model.parameters())
    states = [value for p in parameters for value in (optimizer.state.get(p, {}) if optimizer else {}).values()
              if torch.is_tensor(value) and value.is_cuda]
    return {"parameter": block_bytes(parameters), "buffer": block_bytes(list(model.buffers())),
            "gradient": block_bytes([p.grad for p in parameters]), "optimizer_state": block_bytes(states),
            "input": block_bytes(list(inputs))}


class Phases:
    """memory_allocated() at the begin, the end and the peak of each phase. An iteration ends with its optimizer's."""

    def __init__(self, device=0):
        self.device, self.iterations = device, [{}]

    @contextlib.contextmanager
    def __call__(self, name):
        restart()
        begin = torch.cuda.memory_allocated(self.device)
        yield
        self.iterations[-1][name] = {"begin_bytes": begin, "end_bytes": torch.cuda.memory_allocated(self.device),
                                     "peak_bytes": torch.cuda.max_memory_allocated(self.device)}
        restart()
        if name == "optimizer":
            self.iterations.append({})
