// SPDX-License-Identifier: BSD-2-Clause
/* See dump_writer.h. The thread runs while there are jobs. */
#include "dump_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <gpumemtrace/wire.h>

#include "base/out_file.h"
#include "base/xalloc.h"
#include "source/reader.h"
#include "source/recorder.h"

struct dump_writer {
	pthread_t thread;
	bool has_thread, is_running;  /* running: the thread will look for jobs once more */
	pthread_mutex_t lock;
	pthread_cond_t idle;          /* the thread has no more jobs */
	struct dump_job *waiting, *done;
};

struct dump_file *dump_file_new(char *path)
{
	struct dump_file *file = xcalloc(1, sizeof(*file));

	*file = (struct dump_file){ .path = path, .fd = -1, .refs = 1 };
	return file;
}

struct dump_file *dump_file_get(struct dump_file *file)
{
	file->refs++;
	return file;
}

void dump_file_put(struct dump_file *file)
{
	if (--file->refs)
		return;
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file);
}

void dump_job_free(struct dump_job *job)
{
	dump_file_put(job->file);
	free(job->records);
	free(job);
}

/* ---- the thread ---- */

/* The past does not change. So a new version of a file takes the window from the version before, and the window need
 * not stay in memory. */
static int copy_window(struct recorder *recorder, int from)
{
	const struct gmt_hdr *record;
	struct reader *reader = NULL;
	int fd = lseek(from, 0, SEEK_SET) < 0 ? -1 : fcntl(from, F_DUPFD_CLOEXEC, 0);
	int err = fd < 0 ? -errno : reader_open_fd(&reader, fd);

	while (!err && (record = reader_next(reader)))
		if (record->kind >= GMT_KIND_HISTORY && record->kind <= GMT_KIND_HISTORY_MARK)
			err = recorder_add(recorder, record, record->size);
	reader_close(reader);
	return err;
}

static int write_records(const struct dump_job *job, struct recorder *recorder)
{
	const char *records = job->records;
	int err;

	if (!job->window_at)
		return recorder_add(recorder, records, job->size);
	err = recorder_add(recorder, records, job->window_at);
	if (!err && job->file->fd >= 0)
		err = copy_window(recorder, job->file->fd);
	return err ?: recorder_add(recorder, records + job->window_at, job->size - job->window_at);
}

static int write_job(const struct dump_job *job, int fd)
{
	struct recorder *recorder = NULL;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), err;

	if (copy < 0)
		return -errno;
	err = recorder_open_fd(&recorder, copy);
	if (err)
		return err;
	err = write_records(job, recorder);
	err = recorder_close(recorder, NULL) ?: err;
	/* The name must lead to the contents, even after a crash of the machine. */
	if (!err && fsync(fd) && errno != EINVAL)
		err = -errno;
	return err;
}

static int do_job(const struct dump_job *job)
{
	struct out_file whole;
	int err = out_file_begin(&whole, job->file->path, true);

	if (err)
		return err;
	err = out_file_settle(&whole, write_job(job, whole.fd));
	if (err) {
		close(whole.fd);
		return err;
	}
	if (job->file->fd >= 0)
		close(job->file->fd);
	job->file->fd = whole.fd;
	return 0;
}

static void append_job(struct dump_job **list, struct dump_job *job)
{
	while (*list)
		list = &(*list)->next;
	job->next = NULL;
	*list = job;
}

static void *write_jobs(void *arg)
{
	struct dump_writer *w = arg;
	struct dump_job *job;

	pthread_setname_np(pthread_self(), "gmt-dumps");
	pthread_mutex_lock(&w->lock);
	while ((job = w->waiting)) {
		w->waiting = job->next;
		pthread_mutex_unlock(&w->lock);
		job->error = do_job(job);
		pthread_mutex_lock(&w->lock);
		append_job(&w->done, job);
	}
	w->is_running = false;
	pthread_cond_broadcast(&w->idle);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* ---- the writer ---- */

struct dump_writer *dump_writer_new(void)
{
	struct dump_writer *w = xcalloc(1, sizeof(*w));
	pthread_condattr_t clock;

	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&w->idle, &clock);
	pthread_condattr_destroy(&clock);
	return w;
}

/* The main thread gets all signals. False: no thread can be started. */
static bool start_writer(struct dump_writer *w)
{
	sigset_t all, old;
	int err;

	if (w->has_thread)
		pthread_join(w->thread, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&w->thread, NULL, write_jobs, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	w->has_thread = !err;
	return !err;
}

void dump_writer_put(struct dump_writer *w, struct dump_job *job)
{
	bool must_start;

	pthread_mutex_lock(&w->lock);
	append_job(&w->waiting, job);
	must_start = !w->is_running;
	w->is_running = true;
	pthread_mutex_unlock(&w->lock);
	if (must_start && !start_writer(w))
		write_jobs(w);
}

struct dump_job *dump_writer_done(struct dump_writer *w)
{
	struct dump_job *job;

	pthread_mutex_lock(&w->lock);
	job = w->done;
	if (job)
		w->done = job->next;
	pthread_mutex_unlock(&w->lock);
	return job;
}

bool dump_writer_finish(struct dump_writer *w, uint64_t wait_ns)
{
	struct timespec until;
	bool is_busy;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)(wait_ns % 1000000000);
	until.tv_sec += (time_t)(wait_ns / 1000000000) + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&w->lock);
	while (w->is_running)
		if (pthread_cond_timedwait(&w->idle, &w->lock, &until))
			break;
	is_busy = w->is_running;
	pthread_mutex_unlock(&w->lock);
	if (!is_busy && w->has_thread) {
		pthread_join(w->thread, NULL);
		w->has_thread = false;
	}
	return !is_busy;
}

bool dump_writer_free(struct dump_writer *w)
{
	struct dump_job *job;

	if (!w)
		return true;
	if (!dump_writer_finish(w, 0))
		return false;
	while ((job = dump_writer_done(w)))
		dump_job_free(job);
	pthread_cond_destroy(&w->idle);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return true;
}
