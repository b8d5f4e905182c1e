/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stream.h"

static const char *get_string(const void *arg, uint32_t id)
{
	return input_string(arg, id);
}

int input_stream_open(struct input_stream *s, struct err *err)
{
	int r = input_open(s->path, s->format, &s->input, err);

	if (r == 0)
		s->source = (struct source){ .get_string = get_string, .arg = s->input };
	return r;
}

void input_stream_done(struct input_stream *s)
{
	input_free(s->input);
}

static int next(void *arg, const struct record **ret, const struct source **ret_source,
		struct err *err)
{
	struct input_stream *s = arg;
	int r = s->input ? 0 : input_stream_open(s, err);

	if (r < 0)
		return r;
	*ret_source = &s->source;
	return input_next(s->input, ret, err);
}

struct record_stream input_stream_records(struct input_stream *s)
{
	return (struct record_stream){ next, s };
}
