#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# mkroot.sh DIR [DRIVER]: makes the files of the NVIDIA kernel driver below DIR, as a machine with
# the two simulated GPUs has them. DRIVER is a version, or a major one. Without root; may be repeated.
set -eu

dir=$1
driver=${2:-580.159.04}
case $driver in
535) driver=535.261.03 ;;
550) driver=550.163.01 ;;
570) driver=570.211.01 ;;
580) driver=580.159.04 ;;
590) driver=590.48.01 ;;
esac

mkdir -p "$dir/dev" "$dir/run" "$dir/proc/driver/nvidia/gpus"
chmod 777 "$dir/run" 2>/dev/null || :

# Character devices that every machine has stand for the driver's: see libcuda/devfile.c.
ln -sfn /dev/null "$dir/dev/nvidiactl"
ln -sfn /dev/zero "$dir/dev/nvidia-uvm"

cat >"$dir/proc/driver/nvidia/version" <<END
NVRM version: NVIDIA UNIX x86_64 Kernel Module  $driver  Thu Jan 01 00:00:00 UTC 1970
GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)
END

cat >"$dir/proc/devices" <<END
Character devices:
  1 mem
  5 /dev/tty
195 nvidia
195 nvidiactl
236 nvidia-caps
510 nvidia-uvm

Block devices:
259 blkext
END

# gpu PCI NAME UUID MINOR: the rows of common/gpus.h
gpu()
{
	mkdir -p "$dir/proc/driver/nvidia/gpus/$1"
	printf 'Model: \t\t %s\nIRQ:   \t\t 42\nGPU UUID: \t %s\nVideo BIOS: \t 00.00.00.00.00\n' "$2" "$3" \
		>"$dir/proc/driver/nvidia/gpus/$1/information"
	printf 'Bus Type: \t PCIe\nDMA Size: \t 52 bits\nDMA Mask: \t 0xfffffffffffff\n' \
		>>"$dir/proc/driver/nvidia/gpus/$1/information"
	printf 'Bus Location: \t %s\nDevice Minor: \t %s\nGPU Firmware: \t %s\nGPU Excluded:\t No\n' "$1" "$4" "$driver" \
		>>"$dir/proc/driver/nvidia/gpus/$1/information"
}
gpu 0000:3b:00.0 "Stand-in GPU A" GPU-b71e4d02-6f53-4c1a-9d30-27a8e45b9011 1
gpu 0000:86:00.0 "Stand-in GPU B" GPU-2c90f68e-11d4-4e77-8b42-c35d069fe822 0
