# SPDX-License-Identifier: BSD-2-Clause
"""Allocates memory where stacks are not as usual, for test_stacks_odd.py, and prints Python's own traceback of each
call.

odd_stacks.py LIBCUDA CASE [FOLDER]: each allocation has a size of its own, unless the case counts stacks. Waits for a line before
the case and after it. Runs under Python 3.8 and later.
"""
import ctypes
import json
import os
import random
import sys
import traceback

RELEASED, HOLDING = ctypes.CDLL(sys.argv[1]), ctypes.PyDLL(sys.argv[1])     # the GIL, while it is called
ADDRESS = ctypes.c_uint64()
ALWAYS = 4096                       # the size of allocations that are counted
said = 0


def size_of(name, frame):
    global said
    said += 1
    frames = [[f.f_code.co_name if sys.version_info < (3, 11) else f.f_code.co_qualname, f.f_code.co_filename, line or 0]
              for f, line in traceback.walk_stack(frame)]
    print(json.dumps({"name": name, "size": ALWAYS + 512 * said, "frames": frames}), flush=True)
    return ctypes.c_size_t(ALWAYS + 512 * said)


def allocate(name):
    RELEASED.cuMemAlloc_v2(ctypes.byref(ADDRESS), size_of(name + ", released", sys._getframe()))
    HOLDING.cuMemAlloc_v2(ctypes.byref(ADDRESS), size_of(name + ", held", sys._getframe()))


def through_c(depth, function, *args):
    """Calls a function below as many frames of C and of Python."""
    if depth:
        return max([1], key=lambda _: through_c(depth - 1, function, *args) or 0)
    function(*args)
    return 1


def greenlets():
    from greenlet import getcurrent, greenlet
    main, made, chance = getcurrent(), [], random.Random(1)

    def worker(name):
        allocate(name + " begins")
        main.switch()
        allocate(name + " goes on")
        main.switch()
        while True:
            RELEASED.cuMemAlloc_v2(ctypes.byref(ADDRESS), ctypes.c_size_t(ALWAYS))
            main.switch()

    def start(name):
        made.append(greenlet(worker))
        made[-1].switch(name)

    def nested():
        list(allocate("generator") for _ in range(1))
        greenlet(lambda: allocate("inner")).switch()
        allocate("after the inner")

    for depth in range(6):
        through_c(depth, start, f"from {depth}")
    for depth, one in enumerate(made):
        through_c(5 - depth, one.switch)
    allocate("main")
    greenlet(nested).switch()
    for _ in range(300):
        through_c(chance.randrange(8), chance.choice(made).switch)


MADE = """
def function_%02d(name):
    RELEASED.cuMemAlloc_v2(ctypes.byref(ADDRESS), size_of(name, sys._getframe()))

class Class_%02d:
    def method(self, name):
        RELEASED.cuMemAlloc_v2(ctypes.byref(ADDRESS), size_of(name, sys._getframe()))
"""


def reuse():
    """Code is made, called and dropped: the next code lies where the code before was, and only names differ."""
    for i in range(40):
        scope = dict(globals())
        exec(compile(MADE % (i, i), "made", "exec"), scope)
        for turn in range(3):
            RELEASED.cuMemAlloc_v2(ctypes.byref(ADDRESS), ctypes.c_size_t(ALWAYS)) # after it the function is expected
            scope["function_%02d" % i](f"function {i}, {turn}")
            scope["Class_%02d" % i]().method(f"method {i}, {turn}")
        scope.clear()


INSIDE = """
import ctypes, json, sys
RELEASED, HOLDING = ctypes.CDLL(%r), ctypes.PyDLL(%r)
ADDRESS = ctypes.c_uint64()

def inner(library, name, size):
    names = [f.f_code.co_name for f in (sys._getframe(), sys._getframe(1), sys._getframe(2))]
    print(json.dumps({"name": name, "size": size, "names": names}), flush=True)
    library.cuMemAlloc_v2(ctypes.byref(ADDRESS), ctypes.c_size_t(size))

def outer():
    inner(HOLDING, "inside, held", 77 * 512)
    inner(RELEASED, "inside, released", 78 * 512)
"""


def interpreters():
    """A second interpreter, and the main one while there is a second one."""
    try:
        import _xxsubinterpreters as made
        options = {} if sys.version_info < (3, 9) else {"isolated": False}
        second = made.create(**options)
    except ImportError:
        import _interpreters as made
        second = made.create("legacy")
    made.run_string(second, INSIDE % (sys.argv[1], sys.argv[1]))
    made.run_string(second, "outer()")
    allocate("main")


class Library:
    """One of two libraries that have all in common but the name of a function."""
    def __init__(self, name):
        import _ctypes
        self.name, self.close = name, lambda: _ctypes.dlclose(self.handle)
        self.handle = _ctypes.dlopen(os.path.join(sys.argv[3], f"lib{name}.so"), os.RTLD_NOW)
        self.address = _ctypes.dlsym(self.handle, "go")

    def allocate(self, name):
        call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(self.address)
        size = size_of(name, sys._getframe()).value
        print(json.dumps({"size": size, "library": self.name, "at": self.address}), flush=True)
        call(ctypes.cast(RELEASED.cuMemAlloc_v2, ctypes.c_void_p).value, ctypes.addressof(ADDRESS), size)


def wait_for_tool():
    """... which has read what is mapped."""
    print("waits", flush=True)
    sys.stdin.readline()


def replaced():
    left = Library("left")                  # there for a moment
    left.allocate("first")
    left.close()
    right = Library("right")
    wait_for_tool()
    right.close()
    left = Library("left")
    wait_for_tool()
    left.allocate("known")                  # replaced at once
    left.close()
    right = Library("right")
    right.allocate("in its place")
    wait_for_tool()
    right.close()
    left = Library("left")
    left.allocate("new")                    # stays
    wait_for_tool()
    left.close()
    right = Library("right")
    right.allocate("gone at once")
    right.close()


def main():
    context = ctypes.c_void_p()
    RELEASED.cuInit(0)
    RELEASED.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    RELEASED.cuCtxSetCurrent(context)
    print("ready", flush=True)
    sys.stdin.readline()
    globals()[sys.argv[2]]()
    print("done", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
