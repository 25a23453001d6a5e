/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/view/view.h"

#include <stdlib.h>

#include "core/account/stacks.h"
#include "core/framework/framework.h"
#include "core/timeline/view_timeline.h"

void view_stacks_free(struct view_stacks *stacks)
{
	for (int order = 0; order < VIEW_ORDER_COUNT; order++) {
		free(stacks->top[order].rows);
		free(stacks->lines[order].rows);
		free(stacks->modules[order].rows);
	}
	free(stacks->owners);
}

static void view_owner_free(struct view_owner_text *owner)
{
	if (owner->name != owner->text)
		free(owner->name);
	free(owner->text);
	free(owner->allocator);
}

void view_free(struct view *view)
{
	for (size_t i = 0; i < view->proc_count; i++) {
		for (size_t r = 0; r < view->procs[i].row_count; r++) {
			view_stacks_free(&view->procs[i].rows[r].stacks);
			view_timeline_free(view->procs[i].rows[r].timeline);
			view_stacks_free(&view->procs[i].rows[r].torch.stacks);
			framework_training_free(&view->procs[i].rows[r].torch.training);
		}
		view_stacks_free(&view->procs[i].host_stacks);
		free(view->procs[i].why);
		free(view->procs[i].rows);
	}
	for (size_t i = 0; i < view->stack_count; i++)
		free(view->stacks[i].frames);
	for (size_t i = 0; i < view->owner_count; i++)
		view_owner_free(&view->owners[i]);
	for (size_t i = 0; i < view->module_count; i++)
		free(view->modules[i]);
	free(view->modules);
	free(view->stacks);
	free(view->symbols);
	free(view->owners);
	free(view->procs);
	free(view->gpus);
	limits_fini(&view->limits);
	free(view->libraries);
	view_lives_free(view->lives);
	view_instants_free(view->instants);
	free(view->findings);
	*view = (struct view){ 0 };
}

uint64_t view_weight(const struct view_row *row)
{
	return row->has_physical ? row->physical.live + row->before_attach : row->attributed.live;
}

uint64_t view_holds(const struct view_proc *proc, const struct view_row *row)
{
	uint64_t weight = view_weight(row);

	return !proc->exited && row->has_nvml && row->nvml > weight ? row->nvml : weight;
}

const struct view_stacks *view_best_stacks(const struct view_row *row)
{
	return view_has_stacks(&row->torch.stacks) ? &row->torch.stacks : &row->stacks;
}

uint64_t view_lost(const struct view *view)
{
	uint64_t lost = view->records_malformed;

	for (int i = 0; i < GMT_LOSS_COUNT; i++)
		lost += view->loss[i];
	return lost;
}

bool view_is_first_in(const struct view_held *held, enum view_order order)
{
	for (enum view_order before = 0; before < order; before++)
		if (view_value(held, before) > 0)
			return false;
	return true;
}

bool view_is_steady(const struct view_held *held)
{
	const struct stacks_rise rise = {
		.all = held->rise, .later = held->rise_later, .least = held->least_rise, .then = held->then,
	};

	return stacks_is_steady(&rise);
}

const char *view_order_name(enum view_order order)
{
	static const char *const names[] = {
#define X(name, member, json) json,
		VIEW_ORDERS(X)
#undef X
	};

	return order < VIEW_ORDER_COUNT ? names[order] : "?";
}

uint64_t view_complete(const struct view_unwinding *unwinding)
{
	uint64_t complete = 0;

	for (int i = 0; i < GMT_UNWIND_REASON_COUNT; i++)
		complete += GMT_UNWIND_COMPLETE >> i & 1 ? unwinding->reasons[i] : 0;
	return complete;
}

bool view_has_stacks(const struct view_stacks *stacks)
{
	for (size_t i = 0; i < stacks->owner_count; i++)
		if (stacks->owners[i].owner != VIEW_OWNER_NO_STACK)
			return true;
	return false;
}
