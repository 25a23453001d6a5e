/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks which sentences are said about a request that failed. */
#ifndef GPUMEMTRACE_TESTS_OOM_SAYS_H
#define GPUMEMTRACE_TESTS_OOM_SAYS_H

#include <stdlib.h>
#include <string.h>

#include "golden.h"

#include "base/out.h"
#include "core/oom/oom_state.h"
#include "oom_scene.h"
#include "sink/oom/oom_sinks.h"
#include "sink/sink.h"

/* A process on a GPU of 80 GiB. */
static inline void begin_with(struct records *r, unsigned int layers)
{
	records_scene(r, layers);
	if (layers & GMT_LAYER_KERNEL)
		records_rm_scene(r);
	records_device(r, 0, 1);
	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(r, cuCtxSetCurrent, 0xc0);
}

static inline void begin(struct records *r)
{
	begin_with(r, API_LAYER);
}

/* The sentences contain all texts, but not the second argument. `change`, if any, changes the picture first. */
static inline void says(struct records *r, void (*change)(struct oom *oom), const char *const *wanted, const char *unwanted)
{
	struct view_request request = { .decide = scene_decide, .owner_names = scene_owner, .owner_count = 2, .top = 10 };
	struct oom *oom = ooms_take(r->ooms);
	struct oom_view view;
	struct out out;
	char *text;

	if (change)
		change(oom);
	oom_view_build(r->pipeline, oom, &request, &view);
	oom_free(oom);
	out_init_mem(&out);
	oom_print(&out, &view, &(struct sink_opts){ 0 });
	out_char(&out, '\n');
	oom_text(&out, &view, NULL, 0);
	out_char(&out, '\n');
	if (view.rec.outcome != GMT_OOM_RETRY)
		oom_say_outcome(&out, &view);
	text = out_take(&out);
	for (; *wanted; wanted++)
		if (!strstr(text, *wanted))
			fail_msg("'%s' is not in: %s", *wanted, text);
	if (unwanted && strstr(text, unwanted))
		fail_msg("'%s' is in: %s", unwanted, text);
	free(text);
	oom_view_free(&view);
	records_fini(r);
}
#define SAYS(r, unwanted, ...) says(r, NULL, (const char *const[]){ __VA_ARGS__, NULL }, unwanted)
#define SAYS_IF(r, change, unwanted, ...) says(r, change, (const char *const[]){ __VA_ARGS__, NULL }, unwanted)

#endif
