// SPDX-License-Identifier: BSD-2-Clause
/* See command_records.h. Records are printed as they are read, without a ledger: any size and any contents will do. */
#include "command_records.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gpumemtrace/wire.h>

#include "base/out.h"
#include "cli.h"
#include "outputs.h"
#include "source/reader.h"

#define SENTENCE_MAX 512

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

/* All records; the sticky error of the output. */
static int print_records(const struct options *options, struct reader *reader)
{
	const struct sink *format = outputs_format(options, isatty(STDOUT_FILENO));
	const struct gmt_hdr *record;
	uint64_t start_ns = 0;
	bool has_start = false;
	struct out out;

	out_init_fd(&out, STDOUT_FILENO);
	while (!out.error && (record = reader_next(reader))) {
		int64_t offset_ns;

		if (!has_start)
			start_ns = record->ts_ns;
		has_start = true;
		offset_ns = (int64_t)(record->ts_ns - start_ns);
		if (is_wanted_record(options, record, offset_ns))
			format->record(&out, record, offset_ns);
	}
	return out_close(&out);
}

int records_run(const struct options *options)
{
	struct reader *reader = NULL;
	char sentence[SENTENCE_MAX];
	const struct reader_status *status;
	int err = reader_open(&reader, options->input), code = GMT_EXIT_FAILURE;

	if (err) {
		fprintf(stderr, "gpumemtrace: %s: %s\n", options->input, strerror(-err));
		return GMT_EXIT_FAILURE;
	}
	err = print_records(options, reader);
	status = reader_status(reader);
	reader_describe(status, sentence, sizeof(sentence));
	if (err)
		fprintf(stderr, "gpumemtrace: cannot write the records: %s\n", strerror(-err));
	else if (sentence[0] && !options->quiet)
		fprintf(stderr, "gpumemtrace: %s: %s\n", options->input, sentence);
	if (!err && !reader_refused(status) && (status->end != READER_IO_ERROR || status->records))
		code = options->strict && sentence[0] ? GMT_EXIT_LOST : GMT_EXIT_OK;
	reader_close(reader);
	return code;
}
