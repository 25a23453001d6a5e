/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel driver's view of a process: what counts, where it lies, and what a free takes away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/rm/rm.h"

#define MIB (1ULL << 20)
#define CLIENT 0xc1d00001u
#define DEV_A 0x5c000002u
#define DEV_B 0x5c00000bu
#define VAS_A 0x5c000009u
#define VAS_B 0x5c000012u
#define VIDMEM_ATTR 0x11800000u
#define VIRTUAL_FLAG (1u << 19)

static struct rm_change last;

static void alloc_full(struct rm *rm, const struct gmt_rm_alloc *rec)
{
	memset(&last, 0xff, sizeof(last));
	rm_alloc(rm, rec, GMT_PURPOSE_ALLOC, &last);
}

static void object(struct rm *rm, uint32_t client, uint32_t parent, uint32_t handle, uint32_t class_id)
{
	alloc_full(rm, &(struct gmt_rm_alloc){
		.client = client, .parent = parent, .object = handle, .class_id = class_id });
}

static void root(struct rm *rm, uint32_t client)
{
	object(rm, client, client, client, 0x41);
}

static void device(struct rm *rm, uint32_t client, uint32_t handle, uint32_t instance)
{
	alloc_full(rm, &(struct gmt_rm_alloc){
		.client = client, .parent = client, .object = handle, .class_id = 0x80, .device_id = instance });
}

static void memory(struct rm *rm, uint32_t client, uint32_t parent, uint32_t handle, uint64_t size)
{
	alloc_full(rm, &(struct gmt_rm_alloc){ .client = client, .parent = parent, .object = handle,
		.class_id = 0x40, .attr = VIDMEM_ATTR, .flags = 0x1c101, .size = size });
}

static void release(struct rm *rm, uint32_t client, uint32_t parent, uint32_t handle)
{
	memset(&last, 0xff, sizeof(last));
	rm_release(rm, &(struct gmt_rm_free){ .client = client, .parent = parent, .object = handle }, &last);
}

static void dup_object(struct rm *rm, uint32_t client, uint32_t parent, uint32_t handle, uint32_t client_src,
		       uint32_t src)
{
	rm_dup(rm, &(struct gmt_rm_dup){ .client = client, .parent = parent, .object = handle,
		.client_src = client_src, .object_src = src });
}

static void vaspace(struct rm *rm, uint32_t client, uint32_t handle, int gpu)
{
	struct gmt_uvm_vaspace rec = { .client = client, .vaspace = handle };

	rm_vaspace(rm, &rec, gpu);
}

static void map(struct rm *rm, uint64_t base, uint64_t length, uint32_t client, uint32_t handle, int gpu)
{
	struct gmt_uvm_map rec = { .base = base, .length = length, .client = client, .memory = handle, .gpu_count = 1 };

	rm_map(rm, &rec, gpu);
}

static void unmap(struct rm *rm, uint64_t base, uint64_t length, int gpu)
{
	struct gmt_uvm_unmap rec = { .base = base, .length = length };

	rm_unmap(rm, &rec, gpu);
}

static uint64_t total(const struct rm *rm, int gpu)
{
	struct rm_physical sums;
	uint64_t by_purpose = 0;

	rm_physical(rm, gpu, &sums);
	for (size_t i = 0; i < GMT_PURPOSE_COUNT; i++)
		by_purpose += sums.by_purpose[i];
	assert_int_equal(by_purpose, sums.total);
	return sums.total;
}

static uint64_t imported(const struct rm *rm, int gpu)
{
	struct rm_physical sums;

	rm_physical(rm, gpu, &sums);
	return sums.imported;
}

static uint64_t unknown_frees(const struct rm *rm, int gpu)
{
	struct rm_physical sums;

	rm_physical(rm, gpu, &sums);
	return sums.unknown_frees;
}

/* A client with two devices; A is GPU 0 by its VA space, B has none yet. */
static struct rm *two_devices(void)
{
	struct rm *rm = rm_new();

	root(rm, CLIENT);
	device(rm, CLIENT, DEV_A, 1);
	device(rm, CLIENT, DEV_B, 0);
	object(rm, CLIENT, DEV_A, VAS_A, 0x90f1);
	object(rm, CLIENT, DEV_B, VAS_B, 0x90f1);
	vaspace(rm, CLIENT, VAS_A, 0);
	return rm;
}

static void counts_video_memory_only(void **state)
{
	(void)state;
	struct rm *rm = two_devices();
	struct gmt_rm_alloc rec = { .client = CLIENT, .parent = DEV_A, .object = 0x100, .class_id = 0x40,
		.attr = VIDMEM_ATTR, .size = 2 * MIB };

	alloc_full(rm, &rec);
	assert_int_equal(last.gpu, 0);
	assert_int_equal(last.bytes, 2 * MIB);
	assert_false(last.several || last.unknown_free || last.double_alloc);
	rec.object++, rec.attr = 1u << 25;             /* PCI */
	alloc_full(rm, &rec);
	assert_int_equal(last.bytes, 0);
	rec.object++, rec.attr = 2u << 25;
	alloc_full(rm, &rec);
	rec.object++, rec.attr = 3u << 25;             /* anywhere */
	alloc_full(rm, &rec);
	rec.object++, rec.attr = 0, rec.flags = VIRTUAL_FLAG;
	alloc_full(rm, &rec);
	rec.object++, rec.flags = 0, rec.class_id = 0x3e;
	alloc_full(rm, &rec);
	rec.object++, rec.class_id = 0x71;
	alloc_full(rm, &rec);
	rec.object++, rec.class_id = 0x50a0;
	alloc_full(rm, &rec);
	rec.object++, rec.class_id = 0x40, rec.status = 0x51;   /* NV_ERR_NO_MEMORY */
	alloc_full(rm, &rec);
	assert_int_equal(last.bytes, 0);
	assert_int_equal(total(rm, 0), 2 * MIB);
	assert_int_equal(total(rm, 1) + total(rm, GPU_UNKNOWN), 0);
	assert_int_equal(rm_object_count(rm), 5 + 8);
	rm_free(rm);
	rm_free(NULL);
}

static void purposes_are_kept_apart(void **state)
{
	(void)state;
	struct rm *rm = two_devices();
	struct gmt_rm_alloc rec = { .client = CLIENT, .parent = DEV_A, .object = 0x100, .class_id = 0x40,
		.size = MIB };
	struct rm_physical sums;

	for (unsigned int p = 0; p < GMT_PURPOSE_COUNT; p++, rec.object++, rec.size += MIB)
		rm_alloc(rm, &rec, p, &last);
	rm_alloc(rm, &rec, GMT_PURPOSE_COUNT, &last);   /* none: other */
	rm_physical(rm, 0, &sums);
	assert_int_equal(sums.by_purpose[0], MIB + (GMT_PURPOSE_COUNT + 1) * MIB);
	for (unsigned int p = 1; p < GMT_PURPOSE_COUNT; p++)
		assert_int_equal(sums.by_purpose[p], (p + 1) * MIB);
	release(rm, CLIENT, DEV_A, 0x100 + GMT_PURPOSE_POOL);
	rm_physical(rm, 0, &sums);
	assert_int_equal(sums.by_purpose[GMT_PURPOSE_POOL], 0);
	assert_int_equal(total(rm, 0), sums.total);
	rm_free(rm);
}

static void learns_the_gpu_late(void **state)
{
	(void)state;
	struct rm *rm = two_devices();

	memory(rm, CLIENT, DEV_B, 0x100, 3 * MIB);
	assert_int_equal(last.gpu, GPU_UNKNOWN);
	assert_int_equal(last.bytes, 3 * MIB);
	assert_int_equal(total(rm, GPU_UNKNOWN), 3 * MIB);
	assert_int_equal(rm_moves(rm), 0);
	vaspace(rm, CLIENT, VAS_B, 1);
	assert_int_equal(rm_moves(rm), 1);
	assert_int_equal(total(rm, GPU_UNKNOWN), 0);
	assert_int_equal(total(rm, 1), 3 * MIB);
	release(rm, CLIENT, DEV_B, 0x100);
	assert_int_equal(last.gpu, 1);
	assert_int_equal(last.bytes, -3 * (int64_t)MIB);
	assert_int_equal(total(rm, 1), 0);
	rm_free(rm);
}

static void learns_the_gpu_from_a_mapping(void **state)
{
	(void)state;
	struct rm *rm = two_devices();

	memory(rm, CLIENT, DEV_B, 0x100, 3 * MIB);
	map(rm, 0x7f0000000000, 3 * MIB, CLIENT, 0x100, 1);
	assert_int_equal(total(rm, 1), 3 * MIB);
	vaspace(rm, CLIENT, VAS_B, 2);                       /* UVM's word is surer */
	assert_int_equal(total(rm, 1), 0);
	assert_int_equal(total(rm, 2), 3 * MIB);
	map(rm, 0x7f0000000000 + 4 * MIB, 3 * MIB, CLIENT, 0x100, 1);
	assert_int_equal(total(rm, 2), 3 * MIB);
	rm_free(rm);
}

static void learns_the_gpu_from_another_client(void **state)
{
	(void)state;
	struct rm *rm = two_devices();

	root(rm, 0xc1d00009);
	device(rm, 0xc1d00009, 0xa55a0020, 1);               /* after A was learned */
	device(rm, 0xc1d00009, 0xa55a0040, 0);               /* before B is */
	memory(rm, 0xc1d00009, 0xa55a0020, 0x100, MIB);
	memory(rm, 0xc1d00009, 0xa55a0040, 0x101, 2 * MIB);
	assert_int_equal(total(rm, 0), MIB);
	assert_int_equal(total(rm, GPU_UNKNOWN), 2 * MIB);
	vaspace(rm, CLIENT, VAS_B, 1);
	assert_int_equal(total(rm, 1), 2 * MIB);
	rm_free(rm);
}

static void a_parent_takes_its_children(void **state)
{
	(void)state;
	struct rm *rm = two_devices();

	vaspace(rm, CLIENT, VAS_B, 1);
	object(rm, CLIENT, DEV_A, 0x200, 0xa06c);
	memory(rm, CLIENT, 0x200, 0x201, MIB);               /* below something below the device */
	memory(rm, CLIENT, DEV_A, 0x202, 2 * MIB);
	memory(rm, CLIENT, DEV_B, 0x203, 4 * MIB);
	assert_int_equal(total(rm, 0), 3 * MIB);
	release(rm, CLIENT, CLIENT, DEV_A);
	assert_int_equal(last.gpu, 0);
	assert_int_equal(last.bytes, -3 * (int64_t)MIB);
	assert_int_equal(total(rm, 0), 0);
	assert_int_equal(total(rm, 1), 4 * MIB);
	release(rm, CLIENT, 0x200, 0x201);                   /* gone already: no anomaly, no bytes */
	assert_int_equal(last.bytes, 0);
	assert_false(last.unknown_free);
	assert_int_equal(rm_object_count(rm), 4);            /* client, B, its VA space, its memory */
	rm_free(rm);
}

static void a_client_takes_everything(void **state)
{
	(void)state;
	struct rm *rm = two_devices();

	vaspace(rm, CLIENT, VAS_B, 1);
	memory(rm, CLIENT, DEV_A, 0x202, 2 * MIB);
	memory(rm, CLIENT, DEV_B, 0x203, 4 * MIB);
	release(rm, CLIENT, CLIENT, CLIENT);
	assert_true(last.several);
	assert_int_equal(last.bytes, -6 * (int64_t)MIB);
	assert_int_equal(total(rm, 0) + total(rm, 1), 0);
	assert_int_equal(rm_object_count(rm), 0);
	rm_free(rm);
}

static void a_dup_keeps_memory_alive(void **state)
{
	(void)state;
	struct rm *rm = two_devices();

	vaspace(rm, CLIENT, VAS_B, 1);
	memory(rm, CLIENT, DEV_A, 0x100, 2 * MIB);
	dup_object(rm, CLIENT, DEV_B, 0x101, CLIENT, 0x100);
	dup_object(rm, CLIENT, DEV_B, 0x102, CLIENT, 0x101);
	assert_int_equal(total(rm, 0), 2 * MIB);             /* once */
	assert_int_equal(total(rm, 1), 0);
	release(rm, CLIENT, DEV_A, 0x100);
	assert_int_equal(last.bytes, 0);
	assert_int_equal(total(rm, 0), 2 * MIB);
	release(rm, CLIENT, CLIENT, DEV_A);                  /* its device goes: still on that GPU */
	assert_int_equal(total(rm, 0), 2 * MIB);
	dup_object(rm, CLIENT, DEV_B, 0x102, CLIENT, 0x102); /* onto itself */
	release(rm, CLIENT, DEV_B, 0x101);
	assert_int_equal(total(rm, 0), 2 * MIB);
	release(rm, CLIENT, DEV_B, 0x102);
	assert_int_equal(last.gpu, 0);
	assert_int_equal(last.bytes, -2 * (int64_t)MIB);
	assert_int_equal(total(rm, 0), 0);
	rm_free(rm);
}

static void imported_memory_is_not_ours(void **state)
{
	(void)state;
	struct rm *rm = two_devices();

	dup_object(rm, CLIENT, DEV_A, 0x300, 0xc1d00077, 0x5c000044);   /* cuIpcOpenMemHandle */
	assert_int_equal(imported(rm, 0), 0);                            /* of unknown size yet */
	map(rm, 0x7f0000000000, 8 * MIB, CLIENT, 0x300, 0);
	assert_int_equal(imported(rm, 0), 8 * MIB);
	map(rm, 0x7f1000000000, 4 * MIB, CLIENT, 0x300, 0);             /* again: of the same 8 MiB */
	assert_int_equal(imported(rm, 0), 8 * MIB);
	assert_int_equal(total(rm, 0), 0);
	assert_int_equal(rm_gpu_of_address(rm, 0x7f0000000000), 0);
	release(rm, CLIENT, DEV_A, 0x300);
	assert_int_equal(last.bytes, 0);
	assert_int_equal(imported(rm, 0), 0);
	map(rm, 0x7f2000000000, MIB, CLIENT, 0x301, 0);                 /* by file descriptor: never dup'd */
	assert_int_equal(imported(rm, 0), MIB);
	release(rm, CLIENT, CLIENT, 0x301);
	assert_int_equal(imported(rm, 0), 0);
	map(rm, 0x7f3000000000, MIB, 0xc1d00088, 0x301, 0);             /* an unknown client: who knows */
	dup_object(rm, CLIENT, DEV_A, 0x302, CLIENT, 0x999);            /* its own, from before tracing */
	map(rm, 0x7f4000000000, MIB, CLIENT, 0x302, 0);
	assert_int_equal(imported(rm, 0) + imported(rm, GPU_UNKNOWN), 0);
	rm_free(rm);
}

static void unknown_frees_are_told_apart(void **state)
{
	(void)state;
	struct rm *rm = two_devices();

	release(rm, CLIENT, CLIENT, 0x5c000042);             /* libcuda does that: a handle not allocated yet */
	assert_false(last.unknown_free);
	release(rm, 0xc1d00005, 0x5c000001, 0x5c000077);     /* from before tracing */
	assert_true(last.unknown_free);
	assert_int_equal(last.bytes, 0);
	assert_int_equal(unknown_frees(rm, GPU_UNKNOWN), 1);
	memory(rm, 0xc1d00005, 0x5c000001, 0x5c000078, MIB); /* tells where that device lies: both move */
	map(rm, 0x7f0000000000, MIB, 0xc1d00005, 0x5c000078, 2);
	assert_int_equal(unknown_frees(rm, GPU_UNKNOWN), 0);
	assert_int_equal(unknown_frees(rm, 2), 1);
	assert_int_equal(total(rm, 2), MIB);
	object(rm, 0xc1d00005, 0x5c000001, 0x5c000080, 0xa06c);
	release(rm, 0xc1d00005, 0x5c000080, 0x5c000081);     /* below a channel group: no memory */
	assert_false(last.unknown_free);
	release(rm, 0xc1d00005, 0xc1d00005, 0x5c000001);     /* that device itself, and what is known below */
	assert_true(last.unknown_free);
	assert_int_equal(last.bytes, -(int64_t)MIB);
	assert_int_equal(total(rm, 2), 0);
	assert_int_equal(unknown_frees(rm, 2), 1);
	assert_int_equal(unknown_frees(rm, GPU_UNKNOWN), 1);
	release(rm, 0xc1d00005, 0xc1d00005, 0xc1d00005);
	assert_true(last.unknown_free);
	rm_free(rm);
}

static void a_missed_free_is_made_up_for(void **state)
{
	(void)state;
	struct rm *rm = two_devices();

	memory(rm, CLIENT, DEV_A, 0x100, 2 * MIB);
	memory(rm, CLIENT, DEV_A, 0x100, 5 * MIB);
	assert_true(last.double_alloc);
	assert_int_equal(last.bytes, 3 * MIB);
	assert_int_equal(total(rm, 0), 5 * MIB);
	root(rm, CLIENT);                                    /* the whole client anew */
	assert_true(last.double_alloc);
	assert_int_equal(last.bytes, -5 * (int64_t)MIB);
	assert_int_equal(total(rm, 0), 0);
	assert_int_equal(rm_object_count(rm), 1);
	rm_free(rm);
}

static void tracing_began_late(void **state)
{
	(void)state;
	struct rm *rm = rm_new();

	memory(rm, CLIENT, DEV_A, 0x100, MIB);               /* neither client nor device were seen */
	memory(rm, CLIENT, DEV_A, 0x101, MIB);
	assert_int_equal(total(rm, GPU_UNKNOWN), 2 * MIB);
	assert_int_equal(rm_object_count(rm), 2);
	vaspace(rm, CLIENT, VAS_A, 3);                       /* before its object: tied when that comes */
	assert_int_equal(total(rm, 3), 0);
	object(rm, CLIENT, DEV_A, VAS_A, 0x90f1);
	assert_false(last.double_alloc);
	assert_true(last.several);                           /* earlier bytes moved */
	assert_int_equal(last.bytes, 0);
	assert_int_equal(total(rm, 3), 2 * MIB);
	dup_object(rm, CLIENT, DEV_B, VAS_B, CLIENT, 0x5c000013);   /* dup of a VA space not seen */
	vaspace(rm, CLIENT, VAS_B, 1);
	memory(rm, CLIENT, DEV_B, 0x102, 4 * MIB);
	assert_int_equal(total(rm, 1), 4 * MIB);
	vaspace(rm, CLIENT, 0x5c000014, 2);                  /* likewise, of a dup */
	dup_object(rm, CLIENT, 0x5c000015, 0x5c000014, CLIENT, 0x5c000013);
	memory(rm, CLIENT, 0x5c000015, 0x103, 8 * MIB);
	assert_int_equal(total(rm, 2), 8 * MIB);
	dup_object(rm, CLIENT, 0x5c000015, 0x103, CLIENT, 0x5c000013);   /* its free was missed */
	assert_int_equal(total(rm, 2), 0);
	assert_int_equal(rm_moves(rm), 2);
	release(rm, CLIENT, CLIENT, DEV_A);
	assert_int_equal(last.bytes, -2 * (int64_t)MIB);
	assert_int_equal(total(rm, 3), 0);
	assert_int_equal(total(rm, 1), 4 * MIB);
	rm_free(rm);
}

static void addresses_tell_the_gpu(void **state)
{
	(void)state;
	struct rm *rm = two_devices();

	vaspace(rm, CLIENT, VAS_B, 1);
	memory(rm, CLIENT, DEV_A, 0x100, 4 * MIB);
	memory(rm, CLIENT, DEV_B, 0x101, 4 * MIB);
	map(rm, 0x1000000000, 4 * MIB, CLIENT, 0x100, 0);
	map(rm, 0x2000000000, 4 * MIB, CLIENT, 0x101, 0);   /* B's memory, mapped on A first */
	map(rm, 0x3000000000, 4 * MIB, 0, 0, 1);            /* memory unknown: the first GPU's */
	assert_int_equal(rm_gpu_of_address(rm, 0x1000000000 - 1), GPU_UNKNOWN);
	assert_int_equal(rm_gpu_of_address(rm, 0x1000000000), 0);
	assert_int_equal(rm_gpu_of_address(rm, 0x1000000000 + 4 * MIB - 1), 0);
	assert_int_equal(rm_gpu_of_address(rm, 0x1000000000 + 4 * MIB), GPU_UNKNOWN);
	assert_int_equal(rm_gpu_of_address(rm, 0x2000000000), 1);
	assert_int_equal(rm_gpu_of_address(rm, 0x3000000000), 1);
	rm_range_free(rm, &(struct gmt_uvm_free){ .base = 0x1000000000 });
	assert_int_equal(rm_gpu_of_address(rm, 0x1000000000), GPU_UNKNOWN);
	rm_range_free(rm, &(struct gmt_uvm_free){ .base = 0x1000000000 });
	map(rm, 0x3000000000 + MIB, 2 * MIB, CLIENT, 0x100, 0);   /* its unmapping was missed */
	assert_int_equal(rm_gpu_of_address(rm, 0x3000000000), 1);
	assert_int_equal(rm_gpu_of_address(rm, 0x3000000000 + MIB), 0);
	assert_int_equal(rm_gpu_of_address(rm, 0x3000000000 + 3 * MIB), 1);
	map(rm, 0x7000000000, 4 * MIB, CLIENT, 0x100, GPU_UNKNOWN);
	assert_int_equal(rm_gpu_of_address(rm, 0x7000000000), 0);
	unmap(rm, 0x7000000000, 4 * MIB, 0);                      /* by now its GPU has a number */
	assert_int_equal(rm_gpu_of_address(rm, 0x7000000000), GPU_UNKNOWN);
	map(rm, UINT64_MAX - MIB, 4 * MIB, CLIENT, 0x100, 0);     /* broken */
	assert_int_equal(rm_gpu_of_address(rm, UINT64_MAX), GPU_UNKNOWN);
	rm_free(rm);
}

static void the_first_of_peers_owns(void **state)
{
	(void)state;
	struct rm *rm = two_devices();

	vaspace(rm, CLIENT, VAS_B, 1);
	memory(rm, CLIENT, DEV_A, 0x100, 4 * MIB);
	dup_object(rm, CLIENT, DEV_B, 0x101, CLIENT, 0x100);
	map(rm, 0x1000000000, 4 * MIB, CLIENT, 0x100, 0);
	map(rm, 0x1000000000, 4 * MIB, CLIENT, 0x101, 1);
	assert_int_equal(rm_gpu_of_address(rm, 0x1000000000), 0);
	unmap(rm, 0x1000000000, 4 * MIB, 1);                /* the peer's */
	assert_int_equal(rm_gpu_of_address(rm, 0x1000000000), 0);
	unmap(rm, 0x1000000000, 4 * MIB, 7);                /* a GPU never heard of */
	assert_int_equal(rm_gpu_of_address(rm, 0x1000000000), 0);
	unmap(rm, 0x1000000000 + MIB, MIB, 0);
	assert_int_equal(rm_gpu_of_address(rm, 0x1000000000), 0);
	assert_int_equal(rm_gpu_of_address(rm, 0x1000000000 + MIB), GPU_UNKNOWN);
	assert_int_equal(rm_gpu_of_address(rm, 0x1000000000 + 2 * MIB), 0);
	unmap(rm, 0x1000000000, 4 * MIB, 0);
	assert_int_equal(rm_gpu_of_address(rm, 0x1000000000), GPU_UNKNOWN);
	memory(rm, CLIENT, DEV_B, 0x102, 4 * MIB);
	map(rm, 0x5000000000, 4 * MIB, CLIENT, 0x100, 0);
	map(rm, 0x5000000000, 4 * MIB, CLIENT, 0x102, 1);   /* other memory: the first one is gone */
	assert_int_equal(rm_gpu_of_address(rm, 0x5000000000), 1);
	map(rm, 0x6000000000, 4 * MIB, 0, 0, 1);
	map(rm, 0x6000000000, 4 * MIB, 0, 0, 0);            /* memory unknown: a peer */
	assert_int_equal(rm_gpu_of_address(rm, 0x6000000000), 1);
	rm_free(rm);
}

static void host_memory_lies_on_no_gpu(void **state)
{
	(void)state;
	struct rm *rm = two_devices();

	object(rm, CLIENT, DEV_A, 0x100, 0x3e);
	map(rm, 0x1000000000, 4 * MIB, CLIENT, 0x100, 0);
	assert_int_equal(rm_gpu_of_address(rm, 0x1000000000), GPU_UNKNOWN);
	unmap(rm, 0x1000000000, 4 * MIB, 0);
	map(rm, 0x1000000000, 4 * MIB, 0, 0, 1);
	assert_int_equal(rm_gpu_of_address(rm, 0x1000000000), 1);
	rm_free(rm);
}

static void a_call_tells_the_gpu(void **state)
{
	(void)state;
	struct rm *rm = two_devices();
	struct gmt_rm_alloc rec = { .hdr.tid = 55, .cause = { .api = 1, .seq = 9 }, .client = CLIENT,
		.parent = DEV_A, .object = 0x100, .class_id = 0x40, .size = MIB };

	assert_int_equal(rm_gpu_of_call(rm, 55, 9), GPU_UNKNOWN);
	alloc_full(rm, &rec);
	assert_int_equal(rm_gpu_of_call(rm, 55, 9), 0);
	assert_int_equal(rm_gpu_of_call(rm, 55, 8), GPU_UNKNOWN);
	assert_int_equal(rm_gpu_of_call(rm, 54, 9), GPU_UNKNOWN);
	vaspace(rm, CLIENT, VAS_B, 1);
	rec.object++, rec.class_id = 0x3e, rec.parent = DEV_B;
	alloc_full(rm, &rec);                                /* host memory does not say */
	assert_int_equal(rm_gpu_of_call(rm, 55, 9), 0);
	device(rm, CLIENT, 0x5c000021, 2);
	object(rm, CLIENT, 0x5c000021, 0x5c000022, 0x90f1);
	rec.object++, rec.class_id = 0x40, rec.parent = 0x5c000021;
	alloc_full(rm, &rec);                                /* the newest does; learned when asked */
	assert_int_equal(rm_gpu_of_call(rm, 55, 9), GPU_UNKNOWN);
	vaspace(rm, CLIENT, 0x5c000022, 2);
	assert_int_equal(rm_gpu_of_call(rm, 55, 9), 2);
	release(rm, CLIENT, 0x5c000021, rec.object);
	assert_int_equal(rm_gpu_of_call(rm, 55, 9), GPU_UNKNOWN);
	memory(rm, CLIENT, DEV_A, rec.object, MIB);          /* same handle, other memory, outside a call */
	assert_int_equal(rm_gpu_of_call(rm, 55, 9), GPU_UNKNOWN);
	assert_int_equal(rm_gpu_of_call(rm, 0, 0), GPU_UNKNOWN);
	for (rec.hdr.tid = 1000; rec.hdr.tid < 20000; rec.hdr.tid++)
		alloc_full(rm, &rec);                        /* more threads than are remembered */
	assert_int_equal(rm_gpu_of_call(rm, 19999, 9), 2);
	rm_free(rm);
}

/* Records of a broken or hostile process: no recursion, no cycle, no overflow. */
static void survives_nonsense(void **state)
{
	(void)state;
	struct rm *rm = rm_new();

	root(rm, CLIENT);
	for (uint32_t i = 1; i <= 100000; i++)
		object(rm, CLIENT, i == 1 ? CLIENT : i - 1, i, 0x2080);
	memory(rm, CLIENT, 100000, 100001, MIB);
	release(rm, CLIENT, CLIENT, 1);
	assert_int_equal(last.bytes, -(int64_t)MIB);
	assert_int_equal(rm_object_count(rm), 1);
	memory(rm, CLIENT, 0x50, 0x50, MIB);                 /* its own parent */
	memory(rm, CLIENT, 0x52, 0x51, MIB);
	memory(rm, CLIENT, 0x51, 0x52, MIB);                 /* each other's */
	memory(rm, CLIENT, 0x51, CLIENT, MIB);               /* the client as memory */
	memory(rm, 0, 0, 0x53, UINT64_MAX);
	memory(rm, 0, 0, 0, MIB);
	dup_object(rm, 0, 0, 0, 0, 0);
	vaspace(rm, 0, 0, 0);
	map(rm, 0, UINT64_MAX, 0, 0, 0);
	unmap(rm, 0, UINT64_MAX, 0);
	unmap(rm, UINT64_MAX, UINT64_MAX, 0);
	release(rm, 0, 0, 0);
	for (uint32_t i = 0; i < 0x60; i++)
		release(rm, CLIENT, 0, i);
	release(rm, CLIENT, CLIENT, CLIENT);
	release(rm, 0, 0, 0x53);
	for (int gpu = GPU_UNKNOWN; gpu < 2; gpu++)
		assert_int_equal(total(rm, gpu), 0);
	assert_int_equal(rm_object_count(rm), 0);
	rm_free(rm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_video_memory_only),
		cmocka_unit_test(purposes_are_kept_apart),
		cmocka_unit_test(learns_the_gpu_late),
		cmocka_unit_test(learns_the_gpu_from_a_mapping),
		cmocka_unit_test(learns_the_gpu_from_another_client),
		cmocka_unit_test(a_parent_takes_its_children),
		cmocka_unit_test(a_client_takes_everything),
		cmocka_unit_test(a_dup_keeps_memory_alive),
		cmocka_unit_test(imported_memory_is_not_ours),
		cmocka_unit_test(unknown_frees_are_told_apart),
		cmocka_unit_test(a_missed_free_is_made_up_for),
		cmocka_unit_test(tracing_began_late),
		cmocka_unit_test(addresses_tell_the_gpu),
		cmocka_unit_test(the_first_of_peers_owns),
		cmocka_unit_test(host_memory_lies_on_no_gpu),
		cmocka_unit_test(a_call_tells_the_gpu),
		cmocka_unit_test(survives_nonsense),
	};

	return cmocka_run_group_tests_name("rm", tests, NULL, NULL);
}
