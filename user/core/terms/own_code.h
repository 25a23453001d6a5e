/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells the code of a program from the libraries' by the path of the source. */
#ifndef GPUMEMTRACE_CORE_TERMS_OWN_CODE_H
#define GPUMEMTRACE_CORE_TERMS_OWN_CODE_H

enum own_code {
	OWN_CODE_STANDARD,       /* Python's own modules, and code without a file that a library made */
	OWN_CODE_PACKAGE,        /* an installed package */
	OWN_CODE_PROGRAM,        /* all else: scripts, notebooks, `python -c`, trees of sources */
};

/* Of the file of a Python frame. "", a file that is not known, counts as the program's. */
enum own_code own_code_of(const char *file);

/* The name of a source file. "__init__.py" and the like keep their folder, which tells packages apart. */
const char *own_code_short_name(const char *path);

#endif
