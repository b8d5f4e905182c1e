/* SPDX-License-Identifier: Apache-2.0 */
#include "record/file_sink.h"

#include <sys/stat.h>

#include "base/caps.h"

/* Bytes that can be queued for the disk: one second at 400,000 records/s. */
#define WRITE_BEHIND_MAX (16u << 20)

static struct file_sink *file_of(const struct sink *s)
{
	return (struct file_sink *)s;
}

static int file_begin(struct sink *s, const struct capture_meta *meta, struct err *err)
{
	struct file_sink *f = file_of(s);
	int r = capture_create(f->path, meta, &f->writer, err);
	struct stat st;
	uid_t uid;
	gid_t gid;

	if (r == 0 && caps_sudo_user(&uid, &gid) &&
	    (fstat(capture_fd(f->writer), &st) < 0 || st.st_uid != uid))
		f->warning(f->arg, "the capture belongs to root: cannot change its owner");
	return r;
}

static int file_start(struct sink *s, struct err *err)
{
	return capture_write_behind(file_of(s)->writer, WRITE_BEHIND_MAX, err);
}

static uint32_t file_add_string(struct sink *s, const char *text)
{
	return capture_add_string(file_of(s)->writer, text);
}

static uint32_t file_find_string(const struct sink *s, const char *text)
{
	return capture_find_string(file_of(s)->writer, text);
}

static int file_write(struct sink *s, const struct record *record, struct err *err)
{
	return capture_write(file_of(s)->writer, record, err);
}

static int file_flush(struct sink *s, struct err *err)
{
	return capture_flush(file_of(s)->writer, err);
}

static int file_close(struct sink *s, struct err *err)
{
	return capture_close(file_of(s)->writer, err);
}

static uint64_t file_size(const struct sink *s)
{
	return capture_size(file_of(s)->writer);
}

static const struct sink_ops file_ops = {
	.begin = file_begin,
	.start = file_start,
	.add_string = file_add_string,
	.find_string = file_find_string,
	.write = file_write,
	.flush = file_flush,
	.close = file_close,
	.size = file_size,
};

void file_sink_init(struct file_sink *f, const char *path,
		    void (*warning)(void *arg, const char *text), void *arg)
{
	*f = (struct file_sink){
		.sink = { &file_ops, -1 }, .path = path, .warning = warning, .arg = arg
	};
}

void file_sink_done(struct file_sink *f)
{
	capture_writer_free(f->writer);
}
