/* SPDX-License-Identifier: Apache-2.0 */
#include "read/ctf/bind.h"

#include <string.h>

const struct raw_field ctf_context_fields[CTF_CONTEXT_FIELDS] = {
	{ "tid vtid", offsetof(struct raw_event, tid), 4, RAW_NUMBER },
	{ "pid vpid", offsetof(struct raw_event, pid), 4, RAW_NUMBER },
	{ "procname", offsetof(struct raw_event, comm), sizeof(struct raw_text), RAW_TEXT },
	{ "cpu_id", offsetof(struct raw_event, cpu), 2, RAW_NUMBER },
};
const struct raw_field ctf_perf_fields[CTF_CONTEXT_FIELDS] = {
	{ "perf_tid", offsetof(struct raw_event, tid), 4, RAW_NUMBER },
	{ "perf_pid", offsetof(struct raw_event, pid), 4, RAW_NUMBER },
	{ "perf_comm", offsetof(struct raw_event, comm), sizeof(struct raw_text), RAW_TEXT },
	{ "perf_cpu", offsetof(struct raw_event, cpu), 2, RAW_NUMBER },
};

#define PACKET(name, member) { name, offsetof(struct ctf_packet, member), 8, RAW_NUMBER }
static const struct raw_field about_packet[] = {
	PACKET("magic", magic),
	PACKET("stream_id", stream),
	PACKET("stream_instance_id", instance),
	PACKET("timestamp_begin", begin),
	PACKET("timestamp_end", end),
	PACKET("content_size", content),
	PACKET("packet_size", size),
	PACKET("packet_seq_num", number),
	PACKET("events_discarded", discarded),
	PACKET("cpu_id", cpu),
};

static void add_want(ctf_wants *wants, const struct ctf_field *field, const struct raw_field *f)
{
	*vec_push(wants) = (struct ctf_want){ field, f->offset, f->size, f->type };
}

/*
 * Wants what is called path below a struct.  The option of a variant is no level
 * of its own, so there may be one in each of them.  Whether there is any.
 */
static bool want_path(const struct ctf_field *field, const char *path, size_t len,
		      const struct raw_field *f, ctf_wants *wants)
{
	bool is_variant = field->type->kind == CTF_VARIANT;
	const char *dot = memchr(path, '.', len);
	size_t first = dot ? (size_t)(dot - path) : len;
	bool found = false;

	for (size_t i = 0; i < field->child_count; i++) {
		const struct ctf_field *child = &field->children[i];

		if (is_variant) {
			found |= want_path(child, path, len, f, wants);
		} else if (field->type->kind == CTF_STRUCT && strlen(child->name) == first &&
			   memcmp(child->name, path, first) == 0) {
			if (!dot)
				add_want(wants, child, f);
			found |= !dot || want_path(child, dot + 1, len - first - 1, f, wants);
		}
	}
	return found;
}

/* The first of its names in a range of the group's structs; false if none is there. */
static bool want_field(const struct ctf_group *group, unsigned from, unsigned to,
		       const struct raw_field *f, ctf_wants *wants)
{
	for (const char *name = f->names; *name;) {
		size_t len = strcspn(name, " ");

		for (unsigned i = from; i < to; i++)
			if (group->roots[i] && want_path(group->roots[i], name, len, f, wants))
				return true;
		name += len;
		name += *name == ' ';
	}
	return false;
}

void ctf_bind_packet(const struct ctf_group *group, ctf_wants *wants, bool *ret_has_cpu)
{
	for (size_t i = 0; i < ARRAY_LEN(about_packet); i++) {
		bool found = want_field(group, 0, CTF_ROOTS, &about_packet[i], wants);

		if (about_packet[i].offset == offsetof(struct ctf_packet, cpu))
			*ret_has_cpu = found;
	}
}

/* perf writes the thread and the CPU beside an event's own fields. */
static void bind_thread(struct ctf_event *event, enum raw_dialect dialect, ctf_wants *wants)
{
	for (size_t i = 0; i < CTF_CONTEXT_FIELDS; i++) {
		const struct raw_field *f = &ctf_context_fields[i];
		bool found = want_field(&event->group, 0, 2, f, wants);

		if (dialect == RAW_KERNEL) {
			found |= want_field(&event->group, 0, 2, &ctf_perf_fields[i], wants);
			found |= want_field(&event->group, 2, 3, &ctf_perf_fields[i], wants);
		}
		if (f->offset == offsetof(struct raw_event, cpu))
			event->has_cpu = found;
	}
}

static void bind_head(const struct ctf_field *field, ctf_wants *wants, const char **ret_clock)
{
	bool is_number = ctf_is_number(field->type);

	if (is_number && strcmp(field->name ?: "", "id") == 0)
		*vec_push(wants) = (struct ctf_want){ field, offsetof(struct ctf_head, id), 8,
						      CTF_WANT_NUMBER };
	if (is_number && field->type->clock) {
		*vec_push(wants) = (struct ctf_want){ field, offsetof(struct ctf_head, clock), 8,
						      CTF_WANT_CLOCK };
		*ret_clock = field->type->clock;
	}
	if (field->type->kind == CTF_STRUCT || field->type->kind == CTF_VARIANT)
		for (size_t i = 0; i < field->child_count; i++)
			bind_head(&field->children[i], wants, ret_clock);
}

void ctf_bind_header(const struct ctf_group *group, ctf_wants *wants, const char **ret_clock)
{
	*ret_clock = NULL;
	for (unsigned i = 0; i < CTF_ROOTS; i++)
		if (group->roots[i])
			bind_head(group->roots[i], wants, ret_clock);
}

/* The first three numbers of a call are its arguments; lengths that the tracer added are none. */
static void want_arguments(const struct ctf_field *fields, ctf_wants *wants)
{
	unsigned count = 0;

	for (size_t i = 0; i < fields->child_count && count < 3; i++) {
		const struct ctf_field *child = &fields->children[i];

		if (!ctf_is_number(child->type) || strncmp(child->full_name, "__", 2) == 0)
			continue;
		*vec_push(wants) =
			(struct ctf_want){ child,
					   offsetof(struct raw_event, syscall.args) + 8 * count++,
					   8, CTF_WANT_NUMBER };
	}
}

void ctf_bind_event(struct ctf_event *event, enum raw_dialect dialect, ctf_wants *wants)
{
	int nr;
	const struct raw_layout *layout =
		raw_layout_find(dialect, event->name, strlen(event->name), &nr);

	event->blank = raw_event_empty(layout ? layout->kind : RAW_OTHER);
	bind_thread(event, dialect, wants);
	if (!layout)
		return;
	for (size_t i = 0; i < RAW_FIELDS && layout->fields[i].names; i++)
		want_field(&event->group, 2, 3, &layout->fields[i], wants);
	if (nr == SYSCALL_NONE)
		return;
	event->blank.syscall.nr = nr;
	if (layout->kind == RAW_SYSCALL_ENTER && event->group.roots[2])
		want_arguments(event->group.roots[2], wants);
}

static bool has_clock(const struct ctf_field *field)
{
	if (ctf_is_number(field->type))
		return field->type->clock;
	for (size_t i = 0; i < field->child_count; i++)
		if (has_clock(&field->children[i]))
			return true;
	return false;
}

bool ctf_has_clock(const struct ctf_group *group)
{
	for (unsigned i = 0; i < CTF_ROOTS; i++)
		if (group->roots[i] && has_clock(group->roots[i]))
			return true;
	return false;
}
