/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/export.h"

#include "cli/log.h"
#include "report/lost.h"

int export_input_open(struct export_input *e, struct err *err)
{
	if (e->paths[1])
		return merge_open(e->paths, e->format, &e->merge, err);
	e->one.path = e->paths[0];
	e->one.format = e->format;
	return input_stream_open(&e->one, err);
}

void export_input_done(struct export_input *e)
{
	input_stream_done(&e->one);
	merge_free(e->merge);
}

static int read_next(struct export_input *e, const struct record **ret,
		     const struct source **ret_source, struct err *err)
{
	int r = e->merge || e->one.input ? 0 : export_input_open(e, err);

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
	struct export_input *e = arg;
	int r = read_next(e, ret, ret_source, err);

	if (r > 0 && (*ret)->kind == RECORD_LOSS) {
		e->lost.records += ((const struct record_loss *)(const void *)*ret)->count;
		e->lost.losses++;
	}
	return r;
}

struct record_stream export_input_records(struct export_input *e)
{
	return (struct record_stream){ next, e };
}

size_t export_input_host_count(const struct export_input *e)
{
	return e->merge ? merge_host_count(e->merge) : 1;
}

const char *export_input_host(const struct export_input *e, size_t host)
{
	const struct input_host *one = e->merge ? NULL : input_host(e->one.input);

	if (e->merge)
		return merge_host_name(e->merge, host);
	return one ? one->name : "";
}

int64_t export_input_realtime(const struct export_input *e)
{
	return e->merge ? merge_realtime_offset(e->merge) : input_realtime_offset(e->one.input);
}

void export_input_warn(const struct export_input *e)
{
	if (e->merge)
		for (size_t i = 0; merge_warning(e->merge, i); i++)
			log_message("%s", merge_warning(e->merge, i));
	else if (input_warning(e->one.input))
		log_message("%s", input_warning(e->one.input));
	if (e->lost.losses)
		log_message("%s: the export can be incomplete", format_lost(e->lost).s);
}
