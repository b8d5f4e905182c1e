/* SPDX-License-Identifier: Apache-2.0 */
#include "record/kernel/probe.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "bpf/wire.h"
#include "event/tracepoint.h"
#include "record/kernel/feature.h"

/* Bytes to record of strings and arrays of variable length, which follow the fixed fields. */
enum { DYNAMIC_ROOM = 96 };

int probe_prepare(struct err *err)
{
	if (feature_tracefs())
		return 0;
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("nodev", "/sys/kernel/tracing", "tracefs", 0, NULL) < 0)
		return err_errno(err, "cannot mount tracefs, which -e needs");
	return 0;
}

/* Read a whole file; NULL and errno on failure. */
static char *read_text(const char *path)
{
	FILE *file = fopen(path, "re");
	_cleanup_(freep) char *text = NULL;
	size_t room = 0;

	if (!file)
		return NULL;

	ssize_t n = getdelim(&text, &room, '\0', file);

	fclose(file);
	return n < 0 ? NULL : TAKE(text);
}

/* The size up to the end of the last field, plus room for dynamic data. */
static size_t data_size(const char *format)
{
	struct tracepoint t = { 0 };
	size_t end = 0, more = 0;

	tracepoint_init(&t, format, strlen(format), sizeof(long));
	for (size_t i = 0; i < t.fields.count; i++) {
		const struct tracepoint_field *f = &t.fields.items[i];

		if (end < (size_t)f->offset + f->size)
			end = (size_t)f->offset + f->size;
		if (f->location != TRACEPOINT_INLINE)
			more = DYNAMIC_ROOM;
	}
	tracepoint_done(&t);
	return end + more < WIRE_PROBE_DATA - 1 ? end + more : WIRE_PROBE_DATA - 1;
}

static bool is_name(const char *s, size_t len)
{
	return len > 0 && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-") >= len;
}

int probe_init(struct probe *probe, const char *event, struct err *err)
{
	const char *colon = strchr(event, ':');
	size_t category = colon ? (size_t)(colon - event) : 0;

	if (!colon || !is_name(event, category) || !is_name(colon + 1, strlen(colon + 1)))
		return err_set(err, -EINVAL, "bad tracepoint '%s' for -e: it must be category:name",
			       event);

	_cleanup_(freep) char *path = must_printf("%s/events/%.*s/%s/format", feature_tracefs(),
						  (int)category, event, colon + 1);
	char *format = read_text(path);

	if (!format && errno == ENOENT)
		return err_set(
			err, -ENOENT,
			"this kernel has no tracepoint '%s'; 'perf list tracepoint' lists them",
			event);
	if (!format)
		return err_errno(err, "cannot read '%s'", path);
	probe->category = must_printf("%.*s", (int)category, event);
	probe->name = must_strdup(colon + 1);
	probe->format = format;
	probe->size = data_size(format);
	return 0;
}

void probe_done(struct probe *probe)
{
	free(probe->category);
	free(probe->name);
	free(probe->format);
}
