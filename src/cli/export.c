/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/export.h"

#include "cli/say.h"
#include "report/lost.h"

int exported_open(struct exported *e, struct err *err)
{
	if (e->paths[1])
		return merge_open(e->paths, e->format, &e->merge, err);
	e->one.path = e->paths[0];
	e->one.format = e->format;
	return input_stream_open(&e->one, err);
}

void exported_done(struct exported *e)
{
	input_stream_done(&e->one);
	merge_free(e->merge);
}

static int next_of(struct exported *e, const struct record **ret, const struct source **ret_source,
		   struct err *err)
{
	int r = e->merge || e->one.input ? 0 : exported_open(e, err);

	if (r < 0)
		return r;
	if (e->merge)
		return merge_next(e->merge, ret, ret_source, err);

	struct record_stream one = input_stream_records(&e->one);

	return stream_next(&one, ret, ret_source, err);
}

static int next(void *arg, const struct record **ret, const struct source **ret_source,
		struct err *err)
{
	struct exported *e = arg;
	int r = next_of(e, ret, ret_source, err);

	if (r > 0 && (*ret)->kind == RECORD_LOSS) {
		e->lost.records += ((const struct record_loss *)(const void *)*ret)->count;
		e->lost.losses++;
	}
	return r;
}

struct record_stream exported_records(struct exported *e)
{
	return (struct record_stream){ next, e };
}

size_t exported_host_count(const struct exported *e)
{
	return e->merge ? merge_host_count(e->merge) : 1;
}

const char *exported_host(const struct exported *e, size_t host)
{
	const struct input_host *one = e->merge ? NULL : input_host(e->one.input);

	if (e->merge)
		return merge_host_name(e->merge, host);
	return one ? one->name : "";
}

int64_t exported_realtime(const struct exported *e)
{
	return e->merge ? merge_realtime_offset(e->merge) : input_realtime_offset(e->one.input);
}

void exported_tell(const struct exported *e)
{
	if (e->merge)
		for (size_t i = 0; merge_warning(e->merge, i); i++)
			say("%s", merge_warning(e->merge, i));
	else if (input_warning(e->one.input))
		say("%s", input_warning(e->one.input));
	if (e->lost.losses)
		say("%s: what is exported can be incomplete", format_lost(e->lost).s);
}
