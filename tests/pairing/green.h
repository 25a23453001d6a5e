/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Green contexts in the model of the driver (driver.h). A green context holds a reference to its device's primary context,
 * and its memory is the primary context's (cuda.h, cuGreenCtxDestroy). The program asks for its context once, and then
 * works in that context.
 */
#ifndef GMT_TESTS_PAIRING_GREEN_H
#define GMT_TESTS_PAIRING_GREEN_H

#include "driver_state.h"

static struct driver_context *primary_of(struct driver_process *p, __u64 green)
{
	return &p->contexts[1 + p->contexts[green].device];
}

/* All references to the primary context are those of green contexts. */
static bool is_held(const struct driver_process *p, __u64 primary)
{
	unsigned int greens = 0;

	for (__u64 i = 1 + DRIVER_DEVICES; i <= DRIVER_CONTEXTS; i++)
		greens += p->contexts[i].is_alive && p->contexts[i].is_green && home_of(p, i) == primary;
	return p->contexts[primary].refs <= greens;
}

/* The place of a new context; 0: there is none. */
static __u64 free_context(const struct driver_process *p)
{
	for (__u64 i = 1 + DRIVER_DEVICES; i <= DRIVER_CONTEXTS; i++)
		if (!p->contexts[i].is_alive && !has_memory(p, i))
			return i;
	return 0;
}

/* What lives in the context goes with the call. */
static void doom_memory(struct driver_process *p, __u64 context, int number)
{
	for (int i = 0; i < DRIVER_MEMORIES; i++)
		if (p->list[i].live && p->list[i].context == context)
			p->list[i].doomed = number;
}

static void take_memory(struct driver_process *p, int number)
{
	for (int i = 0; i < DRIVER_MEMORIES; i++)
		if (p->list[i].doomed == number)
			p->list[i].is_reset = p->list[i].live, p->list[i].live = false;
}

/* ---- a call begins ---- */

/* A green context that nobody makes, asks for or ends at the moment, nor its primary context; 0: none was found. Mostly
 * one whose context the program has asked for, or has not. */
static __u64 choose_green(struct driver_process *p, bool is_converted)
{
	bool is_any = !choose(driver.choices, 8);
	__u64 count = DRIVER_CONTEXTS - DRIVER_DEVICES, start = choose(driver.choices, (__u32)count);

	for (__u64 i = 0; i < count; i++) {
		__u64 green = 1 + DRIVER_DEVICES + (start + i) % count;
		const struct driver_context *c = &p->contexts[green];

		if (c->is_green && c->is_alive && c->is_visible && c->ending < 0 && primary_of(p, green)->ending < 0 &&
		    (is_any || c->is_converted == is_converted))
			return green;
	}
	return 0;
}

static void begin_green_end(struct call *call, int number)
{
	struct driver_process *p = &driver.processes[call->tgid];
	__u64 green = choose_green(p, true), home = home_of(p, green);
	bool is_last = green && p->contexts[home].refs == 1;

	call->rc = choose(driver.choices, 3) ? 0 : 700; /* CUDA_ERROR_ILLEGAL_ADDRESS */
	if (!green || is_used(call, green) || (is_last && !is_idle(call, home)))
		green = NO_CONTEXT;
	call->has_address = true;
	call->address = GREEN_HANDLE(green);
	call->context = green;
	if (green == NO_CONTEXT)
		return;
	p->contexts[green].ending = p->contexts[home].ending = number;
	if (is_last)
		doom_memory(p, home, number);
}

static void begin_convert(struct call *call, int number)
{
	struct driver_process *p = &driver.processes[call->tgid];

	call->context = choose_green(p, false) ?: NO_CONTEXT;
	call->address = GREEN_HANDLE(call->context);
	if (call->context != NO_CONTEXT)
		p->contexts[call->context].ending = number;
}

/* ---- the work of a call ---- */

static void work_green_create(struct call *call)
{
	struct driver_process *p = &driver.processes[call->tgid];
	__u64 green = free_context(p);

	if (call->address == NO_DEVICE || !green) {
		call->rc = green ? 101 : GMT_CUDA_OUT_OF_MEMORY; /* CUDA_ERROR_INVALID_DEVICE */
		return;
	}
	p->contexts[green] = (struct driver_context){
		.is_alive = true, .is_green = true, .ending = -1, .device = call->address,
	};
	primary_of(p, green)->refs++;
	primary_of(p, green)->is_alive = true;
	call->result = GREEN_HANDLE(green);
}

static void work_convert(struct call *call)
{
	if (call->context == NO_CONTEXT)
		call->rc = 201; /* CUDA_ERROR_INVALID_CONTEXT */
	else
		call->result = call->context;
}

static void work_green_end(struct call *call)
{
	struct driver_process *p = &driver.processes[call->tgid];
	struct driver_context *primary;

	if (call->context == NO_CONTEXT) {
		call->rc = 201; /* CUDA_ERROR_INVALID_CONTEXT */
		return;
	}
	take_memory(p, (int)(call - machine.calls));
	p->contexts[call->context].is_alive = false;
	primary = primary_of(p, call->context);
	primary->refs--;
	primary->is_alive = primary->refs > 0;
}

#endif
