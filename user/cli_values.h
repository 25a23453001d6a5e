/* SPDX-License-Identifier: BSD-2-Clause */
/* Values on the command line: each gives 0, or GMT_EXIT_USAGE and a sentence in *cause, to be freed. */
#ifndef GPUMEMTRACE_CLI_VALUES_H
#define GPUMEMTRACE_CLI_VALUES_H

#include <stdint.h>

/* GMT_EXIT_USAGE, always. */
int cli_wrong(char **cause, const char *format, ...) __attribute__((format(printf, 2, 3)));

int cli_seconds(const char *name, const char *argument, double least, uint64_t *ns, char **cause);
int cli_size(const char *name, const char *argument, uint64_t most, uint64_t *bytes, char **cause);
int cli_count(const char *name, const char *argument, uint32_t least, uint32_t most, uint32_t *count, char **cause);

/* Of --window: 200k (events), 60s, 16MiB (of memory), or some of these with commas between; off. What it does not say
 * stays as it was; 0 events are off. */
int cli_window(const char *argument, uint64_t *events, uint64_t *ns, char **cause);

#endif
