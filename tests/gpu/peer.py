# SPDX-License-Identifier: BSD-2-Clause
"""The workload's side of a comparison: states its truth at a named checkpoint, then waits for leave to go on.

Invariant: between a checkpoint and the answer to it the workload allocates and frees nothing.
Without $GMT_TEST_SOCKET the checkpoints are printed and nothing waits.
"""
import json
import os
import socket
import sys
import time


class Peer:
    def __init__(self):
        path = os.environ.get("GMT_TEST_SOCKET")
        self.file = None
        if path:
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(path)
            self.file = sock.makefile("rwb")

    def checkpoint(self, name, **truth):
        """Returns what the driver script answers: a dictionary. Ends the process if it is gone."""
        line = json.dumps({"name": name, "pid": os.getpid(), "ts_ns": time.monotonic_ns(), **truth})
        if not self.file:
            print(line, flush=True)
            return {}
        try:
            self.file.write(line.encode() + b"\n")
            self.file.flush()
            answer = self.file.readline()
        except OSError:
            answer = b""
        if not answer:
            sys.exit("the test that started this is gone")
        return json.loads(answer)
