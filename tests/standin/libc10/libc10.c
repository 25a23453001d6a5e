/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of PyTorch's libc10 that a tracer probes: allocators report blocks, and failures, to them. REPORT and
 * REPORT_OOM are their mangled names; the types of the integers in these differ from release to release. */
#include <stddef.h>
#include <stdint.h>

struct device {
	int8_t type, index;
};

void REPORT(void *ptr, int64_t size, size_t allocated, size_t reserved, struct device device);
void REPORT(void *ptr, int64_t size, size_t allocated, size_t reserved, struct device device)
{
	static __thread volatile int profiling;

	/* The real one looks whether this thread's profiler wants it. */
	if (profiling)
		profiling += ptr != NULL && size + allocated + reserved + (size_t)device.index;
}

void REPORT_OOM(int64_t size, size_t allocated, size_t reserved, struct device device);
void REPORT_OOM(int64_t size, size_t allocated, size_t reserved, struct device device)
{
	static __thread volatile int profiling;

	if (profiling)
		profiling += size + allocated + reserved + (size_t)device.index != 0;
}
