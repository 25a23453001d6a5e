/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random histories of one process's kernel calls, against a model that keeps flat arrays and adds
 * everything up anew for each comparison.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/rm/rm.h"

#define CLIENTS 3          /* the last one is never seen created */
#define FOREIGN CLIENTS    /* another process's */
#define HANDLES 24
#define BODIES 40000
#define DEVICES 40000
#define GPUS 3
#define SLOTS 12           /* address ranges */
#define SLOT_BYTES (1ULL << 21)

struct object {
	bool there;        /* named by a record */
	bool seen;
	uint32_t class_id;
	int parent;        /* handle number in the same client, -1: the client */
	int body;          /* 0: none */
	int device;        /* of its own; 0: none */
};

struct body {
	uint64_t size;
	int kind;          /* 0 video, 1 system, 2 imported */
	int purpose;
	int device;
};

struct device {
	int gpu;
	int surety;        /* 0 unknown, 1 instance, 2 map, 3 VA space */
	int instance;      /* -1: none */
	bool freed;
};

struct slot {
	bool there;
	int gpu, mapper, body;
};

struct model {
	bool known[CLIENTS];       /* clients: seen created and live */
	struct object objects[CLIENTS][HANDLES];
	struct body bodies[BODIES];
	struct device devices[DEVICES];
	struct slot slots[SLOTS];
	uint64_t unknown_here[DEVICES];
	int body_count, device_count;
};

static struct model m;
static struct rm *rm;
static uint64_t seed;

static unsigned int pick(unsigned int below)   /* xorshift64 */
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 16) % below;
}

static uint32_t client_handle(int client)
{
	return 0xc1d00010u + (uint32_t)client;
}

static uint32_t object_handle(int client, int object)
{
	return object < 0 ? client_handle(client) : 0x5c000001u + (uint32_t)object;
}

/* ---- the model ---- */

static int new_device(void)
{
	int device = ++m.device_count;

	assert_true(device < DEVICES);
	m.devices[device] = (struct device){ .gpu = GPU_UNKNOWN, .instance = -1 };
	m.unknown_here[device] = 0;
	return device;
}

static int device_above(int client, int object)
{
	struct object *o = &m.objects[client][object];

	while (!o->device && o->parent >= 0)
		o = &m.objects[client][o->parent];
	if (!o->device)
		o->device = new_device();
	return o->device;
}

static void learn_one(struct device *d, int gpu, int surety)
{
	if (surety > d->surety || (surety == 1 && d->surety == 1)) {
		d->gpu = gpu;
		d->surety = surety;
	}
}

static void learn(int device, int gpu, int surety)
{
	struct device *d = &m.devices[device];

	if (surety <= d->surety)
		return;
	learn_one(d, gpu, surety);
	for (int i = 1; i <= m.device_count && d->instance >= 0; i++)
		if (i != device && !m.devices[i].freed && m.devices[i].instance == d->instance)
			learn_one(&m.devices[i], gpu, 1);
}

static int showing(int body)
{
	int count = 0;

	for (int c = 0; c < CLIENTS; c++)
		for (int o = 0; o < HANDLES; o++)
			count += m.objects[c][o].there && m.objects[c][o].body == body;
	return count;
}

static bool device_in_use(int device)
{
	for (int b = 1; b <= m.body_count; b++)
		if (m.bodies[b].device == device && showing(b))
			return true;
	return false;
}

static void drop(int client, int object)
{
	struct object gone = m.objects[client][object];

	for (int o = 0; o < HANDLES; o++)
		if (m.objects[client][o].there && m.objects[client][o].parent == object)
			drop(client, o);
	m.objects[client][object] = (struct object){ 0 };
	/* a device whose handle is gone is forgotten with its last memory: it teaches no other then */
	for (int d = 1; d <= m.device_count; d++)
		if (!m.devices[d].freed && (d == gone.device || (gone.body && m.bodies[gone.body].device == d))) {
			bool owned = false;

			for (int c = 0; c < CLIENTS; c++)
				for (int o = 0; o < HANDLES; o++)
					owned |= m.objects[c][o].there && m.objects[c][o].device == d;
			m.devices[d].freed = !owned && !device_in_use(d);
		}
}

static void drop_client(int client)
{
	for (int o = 0; o < HANDLES; o++)
		if (m.objects[client][o].there && m.objects[client][o].parent < 0)
			drop(client, o);
}

static void add(int client, int parent, int object, uint32_t class_id)
{
	if (parent >= 0 && !m.objects[client][parent].there)
		m.objects[client][parent] = (struct object){ .there = true, .parent = -1 };
	m.objects[client][object] = (struct object){
		.there = true, .seen = true, .parent = parent, .class_id = class_id };
}

static int add_body(int client, int object, int kind, int purpose, uint64_t size)
{
	int body = ++m.body_count;

	assert_true(body < BODIES);
	m.bodies[body] = (struct body){
		.size = size, .kind = kind, .purpose = purpose, .device = device_above(client, object) };
	m.objects[client][object].body = body;
	return body;
}

static void model_sums(int gpu, struct rm_physical *out)
{
	*out = (struct rm_physical){ 0 };
	for (int b = 1; b <= m.body_count; b++) {
		const struct body *body = &m.bodies[b];

		if (m.devices[body->device].gpu != gpu || !showing(b))
			continue;
		if (body->kind == 0) {
			out->by_purpose[body->purpose] += body->size;
			out->total += body->size;
		} else if (body->kind == 2) {
			out->imported += body->size;
		}
	}
	for (int d = 0; d <= m.device_count; d++)
		if ((d ? m.devices[d].gpu : GPU_UNKNOWN) == gpu)
			out->unknown_frees += m.unknown_here[d];
}

/* ---- one step: the same to both ---- */

static void compare(void)
{
	struct rm_physical want, got;
	uint64_t objects = 0;

	for (int gpu = GPU_UNKNOWN; gpu < GPUS; gpu++) {
		model_sums(gpu, &want);
		rm_physical(rm, gpu, &got);
		assert_memory_equal(&want, &got, sizeof(want));
	}
	for (int c = 0; c < CLIENTS; c++) {
		objects += m.known[c];
		for (int o = 0; o < HANDLES; o++)
			objects += m.objects[c][o].there && m.objects[c][o].seen;
	}
	assert_int_equal(rm_object_count(rm), objects);
	for (int i = 0; i < SLOTS; i++) {
		int gpu = m.slots[i].there ? m.slots[i].gpu : GPU_UNKNOWN;

		assert_int_equal(rm_gpu_of_address(rm, (uint64_t)i * SLOT_BYTES), gpu);
		assert_int_equal(rm_gpu_of_address(rm, (uint64_t)(i + 1) * SLOT_BYTES - 1), gpu);
	}
}

/* Both, before and after: what a change says is the difference. */
static void sums_of_all(uint64_t *bytes)
{
	struct rm_physical sums;

	for (int gpu = GPU_UNKNOWN; gpu < GPUS; gpu++) {
		rm_physical(rm, gpu, &sums);
		bytes[gpu + 1] = sums.total;
	}
}

static void check_change(const uint64_t *before, const struct rm_change *change)
{
	uint64_t after[GPUS + 1];
	int64_t sum = 0;
	int touched = 0;

	sums_of_all(after);
	for (int gpu = GPU_UNKNOWN; gpu < GPUS; gpu++) {
		int64_t diff = (int64_t)(after[gpu + 1] - before[gpu + 1]);

		sum += diff;
		touched += diff != 0;
		if (diff && !change->several)
			assert_int_equal(change->gpu, gpu);
	}
	assert_int_equal(change->bytes, sum);
	if (touched > 1)
		assert_true(change->several);
}

static void step_root(int client)
{
	struct gmt_rm_alloc rec = { .object = client_handle(client), .class_id = 0x41 };
	struct rm_change change;

	rm_alloc(rm, &rec, GMT_PURPOSE_OTHER, &change);
	assert_int_equal(change.double_alloc, m.known[client]);
	drop_client(client);
	m.known[client] = true;
}

static void step_alloc(int client, int parent, int object)
{
	static const uint32_t classes[] = { 0x80, 0x90f1, 0x2080, 0x3e, 0x40, 0x40, 0x40, 0x40 };
	uint32_t class_id = classes[pick(8)];
	struct object *o = &m.objects[client][object];
	struct rm_change change;
	struct gmt_rm_alloc rec = {
		.client = client_handle(client), .parent = object_handle(client, parent),
		.object = object_handle(client, object), .class_id = class_id,
		.attr = pick(8) ? 0 : 1u << 25, .flags = pick(8) ? 0 : 1u << 19,
		.size = (uint64_t)pick(1000) << 12, .device_id = pick(GPUS), .status = !pick(10),
	};
	int purpose = (int)pick(GMT_PURPOSE_COUNT), device;
	uint64_t before[GPUS + 1];

	/* an implied object that comes to life is for test_rm.c; below itself it cannot be */
	if (parent == object || (o->there && !o->seen))
		return;
	if (class_id == 0x80)
		rec.parent = client_handle(client), parent = -1;
	sums_of_all(before);
	rm_alloc(rm, &rec, purpose, &change);
	check_change(before, &change);
	if (rec.status)
		return;
	assert_int_equal(change.double_alloc, o->there);
	if (o->there)
		drop(client, object);
	add(client, parent, object, class_id);
	if (class_id == 0x80) {
		device = o->device = new_device();
		m.devices[device].instance = (int)rec.device_id;
		for (int i = 1; i < device; i++)
			if (!m.devices[i].freed && m.devices[i].instance == (int)rec.device_id && m.devices[i].surety)
				learn_one(&m.devices[device], m.devices[i].gpu, 1);
	}
	if (class_id == 0x3e)
		add_body(client, object, 1, 0, rec.size);
	if (class_id == 0x40 && !rec.flags)
		add_body(client, object, rec.attr ? 1 : 0, purpose, rec.size);
}

static void step_free(int client, int parent, int object)
{
	struct object *o = &m.objects[client][object];
	const struct object *p = parent < 0 ? NULL : &m.objects[client][parent];
	bool unknown = !(o->there && o->seen) && !m.known[client];
	struct rm_change change;
	uint64_t before[GPUS + 1];
	struct gmt_rm_free rec = {
		.client = client_handle(client), .parent = object_handle(client, parent),
		.object = object_handle(client, object),
	};

	if (p && p->there && p->seen && p->class_id != 0x80)
		unknown = false;
	sums_of_all(before);
	rm_release(rm, &rec, &change);
	check_change(before, &change);
	assert_int_equal(change.unknown_free, unknown);
	if (unknown && p && parent != object) {
		if (!p->there)
			m.objects[client][parent] = (struct object){ .there = true, .parent = -1 };
		m.unknown_here[device_above(client, parent)]++;
	} else if (unknown) {
		m.unknown_here[0]++;
	}
	if (o->there)
		drop(client, object);
}

static void step_free_client(int client)
{
	struct rm_change change;
	uint64_t before[GPUS + 1];
	struct gmt_rm_free rec = {
		.client = client_handle(client), .parent = client_handle(client), .object = client_handle(client),
	};

	sums_of_all(before);
	rm_release(rm, &rec, &change);
	check_change(before, &change);
	assert_int_equal(change.unknown_free, !m.known[client]);
	m.unknown_here[0] += !m.known[client];
	drop_client(client);
	m.known[client] = false;
}

/* The clients this process has touched, as rm sees it: a foreign one otherwise. */
static bool touched(int client)
{
	bool any = m.known[client];

	for (int o = 0; o < HANDLES; o++)
		any |= m.objects[client][o].there;
	return any;
}

static void step_dup(int client, int parent, int object, int from, int source)
{
	struct object src = { 0 }, *o = &m.objects[client][object];
	struct gmt_rm_dup rec = {
		.client = client_handle(client), .parent = object_handle(client, parent),
		.object = object_handle(client, object), .client_src = client_handle(from),
		.object_src = object_handle(from, source),
	};
	struct object keep;

	if (parent == object || (o->there && !o->seen))
		return;
	if (from != FOREIGN) {
		if (!touched(from) && from != client)   /* seen by no record: would look foreign */
			return;
		src = m.objects[from][source];
	}
	rm_dup(rm, &rec);
	if (o->there) {
		/* what is shown goes on living although its last name may go right now */
		keep = m.objects[client][object];
		drop(client, object);
		if (src.body && keep.body && m.devices[m.bodies[src.body].device].freed)
			m.devices[m.bodies[src.body].device].freed = false;
	}
	add(client, parent, object, src.class_id);
	if (src.there)
		o->body = src.body;
	else if (from == FOREIGN)
		add_body(client, object, 2, GMT_PURPOSE_IMPORT, 0);
	if (src.body)
		m.devices[m.bodies[src.body].device].freed = false;
}

static void step_vaspace(int client, int object, int gpu)
{
	struct gmt_uvm_vaspace rec = { .client = client_handle(client), .vaspace = object_handle(client, object) };

	if (!m.objects[client][object].there)
		return;
	rm_vaspace(rm, &rec, gpu);
	learn(device_above(client, object), gpu, 3);
}

static void step_map(int client, int object, int slot, int gpu)
{
	struct object *o = &m.objects[client][object];
	struct slot *s = &m.slots[slot];
	struct body *body;
	int shown, lies = gpu;
	struct gmt_uvm_map rec = {
		.base = (uint64_t)slot * SLOT_BYTES, .length = SLOT_BYTES, .gpu_count = 1,
		.client = client_handle(client), .memory = object_handle(client, object),
	};

	rm_map(rm, &rec, gpu);
	if (!o->there && m.known[client]) {
		add(client, -1, object, 0);
		add_body(client, object, 2, GMT_PURPOSE_IMPORT, 0);
	}
	if (o->there)
		learn(device_above(client, object), gpu, 2);
	shown = o->body;
	if (shown) {
		body = &m.bodies[shown];
		if (body->kind == 2 && body->size < SLOT_BYTES)
			body->size = SLOT_BYTES;
		if (body->kind == 1)
			lies = GPU_UNKNOWN;
		else if (m.devices[body->device].gpu != GPU_UNKNOWN)
			lies = m.devices[body->device].gpu;
	}
	if (s->there && (s->body == shown || !s->body || !shown))
		return;
	*s = (struct slot){ .there = true, .gpu = lies, .mapper = gpu, .body = shown };
}

static void step_unmap(int slot, int gpu)
{
	struct gmt_uvm_unmap rec = { .base = (uint64_t)slot * SLOT_BYTES, .length = SLOT_BYTES };

	rm_unmap(rm, &rec, gpu);
	if (m.slots[slot].mapper == gpu)
		m.slots[slot].there = false;
}

/* True: the step reports what it changes in an rm_change, and has checked it. */
static bool step(void)
{
	int client = (int)pick(CLIENTS), object = (int)pick(HANDLES), parent = (int)pick(HANDLES + 4) - 4;
	int slot = (int)pick(SLOTS), gpu = (int)pick(GPUS);
	unsigned int what = pick(100);

	parent = parent < 0 ? -1 : parent;
	if (what < 2 && client != CLIENTS - 1)
		step_root(client);
	else if (what < 3)
		step_free_client(client);
	else if (what < 45)
		step_alloc(client, parent, object);
	else if (what < 60)
		step_free(client, parent, object);
	else if (what < 75)
		step_dup(client, parent, object, (int)pick(CLIENTS + 1), (int)pick(HANDLES));
	else if (what < 80)
		step_vaspace(client, object, gpu);
	else if (what < 93)
		step_map(client, object, slot, gpu);
	else if (what < 98)
		step_unmap(slot, gpu);
	else
		rm_range_free(rm, &(struct gmt_uvm_free){ .base = (uint64_t)slot * SLOT_BYTES }),
			m.slots[slot].there = false;
	return what < 60;
}

/* What a record without an rm_change does to the totals is told by rm_moves(). */
static void step_told(void)
{
	uint64_t before[GPUS + 1], after[GPUS + 1], moves = rm_moves(rm);

	sums_of_all(before);
	if (step())
		return;
	sums_of_all(after);
	if (memcmp(before, after, sizeof(before)))
		assert_true(rm_moves(rm) != moves);
}

static void history(uint64_t start, int steps)
{
	memset(&m, 0, sizeof(m));
	seed = start;
	rm = rm_new();
	for (int i = 0; i < steps; i++) {
		step_told();
		compare();
	}
	for (int c = 0; c < CLIENTS; c++)
		step_free_client(c);
	compare();
	assert_int_equal(rm_object_count(rm), 0);
	rm_free(rm);
}

static void short_histories(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 300; i++)
		history(i * 0x9e3779b97f4a7c15ULL, 60);
}

static void long_histories(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 4; i++)
		history(i * 0xd1342543de82ef95ULL, 600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_histories),
		cmocka_unit_test(long_histories),
	};

	return cmocka_run_group_tests_name("rm_model", tests, NULL, NULL);
}
