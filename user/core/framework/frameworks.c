// SPDX-License-Identifier: BSD-2-Clause
#include "core/framework/frameworks.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "core/framework/framework.h"
#include "core/framework/segments.h"
#include "core/ledger/process.h"

struct frameworks *frameworks_new(struct deltas *out)
{
	struct frameworks *all = xcalloc(1, sizeof(*all));

	all->out = out;
	return all;
}

void frameworks_free(struct frameworks *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->count; i++)
		framework_free(all->list[i]);
	free(all->list);
	free(all);
}

struct framework *frameworks_of(const struct frameworks *all, const struct process *p)
{
	return p->index < all->count ? all->list[p->index] : NULL;
}

static uint64_t sum_of_all(const struct frameworks *all, uint64_t (*count)(const struct framework *f))
{
	uint64_t sum = 0;

	for (size_t i = 0; i < all->count; i++)
		sum += count(all->list[i]);
	return sum;
}

uint64_t frameworks_waiting_dropped(const struct frameworks *all)
{
	return all->waiting_dropped + sum_of_all(all, framework_waiting_dropped);
}

uint64_t frameworks_phases_dropped(const struct frameworks *all)
{
	return all->phases_dropped + sum_of_all(all, framework_phases_dropped);
}

static struct framework *get_framework(struct frameworks *all, const struct process *p)
{
	all->list = xreach(all->list, &all->count, p->index, sizeof(struct framework *));
	if (!all->list[p->index]) {
		all->list[p->index] = xcalloc(1, sizeof(struct framework));
		*all->list[p->index] = (struct framework){ .p = p, .out = all->out };
	}
	all->out->wanted |= FRAMEWORKS_MEMORY_DELTAS;
	return all->list[p->index];
}

/* ---- records ---- */

static void give_again(const struct framework *f, const struct delta *d, enum delta_kind kind)
{
	struct delta again = *d;

	again.kind = kind;
	deltas_give(f->out, &again);
}

static void take_framework_report(struct framework *f, const struct delta *d)
{
	const struct gmt_fw_oom *rec = (const void *)d->framework.rec;
	const struct phase_line *line = phases_line(&f->phases, rec->device_index);

	if (line && rec->device_index < f->count) {
		f->devices[rec->device_index].has_failed = true;
		f->devices[rec->device_index].failed = line->now;
	}
	give_again(f, d, DELTA_REPORT);
}

static int take_framework_range(struct framework *f, const struct delta *d)
{
	int err;

	f->phases.now_ns = d->framework.rec->ts_ns;
	err = phases_range(&f->phases, (const void *)d->framework.rec);

	framework_follow_iterations(f);
	if (!err)
		give_again(f, d, DELTA_RANGE);
	return err;
}

/* A process's blocks are those of one framework: the blocks of a second framework would be in the same sums. */
static bool is_of_another(struct framework *f, const struct delta_framework *said)
{
	const struct gmt_hdr *rec = said->rec;

	if (rec->kind == GMT_KIND_FRAMEWORK || said->id == f->id)
		return false;
	if (!framework_has_reported(f)) {
		f->id = said->id;
		return false;
	}
	f->missed += rec->kind == GMT_KIND_FW_MEM;
	return true;
}

static int take_framework_record(struct framework *f, const struct delta *d)
{
	const struct gmt_hdr *rec = d->framework.rec;

	if (is_of_another(f, &d->framework))
		return 0;
	switch (rec->kind) {
	case GMT_KIND_FW_MEM:
		framework_memory(f, (const void *)rec, d->framework.row);
		return 0;
	case GMT_KIND_FW_SIZE:
		return sizes_add(f, (const void *)rec);
	case GMT_KIND_FW_RANGE:
		return take_framework_range(f, d);
	case GMT_KIND_FW_OOM:
		take_framework_report(f, d);
		return 0;
	default:
		f->is_loaded[d->framework.id] = true;
		f->flags[d->framework.id] = ((const struct gmt_framework *)rec)->flags;
		return 0;
	}
}

/* ---- deltas ---- */

static void forget_framework(struct frameworks *all, struct framework *f, const struct delta *d)
{
	d->forget.sum->anomalies[GMT_ANOMALY_TORCH_MISSED] += f->missed;
	d->forget.sum->anomalies[GMT_ANOMALY_TORCH_RESERVED] += f->reserved_off;
	all->waiting_dropped += f->waiting_dropped;
	all->phases_dropped += f->phases.dropped;
	framework_free(f);
	all->list[d->p->index] = NULL;
}

static void close_stacks(struct frameworks *all)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i])
			framework_close(all->list[i]);
}

void frameworks_see(void *arg, const struct delta *d)
{
	struct frameworks *all = arg;
	struct framework *f = d->p ? frameworks_of(all, d->p) : NULL;

	switch (d->kind) {
	case DELTA_FRAMEWORK:
		*d->framework.error = take_framework_record(get_framework(all, d->p), d);
		break;
	case DELTA_MARK:
		if (f)
			framework_mark(f, d->mark);
		break;
	case DELTA_WINDOW:
		if (f)
			framework_restart(f, d->ts_ns);
		break;
	case DELTA_GONE:
		if (f && d->gone.is_exec)
			framework_drop(f);
		else if (f)
			framework_end(f);
		break;
	case DELTA_SHED:
		if (d->shed == GMT_SHED_STACKS)
			close_stacks(all);
		break;
	case DELTA_FORGET:
		if (f && d->forget.sum)
			forget_framework(all, f, d);
		break;
	default:
		segments_see(f, all->out, d);
		break;
	}
}
