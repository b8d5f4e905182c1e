/* SPDX-License-Identifier: Apache-2.0 */
#include "flight/snapshot_writer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

struct snapshot_writer {
	struct capture_dir *dir; /* borrowed */
	int done;                /* an eventfd */
	bool busy;
	pthread_t thread;

	/* of the current capture */
	struct ring_snapshot *snapshot;
	struct capture_name name;
	int64_t result;
	struct err err;
};

int snapshot_writer_new(struct capture_dir *dir, struct snapshot_writer **ret, struct err *err)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return err_errno(err, "cannot create an event descriptor");
	*ret = must_alloc(sizeof(**ret));
	(*ret)->dir = dir;
	(*ret)->done = fd;
	return 0;
}

void snapshot_writer_free(struct snapshot_writer *w)
{
	struct err ignored;

	if (!w)
		return;
	if (w->busy)
		snapshot_writer_finish(w, &ignored);
	close(w->done);
	free(w);
}

static int64_t write_capture(struct snapshot_writer *w)
{
	_cleanup_(closep) int fd = capture_dir_create(w->dir, w->name.s, &w->err);
	struct stat st;

	if (fd < 0)
		return fd;

	int r = ring_snapshot_write(w->snapshot, fd, w->name.s, &w->err);

	if (r == 0 && fstat(fd, &st) < 0)
		r = err_errno(&w->err, "cannot write '%s'", w->name.s);
	if (r == 0)
		r = capture_dir_commit(w->dir, w->name.s, &w->err);
	if (r < 0)
		capture_dir_remove(w->dir, w->name.s);
	return r < 0 ? r : st.st_size;
}

static void *run_writer(void *arg)
{
	struct snapshot_writer *w = arg;

	w->result = write_capture(w);
	eventfd_write(w->done, 1);
	return NULL;
}

int snapshot_writer_start(struct snapshot_writer *w, struct ring_snapshot *snapshot,
			  const struct capture_name *name, struct err *err)
{
	int r = w->busy ? EBUSY : 0;

	if (r == 0) {
		w->snapshot = snapshot;
		w->name = *name;
		r = pthread_create(&w->thread, NULL, run_writer, w);
	}
	if (r == 0) {
		w->busy = true;
		return 0;
	}
	ring_snapshot_free(snapshot);
	return err_set(err, -r, "cannot write '%s': %s", name->s, strerror(r));
}

bool snapshot_writer_is_busy(const struct snapshot_writer *w)
{
	return w->busy;
}

bool snapshot_writer_is_done(const struct snapshot_writer *w)
{
	struct pollfd done = { .fd = w->done, .events = POLLIN };

	return w->busy && poll(&done, 1, 0) > 0;
}

int snapshot_writer_fd(const struct snapshot_writer *w)
{
	return w->done;
}

int64_t snapshot_writer_finish(struct snapshot_writer *w, struct err *err)
{
	eventfd_t ignored;

	pthread_join(w->thread, NULL);
	eventfd_read(w->done, &ignored);
	ring_snapshot_free(w->snapshot);
	w->busy = false;
	if (w->result < 0)
		*err = w->err;
	return w->result;
}
