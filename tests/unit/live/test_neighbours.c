// SPDX-License-Identifier: BSD-2-Clause
/* What the stream is told of processes that are not traced: changes alone, in records that a ledger takes in. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "live/nvidia/neighbours_told.h"
#include "live/stream.h"
#include "records.h"

#define NO_PROCESS 0x7ffffff0u   /* above PID_MAX_LIMIT, include/linux/threads.h */

struct scene {
	struct records r;
	struct stream stream;
	struct gmt_gpu gpus[2];
	struct neighbours_told told;
	struct view view;
};

static void begin(struct scene *c)
{
	*c = (struct scene){ 0 };
	records_scene(&c->r, ALL_LAYERS);
	stream_init(&c->stream, c->r.pipeline);
	for (uint32_t i = 0; i < 2; i++) {
		records_uuid(i, c->gpus[i].uuid);
		records_gpu_memory(&c->r, i, GiB, 79 * GiB);
	}
}

static void end(struct scene *c)
{
	neighbours_told_free(&c->told);
	records_fini(&c->r);
}

/* Returns how many records went into the stream. */
static uint64_t tell(struct scene *c, int gpu, size_t count, const struct neighbour_usage *usages)
{
	struct neighbour_usage list[64];
	uint64_t before;

	view_build(c->r.pipeline, NULL, &c->view);
	before = c->view.records;
	view_free(&c->view);
	for (size_t i = 0; i < count; i++)
		list[i] = usages[i];
	neighbours_tell(&c->told, &c->stream, &c->gpus[gpu], list, count);
	view_build(c->r.pipeline, NULL, &c->view);
	assert_int_equal(c->view.records_malformed, 0);
	before = c->view.records - before;
	view_free(&c->view);
	return before;
}
#define TELL(c, gpu, ...) tell(c, gpu, sizeof((struct neighbour_usage[]){ __VA_ARGS__ }) / sizeof(struct neighbour_usage), \
			       (struct neighbour_usage[]){ __VA_ARGS__ })

static struct view_gpu gpu_of(struct scene *c, int gpu)
{
	struct view_gpu found;

	view_build(c->r.pipeline, NULL, &c->view);
	found = c->view.gpus[gpu];
	view_free(&c->view);
	return found;
}

static void changes_are_told_once(void **state)
{
	uint32_t self = (uint32_t)getpid();
	struct scene c;
	struct view_gpu g;

	(void)state;
	begin(&c);
	prctl(PR_SET_NAME, "a neighbour");
	assert_int_equal(TELL(&c, 0, { NO_PROCESS, MiB }, { self, GiB }), 2);
	assert_int_equal(TELL(&c, 0, { self, GiB }, { NO_PROCESS, MiB }), 0);
	assert_int_equal(TELL(&c, 1, { self, MiB }), 1);
	g = gpu_of(&c, 0);
	assert_int_equal(g.neighbour_count, 2);
	assert_int_equal(g.neighbours[0].tgid, self);
	assert_int_equal(g.neighbours[0].bytes, GiB);
	assert_string_equal(g.neighbours[0].comm, "a neighbour");
	assert_string_equal(g.neighbours[1].comm, "");
	assert_int_equal(TELL(&c, 0, { self, GiB }, { NO_PROCESS, 2 * GiB }), 1);
	g = gpu_of(&c, 0);
	assert_int_equal(g.neighbours[0].tgid, NO_PROCESS);
	assert_int_equal(TELL(&c, 0, { NO_PROCESS, 2 * GiB }), 1);
	assert_int_equal(gpu_of(&c, 0).neighbour_count, 1);
	assert_int_equal(gpu_of(&c, 1).neighbour_count, 1);
	assert_int_equal(tell(&c, 0, 0, NULL), 1);
	assert_int_equal(gpu_of(&c, 0).neighbour_count, 0);
	assert_int_equal(tell(&c, 0, 0, NULL), 0);
	end(&c);
}

/* More processes than have a name, of which another one becomes large; NVML lists one without a pid, others without
 * memory. */
static void the_largest_have_names(void **state)
{
	struct neighbour_usage list[GMT_NEIGHBOURS_MAX + 5];
	struct scene c;
	struct view_gpu g;

	(void)state;
	begin(&c);
	for (uint32_t i = 0; i < GMT_NEIGHBOURS_MAX + 3; i++)
		list[i] = (struct neighbour_usage){ NO_PROCESS + i, (i + 1) * MiB };
	list[GMT_NEIGHBOURS_MAX + 3] = (struct neighbour_usage){ 0, GiB };
	list[GMT_NEIGHBOURS_MAX + 4] = (struct neighbour_usage){ 5, 0 };
	assert_int_equal(tell(&c, 0, GMT_NEIGHBOURS_MAX + 5, list), GMT_NEIGHBOURS_MAX + 1);
	g = gpu_of(&c, 0);
	assert_int_equal(g.neighbour_count, GMT_NEIGHBOURS_MAX);
	assert_int_equal(g.neighbours[0].bytes, (GMT_NEIGHBOURS_MAX + 3) * MiB);
	assert_int_equal(g.neighbours[GMT_NEIGHBOURS_MAX - 1].bytes, 4 * MiB);
	assert_int_equal(g.more_neighbours, 4);
	assert_int_equal(g.more_bytes, GiB + 6 * MiB);
	list[0].bytes = 2 * GiB;
	assert_int_equal(tell(&c, 0, GMT_NEIGHBOURS_MAX + 5, list), 3);   /* one goes, one comes, and the others */
	g = gpu_of(&c, 0);
	assert_int_equal(g.neighbour_count, GMT_NEIGHBOURS_MAX);
	assert_int_equal(g.neighbours[0].tgid, NO_PROCESS);
	assert_int_equal(g.more_bytes, GiB + 9 * MiB);
	assert_int_equal(TELL(&c, 0, { NO_PROCESS, 2 * GiB }), GMT_NEIGHBOURS_MAX);
	g = gpu_of(&c, 0);
	assert_int_equal(g.neighbour_count, 1);
	assert_int_equal(g.more_neighbours, 0);
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_are_told_once), cmocka_unit_test(the_largest_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
