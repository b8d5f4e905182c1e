/* SPDX-License-Identifier: Apache-2.0 */
/* perf_show - names and fields of the events of perf.data, for display. */
#include <inttypes.h>
#include <stdio.h>

#include "read/perf/event.h"

static const char *attr_name(struct perf_decoder *d, const struct perf_attr *attr)
{
	if (attr->format)
		return attr->format->full_name;
	if (attr->name && *attr->name)
		return attr->name;
	snprintf(d->name, sizeof(d->name), "%s %" PRIu64,
		 attr->type == PERF_TRACEPOINT ? "tracepoint" : "event", attr->config);
	return d->name;
}

const char *perf_type_name(struct perf_decoder *d, uint32_t type)
{
	if (type < PERF_OTHER_TYPES) {
		const struct kernel_format *format =
			d->file->has_formats ? kernel_formats_find(&d->file->formats, type) : NULL;

		return format ? format->full_name : "";
	}
	type -= PERF_OTHER_TYPES;
	return type < d->file->attrs.count ? attr_name(d, &d->file->attrs.items[type]) : "";
}

const char *perf_event_name(struct perf_decoder *d)
{
	switch (d->head.type) {
	case PERF_SAMPLE:
		return attr_name(d, d->attr);
	case PERF_COMM:
		return "perf:comm";
	case PERF_FORK:
		return "perf:fork";
	case PERF_EXIT:
		return "perf:exit";
	case PERF_SWITCH_CPU_WIDE:
		return "perf:switch";
	default:
		return "perf:lost";
	}
}

/* Records other than samples begin with numbers; in COMM, a name follows. */
void perf_event_fields(struct perf_decoder *d, const struct raw_visitor *v, void *arg)
{
	static const char *const of_comm[] = { "pid", "tid", NULL };
	static const char *const of_fork[] = { "pid", "ppid", "tid", "ptid", NULL };
	static const char *const of_switch[] = { "next_pid", "next_tid", NULL };
	const char *const *names = NULL;

	switch (d->head.type) {
	case PERF_SAMPLE:
		if (d->attr->format && d->data)
			kernel_format_visit(d->attr->format, d->data, d->size, v, arg);
		return;
	case PERF_COMM:
		names = of_comm;
		break;
	case PERF_FORK:
	case PERF_EXIT:
		names = of_fork;
		break;
	case PERF_SWITCH_CPU_WIDE:
		names = of_switch;
		break;
	default:
		v->unsigned_number(arg, "lost", perf_event_lost(d), 10);
		return;
	}
	for (size_t i = 0; names[i]; i++)
		v->number(arg, names[i], (int32_t)perf_event_word(d, i));
	if (d->head.type == PERF_COMM) {
		struct raw_text comm = perf_event_comm(d);

		v->text(arg, "comm", comm.s, comm.len);
	}
}
