/* SPDX-License-Identifier: BSD-2-Clause */
#include "command_replay.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <gpumemtrace/wire.h>

#include "cli.h"
#include "core/history/history.h"
#include "core/ledger/ledger.h"
#include "core/oom/oom_requests.h"
#include "display.h"
#include "snapshot_file.h"
#include "source/reader.h"

#define SENTENCE_MAX 512

static void say_of_input(const struct options *options, const char *what)
{
	fprintf(stderr, "gpumemtrace: %s: %s\n", options->input, what);
}

/* Prints the report; whether anything is missing from it goes to *incomplete. An exit code. */
static int print_replay(const struct options *options, const struct ledger *ledger,
			const struct reader_status *status, bool is_dump, bool *incomplete)
{
	struct display *display = display_new(options);
	char sentence[SENTENCE_MAX];
	const char *notes[2];
	size_t note_count = 0;
	uint64_t lost = 0;
	int err;

	reader_describe(status, sentence, sizeof(sentence));
	if (sentence[0])
		notes[note_count++] = sentence;
	if (is_dump)
		notes[note_count++] = "this is a dump, of one moment: 'gpumemtrace oom' shows what is in it";
	err = display_report(display, ledger, notes, note_count, &lost);
	display_free(display);
	if (sentence[0] && !options->quiet)
		say_of_input(options, sentence);
	*incomplete = lost || sentence[0];
	if (err)
		fprintf(stderr, "gpumemtrace: writing the report: %s\n", strerror(-err));
	return err ? GMT_EXIT_FAILURE : GMT_EXIT_OK;
}

int replay_run(const struct options *options)
{
	struct ledger *ledger = ledger_new();
	struct history *history = snapshot_file_history(options, ledger);
	struct reader *reader = NULL;
	const struct gmt_hdr *record;
	char sentence[SENTENCE_MAX];
	bool incomplete = false, is_dump = false;
	int err, code = GMT_EXIT_FAILURE;

	ooms_want(ledger);   /* the report counts them */
	err = reader_open(&reader, options->input);
	if (err) {
		say_of_input(options, strerror(-err));
		goto out;
	}
	/* What the ledger refuses it counts, and the report says so. */
	while ((record = reader_next(reader))) {
		is_dump |= record->kind == GMT_KIND_OOM;
		if (!ledger_apply(ledger, record, record->size) && history)
			history_see(history, ledger, record);
	}
	if (reader_refused(reader_status(reader)) ||
	    (reader_status(reader)->end == READER_IO_ERROR && !reader_status(reader)->records)) {
		reader_describe(reader_status(reader), sentence, sizeof(sentence));
		say_of_input(options, sentence);
		goto out;
	}
	code = print_replay(options, ledger, reader_status(reader), is_dump, &incomplete);
	if (snapshot_file_write(options, history, ledger))
		code = GMT_EXIT_FAILURE;
	if (code == GMT_EXIT_OK && options->strict && incomplete)
		code = GMT_EXIT_LOST;
out:
	reader_close(reader);
	history_free(history);
	ledger_free(ledger);
	return code;
}
