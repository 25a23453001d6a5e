// SPDX-License-Identifier: BSD-2-Clause
/* Writes a SQLite database with each allocation, block and call; user/doc/sqlite-schema.sql describes the tables. */
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "base/xalloc.h"
#include "core/terms/frames.h"
#include "core/terms/gpus.h"
#include "core/terms/names.h"
#include "core/terms/probes.h"
#include "sink/sink.h"
#include "sink/sqlite/sqlite_rows.h"

/* ---- the session ---- */

/* A text of a record, which may have no NUL at its end. */
#define RECORD_TEXT(member) db_text_sized((const char *)(member), strnlen((const char *)(member), sizeof(member)))

static char *layers_text(unsigned int layers)
{
	struct out out;
	unsigned int bit;
	const char *name;

	out_init_mem(&out);
	for (size_t i = 0; (name = gmt_layer_name(i, &bit)); i++)
		if (layers & bit)
			out_printf(&out, "%s%s", out.size ? "," : "", name);
	return out_take(&out);
}

static void put_session_row(struct sqlite_stream *s, const struct view *view)
{
	const struct gmt_session *session = &view->session;
	char *layers = layers_text(session->layers);

	DB_ADD(s->db, DB_SESSION, db_text(GMT_VERSION), RECORD_TEXT(session->version), RECORD_TEXT(session->host),
	       RECORD_TEXT(session->kernel), RECORD_TEXT(session->driver),
	       (struct db_value){ .is_set = true, .text = layers }, db_number(view->start_ns), db_number(view->now_ns),
	       view->wall_start_ns ? db_number(view->wall_start_ns - view->start_ns) : db_none(),
	       view->end_reason == UINT32_MAX ? db_none() : db_text(gmt_end_name(view->end_reason)),
	       db_number(view->records), db_number(s->change));
	free(layers);
}

static void put_loss(struct sqlite_stream *s, const char *what, uint64_t count)
{
	if (count)
		DB_ADD(s->db, DB_LOSS, db_text(what), db_number(count));
}

static void put_loss_rows(struct sqlite_stream *s, const struct view *view)
{
	for (unsigned int i = 0; i < GMT_LOSS_COUNT; i++)
		put_loss(s, gmt_loss_name(i), view->loss[i]);
	for (unsigned int i = 0; i < GMT_ANOMALY_COUNT; i++)
		put_loss(s, gmt_anomaly_name(i), view->anomalies[i]);
	put_loss(s, "malformed_records", view->records_malformed);
	put_loss(s, "unknown_records", view->records_unknown);
	for (enum view_drop drop = 0; drop < VIEW_DROP_COUNT; drop++)
		put_loss(s, view_drop_name(drop), view->dropped[drop]);
}

static const struct view_gpu *find_gpu(const struct view *view, const uint8_t *uuid)
{
	for (size_t i = 0; i < view->gpu_count; i++)
		if (!memcmp(view->gpus[i].uuid, uuid, sizeof(view->gpus[i].uuid)))
			return &view->gpus[i];
	return NULL;
}

static void put_gpu_rows(struct sqlite_stream *s, const struct sink_end *end)
{
	DB_ADD(s->db, DB_GPU, db_number(0), db_none(), db_none(), db_none(), db_none());
	for (int i = 0; i < end->gpus->count; i++) {
		const struct view_gpu *gpu = find_gpu(end->view, end->gpus->list[i].uuid);
		bool has_index = gpu && gpu->index != UINT32_MAX;

		DB_ADD(s->db, DB_GPU, sqlite_gpu(i), has_index ? db_number(gpu->index) : db_none(),
		       db_text(gpu ? gpu->uuid_text : NULL), db_text(gpu ? gpu->name : NULL),
		       db_known(gpu ? gpu->total_bytes : 0));
	}
}

static void put_functions(struct sqlite_stream *s)
{
	for (unsigned int api = 1; api < GMT_API_MAX; api++)
		if (gmt_api_symbol(api))
			DB_ADD(s->db, DB_FUNCTION, db_number(api), db_text(gmt_api_symbol(api)));
}

/* ---- stacks ---- */

static void put_frame_rows(struct sqlite_stream *s, const struct frames *frames)
{
	for (uint32_t i = 0; i < frames->symbol_count; i++) {
		const struct frames_symbol *symbol = &frames->symbols[i];

		DB_ADD(s->db, DB_FRAME, db_number(i), db_text(symbol->function), db_text(symbol->file),
		       db_known(symbol->line), db_text(symbol->module), db_known(symbol->offset),
		       db_number(symbol->kind == GMT_SYMBOL_PYTHON),
		       db_number((symbol->flags & GMT_SYMBOL_INLINED) != 0),
		       db_number((symbol->flags & GMT_SYMBOL_GUESSED) != 0));
	}
}

/* The frames of a trace, once. */
static void put_trace(struct sqlite_stream *s, const struct frames *frames, uint32_t number, struct hash *traces)
{
	const uint32_t *list;
	uint32_t count;
	bool is_new;

	hash_put(traces, number, &is_new);
	list = frames_list(frames, number, &count);
	for (uint32_t i = 0; is_new && i < count; i++)
		DB_ADD(s->db, DB_TRACE_FRAME, db_number(number), db_number(i), db_number(list[i]));
}

static void put_stack_row(struct sqlite_stream *s, const struct sink_end *end, uint32_t id, uint32_t number)
{
	const struct view_request *r = end->request;
	struct view_verdict verdict = r->decide(r->arg, end->frames, number);
	struct view_owner_names names = r->owner_names(r->arg, verdict.owner);
	uint8_t hint = frames_hint(end->frames, id);
	const uint32_t *list;
	uint32_t count;
	char *module = module_paths_text(&end->frames->modules, end->frames->stacks[number].module);

	list = frames_list(end->frames, number, &count);
	DB_ADD(s->db, DB_STACK, db_number(id), db_number(number), db_text(names.name), db_text(names.allocator),
	       verdict.line < count ? db_number(list[verdict.line]) : db_none(), db_text(module),
	       hint < GMT_CATEGORY_COUNT ? db_text(gmt_category_name(hint)) : db_none());
	free(module);
}

static void put_stack_rows(struct sqlite_stream *s, const struct sink_end *end)
{
	struct hash traces;
	uint64_t *ids;
	size_t count;

	hash_init(&traces, sizeof(char));
	ids = hash_sorted_keys(&s->stacks, &count);
	for (size_t i = 0; i < count; i++) {
		uint32_t id = (uint32_t)ids[i], number = frames_of(end->frames, id);

		if (number < FRAMES_FIRST) {
			DB_ADD(s->db, DB_STACK, db_number(id), db_none(), db_none(), db_none(), db_none(), db_none(),
			       db_none());
			continue;
		}
		put_trace(s, end->frames, number, &traces);
		put_stack_row(s, end, id, number);
	}
	free(ids);
	hash_fini(&traces);
}

/* ---- the stream ---- */

static const struct life_taker *begin_sqlite(int fd)
{
	struct sqlite_stream *s = xcalloc(1, sizeof(*s));

	s->taker = sqlite_takers;
	s->taker.arg = s;
	s->db = db_begin(fd);
	hash_init(&s->stacks, sizeof(char));
	return &s->taker;
}

static int sqlite_error(const struct life_taker *taker)
{
	const struct sqlite_stream *s = taker->arg;

	return db_error(s->db);
}

static int end_sqlite(const struct life_taker *taker, const struct sink_end *end)
{
	struct sqlite_stream *s = taker->arg;
	int err;

	if (end) {
		put_session_row(s, end->view);
		put_loss_rows(s, end->view);
		put_gpu_rows(s, end);
		put_functions(s);
		put_frame_rows(s, end->frames);
		put_stack_rows(s, end);
	}
	err = db_end(s->db, end != NULL);
	hash_fini(&s->stacks);
	free(s);
	return err;
}

static const struct sink_stream stream = { .begin = begin_sqlite, .error = sqlite_error, .end = end_sqlite };

const struct sink sink_sqlite = {
	.name = "sqlite",
	.suffix = ".sqlite",
	.other_suffix = ".db",
	.help = "write each allocation and call to a SQLite database",
	.manual = "Write a SQLite database (suffix `.sqlite` or `.db`) that has each allocation, each block of"
		  " PyTorch's, each call, the stack traces and the failed requests, with views of what lived at the"
		  " peak, at the end and at any other moment, by line, owner and category. The database is written"
		  " while records come, has all processes and GPUs whatever `--pid` and `--gpu` say, and gets its"
		  " name at the end, when it is whole. A dump has no calls, so the database of a dump has none. See"
		  " `SQLITE`.",
	.stream = &stream,
};
