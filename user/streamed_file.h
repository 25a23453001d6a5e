/* SPDX-License-Identifier: BSD-2-Clause */
/* The file that is written while records come (struct sink_stream), if the options ask for one. */
#ifndef GPUMEMTRACE_STREAMED_FILE_H
#define GPUMEMTRACE_STREAMED_FILE_H

#include <stdbool.h>

#include "base/out_file.h"

struct attribution;
struct life_taker;
struct options;
struct pipeline;
struct sink;

/* All 0: there is none. */
struct streamed_file {
	const char *name;
	const struct sink *sink;
	const struct life_taker *taker;
	struct out_file file;
	bool has_failed;         /* and this was said */
};

/* Opens the file, and gives it all that the pipeline will see. 0, or -errno after a sentence. */
int streamed_file_begin(struct streamed_file *s, const struct options *options, struct pipeline *pipeline);

/* Says that the file cannot be written any more, and removes it; all else goes on. */
void streamed_file_check(struct streamed_file *s);

/* After the last record: the file is whole and gets its name. 0, or -errno after a sentence. */
int streamed_file_end(struct streamed_file *s, const struct options *options, struct attribution *attribution,
		      const struct pipeline *pipeline);

/* After the pipeline was freed: removes a file that is not whole. */
void streamed_file_drop(struct streamed_file *s);

#endif
