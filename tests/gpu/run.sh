#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The tests on real GPUs (README.md). As root: tests/gpu/run.sh [-l] [NAME...]
# $GPUMEMTRACE: the binary (build/gpumemtrace); $PYTHON: a Python 3 with torch (python3); $OUT: where results go.
set -eu
cd "$(dirname "$0")"
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
exec "${PYTHON:-python3}" run.py "$@"
