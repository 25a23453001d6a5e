#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Cross-builds a CPython (3.8 or newer) for arm64's guests.
#
#   build_python.sh SOURCE DIR [OPTION...]
#
# SOURCE is an unpacked release. The result lies below DIR/python3.N; OPTIONs are those of its configure.
# `BUILT_PYTHONS=DIR CHECKS=pythons tests/kernels.sh arm64` takes it to the guest. The build needs a python3.N of the same
# version on this machine.
set -eu

[ $# -ge 2 ] || { echo "usage: build_python.sh SOURCE DIR [OPTION...]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$1" && pwd)
mkdir -p "$2"
dir=$(cd "$2" && pwd)
shift 2
fail() { echo "$*" >&2; exit 1; }

host=aarch64-linux-gnu
version=$(sed -n 's/^#define PY_VERSION *"\(3\.[0-9]*\).*/\1/p' "$source/Include/patchlevel.h")
[ -n "$version" ] || fail "$source is no source of CPython"
command -v "$host-gcc" >/dev/null || fail "apt-get install gcc-$host"
own=$(command -v "python$version") || fail "python$version is missing, which runs scripts of the build"

root="$dir/sysroot/root"
if [ ! -d "$root" ]; then
	PACKAGES_ARCH=arm64 "$here/../bpf/get_packages.sh" "$dir/sysroot" main ffi.h \
		libffi-dev libffi8 libc6 libc6-dev linux-libc-dev >/dev/null
	# The linker takes a static library where the link to the other one leads out of the folder.
	find "$root" -type l -lname '/*' | while read -r link; do
		ln -sfn "$root$(readlink "$link")" "$link"
	done
fi
work="$dir/build-$version"
rm -rf "$work"
mkdir -p "$work"
cd "$work"
exec 3>&1 >"$dir/build-$version.log" 2>&1
trap '[ $? = 0 ] || echo "it is not built: $dir/build-$version.log says why" >&3' EXIT
if grep -q -e --with-build-python "$source/configure"; then set -- "--with-build-python=$own" "$@"; fi
"$source/configure" --build=x86_64-linux-gnu --host="$host" --prefix=/usr --disable-ipv6 --without-ensurepip \
	ac_cv_file__dev_ptmx=yes ac_cv_file__dev_ptc=no CC="$host-gcc --sysroot=$root" CXX="$host-g++ --sysroot=$root" \
	PKG_CONFIG=/bin/false LIBFFI_CFLAGS=" " LIBFFI_LIBS=-lffi "$@"
make -j"$(nproc)"
usr="$dir/python$version/usr"
rm -rf "$dir/python$version"
make install DESTDIR="$dir/python$version"
[ -n "$(find "$usr/lib/python$version/lib-dynload" -name '_ctypes.*')" ] || fail "it has no _ctypes"
# A guest has its files in memory.
rm -rf "$usr/share"
for part in test idlelib lib2to3 ensurepip tkinter; do
	rm -rf "$usr/lib/python$version/$part"
done
find "$usr/lib" \( -name 'libpython*.a' -o -name '*.opt-*.pyc' \) -delete
find "$usr" -type f \( -name '*.so*' -o -name "python$version" \) -exec "$host-strip" --strip-debug {} +
rm -rf "$work"
echo "$dir/python$version" >&3
