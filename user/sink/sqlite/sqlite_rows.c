// SPDX-License-Identifier: BSD-2-Clause
#include "sink/sqlite/sqlite_rows.h"

#include "core/terms/names.h"

static const char *const ends[] = {
#define X(name, text) [LIFE_##name] = text,
	LIFE_ENDS(X)
#undef X
};

static const char *const moments[] = {
#define X(name, text) [LIFE_AT_##name] = text,
	LIFE_MOMENTS(X)
#undef X
};

static const char *const levels[] = {
#define X(name, text) [LIFE_LEVEL_##name] = text,
	LIFE_LEVELS(X)
#undef X
};

static struct db_value stack_value(struct sqlite_stream *s, uint32_t stack_id)
{
	if (stack_id)
		hash_put(&s->stacks, stack_id, NULL);
	return db_known(stack_id);
}

static void note_change(struct sqlite_stream *s, const struct life_point *at)
{
	s->change = at->change > s->change ? at->change : s->change;
}

static const char *place_name(const struct life *life)
{
	if (life->gpu == LIFE_ON_HOST)
		return "host";
	return life->is_counted ? "gpu" : "none";
}

static void put_allocation(void *arg, const struct life *life)
{
	struct sqlite_stream *s = arg;

	note_change(s, life->end == LIFE_NONE ? &life->birth : &life->death);
	DB_ADD(s->db, DB_ALLOCATION, db_none(), db_known(life->address), db_known(life->bytes),
	       db_text(gmt_class_name(life->class)), db_text(place_name(life)), sqlite_gpu(life->gpu),
	       db_number(life->process), db_known(life->tid), stack_value(s, life->stack_id), db_known(life->call),
	       db_number(life->is_segment), db_number(life->continues), db_number(life->birth.change),
	       db_number(life->birth.ts_ns), db_known(life->death.change), db_known(life->death.ts_ns),
	       db_text(ends[life->end]));
}

static void put_block(void *arg, const struct life *life)
{
	struct sqlite_stream *s = arg;

	note_change(s, life->end == LIFE_NONE ? &life->birth : &life->death);
	DB_ADD(s->db, DB_BLOCK, db_none(), db_number(life->address), db_known(life->bytes), db_known(life->asked),
	       sqlite_gpu(life->gpu), life->ordinal == LIFE_NO_ORDINAL ? db_none() : db_number(life->ordinal),
	       db_number(life->process), db_known(life->tid), stack_value(s, life->stack_id),
	       life->category ? db_text(gmt_category_name(life->category - 1u)) : db_none(), db_known(life->iteration),
	       db_number(life->continues), db_number(life->birth.change), db_number(life->birth.ts_ns),
	       db_known(life->death.change), db_known(life->death.ts_ns), db_text(ends[life->end]));
}

static void put_call_row(void *arg, const struct life_call *call)
{
	struct sqlite_stream *s = arg;

	DB_ADD(s->db, DB_CALL, db_number(call->number), db_number(call->ts_ns), db_number(call->process),
	       db_number(call->tid), db_number(call->api),
	       call->begins ? db_none() : db_number((uint64_t)(int64_t)call->result), stack_value(s, call->stack_id),
	       db_number(call->change));
}

static void put_moment_row(void *arg, const struct life_moment *m)
{
	struct sqlite_stream *s = arg;

	note_change(s, &m->at);
	DB_ADD(s->db, DB_MOMENT, db_none(), db_text(moments[m->why]), db_number(m->at.ts_ns), db_number(m->at.change),
	       db_number(m->process), sqlite_gpu(m->gpu), db_known(m->number), db_number(m->bytes));
}

static void put_level(void *arg, const struct life_level *level)
{
	struct sqlite_stream *s = arg;

	DB_ADD(s->db, DB_LEVEL, db_text(levels[level->of]), db_number(level->process), sqlite_gpu(level->gpu),
	       db_number(level->at.ts_ns), db_number(level->at.change), db_number(level->bytes));
}

static void put_request(void *arg, uint32_t process, int gpu, uint64_t change, const struct gmt_oom *rec)
{
	bool has_class = rec->class_id < GMT_CLASS_COUNT, has_free = rec->flags & GMT_OOM_HAS_FREE;
	struct sqlite_stream *s = arg;

	DB_ADD(s->db, DB_FAILED_REQUEST, db_number(rec->number), db_number(process),
	       has_class && !gmt_class_is_device(rec->class_id) ? db_none() : sqlite_gpu(gpu),
	       has_class ? db_text(gmt_class_name(rec->class_id)) : db_none(), db_known(rec->api),
	       db_known(rec->asked_bytes), db_known(rec->framework_bytes),
	       has_free ? db_number(rec->free_bytes) : db_none(), db_number(rec->failures),
	       db_text(gmt_oom_outcome_name(rec->outcome)), stack_value(s, rec->stack_id), db_number(rec->first_ns),
	       db_number(rec->last_ns), db_number(change));
}

static void put_process_row(void *arg, const struct life_process *p)
{
	bool has_status = p->exit_ns && p->exit_code != GMT_EXIT_CODE_UNKNOWN;
	struct sqlite_stream *s = arg;

	DB_ADD(s->db, DB_PROCESS, db_number(p->number), db_number(p->tgid), db_known(p->ns_pid), db_number(p->uid),
	       db_text(p->comm), db_text(p->cmdline), db_text(p->cgroup), db_number(p->from_start),
	       db_number(p->attach_ns), db_known(p->exit_ns),
	       has_status ? db_number((uint64_t)(int64_t)p->exit_code) : db_none());
}

const struct life_taker sqlite_takers = {
	.allocation = put_allocation, .block = put_block, .call = put_call_row, .moment = put_moment_row,
	.level = put_level, .request = put_request, .process = put_process_row,
};
