# SPDX-License-Identifier: BSD-2-Clause
"""As stacks.c, in Python: the pairs are made by ctypes, below a recursion of 14 calls. Of two functions with two
places each to call from, two bits of the path choose: the newest decide the outermost call. And "train N": N pairs
by 16 stacks in turn, as a model's layers make them, each with 50 us of work before; "through N": N pairs, called
back from one of two functions of libstacks.so, the second argument, all of Python's frames alike; "between N": N pairs
by an iterator's __next__(), called from one loop, or from a generator that the loop calls, which leaves the addresses
of all other frames as they are; "deep N DEPTH": N pairs below a recursion of so many calls, and "deeper N DEPTH" all of
them from elsewhere."""
import ctypes
import sys
import time

DEPTH, TURNS = 14, 16
WORK = 4000               # numbers to add up: some 50 us

cuda = ctypes.CDLL(sys.argv[1])
alloc, release = cuda.cuMemAlloc_v2, cuda.cuMemFree_v2
release.argtypes = [ctypes.c_uint64]
address = ctypes.c_uint64()
pointer, size = ctypes.byref(address), ctypes.c_size_t(4096)


def left(path, depth, count):
    if not depth:
        return pairs(count)
    call = right if path & 1 else left
    if path & 2:
        return call(path >> 2, depth - 1, count)
    return call(path >> 2, depth - 1, count)


def right(path, depth, count):
    if not depth:
        return pairs(count)
    call = right if path & 1 else left
    if path & 2:
        return call(path >> 2, depth - 1, count)
    return call(path >> 2, depth - 1, count)


def pairs(count):
    for _ in range(count):
        if alloc(pointer, size) or release(address.value):
            sys.exit("a call failed")


def in_turn(count, work):
    for i in range(count):
        sum(range(work))
        left(i % TURNS, DEPTH, 1)


def through(library, count):
    call_back = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: left(0, DEPTH, 1) or 0)
    sides = library.stacks_call_back_left, library.stacks_call_back_right
    for i in range(count):
        sides[(i // 3 ^ i // 5) & 1](call_back, None)


class Source:
    def __iter__(self):
        return self

    def __next__(self):
        pairs(1)
        return 1


def passed_on(source):
    for item in source:
        yield item


def first(source):
    for item in source:
        return item


def is_passed_on(i):
    return i < 40 or i % 8 != 0


def between(count):
    for i in range(count):
        source = Source()
        first(passed_on(source) if is_passed_on(i) else source)


def main():
    context, path = ctypes.c_void_p(), TURNS
    library = ctypes.CDLL(sys.argv[2]) if len(sys.argv) > 2 else None
    if cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) or cuda.cuCtxSetCurrent(context):
        sys.exit("no context")
    for line in sys.stdin:
        kind, *numbers = line.split()
        count, *depth = map(int, numbers)
        started = time.perf_counter_ns()
        if kind == "new":
            for path in range(path + 1, path + 1 + count):
                left(path, DEPTH, 1)
        elif kind == "same":
            left(0, DEPTH, count)
        elif kind == "through":
            through(library, count)
        elif kind == "between":
            between(count)
        elif kind == "deep":
            left(0, *depth, count)
        elif kind == "deeper":
            for path in range(path + 1, path + 1 + count):
                left(path, *depth, 1)
        else:
            in_turn(count, WORK if kind == "train" else 0)
        print(time.perf_counter_ns() - started, count, flush=True)


main()
