# SPDX-License-Identifier: BSD-2-Clause
"""How long tests wait. The awaited event comes at once, or minutes later on a busy machine: the limit only ends a wait
for an event that never comes."""
import time

PATIENCE = 300.0        # seconds
LOOK = 0.02             # ... between two looks


def until(found, seconds=PATIENCE):
    """Waits for found() to be true; what it returned last."""
    end = time.monotonic() + seconds
    while True:
        got = found()
        if got or time.monotonic() > end:
            return got
        time.sleep(LOOK)
