/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers and foreign text for people. Each function fills a small value and returns it, so that
 * calls can stand inside one printf: human_bytes(n).s. The text is pure ASCII unless the input is not.
 */
#ifndef GPUMEMTRACE_BASE_HUMAN_H
#define GPUMEMTRACE_BASE_HUMAN_H

#include <stddef.h>
#include <stdint.h>

struct out;

struct human {
	char s[32];
};

struct human human_bytes(uint64_t bytes);        /* "512 B" "1.5 GiB" "12 MiB": at most 8 columns */
struct human human_signed_bytes(int64_t bytes);  /* "-12 MiB" "+4 KiB" "0 B" */
struct human human_rate(double bytes_per_second);/* "1.5 GiB/s" */
struct human human_count(uint64_t count);        /* "1,234,567" */
struct human human_short(double count);          /* "999" "12.3k" "4.0M": at most 5 columns */
struct human human_duration(uint64_t ns);        /* "850 ms" "12.3 s" "2m 05s" "3h 07m" "2d 04h" */
struct human human_wall(uint64_t wall_ns, const char *format);   /* UTC, as strftime() formats it */

/* The word that follows a count: `one` behind 1, else `many`. */
const char *human_plural(uint64_t count, const char *one, const char *many);

/* How all texts are broken into lines: the bytes of the first line of a text, which has at most `columns`, where other
 * lines have `whole`. Blanks at its end do not count. The line ends at its last two blanks, which separate what belongs
 * together, else at its last blank. A word that no line has room for begins in this line, and ends with the line. */
size_t human_line(const char *text, unsigned columns, unsigned whole);

/* Turns blanks of a line into ends of lines by this rule. A word that no line has room for stays whole, so that people
 * can copy it: the terminal breaks it. */
void human_wrap(char *text, unsigned columns);

/* The lines of a text, each of which has an end. */
size_t human_lines(const char *text);

/* Mebibytes with thousands separators and `decimals` places; `tenths` is in tenths of a MiB. */
struct human human_mib(int64_t tenths, int decimals);

/* Copies foreign text (command lines, names) of at most `size` bytes so that it can be printed: control characters and
 * broken UTF-8 become '?'; text longer than `columns` is cut and ends in "...". Returns the columns of the copy. `to`
 * holds 4 bytes a column and a NUL. */
unsigned human_text(char *to, unsigned columns, const char *text, size_t size);
/* The same, but writes the copy to a writer. */
unsigned human_print(struct out *out, unsigned columns, const char *text, size_t size);

/* The bytes of the control character at the start of the text, which a terminal may obey: C0, DEL, C1 (U+0080 to
 * U+009F), and what turns the direction of text, so that a name could change the numbers beside it. Its number goes to
 * *code. 0: there is none. */
size_t human_is_control(const char *text, size_t size, uint32_t *code);

/* The bytes of the UTF-8 character at the start of the text; 0: there is none. */
size_t human_utf8(const char *text, size_t size);

#endif
