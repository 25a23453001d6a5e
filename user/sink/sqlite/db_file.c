// SPDX-License-Identifier: BSD-2-Clause
#include "sink/sqlite/db_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/out_file.h"

#define NAME "gpumemtrace"
#define SECTOR 4096
#define DAY_MS 86400000LL
/* 1970-01-01 in milliseconds of the Julian day (sqlite3.h, xCurrentTimeInt64). */
#define JULIAN_EPOCH_MS 210866760000000LL

/* What SQLite makes room for: szOsFile. */
struct opened {
	sqlite3_file base;
	struct db_file *file;
};

static struct db_file *db_file_of(sqlite3_file *opened)
{
	return ((struct opened *)opened)->file;
}

static int failed_with(struct db_file *file, int error, int code)
{
	if (!file->error)
		file->error = error;
	return error == -ENOSPC ? SQLITE_FULL : code;
}

/* ---- the file ---- */

static int leave_open(sqlite3_file *opened)
{
	(void)opened;
	return SQLITE_OK;
}

static int read_file(sqlite3_file *opened, void *to, int size, sqlite3_int64 offset)
{
	struct db_file *file = db_file_of(opened);
	int done = 0;

	while (done < size) {
		ssize_t n = pread(file->fd, (char *)to + done, (size_t)(size - done), offset + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed_with(file, -errno, SQLITE_IOERR_READ);
		if (!n)
			break;
		done += (int)n;
	}
	if (done == size)
		return SQLITE_OK;
	memset((char *)to + done, 0, (size_t)(size - done));
	return SQLITE_IOERR_SHORT_READ;
}

static int write_file(sqlite3_file *opened, const void *from, int size, sqlite3_int64 offset)
{
	struct db_file *file = db_file_of(opened);
	int done = 0;

	while (done < size) {
		ssize_t n = pwrite(file->fd, (const char *)from + done, (size_t)(size - done), offset + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed_with(file, -errno, SQLITE_IOERR_WRITE);
		done += (int)n;
	}
	return SQLITE_OK;
}

static int truncate_file(sqlite3_file *opened, sqlite3_int64 size)
{
	struct db_file *file = db_file_of(opened);

	return ftruncate(file->fd, size) ? failed_with(file, -errno, SQLITE_IOERR_TRUNCATE) : SQLITE_OK;
}

static int sync_file(sqlite3_file *opened, int flags)
{
	(void)opened;
	(void)flags;
	return SQLITE_OK;
}

static int size_of_file(sqlite3_file *opened, sqlite3_int64 *size)
{
	struct db_file *file = db_file_of(opened);
	struct stat st;

	if (fstat(file->fd, &st))
		return failed_with(file, -errno, SQLITE_IOERR_FSTAT);
	*size = st.st_size;
	return SQLITE_OK;
}

static int lock_file(sqlite3_file *opened, int level)
{
	(void)opened;
	(void)level;
	return SQLITE_OK;
}

static int is_reserved(sqlite3_file *opened, int *answer)
{
	(void)opened;
	*answer = 0;
	return SQLITE_OK;
}

static int control_file(sqlite3_file *opened, int operation, void *arg)
{
	(void)opened;
	(void)operation;
	(void)arg;
	return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *opened)
{
	(void)opened;
	return SECTOR;
}

static int disk_characteristics(sqlite3_file *opened)
{
	(void)opened;
	return 0;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1, .xClose = leave_open, .xRead = read_file, .xWrite = write_file, .xTruncate = truncate_file,
	.xSync = sync_file, .xFileSize = size_of_file, .xLock = lock_file, .xUnlock = lock_file,
	.xCheckReservedLock = is_reserved, .xFileControl = control_file, .xSectorSize = sector_size,
	.xDeviceCharacteristics = disk_characteristics,
};

/* ---- the file system ---- */

/* Temporary files would be others: they stay in memory, and there is no journal. */
static int open_offered(sqlite3_vfs *vfs, const char *name, sqlite3_file *opened, int flags, int *flags_out)
{
	struct opened *to = (struct opened *)opened;

	to->base.pMethods = NULL;
	if (!name || !(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	to->base.pMethods = &methods;
	to->file = vfs->pAppData;
	if (flags_out)
		*flags_out = flags;
	return SQLITE_OK;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	(void)name;
	(void)sync;
	return SQLITE_OK;
}

static int has_file(sqlite3_vfs *vfs, const char *name, int flags, int *answer)
{
	(void)vfs;
	(void)name;
	(void)flags;
	*answer = 0;
	return SQLITE_OK;
}

static int full_name(sqlite3_vfs *vfs, const char *name, int size, char *to)
{
	(void)vfs;
	sqlite3_snprintf(size, to, "%s", name);
	return SQLITE_OK;
}

static int random_bytes(sqlite3_vfs *vfs, int size, char *to)
{
	unsigned int number = 0;

	(void)vfs;
	for (int i = 0; i < size; i++) {
		if (i % (int)sizeof(number) == 0)
			out_file_random(&number);
		to[i] = (char)(number >> i % (int)sizeof(number) * 8);
	}
	return size;
}

static int sleep_us(sqlite3_vfs *vfs, int us)
{
	(void)vfs;
	return us;
}

static int julian_ms(sqlite3_vfs *vfs, sqlite3_int64 *ms)
{
	struct timespec now;

	(void)vfs;
	clock_gettime(CLOCK_REALTIME, &now);
	*ms = JULIAN_EPOCH_MS + now.tv_sec * 1000LL + now.tv_nsec / 1000000;
	return SQLITE_OK;
}

static int julian_days(sqlite3_vfs *vfs, double *days)
{
	sqlite3_int64 ms;

	julian_ms(vfs, &ms);
	*days = (double)ms / DAY_MS;
	return SQLITE_OK;
}

static int last_error(sqlite3_vfs *vfs, int size, char *text)
{
	const struct db_file *file = vfs->pAppData;

	if (size > 0)
		text[0] = '\0';
	return -file->error;
}

int db_file_offer(struct db_file *file, int fd)
{
	*file = (struct db_file){ .fd = fd };
	file->vfs = (sqlite3_vfs){
		.iVersion = 2, .szOsFile = sizeof(struct opened), .mxPathname = 64, .zName = NAME, .pAppData = file,
		.xOpen = open_offered, .xDelete = delete_file, .xAccess = has_file, .xFullPathname = full_name,
		.xRandomness = random_bytes, .xSleep = sleep_us, .xCurrentTime = julian_days,
		.xGetLastError = last_error, .xCurrentTimeInt64 = julian_ms,
	};
	return sqlite3_vfs_register(&file->vfs, 0);
}

void db_file_forget(struct db_file *file)
{
	sqlite3_vfs_unregister(&file->vfs);
}
