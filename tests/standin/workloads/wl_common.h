/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What workloads share. A workload keeps its own books: it notes each allocation and each free, and
 * prints the totals as key=value lines on stdout, one for each GPU and class that it used:
 *
 *   gpu.<UUID>.<class>.<live|peak|allocs|frees|failed>=N
 *   proc.<class>.<...>=N            classes that belong to no GPU (managed, pinned, registered)
 *   gpu.<UUID>.physical=N           what the simulated kernel driver says
 *   checksum=N                      of the results it saw: the same whether it is traced or not
 *
 * Class names are those of gpumemtrace's JSON. Nothing printed on stdout depends on addresses, pids
 * or time. The pid goes to stderr.
 */
#ifndef WL_COMMON_H
#define WL_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../cuda_min.h"

#define KIB (1ULL << 10)
#define MIB (1ULL << 20)

enum wl_class {
	WL_DEVICE, WL_POOL, WL_VMM, WL_ARRAY, WL_GRAPH,
	WL_MANAGED, WL_PINNED, WL_REGISTERED, WL_CLASSES
};

/* The pid on stderr, cuInit, and what the CUDA runtime does next (not with WL_BARE in the environment:
 * then a tracer is not told which GPU has which ordinal). */
void wl_start(void);

/* Notes. `dev` is the CUDA ordinal; classes from WL_MANAGED on ignore it. Safe from any thread. */
void wl_alloc(int dev, enum wl_class class, uint64_t bytes);
void wl_free(int dev, enum wl_class class, uint64_t bytes);
void wl_failed(int dev, enum wl_class class);

/* Mixes a value into the checksum; the order does not matter. */
void wl_mix(uint64_t value);

/* Prints everything and flushes. */
void wl_report(void);

/* Stops with a sentence when a call does not return what it should. */
void wl_check(CUresult got, CUresult expected, const char *call, const char *file, int line);
#define CU(call) wl_check((call), CUDA_SUCCESS, #call, __FILE__, __LINE__)
#define CU_FAILS(call, error) wl_check((call), (error), #call, __FILE__, __LINE__)

/* The program's phases are visible from outside: prints "phase=NAME" on stderr, and if the
 * environment says WL_HOLD=NAME[,NAME...], waits there for SIGUSR1 (SIGUSR2: report first, keep waiting). */
void wl_phase(const char *name);

/* An argument as a number, or what it is otherwise. */
unsigned long wl_arg(int argc, char **argv, int i, unsigned long otherwise);

/* Calls and notes in one; the memory is of the current context's device, which is `dev`. */
CUdeviceptr wl_mem(int dev, uint64_t bytes);
void wl_mem_free(int dev, CUdeviceptr address, uint64_t bytes);

/* Threads make peaks and the filling of chunks a matter of luck: leaves both out of the report. */
void wl_no_peaks(void);

/* A prop for cuMemCreate on `dev`. */
CUmemAllocationProp wl_prop(int dev);
void wl_map(CUdeviceptr at, uint64_t bytes, CUmemGenericAllocationHandle handle, int dev);

#endif
