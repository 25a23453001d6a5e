/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two libraries that have all in common but the name of a function, INNER: one takes the addresses of the other
 * (tests/bpf/test_stacks_odd.py).
 */
#define NOINLINE __attribute__((noinline))

typedef int alloc_fn(void *address, unsigned long size);
int INNER(alloc_fn *alloc, void *address, unsigned long size);
int go(alloc_fn *alloc, void *address, unsigned long size);

static volatile int pad;        /* written after the call, or the call would be a jump */

NOINLINE int INNER(alloc_fn *alloc, void *address, unsigned long size)
{
	int result = alloc(address, size);

	pad = 1;
	return result;
}

int go(alloc_fn *alloc, void *address, unsigned long size)
{
	int result = INNER(alloc, address, size);

	pad = 2;
	return result;
}
