// SPDX-License-Identifier: BSD-2-Clause
/* gpumemtrace records. Records are printed as they are read, without a pipeline: any file of any size will do. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <gpumemtrace/wire.h>

#include "base/out.h"
#include "cli/cli.h"
#include "commands/commands.h"
#include "outputs.h"
#include "pager.h"
#include "playback.h"
#include "say.h"

static bool is_wanted_record(const struct options *options, const struct gmt_hdr *record, int64_t offset_ns)
{
	bool is_pid = !options->pids.count;

	for (size_t i = 0; i < options->pids.count; i++)
		is_pid |= record->tgid == (uint32_t)options->pids.list[i];
	return is_pid && (!options->kinds || options->kinds & cli_kind_bit(record->kind)) &&
	       (!options->thread || options->thread == record->tid) &&
	       (!options->from.is_given || offset_ns >= options->from.ns) &&
	       (!options->to.is_given || offset_ns <= options->to.ns);
}

/* Prints all wanted records. Returns the sticky error of the output. */
static int print_records(struct playback *pb)
{
	const struct sink *format = outputs_format(pb->options);
	const struct gmt_hdr *record;
	uint64_t start_ns = 0;
	bool has_start = false;
	struct pager pager;
	struct out out;

	pager_start(&pager, pb->options);
	out_init_fd(&out, outputs_fd(pb->options));
	while (!out.error && (record = playback_next(pb))) {
		int64_t offset_ns;

		if (!has_start)
			start_ns = record->ts_ns;
		has_start = true;
		offset_ns = (int64_t)(record->ts_ns - start_ns);
		if (is_wanted_record(pb->options, record, offset_ns))
			format->record(&out, record, offset_ns);
	}
	return pager_end(&pager, out_close(&out));
}

int records_run(const struct options *options)
{
	struct playback pb;
	int err, code = GMT_EXIT_FAILURE;

	if (playback_open(&pb, options, NULL)) {
		err = print_records(&pb);
		if (err && err != -ENOENT)
			say("cannot write the records: %s", strerror(-err));
		if (!err && !pb.is_unread)
			code = options->strict && pb.note[0] ? GMT_EXIT_LOST : GMT_EXIT_OK;
	}
	playback_close(&pb);
	return code;
}
