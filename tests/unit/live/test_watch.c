// SPDX-License-Identifier: BSD-2-Clause
/* Hearing of newly mapped files: records made here, then a real child (needs privileges). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "compile.h"
#include "live/probe/mmap_watch.h"
#include "patience.h"

struct heard {
	uint32_t wanted;     /* pid; 0 any */
	const char *wanted_path; /* NULL any */
	size_t count;
	struct watch_mapping last;
	char path[256];
};

static void hear(const struct watch_mapping *mapping, void *arg)
{
	struct heard *heard = arg;

	if (heard->wanted && mapping->pid != heard->wanted)
		return;
	if (heard->wanted_path && strcmp(mapping->path, heard->wanted_path) != 0)
		return;
	heard->count++;
	heard->last = *mapping;
	snprintf(heard->path, sizeof(heard->path), "%s", mapping->path);
}

/* PERF_RECORD_MMAP2 of perf_event_open(2) */
static size_t make_mmap2(unsigned char *record, const char *path, uint16_t misc)
{
	struct perf_event_header header = { .type = PERF_RECORD_MMAP2, .misc = misc };
	const uint32_t ids[2] = { 77, 78 }, dev[2] = { 254, 1 }, prot[2] = { 5, 2 };
	const uint64_t where[3] = { 0x7f0000000000, 0x5000, 0x1000 }, ino[2] = { 1234, 1 };

	header.size = (uint16_t)(72 + (strlen(path) + 8) / 8 * 8);
	memset(record, 0, header.size);
	memcpy(record, &header, 8);
	memcpy(record + 8, ids, 8);
	memcpy(record + 16, where, 24);
	memcpy(record + 40, dev, 8);
	memcpy(record + 48, ino, 16);
	memcpy(record + 64, prot, 8);
	memcpy(record + 72, path, strlen(path));
	return header.size;
}

static void records_are_decoded(void **state)
{
	uint64_t storage[64], lost = 0;
	unsigned char *record = (unsigned char *)storage;
	struct heard heard = { 0 };
	size_t size = make_mmap2(record, "/usr/lib/libcuda.so.580.1", 0);

	(void)state;
	watch_decode(record, size, hear, &heard, &lost);
	assert_int_equal(heard.count, 1);
	assert_int_equal(heard.last.pid, 77);
	assert_true(heard.last.ino == 1234);
	assert_string_equal(heard.path, "/usr/lib/libcuda.so.580.1");
	size = make_mmap2(record, "/usr/lib/libcudart.so.13", 0);
	watch_decode(record, size, hear, &heard, &lost);
	assert_int_equal(heard.count, 2);
	size = make_mmap2(record, "//anon", 0);
	watch_decode(record, size, hear, &heard, &lost);
	size = make_mmap2(record, "[vdso]", 0);
	watch_decode(record, size, hear, &heard, &lost);
	assert_int_equal(heard.count, 2); /* these are no files */
	assert_true(lost == 0);
}

static void damaged_records_are_passed_over(void **state)
{
	uint64_t storage[64], lost = 0;
	unsigned char *record = (unsigned char *)storage;
	struct heard heard = { 0 };
	size_t size = make_mmap2(record, "libcuda.so", 0);

	(void)state;
	memset(record + 72 + strlen("libcuda.so"), 'x', size - 72 - strlen("libcuda.so")); /* no end */
	watch_decode(record, size, hear, &heard, &lost);
	size = make_mmap2(record, "libcuda.so", 0);
	for (size_t len = 8; len < 72 + strlen("libcuda.so") + 1; len++)
		watch_decode(record, len, hear, &heard, &lost);
	size = make_mmap2(record, "libcuda.so", PERF_RECORD_MISC_MMAP_BUILD_ID); /* other fields */
	watch_decode(record, size, hear, &heard, &lost);
	assert_int_equal(heard.count, 0);
	assert_true(lost == 0);
}

static void lost_records_are_counted(void **state)
{
	const struct {
		struct perf_event_header header;
		uint64_t id, lost;
	} record = { { .type = PERF_RECORD_LOST, .size = 24 }, 9, 41 };
	struct heard heard = { 0 };
	uint64_t lost = 1;

	(void)state;
	watch_decode(&record, sizeof(record), hear, &heard, &lost);
	assert_true(lost == 42);
	watch_decode(&record, 16, hear, &heard, &lost);
	assert_true(lost == 42);
}

/* A child that maps the library; its pid, after its end. */
static pid_t load_in_child(const char *path)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(dlopen(path, RTLD_NOW) ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	return child;
}

static struct watch *open_or_skip(void)
{
	struct watch *watch;
	int err = watch_open(&watch);

	if (geteuid()) {
		assert_true(err == 0 || !watch);
		if (err)
			skip();
	}
	assert_int_equal(err, 0);
	return watch;
}

static void a_child_that_loads_a_library(void **state)
{
	struct workdir *dir = *state;
	char path[128];
	struct heard heard = { .wanted_path = path };
	struct pollfd ready = { .events = POLLIN };
	struct watch *watch;
	uint64_t lost = 0;
	struct stat st;

	/* Before the watch: the compiler's mappings could fill its rings. */
	compile_library(dir, "libcuda.so.1", "int cuInit(void) { return 0; }", "", path, sizeof(path));
	assert_int_equal(stat(path, &st), 0);
	watch = open_or_skip();
	ready.fd = watch_fd(watch);
	heard.wanted = (uint32_t)load_in_child(path);
	assert_int_equal(poll(&ready, 1, 2000), 1);
	assert_int_equal(watch_read(watch, hear, &heard, &lost), 0);
	assert_int_equal(heard.count, 1); /* its code, not its other mappings */
	assert_string_equal(heard.path, path);
	assert_true(heard.last.ino == st.st_ino);
	assert_true(lost == 0);
	assert_int_equal(watch_read(watch, hear, &heard, &lost), 0);
	assert_int_equal(heard.count, 1); /* read once */
	watch_close(watch);
}

/* Each cpu has a ring of its own, and says what it dropped with the next record that fits into it. */
static void stay_on_one_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

/* The rings wrap around several times; what does not fit is counted. */
static void many_children(void **state)
{
	struct workdir *dir = *state;
	struct watch *watch = open_or_skip();
	char path[128];
	struct heard heard = { .wanted_path = path };
	uint64_t lost = 0;

	stay_on_one_cpu();
	compile_library(dir, "libcuda.so.1", "int cuInit(void) { return 0; }", "", path, sizeof(path));
	for (int i = 0; i < 40; i++) {
		pid_t child = fork();

		if (!child) {
			for (int round = 0; round < 50; round++)
				dlclose(dlopen(path, RTLD_NOW));
			_exit(0);
		}
		waitpid(child, NULL, 0);
		if (i < 20)
			assert_int_equal(watch_read(watch, hear, &heard, &lost), 0);
	}
	if (!lost)
		assert_true(heard.count >= 20 * 50); /* no more than one child between two reads */
	assert_int_equal(watch_read(watch, hear, &heard, &lost), 0);
	load_in_child(path); /* with room again the kernel says what it had to drop */
	assert_int_equal(watch_read(watch, hear, &heard, &lost), 0);
	assert_true(heard.count + lost >= 40 * 50);
	watch_close(watch);
}

/* Linux 6.0: no record has to come after the loss, as that of the child's exit. A ring holds some 500 mappings. */
static void losses_are_seen_at_once(void **state)
{
	struct workdir *dir = *state;
	struct watch *watch = open_or_skip();
	char path[128];
	struct heard heard = { .wanted_path = path };
	uint64_t lost = 0, more = 0;
	struct utsname name;
	int done[2];
	pid_t child;

	uname(&name);
	if (atoi(name.release) < 6)
		skip();
	stay_on_one_cpu();
	compile_library(dir, "libcuda.so.1", "int cuInit(void) { return 0; }", "", path, sizeof(path));
	assert_int_equal(watch_read(watch, hear, &heard, &more), 0);
	assert_int_equal(pipe(done), 0);
	child = fork();
	if (!child) {
		for (int round = 0; round < 3000; round++)
			dlclose(dlopen(path, RTLD_NOW));
		close(done[0]);
		close(done[1]);
		pause();
	}
	close(done[1]);
	assert_int_equal(poll(&(struct pollfd){ .fd = done[0], .events = POLLIN }, 1, PATIENCE * 1000), 1);
	close(done[0]);
	assert_int_equal(watch_read(watch, hear, &heard, &lost), 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(heard.count < 3000);
	assert_true(heard.count + lost >= 3000);
	load_in_child(path);
	more = 0;
	assert_int_equal(watch_read(watch, hear, &heard, &more), 0); /* not counted twice */
	assert_true(more == 0);
	watch_close(watch);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_make, workdir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_decoded),
		cmocka_unit_test(damaged_records_are_passed_over),
		cmocka_unit_test(lost_records_are_counted),
		TEST(a_child_that_loads_a_library),
		TEST(many_children),
		TEST(losses_are_seen_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
