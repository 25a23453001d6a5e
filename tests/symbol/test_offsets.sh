#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Checks the table of CPython's offsets against the headers of every Python 3.8 to 3.14 that is found: pyenv's, the
# system's, and those named in $PYTHONS.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0
bad=0
seen=
: >"$work/out"
for python in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3 /usr/bin/python3 ${PYTHONS:-}; do
	[ -x "$python" ] || continue
	facts=$("$python" -c 'import sys, sysconfig
print(*sys.version_info[:3], sysconfig.get_path("include"), sysconfig.get_config_var("LIBDIR"),
      sysconfig.get_config_var("Py_GIL_DISABLED") or 0, sep="|")' 2>/dev/null | tr -d ' ') || continue
	IFS='|' read -r major minor micro include libdir free <<-END
	$facts
	END
	[ "${major:-0}" = 3 ] && [ "$minor" -ge 8 ] && [ "$minor" -le 14 ] && [ "$free" = 0 ] || continue
	[ -f "$include/Python.h" ] && [ -d "$include/internal" ] || continue
	case " $seen " in *" $include "*) continue ;; esac
	seen="$seen $include"
	n=$((n + 1))
	# From 3.13 on _PyRuntime itself is asked too.
	lib=
	[ "$minor" -ge 13 ] && lib="-L$libdir -lpython3.$minor -Wl,-rpath,$libdir"
	# shellcheck disable=SC2086
	if ${CC:-gcc} -std=gnu17 -w -D_GNU_SOURCE -Iinclude -Iuser -I"$include" -I"$include/internal" \
		-o "$work/offsets" tests/symbol/offsets.c user/symbol/python/pylayout.c $lib >"$work/log" 2>&1 &&
		"$work/offsets" >>"$work/log" 2>&1; then
		echo "ok $n - offsets of $major.$minor.$micro"
	else
		echo "not ok $n - offsets of $major.$minor.$micro"
		sed 's/^#* */# /' "$work/log" | head -n 30
		bad=1
	fi >>"$work/out"
done
if [ $n = 0 ]; then
	echo '1..0 # SKIP no Python 3.8 to 3.14 with its internal headers'
	exit 0
fi
echo "1..$n"
cat "$work/out"
exit $bad
