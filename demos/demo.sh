#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `make demo`: traces a job that uses GPU memory from its start, records the session, and replays the recording. With a
# GPU the job is real; without a GPU the job runs on the stand-in driver, under real probes. Without root the script
# asks sudo.
#
#   demos/demo.sh [SECONDS]
set -eu

cd "$(dirname "$0")/.."
seconds=${1:-6}
trace=build/gpumemtrace
standin=build/standin/root
recording=build/demo.gmt
dumps=build/demo-oom
stacks=
as_root=
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null 2>&1 || { echo "demo: probes need root: run make demo as root" >&2; exit 4; }
	as_root=sudo
fi

if command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
	echo "This machine has:"
	nvidia-smi -L
	if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
		set -- python3 demos/train.py "$seconds"
		stacks=--block-stacks
	else
		set -- build/demos/train "$seconds"
	fi
	root=
else
	echo "No GPU here: the job runs on a stand-in driver with two simulated GPUs. The probes are real."
	set -- env LD_LIBRARY_PATH="$standin/usr/lib" build/demos/train "$seconds"
	root="--driver-root $standin"
fi

rm -rf $dumps
mkdir -p $dumps
echo
echo "\$ gpumemtrace ${stacks:+$stacks }-o $recording --oom-dir $dumps -- $*"
# shellcheck disable=SC2086 # $root is two words or none, $stacks is one or none
$as_root $trace $root $stacks --live --full -o $recording --oom-dir $dumps -- "$@"
# What root has written nobody else may read.
[ -z "$as_root" ] || $as_root chown -R "$(id -u)" $recording $dumps

echo
echo "The recording gives the same report on any machine, without root:"
echo "\$ gpumemtrace report $recording"
$trace report $recording

for dump in "$dumps"/*.gmt; do
	[ -f "$dump" ] || continue
	echo
	echo "It asked for too much once, and what held the memory then was written down:"
	echo "\$ gpumemtrace oom $dump"
	$trace oom "$dump" | sed -n '1,12p'
	echo "..."
	break
done
