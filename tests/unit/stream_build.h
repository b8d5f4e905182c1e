/* SPDX-License-Identifier: Apache-2.0 */
/* stream_build - a stream between a writer and a reader in one process. */
#ifndef SONDE_TESTS_STREAM_BUILD_H
#define SONDE_TESTS_STREAM_BUILD_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "build.h"
#include "event/stream_read.h"
#include "event/stream_write.h"

struct stream_pair {
	int fds[2]; /* reader, writer */
	struct stream_writer *writer;
	struct stream_reader *reader;
};

static inline struct stream_pair stream_pair_new(size_t limit)
{
	struct stream_pair pair;

	if (pipe2(pair.fds, O_CLOEXEC | O_NONBLOCK) < 0)
		abort();
	pair.writer = stream_writer_new(pair.fds[1], &build_meta, limit);
	pair.reader = stream_reader_new("x");
	return pair;
}

static inline void stream_pair_done(struct stream_pair *pair)
{
	stream_writer_free(pair->writer);
	stream_reader_free(pair->reader);
	for (size_t i = 0; i < 2; i++)
		if (pair->fds[i] >= 0)
			close(pair->fds[i]);
}

/* The next record that the reader gets without waiting; otherwise as stream_reader_next(). */
static inline int stream_pair_next(struct stream_pair *pair, const struct record **ret,
				   struct err *err)
{
	for (;;) {
		int r = stream_reader_next(pair->reader, ret, err);

		if (r != -EAGAIN)
			return r;
		r = stream_reader_read(pair->reader, pair->fds[0], err);
		if (r < 0)
			return r;
	}
}

#endif
