#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each function of CUDA's driver API is a row of api.h, or cuda_functions.txt says why not; so is each of the CUDA headers
on this machine, however new."""
import glob
import os
import re
import sys
import sysconfig

from tap import BUILD, Tap, text

LIST = "tests/lint/cuda_functions.txt"
HEADERS = ("cuda.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h", "cudaProfilerTypedefs.h")
SUFFIX = {"__CUDA_API_PTSZ": "_ptsz", "__CUDA_API_PTDS": "_ptds"}


def listed():
    """The list's sections, each with its reason and its names, in order."""
    sections = {}
    for line in text(LIST).splitlines():
        head = re.fullmatch(r"\[(\w+)\] (.+)", line)
        if head:
            names = sections.setdefault(head[1], (head[2], []))[1]
        elif line and not line.startswith("#"):
            names += line.split()
    return sections


def order(sections):
    seen = {}
    for section, (_, names) in sections.items():
        if names != sorted(set(names)):
            yield f"[{section}] is not sorted, or has a name twice"
        for name in names:
            if name in seen:
                yield f"{name} is in [{seen[name]}] and in [{section}]"
            seen[name] = section
            if not re.fullmatch(r"cu[A-Z]\w+", name):
                yield f"[{section}]: {name} is no function"


def compare_rows(sections, table):
    rows, names = set(re.findall(r"X\(\d+, (cu\w+),", table)), set(sections["row"][1])
    for name in sorted(rows - names):
        yield f"{name} has a row in api.h and is not in [row] of {LIST}"
    for name in sorted(names - rows):
        yield f"{name} is in [row] of {LIST} and has no row in api.h"


def exported(header):
    """The functions that a header declares: by their names, and by those that its macros give them instead."""
    header = re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.S)
    names = set(re.findall(r"CUDAAPI\s+(cu[A-Z]\w*)\s*\(", header))
    names |= set(re.findall(r"CUDAAPI\s*\*\s*PFN_(cuProfiler[A-Za-z]+)", header))
    for wrap, name in re.findall(r"#\s*define\s+cu[A-Z]\w*\s+(?:(__CUDA_API_PT\w+)\s*\(\s*)?(cu[A-Z]\w*)", header):
        names |= {name, name + SUFFIX.get(wrap, "")}
    return names


EXAMPLE = """
/* CUresult CUDAAPI cuInAComment(void); */
#define cuMemAlloc cuMemAlloc_v2
#define cuMemsetD8Async __CUDA_API_PTSZ(cuMemsetD8Async)
#  define cuMemcpy2D __CUDA_API_PTDS(cuMemcpy2D_v2)
CUresult CUDAAPI cuInit(unsigned int Flags);
__CUDA_DEPRECATED CUresult CUDAAPI
    cuNew(CUcontext *pctx);
typedef CUresult (CUDAAPI *PFN_cuProfilerStart_v4000)(void);
"""
EXPORTED = {"cuMemAlloc_v2", "cuMemsetD8Async", "cuMemsetD8Async_ptsz", "cuMemcpy2D_v2", "cuMemcpy2D_v2_ptds", "cuInit", "cuNew",
            "cuProfilerStart"}


def folders():
    """Where toolkits and PyPI's packages keep cuda.h."""
    places = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    found = [os.path.join(place, "include") for place in places if place]
    found += glob.glob("/usr/local/cuda*/include") + ["/usr/include"]
    packages = {sysconfig.get_path("purelib"), *sys.path, *glob.glob(os.path.join(BUILD, "pypi-*")),
                *glob.glob("/usr/local/lib/python3*/*-packages"), *glob.glob("/usr/lib/python3*/*-packages")}
    for package in packages:
        found += glob.glob(os.path.join(package, "nvidia/*/include"))
    return sorted({os.path.realpath(f) for f in found if os.path.isfile(os.path.join(f, "cuda.h"))})


def read(folder, name):
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def compare_header(folder, known):
    version = re.search(r"#\s*define\s+CUDA_VERSION\s+(\d+)", read(folder, "cuda.h"))
    release = f"{int(version[1]) // 1000}.{int(version[1]) % 1000 // 10}" if version else "of an unknown version"
    for name in sorted(set().union(*(exported(read(folder, header)) for header in HEADERS)) - known):
        yield f"CUDA {release} has {name}: add a row to api.h, or the name to {LIST} with the reason"


def main():
    tap, sections = Tap(), listed()
    known = {name for _, names in sections.values() for name in names}
    tap.check("the list is sorted, and has each name once", order(sections))
    tap.check("the list and the table of probe points agree", compare_rows(sections, text("include/gpumemtrace/api.h")))
    tap.check("declarations and macros are read", sorted(exported(EXAMPLE) ^ EXPORTED))
    found = folders()
    for folder in found:
        tap.check(f"each function of {folder} is known", compare_header(folder, known))
    if not found:
        tap.check("each function of a CUDA header is known", (), skip="no cuda.h on this machine")
    tap.done()


if __name__ == "__main__":
    main()
