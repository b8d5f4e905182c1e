/* SPDX-License-Identifier: Apache-2.0 */
#include "read/raw/input.h"

#include <inttypes.h>

#include "read/replay/replay.h"

struct raw_input {
	struct input input;
	struct replay *replay;
	bool ended;
};

struct input *raw_input_new(const struct input_format *format, struct raw_source *source)
{
	struct raw_input *in = must_alloc(sizeof(*in));

	in->replay = replay_new(source);
	in->input.format = format;
	in->input.raw = source;
	in->input.host.name = source->host ?: "";
	in->input.realtime_offset = source->realtime_offset;
	in->input.has_realtime = source->has_realtime;
	in->input.is_monotonic = source->is_monotonic;
	if (source->has_realtime && source->is_monotonic)
		in->input.host.boot = source->realtime_offset;
	in->input.warning = TAKE(source->warning);
	return &in->input;
}

/* Appends a sentence, if it is not NULL, and frees it. */
static void add_warning(struct raw_input *in, char *sentence)
{
	_cleanup_(freep) char *before = in->input.warning, *more = sentence;

	in->input.warning = before && more ? must_printf("%s; %s", before, more)
			    : before       ? TAKE(before)
					   : TAKE(more);
}

/* Adds the warnings that are known after the last event. */
static void report_missing(struct raw_input *in)
{
	_cleanup_(freep) char *missing = replay_missing(in->replay);

	add_warning(in, TAKE(in->input.raw->warning));
	if (missing)
		add_warning(in, must_printf("'%s' %s", in->input.path ?: "the trace", missing));
}

int raw_input_next(struct input *input, const struct record **ret, struct err *err)
{
	struct raw_input *in = (struct raw_input *)input;
	struct raw_event event;
	int r;

	while (!(*ret = replay_take(in->replay))) {
		if (in->ended)
			return 0;
		r = input->raw->next(input->raw, &event, err);
		if (r < 0)
			return r;
		if (r > 0) {
			input->events += raw_is_event(event.kind);
			replay_event(in->replay, &event);
			continue;
		}
		in->ended = true;
		replay_end(in->replay);
		report_missing(in);
	}
	return 1;
}

const char *raw_input_string(const struct input *input, uint32_t id)
{
	return replay_string(((const struct raw_input *)input)->replay, id);
}

void raw_input_free(struct input *input)
{
	struct raw_input *in = (struct raw_input *)input;

	replay_free(in->replay);
	input->raw->free(input->raw);
	free(in);
}
