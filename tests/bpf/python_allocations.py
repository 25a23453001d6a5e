# SPDX-License-Identifier: BSD-2-Clause
"""Allocates memory from many kinds of Python frames for test_stacks_python.py, and prints Python's own traceback of
each call.

python_allocations.py LIBCUDA LIBRARY: each allocation has a size of its own, by which it is found again. LIBRARY is
tests/standin/libstacks/libstacks.c. Runs under Python 3.8 and later.
"""
import ctypes
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "symbol"))
import python_target as cases  # noqa: E402

ONE = 4096                          # sizes are this, and so much more for each allocation
RELEASED, HOLDING = ctypes.CDLL(sys.argv[1]), ctypes.PyDLL(sys.argv[1])     # the GIL, while it is called
LIBRARY = ctypes.CDLL(sys.argv[2])
ADDRESS = ctypes.c_uint64()
state = cases.state
state["count"] = 0
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


def say(frame, **more):
    state["count"] += 1
    frames = [[f.f_code.co_name if sys.version_info < (3, 11) else f.f_code.co_qualname, f.f_code.co_filename, line or 0]
              for f, line in cases.traceback.walk_stack(frame)] if frame else []
    size = ONE + 512 * state["count"]
    thread = "main" if frame is None or threading.current_thread() is threading.main_thread() else "worker"
    print(json.dumps({"pid": os.getpid(), "name": state["name"], "size": size, "frames": frames, "thread": thread, **more}),
          flush=True)
    return ctypes.c_size_t(size)


def stop(*_):
    if state["dry"]:
        return 0
    RELEASED.cuCtxSetCurrent(state["context"])
    if state["hold"]:
        HOLDING.cuMemAlloc_v2(ctypes.byref(ADDRESS), say(sys._getframe()))
    else:
        RELEASED.cuMemAlloc_v2(ctypes.byref(ADDRESS), say(sys._getframe()))
    return 0


def c_callback():
    """C that calls Python that calls C."""
    LIBRARY.stacks_call_back(CALLBACK(stop), None)


def no_python():
    """A thread that C made: it has no Python frames."""
    if not state["dry"]:
        size = say(None, thread="native")
        LIBRARY.stacks_allocate_in_thread(size)


def thread_of_c():
    """A thread that C made and that calls Python: its Python frames begin there."""
    LIBRARY.stacks_call_back_in_thread(CALLBACK(stop), None)


def class_body():
    class Body:
        class Inner:
            stop()
            values = [stop() for _ in range(1)]


def worker_recursion():
    worker = threading.Thread(target=cases.recursion)
    worker.start()
    worker.join()


def kept_alive():
    """Code that is freed when it has run may be gone before it is asked for its name: not what is tested here."""
    kept = []
    cases.compile = lambda *arguments: kept.append(compile(*arguments)) or kept[-1]
    cases.eval = lambda text: eval(cases.compile(text, "<string>", "eval"), vars(cases))


def without_forks():
    """cuMemAlloc fails in a child of a process that has a context: as it does with the real driver."""
    return [case for case in cases.CASES if case is not cases.forks]


def main():
    context, size = ctypes.c_void_p(), ctypes.c_size_t
    RELEASED.cuMemAlloc_v2.argtypes = HOLDING.cuMemAlloc_v2.argtypes = [ctypes.c_void_p, size]
    LIBRARY.stacks_allocate_in_thread.argtypes = [size]
    LIBRARY.stacks_open(sys.argv[1].encode())
    RELEASED.cuInit(0)
    RELEASED.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    state["context"] = context
    print("ready", flush=True)
    if os.environ.get("WAIT") == "all":
        sys.stdin.readline()
    cases.stop = stop
    kept_alive()
    state["pid"] = os.getpid()
    for hold in (False, True):
        state["hold"] = hold
        for case in without_forks() + [c_callback, no_python, thread_of_c, class_body, worker_recursion]:
            state["name"] = case.__name__ + (" with the GIL" if hold else "")
            # What is called often is specialized by 3.11 and later: other frames, other instructions.
            for dry in [True] * (0 if hold else 3) + [False]:
                state["dry"] = dry
                case()
    print("done", flush=True)
    if "WAIT" in os.environ:
        sys.stdin.readline()


main()
