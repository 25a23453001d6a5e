# SPDX-License-Identifier: BSD-2-Clause
"""Debian's libc10 of PyTorch 1.13, and what it is linked with: arguments of get_packages.sh. tests/kernels fetches it, too."""
PLACE, COMPONENT, FILE = "real-libc10", "main", "libc10.so.1.13.0"
PACKAGES = "libtorch1.13", "libgoogle-glog0v6", "libgflags2.2", "libunwind8", "libnuma1", "libgomp1"
SUITE = "bookworm"              # that has this version
USED = "libc10.so*", "libglog.so*", "libgflags.so*", "libunwind.so*", "libnuma.so*", "libgomp.so*"     # of the packages' files
