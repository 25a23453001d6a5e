// SPDX-License-Identifier: BSD-2-Clause
#include "live/probe/target.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/foreign_file.h"
#include "base/xalloc.h"
#include "live/process/procfs.h"

#define INITIAL_PID_NS 4026531836u /* PROC_PID_INIT_INO, include/linux/proc_ns.h */
#define FILES_MAX 16		   /* different files in one process; further ones may be given several times */

const char *target_kind_text(enum target_kind kind)
{
	static const char *const texts[] = {
#define X(name, text) text,
		TARGET_KINDS(X)
#undef X
	};
	return (size_t)kind < sizeof(texts) / sizeof(texts[0]) ? texts[kind] : "?";
}

void target_inspect(pid_t pid, struct target_info *info)
{
	struct procfs_status status;
	struct procfs_stat stat;
	int err = procfs_stat(pid, &stat);

	memset(info, 0, sizeof(*info));
	if (!err)
		err = procfs_status(pid, &status);
	if (err) {
		info->kind = err == -ESRCH ? TARGET_NONE : TARGET_HIDDEN;
		return;
	}
	info->tgid = status.tgid;
	memcpy(info->comm, stat.comm, sizeof(info->comm));
	if (status.tgid != (uint32_t)pid)
		info->kind = TARGET_THREAD; /* /proc/TID can be opened, but is not listed */
	else if (stat.kernel_thread)
		info->kind = TARGET_KERNEL;
	else if (procfs_is_zombie(&stat))
		info->kind = stat.ended ? TARGET_ZOMBIE : TARGET_MAINLESS;
	else
		info->kind = TARGET_PROCESS;
}

bool target_pids_are_initial(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == INITIAL_PID_NS;
}

int target_each_process(int (*cb)(pid_t pid, void *arg), void *arg)
{
	struct dirent *entry;
	DIR *proc = opendir("/proc");
	int err = 0;

	if (!proc)
		return -errno;
	while (!err && (entry = readdir(proc))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			err = cb((pid_t)strtol(entry->d_name, NULL, 10), arg);
	}
	closedir(proc);
	return err;
}

/* ---- libraries ---- */

struct walk {
	pid_t pid;
	target_library_cb cb;
	void *arg;
	int answer; /* the callback's: told apart from our own errors */
	size_t count;
	struct {
		uint64_t ino, dev;
	} seen[FILES_MAX];
};

static bool is_file_seen(struct walk *walk, uint64_t ino, uint64_t dev)
{
	for (size_t i = 0; i < walk->count; i++)
		if (walk->seen[i].ino == ino && walk->seen[i].dev == dev)
			return true;
	if (walk->count < FILES_MAX) {
		walk->seen[walk->count].ino = ino;
		walk->seen[walk->count++].dev = dev;
	}
	return false;
}

bool target_may_pass(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ESTALE || err == -EIO || err == -EFBIG;
}

static int visit_map(const struct maps_line *map, void *arg)
{
	struct walk *walk = arg;
	struct target_library library = { .pid = walk->pid };
	char path[PATH_MAX];
	struct foreign_file file = {
		map->start, map->end, path, makedev(map->dev_major, map->dev_minor), map->ino, map->deleted,
	};
	int fd;

	if (!map->executable || !map->ino)
		return 0;
	library.kind = library_kind_of(map->path, map->path_len);
	if (!library.kind || is_file_seen(walk, file.ino, file.dev))
		return 0;
	snprintf(path, sizeof(path), "%.*s", (int)map->path_len, map->path);
	fd = foreign_open_mapped((uint32_t)walk->pid, &file);
	/* The file was unmapped meanwhile, or is a device that is named like a library. */
	if (fd == -ENOENT || fd == -ENOEXEC)
		return 0;
	library.err = target_may_pass(fd) ? fd : 0;
	if (fd < 0 && !library.err)
		return fd;
	library.path = path;
	library.ino = file.ino;
	if (fd >= 0)
		snprintf(library.attach_path, sizeof(library.attach_path), "/proc/self/fd/%d", fd);
	walk->answer = walk->cb(&library, walk->arg);
	if (fd >= 0)
		close(fd);
	return walk->answer;
}

int target_libraries(pid_t pid, target_library_cb cb, void *arg)
{
	struct walk walk = { .pid = pid, .cb = cb, .arg = arg };

	return procfs_maps(pid, visit_map, &walk);
}

static int scan_process(pid_t pid, void *arg)
{
	struct target_library unread = { .pid = pid, .path = "" };
	struct walk *walk = arg;

	walk->pid = pid;
	walk->count = 0;
	if (pid != getpid()) /* NVML loads libcuda into the collector (seen with 580.159.04) */
		unread.err = procfs_maps(pid, visit_map, walk);
	if (!walk->answer && target_may_pass(unread.err))
		walk->answer = walk->cb(&unread, walk->arg);
	return walk->answer;
}

int target_scan(target_library_cb cb, void *arg)
{
	struct walk walk = { .cb = cb, .arg = arg };

	return target_each_process(scan_process, &walk);
}

/* ---- use of CUDA ---- */

static int find_libcuda(const struct maps_line *map, void *arg)
{
	(void)arg;
	return map->executable && map->ino && library_kind_of(map->path, map->path_len) == &library_cuda;
}

/* "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia7", also below a driver root. A container may rename the nodes, so
 * the number counts first; the nodes of a stand-in have ordinary numbers and these names. */
static bool is_nvidia_name(const char *path)
{
	const char *base = basename(path);

	return !strncmp(base, "nvidia", 6) &&
	       (!strcmp(base + 6, "ctl") || !strcmp(base + 6, "-uvm") || isdigit((unsigned char)base[6]));
}

static int uses_device(pid_t pid, const struct driver_info *driver)
{
	char path[64], link[PATH_MAX];
	struct dirent *entry;
	struct stat st;
	int found = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!found && (entry = readdir(dir))) {
		ssize_t len;

		len = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);
		link[len > 0 ? len : 0] = '\0';
		/* Other files are left alone: stat() on a dead network mount does not return. */
		if (!strstr(link, "/dev/") || fstatat(dirfd(dir), entry->d_name, &st, 0) ||
		    !S_ISCHR(st.st_mode))
			continue;
		found = (driver && driver_owns(driver, st.st_rdev)) || is_nvidia_name(link);
	}
	closedir(dir);
	return found;
}

int target_uses(pid_t pid, const struct driver_info *driver)
{
	int mapped = procfs_maps(pid, find_libcuda, NULL);
	int device = uses_device(pid, driver);

	if (mapped < 0 || device < 0)
		return mapped < 0 ? mapped : device;
	return (mapped ? TARGET_USES_LIBCUDA : 0) | (device ? TARGET_USES_DEVICE : 0);
}

/* ---- a command that does not run yet ---- */

#define SONAME "libcuda.so.1"

/*
 * /etc/ld.so.cache, the format of glibc 2.2 and newer (sysdeps/generic/dl-cache.h: struct cache_file_new, struct
 * file_entry_new). Up to glibc 2.31 ldconfig put a cache of the old format first, so the code searches for the magic.
 * String offsets count from the magic.
 */
#define CACHE_MAGIC "glibc-ld.so.cache1.1"
#define CACHE_HEADER 48
#define CACHE_ENTRY 24
#if defined(__x86_64__)
#define CACHE_ARCH 0x0300u /* FLAG_X8664_LIB64 */
#define TRIPLET "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define CACHE_ARCH 0x0a00u /* FLAG_AARCH64_LIB64 */
#define TRIPLET "aarch64-linux-gnu"
#endif

static uint32_t cache_u32(const char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* A file may be there although it cannot be read now: who probes the file tries again, and says what fails. */
static bool may_be_there(ssize_t error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EIO;
}

/* The loader skips 32-bit files. */
static bool is_elf64(const char *path)
{
	static const char wanted[5] = { 0x7f, 'E', 'L', 'F', 2 /* ELFCLASS64 */ };
	char head[sizeof(wanted) + 1];
	ssize_t got = procfs_read(path, head, sizeof(head));

	return may_be_there(got) || (got == (ssize_t)sizeof(wanted) && !memcmp(head, wanted, sizeof(wanted)));
}

bool target_search_cache(const void *cache, size_t len, const char *name, char *path, size_t size)
{
	const char *base = memmem(cache, len, CACHE_MAGIC, sizeof(CACHE_MAGIC) - 1);
	size_t left = base ? len - (size_t)(base - (const char *)cache) : 0;
	uint32_t count = left >= CACHE_HEADER ? cache_u32(base + 20) : 0; /* after 17 + 3 bytes of magic */

	if (left < CACHE_HEADER || count > (left - CACHE_HEADER) / CACHE_ENTRY)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const char *entry = base + CACHE_HEADER + (size_t)i * CACHE_ENTRY;
		uint32_t flags = cache_u32(entry), key = cache_u32(entry + 4), value = cache_u32(entry + 8);

		if ((flags & 0xff00) != CACHE_ARCH || key >= left || value >= left ||
		    !memchr(base + key, 0, left - key) || strcmp(base + key, name))
			continue;
		if (memchr(base + value, 0, left - value) && strlen(base + value) < size &&
		    is_elf64(base + value)) {
			snprintf(path, size, "%s", base + value);
			return true;
		}
	}
	return false;
}

static bool search_ld_cache(char *path, size_t size)
{
	static const char cache[] = "/etc/ld.so.cache";
	struct stat st;
	ssize_t len;
	bool found;
	char *bytes;

	if (stat(cache, &st) || st.st_size <= 0 || st.st_size >= 64 << 20)
		return false;
	bytes = xmalloc((size_t)st.st_size + 1);
	len = procfs_read(cache, bytes, (size_t)st.st_size + 1);
	found = len > 0 && target_search_cache(bytes, (size_t)len, SONAME, path, size);
	free(bytes);
	return found;
}

static bool search_dir(const char *dir, size_t len, char *path, size_t size)
{
	int written = len ? snprintf(path, size, "%.*s/" SONAME, (int)len, dir)
			  : snprintf(path, size, "./" SONAME); /* an empty item is the current directory */

	return written > 0 && (size_t)written < size && is_elf64(path);
}

int target_default_library(char *path, size_t size)
{
	static const char *const dirs[] = {
		"/lib/" TRIPLET, "/usr/lib/" TRIPLET, "/lib64",		  "/usr/lib64",
		"/lib",		 "/usr/lib",	      "/usr/lib/wsl/lib",
	};
	const char *list = secure_getenv("LD_LIBRARY_PATH");

	while (list && *list) {
		size_t len = strcspn(list, ":;"); /* ld.so(8): either separates */

		if (search_dir(list, len, path, size))
			return 0;
		list += len + (list[len] != '\0');
	}
	if (search_ld_cache(path, size))
		return 0;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (search_dir(dirs[i], strlen(dirs[i]), path, size))
			return 0;
	}
	if (size)
		*path = '\0';
	return -ENOENT;
}
