// SPDX-License-Identifier: BSD-2-Clause
/* Files of a process that has a root of its own, and puts into it what it likes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/foreign_file.h"
#include "base/maps.h"
#include "compile.h"
#include "patience.h"

#define NOT_ALLOWED 77
#define PAGE 4096

/* ---- a child with a root of its own ---- */

struct victim {
	pid_t pid;
	int ready;
};

static int enter_root(const char *root)
{
	if (geteuid() && unshare(CLONE_NEWUSER))
		return NOT_ALLOWED;
	return chroot(root) || chdir("/") ? NOT_ALLOWED : 0;
}

/* Does `act`, then waits to be killed. */
static void start(struct victim *v, const char *root, int (*act)(const char *root))
{
	int ready[2];
	char status;

	assert_int_equal(pipe(ready), 0);
	v->pid = fork();
	if (!v->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		status = (char)act(root);
		if (write(ready[1], &status, 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &status, 1), 1);
	close(ready[0]);
	if (status)
		kill(v->pid, SIGKILL);
	if (status == NOT_ALLOWED)
		skip();
	assert_int_equal(status, 0);
}

static void end(struct victim *v)
{
	kill(v->pid, SIGKILL);
	waitpid(v->pid, NULL, 0);
}

static void shell(const struct workdir *dir, const char *script)
{
	char command[1024];

	snprintf(command, sizeof(command), "cd %s && %s", dir->path, script);
	assert_int_equal(run_shell(command), 0);
}

/* The first bytes of what is opened are these. */
static void assert_reads(int fd, const char *text)
{
	char got[16] = "";

	assert_true(fd >= 0);
	assert_int_equal(read(fd, got, strlen(text)), strlen(text));
	assert_string_equal(got, text);
	close(fd);
}

/* ---- paths ---- */

static void links_stay_inside(void **state)
{
	struct workdir *dir = *state;
	struct victim v;
	char root[96];

	shell(dir, "mkdir -p root/etc root/a && echo inside >root/etc/plain && echo outside >plain &&"
		   " ln -s /etc/plain root/absolute && ln -s ../../../../etc/plain root/a/up &&"
		   " ln -s /etc/passwd root/gone && ln -s ../plain root/beside");
	snprintf(root, sizeof(root), "%s/root", dir->path);
	start(&v, root, enter_root);
	assert_reads(foreign_open_path((uint32_t)v.pid, "/etc/plain"), "inside");
	assert_reads(foreign_open_path((uint32_t)v.pid, "/absolute"), "inside");
	assert_reads(foreign_open_path((uint32_t)v.pid, "/a/up"), "inside");
	assert_reads(foreign_open_path((uint32_t)v.pid, "/../../etc/plain"), "inside");
	assert_int_equal(foreign_open_path((uint32_t)v.pid, "/gone"), -ENOENT);
	assert_int_equal(foreign_open_path((uint32_t)v.pid, "/beside"), -ENOENT);
	end(&v);
	assert_int_equal(foreign_open_path((uint32_t)v.pid, "/etc/plain"), -ENOENT);
}

/* None of them is opened, and nobody is waited for. */
static void only_regular_files(void **state)
{
	static const char *const paths[] = { "/fifo", "/to-fifo", "/etc", "/zero", "/to-zero" };
	struct workdir *dir = *state;
	struct victim v;
	char root[96];

	shell(dir, "mkdir -p root/etc && mkfifo root/fifo && ln -s fifo root/to-fifo && ln -s zero root/to-zero");
	shell(dir, geteuid() ? "mkdir root/zero" : "mknod root/zero c 1 5");
	snprintf(root, sizeof(root), "%s/root", dir->path);
	start(&v, root, enter_root);
	alarm(PATIENCE);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_int_equal(foreign_open_path((uint32_t)v.pid, paths[i]), -ENOEXEC);
	alarm(0);
	end(&v);
	assert_int_equal(foreign_open_path(0, "/dev/zero"), -ENOEXEC);
}

/* Opening would break the lease, and wait for its holder to give it up. */
static void a_lease(void **state)
{
	struct workdir *dir = *state;
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/leased", dir->path);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, F_WRLCK))
		skip();
	alarm(PATIENCE);
	assert_int_equal(foreign_open_path(0, path), -EAGAIN);
	alarm(0);
	close(fd);
	assert_reads(foreign_open_path(0, path), "");
}

/* ---- mapped files ---- */

static int map_file(const char *path)
{
	int fd = open(path, O_RDONLY);

	return fd < 0 || mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED;
}

/* What the maps say of the file whose name ends so. The path is this function's. */
static struct foreign_file find(const struct victim *v, const char *name)
{
	static char found[256];
	struct foreign_file file = { 0 };
	char path[64], line[512];
	struct maps_line map;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", v->pid);
	maps = fopen(path, "re");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, name) || maps_parse_line(line, strlen(line), &map))
			continue;
		snprintf(found, sizeof(found), "%.*s", (int)map.path_len, map.path);
		file = (struct foreign_file){
			map.start, map.end, found, makedev(map.dev_major, map.dev_minor), map.ino, map.deleted,
		};
		break;
	}
	fclose(maps);
	assert_non_null(file.path);
	return file;
}

static void the_same_file_or_none(void **state)
{
	struct workdir *dir = *state;
	struct foreign_file file, other;
	char path[96], mapped[128];
	struct victim v;

	shell(dir, "echo right >lib && echo wrong >wrong && truncate -s 4096 lib wrong");
	snprintf(path, sizeof(path), "%s/lib", dir->path);
	start(&v, path, map_file);
	file = find(&v, path);
	assert_reads(foreign_open_same((uint32_t)v.pid, &file), "right");
	assert_reads(foreign_open_same(0, &file), "right");
	assert_reads(foreign_open_mapped((uint32_t)v.pid, &file), "right");
	other = file;
	other.start = other.end = PAGE;       /* unmapped meanwhile */
	assert_reads(foreign_open_mapped((uint32_t)v.pid, &other), "right");
	other = file;
	other.dev++;                          /* a file of this number elsewhere */
	assert_int_equal(foreign_open_same((uint32_t)v.pid, &other), -ESTALE);
	other = file;
	other.deleted = true;
	assert_int_equal(foreign_open_same((uint32_t)v.pid, &other), -ENOENT);
	shell(dir, "mv lib right && ln -s wrong lib");
	assert_int_equal(foreign_open_same((uint32_t)v.pid, &file), -ESTALE);
	shell(dir, "rm lib && mkfifo lib");
	assert_int_equal(foreign_open_same((uint32_t)v.pid, &file), -ENOEXEC);
	snprintf(mapped, sizeof(mapped), "/proc/%d/map_files/%llx-%llx", v.pid, (unsigned long long)file.start,
		 (unsigned long long)file.end);
	if (!access(mapped, F_OK))            /* wants privileges */
		assert_reads(foreign_open_mapped((uint32_t)v.pid, &file), "right");
	end(&v);
}

static void a_mapped_device(void **state)
{
	struct foreign_file file;
	struct victim v;

	(void)state;
	start(&v, "/dev/zero", map_file);
	file = find(&v, "/dev/zero");
	assert_int_equal(foreign_open_mapped((uint32_t)v.pid, &file), -ENOEXEC);
	end(&v);
}

/* In a root of its own, which is on overlayfs: what stat() says of a file's device is not what the maps say. */
static int map_on_overlay(const char *work)
{
	char options[256];

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || chdir(work) ||
	    mount("tmpfs", "tmp", "tmpfs", 0, NULL))
		return NOT_ALLOWED;
	snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/tmp/upper,workdir=%s/tmp/work", work, work,
		 work);
	if (mkdir("tmp/upper", 0700) || mkdir("tmp/work", 0700) || mkdir("tmp/merged", 0700) ||
	    mount("overlay", "tmp/merged", "overlay", 0, options))
		return NOT_ALLOWED;
	snprintf(options, sizeof(options), "%s/tmp/merged/lib", work);
	return map_file(options);
}

static void on_overlayfs(void **state)
{
	struct workdir *dir = *state;
	struct foreign_file file;
	struct victim v;
	char path[128];

	shell(dir, "mkdir lower tmp && echo right >lower/lib && truncate -s 4096 lower/lib");
	start(&v, dir->path, map_on_overlay);
	file = find(&v, "/lib\n");
	snprintf(path, sizeof(path), "%s/tmp/merged/lib", dir->path);
	file.path = path;                     /* maps may tell the one in the lower layer */
	assert_reads(foreign_open_mapped((uint32_t)v.pid, &file), "right");
	assert_reads(foreign_open_same((uint32_t)v.pid, &file), "right");
	end(&v);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, workdir_make, workdir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(links_stay_inside),
		TEST(only_regular_files),
		TEST(a_lease),
		TEST(the_same_file_or_none),
		cmocka_unit_test(a_mapped_device),
		TEST(on_overlayfs),
	};

	return cmocka_run_group_tests_name("foreign_file", tests, NULL, NULL);
}
