/* SPDX-License-Identifier: BSD-2-Clause */
/* X(NAME, code, text): the exit codes. A test compares the man page with this list. */
#ifndef GPUMEMTRACE_EXIT_CODES_H
#define GPUMEMTRACE_EXIT_CODES_H

#define GMT_EXITS(X)                                                              \
	X(OK, 0, "success")                                                       \
	X(FAILURE, 1, "input, output or internal error")                          \
	X(USAGE, 2, "wrong usage")                                                \
	X(TARGET, 3, "target not found, or not a CUDA process")                   \
	X(DENIED, 4, "permission or kernel feature missing")                      \
	X(LOST, 5, "data was lost and --strict was given")                        \
	/* with -- COMMAND, whose own codes are the others; as of timeout(1) and env(1) */ \
	X(COMMAND_OURS, 125, "with a command: gpumemtrace itself failed")         \
	X(COMMAND_NOT_EXECUTABLE, 126, "with a command: the command could not be executed") \
	X(COMMAND_NOT_FOUND, 127, "with a command: the command was not found")

enum gmt_exit {
#define X(name, code, text) GMT_EXIT_##name = code,
	GMT_EXITS(X)
#undef X
};

#endif
