# SPDX-License-Identifier: BSD-2-Clause
"""Stops in many kinds of Python frames for test_python.py. Runs under Python 3.8 and later.

At each stop it prints what its own traceback says, then waits for a byte: on the same line, so that the
innermost frame's line is the printed one too.
"""
import asyncio
import contextlib
import ctypes
import functools
import json
import os
import re
import signal
import sys
import threading
import traceback

LIBC = ctypes.CDLL(None)
HOLDING = ctypes.PyDLL(None)   # calls keep the GIL
LIBC.prctl(0x59616D61, ctypes.c_ulong(2**64 - 1), 0, 0, 0)   # PR_SET_PTRACER, ANY: prctl(2)
BYTE = ctypes.create_string_buffer(1)
state = {"dry": False, "hold": False}


def say(frame):
    frames = [[getattr(f.f_code, "co_qualname", f.f_code.co_name), f.f_code.co_filename, line or 0]
              for f, line in traceback.walk_stack(frame)]
    native = threading.get_native_id() if os.getpid() == state["pid"] else os.getpid()
    print(json.dumps({"pid": os.getpid(), "tid": native, "name": state["name"], "frames": frames}), flush=True)


def stop(*_):
    if state["dry"]:
        return 0
    if state["hold"]:
        say(sys._getframe()), HOLDING.read(0, BYTE, 1)
    else:
        say(sys._getframe()), os.read(0, 1)
    return 0


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **named):
        return function(*args, **named)
    return wrapper


@decorated
def nested():
    def inner():
        return (lambda: stop())()
    return inner()


def generator():
    yield 1
    yield from second()


def second():
    yield stop()


def generators():
    return sum(x for x in generator())


def comprehension():
    return [stop() for _ in range(1)], {stop(): stop() for _ in range(1)}


def callbacks():
    sorted([2, 1], key=stop)
    list(map(lambda x: functools.reduce(lambda a, b: stop(), [1, 2]), [1]))
    re.sub("a", lambda match: str(stop()), "a")


class Thing:
    def __init__(self, inner=None):
        self.inner = Other(self) if inner is None else None

    def __getattr__(self, name):
        return stop()

    @property
    def prop(self):
        return self.missing

    def __lt__(self, other):
        stop()
        return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        stop()

    def __del__(self):
        pass


class Other:
    def __init__(self, thing):
        Third(); stop()


class Third:
    __slots__ = ()

    def __init__(self):
        stop()


def classes():
    thing = Thing()
    thing.prop
    sorted([thing, Thing(1)])
    with thing:
        pass

    class Local(Thing):
        stop()


class Dropped:
    def __del__(self):
        stop()


def finalizers():
    dropped = Dropped()
    del dropped


def local_dies():
    dropped = Dropped()
    return id(dropped)


def dying():
    """What a frame holds is dropped when it is no longer the innermost one, but its eval call may still run."""
    local_dies()
    list(map(lambda _: local_dies(), [1]))
    list(map(lambda _, dropped=Dropped(): id(dropped), [1]))
    max([Dropped()], key=lambda item: 1)
    sorted([Dropped()], key=id)
    next(Dropped() for _ in [1])


async def awaited():
    await asyncio.sleep(0)
    stop()


async def coroutine():
    await asyncio.gather(awaited())
    async for _ in agenerator():
        pass


async def agenerator():
    yield stop()


def coroutines():
    asyncio.run(coroutine())


@contextlib.contextmanager
def context():
    stop()
    try:
        yield
    finally:
        stop()


def exceptions():
    with context():
        try:
            try:
                raise ValueError("x")
            except ValueError:
                stop()
                raise KeyError("y")
            finally:
                stop()
        except KeyError as error:
            str(error), stop()


def many_lines():
    return dict(
        first=1,
        second=max(
            0,
            stop(
                1,

                2,
            ),
        ),
        third=(
            stop
        )(
        ),
    )


def recursion(depth=100):
    return recursion(depth - 1) if depth else stop()


def recursion_in_c(depth=40):
    return max([depth], key=lambda x: recursion_in_c(depth - 1)) if depth else stop()


def ñandú():
    def 变量():
        def 𐌰𐌱():
            return stop()
        return 𐌰𐌱()
    return 变量()


def made_code():
    far = {"stop": stop}
    exec(compile("\n" * 70000 + "def far():\n" + "\n" * 300 + "  return stop()\n", "naïve/é.py", "exec"), far)
    far["far"]()
    exec(compile("def wide(): return (" + "0 + " * 2000 + " stop())\nwide()", "путь/файл.py", "exec"), {"stop": stop})
    exec(compile("class A:\n class B:\n  def 𐌰(self): stop()\nA.B().𐌰()", "𐌰/file.py", "exec"), {"stop": stop})
    body = "".join("  x = %d\n" % i + "\n" * (i % 200) for i in range(3000))
    exec(compile("def long(stop):\n" + body + "  stop()\n" + body + "  return stop()\nlong(stop)", "<long>", "exec"),
         {"stop": stop})
    eval("stop() if True else None")


def signals():
    signal.signal(signal.SIGUSR1, lambda *_: stop())
    os.kill(os.getpid(), signal.SIGUSR1)
    for _ in range(10):
        pass


def threads():
    worker = threading.Thread(target=nested)
    worker.start()
    worker.join()


def forks():
    if state["dry"]:
        return
    child = os.fork()
    if not child:
        nested()
        os._exit(0)
    os.waitpid(child, 0)


CASES = [nested, generators, comprehension, callbacks, classes, finalizers, dying, coroutines, exceptions, many_lines,
         recursion, recursion_in_c, ñandú, made_code, signals, threads, forks]


def tracer(*_):
    return tracer


def main():
    if "TRACED" in os.environ:   # as a debugger or coverage does
        threading.settrace(tracer)
        sys.settrace(tracer)
    state["pid"] = os.getpid()
    for hold in (False, True):
        state["hold"] = hold
        for case in CASES:
            state["name"] = case.__name__ + (" with the GIL" if hold else "")
            state["dry"] = True
            # What is called often is specialized by 3.11 and later: other frames, other instructions.
            for _ in range(0 if hold else 60 if case not in (coroutines, threads, made_code) else 3):
                case()
            state["dry"] = False
            case()
    print("done", flush=True)


if __name__ == "__main__":
    main()
