// SPDX-License-Identifier: BSD-2-Clause
/* What is left of paths and hosts in an output to be shared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/out.h"
#include "sink/text/redact.h"

typedef void redact_function(struct out *out, const char *text, size_t size);

static char *redacted(redact_function *redact, const char *text)
{
	struct out out;

	out_init_mem(&out);
	redact(&out, text, strlen(text));
	return out_take(&out);
}

static void assert_redacted(redact_function *redact, const char *text, const char *wanted)
{
	char *left = redacted(redact, text);

	assert_string_equal(left, wanted);
	free(left);
}

struct redact_case { const char *text, *left; };

static const struct redact_case both[] = {
	{ "cannot open /opt/job/x.so", "cannot open x.so" },
	{ "cannot open /opt/my job/x.so: no such file", "cannot open x.so: no such file" },
	{ "/srv/a/train.py:12 step", "train.py:12 step" },
	{ "see /srv/a b/c, d/e (f)/g.py", "see g.py" },
	{ "from '/srv/o'brien/x.py'", "from 'x.py'" },
	{ "two: /a/b/c and /d/e/f.so", "two: c and f.so" },
	{ "python3 train.py --data=/srv/x/y --out=/srv/z/out.bin", "python3 train.py --data=y --out=out.bin" },
	{ "PATH=/usr/bin:/srv/x/bin", "PATH=bin:bin" },
	{ "open ~/secret/x.py", "open x.py" },
	{ "open ~alice/secret/x.py", "open x.py" },
	{ "open C:\\Users\\Alice B\\x.py", "open x.py" },
	{ "open D:/Users/x.py", "open x.py" },
	{ "open \\\\server\\share\\x.py", "open x.py" },
	{ "open /srv/a\xff\xfe b/x.py", "open x.py" },
	{ "open /srv/\xc3\xa9t\xc3\xa9/\xc3\xa9.py", "open \xc3\xa9.py" },
	{ "open /srv/ a/x.py", "open x.py" },
	{ "in /opt/job/: full", "in job/: full" },
	{ "in /opt/job/", "in job/" },
	{ "3 GiB/s and 12 MiB/s, train.py:3", "3 GiB/s and 12 MiB/s, train.py:3" },
	{ "/opt/x.so has 3 GiB/s", "x.so has 3 GiB/s" },
	{ "fetch https://u:p@node7.example:80/a/b?q", "fetch https://(host)/b?q" },
	{ "fetch http://node7", "fetch http://(host)" },
	{ "file:///srv/x/y", "file:///y" },
	{ "to alice@mail.example, now", "to (user)@(host), now" },
	{ "alice@node7:/data/x/y.py", "(user)@(host):y.py" },
	{ "run.gmt@peak run.gmt@12.5s run.gmt@mark=a.b memcpy@GLIBC_2.14", "run.gmt@peak run.gmt@12.5s run.gmt@mark=a.b"
	  " memcpy@GLIBC_2.14" },
	{ "/", "/" }, { "a / b", "a / b" }, { "", "" }, { "~", "~" }, { "C:", "C:" }, { "@", "@" },
};

static void paths_and_hosts_go(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++) {
		assert_redacted(redact_lines, both[i].text, both[i].left);
		assert_redacted(redact_word, both[i].text, both[i].left);
	}
}

/* In a report, a line and a column end what may be a path; a name has no lines. */
static void lines_end_paths(void **state)
{
	(void)state;
	assert_redacted(redact_lines, "1 GiB  /opt/x.so\n2 GiB  a/b", "1 GiB  x.so\n2 GiB  a/b");
	assert_redacted(redact_lines, "/opt/x.so  2 GiB  a/b", "x.so  2 GiB  a/b");
	assert_redacted(redact_word, "at /srv/a\nb/x  y/c.py", "at c.py");
	assert_redacted(redact_word, "/srv/a\n=/x =/y/c.py", "c.py");
}

/* Folders with all kinds of bytes in their names: nothing of a name is left. */
static void no_folder_is_left(void **state)
{
	static const char odd[] = " \t\n,;:()<>|'\"\\=&?*#@$[]{}!~%\xff\x80\x01-.";
	uint32_t seed = 1;
	char path[512];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t size = (size_t)snprintf(path, sizeof(path), "/");
		char *left;

		for (int folder = 0; folder < 1 + round % 3; folder++) {
			for (int i = 0; i < 6; i++) {
				seed = seed * 1664525 + 1013904223;
				path[size++] = (seed >> 16) % 3 ? odd[(seed >> 20) % (sizeof(odd) - 1)] : 'S';
			}
			path[size++] = 'S';      /* the slash behind it separates */
			path[size++] = '/';
		}
		strcpy(path + size, "file.py");
		left = redacted(redact_word, path);
		if (strchr(left, 'S') || !strstr(left, "file.py"))
			fail_msg("'%s' leaves '%s'", path, left);
		free(left);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_and_hosts_go),
		cmocka_unit_test(lines_end_paths),
		cmocka_unit_test(no_folder_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
