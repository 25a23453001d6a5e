/* SPDX-License-Identifier: BSD-2-Clause */
/* See out_file.h. An entry is looked at through an O_PATH descriptor, so it cannot be changed after the look. */
#include "base/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

#define LINKS_MAX 8      /* links in a row that are followed */
#define TRIES_MAX 8      /* looks at the path, which may change meanwhile */
#define LOOK_AGAIN (-EAGAIN)

#define NEW_FILE (O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)

static int open_new(const char *path, int access)
{
	int fd = open(path, access | NEW_FILE, OUT_FILE_MODE);

	return fd < 0 ? -errno : fd;
}

/* Opens, for writing, the file that an O_PATH descriptor stands for. */
static int open_again(int at, int flags)
{
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags);
	return fd < 0 ? -errno : fd;
}

/* The number of our descriptor that a link in /proc stands for, such as /dev/stdout: this link has no text to follow.
 * -1: the link stands for no descriptor of ours. */
static int descriptor_of(const struct stat *link, const char *path)
{
	const char *name = strrchr(path, '/');
	struct stat st;
	char own[48];
	int number;

	if (!name || sscanf(name + 1, "%d", &number) != 1)
		return -1;
	snprintf(own, sizeof(own), "/proc/self/fd/%d", number);
	return !lstat(own, &st) && st.st_dev == link->st_dev && st.st_ino == link->st_ino ? number : -1;
}

/* Replaces the path by the link's text. */
static int follow_link(int at, char path[PATH_MAX])
{
	char text[PATH_MAX], *name = strrchr(path, '/');
	size_t folder = name ? (size_t)(name + 1 - path) : 0;
	ssize_t size = readlinkat(at, "", text, sizeof(text));

	if (size < 0)
		return -errno;
	if (text[0] == '/')
		folder = 0;
	if (folder + (size_t)size >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(path + folder, text, (size_t)size);
	path[folder + (size_t)size] = '\0';
	return LOOK_AGAIN;
}

/* A file with a second name may be somebody else's, too. Such a file is replaced, not overwritten. */
static int open_own_file(int at, const struct stat *st, const char *path)
{
	if (st->st_uid == geteuid() && st->st_nlink == 1)
		return open_again(at, O_TRUNC);
	return unlink(path) && errno != ENOENT ? -errno : LOOK_AGAIN;
}

static int open_link(int at, const struct stat *st, char path[PATH_MAX])
{
	int number = descriptor_of(st, path);

	return number < 0 ? follow_link(at, path) : open_again(number, O_TRUNC);
}

/* Returns a descriptor or -errno; LOOK_AGAIN: the path has changed, or the file is gone. */
static int open_entry(int at, char path[PATH_MAX], bool only_special)
{
	struct stat st;

	if (fstat(at, &st))
		return -errno;
	if (S_ISREG(st.st_mode))
		return only_special ? -ENOENT : open_own_file(at, &st, path);
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (S_ISBLK(st.st_mode) || (st.st_uid != geteuid() && st.st_uid))
		return OUT_FILE_FOREIGN;
	return S_ISLNK(st.st_mode) ? open_link(at, &st, path) : open_again(at, 0);
}

int out_file_open(const char *name, bool only_special)
{
	char path[PATH_MAX];
	int fd = LOOK_AGAIN;

	if (snprintf(path, sizeof(path), "%s", name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	for (int i = 0; i < LINKS_MAX + TRIES_MAX && fd == LOOK_AGAIN; i++) {
		int at = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

		if (at >= 0) {
			fd = open_entry(at, path, only_special);
			close(at);
			continue;
		}
		if (errno != ENOENT || only_special)
			return -errno;
		fd = open_new(path, O_WRONLY);
		if (fd == -EEXIST)
			fd = LOOK_AGAIN;
	}
	return fd == LOOK_AGAIN ? -ELOOP : fd;
}

void out_file_folder(const char *path, char folder[PATH_MAX])
{
	const char *slash = strrchr(path, '/');

	snprintf(folder, PATH_MAX, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
}

int out_file_may_fill(const char *folder)
{
	struct stat st;

	if (stat(folder, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) ? -errno : 0;
}

int out_file_may_begin(const char *path)
{
	char folder[PATH_MAX];
	struct stat st;
	bool exists = !lstat(path, &st);

	if (exists && S_ISDIR(st.st_mode))
		return -EISDIR;
	if (exists && !S_ISREG(st.st_mode))
		return 0;
	out_file_folder(path, folder);
	return out_file_may_fill(folder);
}

int out_file_may_be_new(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) ? OUT_FILE_SPECIAL : 0;
}

int out_file_random(unsigned int *number)
{
	return getrandom(number, sizeof(*number), 0) == sizeof(*number) ? 0 : -errno;
}

/* A name beside the path that nobody can guess. 0 or -errno. */
static int make_beside(const char *path, char *name, size_t size)
{
	const char *base = path_base(path);
	size_t length = strlen(base), most = NAME_MAX - strlen(".12345678.tmp");
	unsigned int number;
	int err = out_file_random(&number), kept = (int)(base - path) + (int)(length < most ? length : most);

	if (err)
		return err;
	return (size_t)snprintf(name, size, "%.*s.%08x.tmp", kept, path, number) >= size ? -ENAMETOOLONG : 0;
}

int out_file_create_beside(const char *path, char *name, size_t size)
{
	int fd = -EEXIST;

	for (int i = 0; i < TRIES_MAX && fd == -EEXIST; i++) {
		int err = make_beside(path, name, size);

		if (err)
			return err;
		fd = open_new(name, O_RDWR);
	}
	return fd;
}

/* A file that goes with the process if that is killed; -errno: the file system has no such files. */
static int create_nameless(const char *path)
{
	char folder[PATH_MAX];
	int fd;

	out_file_folder(path, folder);
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, OUT_FILE_MODE);
	return fd < 0 ? -errno : fd;
}

/* Gives a nameless file a name beside its path, which is to be renamed. 0 or -errno. */
static int name_file(struct out_file *file)
{
	int err = -EEXIST;
	char held[48];

	snprintf(held, sizeof(held), "/proc/self/fd/%d", file->fd);
	for (int i = 0; i < TRIES_MAX && err == -EEXIST; i++) {
		err = make_beside(file->path, file->beside, sizeof(file->beside));
		if (!err)
			err = linkat(AT_FDCWD, held, AT_FDCWD, file->beside, AT_SYMLINK_FOLLOW) ? -errno : 0;
	}
	file->is_nameless = err != 0;
	return err;
}

int out_file_begin(struct out_file *file, const char *path, bool replaces)
{
	file->beside[0] = '\0';
	file->is_nameless = false;
	if (snprintf(file->path, sizeof(file->path), "%s", path) >= (int)sizeof(file->path))
		return -ENAMETOOLONG;
	if (replaces)
		file->fd = -ENOENT;
	else
		file->fd = strcmp(path, "-") ? out_file_open(path, true) : STDOUT_FILENO;
	if (file->fd != -ENOENT)
		return file->fd < 0 ? file->fd : 0;
	file->fd = create_nameless(path);
	file->is_nameless = file->fd >= 0;
	if (!file->is_nameless)
		file->fd = out_file_create_beside(path, file->beside, sizeof(file->beside));
	return file->fd < 0 ? file->fd : 0;
}

bool out_file_is_new(const struct out_file *file)
{
	return file->beside[0] || file->is_nameless;
}

int out_file_settle(struct out_file *file, int error)
{
	if (file->is_nameless && !error)
		error = name_file(file);
	if (file->is_nameless || !file->beside[0])
		return error;
	if (!error && rename(file->beside, file->path))
		error = -errno;
	if (error)
		unlink(file->beside);
	return error;
}

int out_file_end(struct out_file *file, int error)
{
	if (file->is_nameless && !error)
		error = name_file(file);
	if (file->fd != STDOUT_FILENO && close(file->fd) && !error)
		error = -errno;
	return out_file_settle(file, error);
}

const char *out_file_why(int error)
{
	switch (error) {
	case OUT_FILE_FOREIGN:
		return "the name belongs to a block device, or to another user's link, pipe or device: choose another"
		       " name";
	case OUT_FILE_SPECIAL:
		return "the name belongs to a pipe or a device, and this output needs a file: choose another name";
	default:
		return strerror(-error);
	}
}

const char *out_file_remedy(int error)
{
	switch (-error) {
	case ENOENT:
		return ": create the directory, or name another one";
	case ENOTDIR:
		return ": name a directory";
	case EISDIR:
		return ": name a file";
	case EACCES:
	case EPERM:
	case EROFS:
		return ": name a directory that you may write to";
	default:
		return "";
	}
}
