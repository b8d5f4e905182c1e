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
static const struct raw_field packet_members[] = {
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

static void add_selection(ctf_selections *selections, const struct ctf_field *field,
			  const struct raw_field *f)
{
	*vec_push(selections) = (struct ctf_selection){ field, f->offset, f->size, f->type };
}

/*
 * Selects the fields that a path names, and returns whether there are any.  The
 * options of a variant are not a level of the path, so each option can contain one.
 */
static bool select_path(const struct ctf_field *field, const char *path, size_t len,
			const struct raw_field *f, ctf_selections *selections)
{
	bool is_variant = field->type->kind == CTF_VARIANT;
	const char *dot = memchr(path, '.', len);
	size_t first = dot ? (size_t)(dot - path) : len;
	bool found = false;

	for (size_t i = 0; i < field->child_count; i++) {
		const struct ctf_field *child = &field->children[i];

		if (is_variant) {
			found |= select_path(child, path, len, f, selections);
		} else if (field->type->kind == CTF_STRUCT && strlen(child->name) == first &&
			   memcmp(child->name, path, first) == 0) {
			if (!dot)
				add_selection(selections, child, f);
			found |=
				!dot || select_path(child, dot + 1, len - first - 1, f, selections);
		}
	}
	return found;
}

/* Selects the first of the names in f that a range of the group's structs contains. */
static bool select_field(const struct ctf_group *group, unsigned from, unsigned to,
			 const struct raw_field *f, ctf_selections *selections)
{
	for (const char *name = f->names; *name;) {
		size_t len = strcspn(name, " ");

		for (unsigned i = from; i < to; i++)
			if (group->roots[i] &&
			    select_path(group->roots[i], name, len, f, selections))
				return true;
		name += len;
		name += *name == ' ';
	}
	return false;
}

void ctf_bind_packet(const struct ctf_group *group, ctf_selections *selections, bool *ret_has_cpu)
{
	for (size_t i = 0; i < ARRAY_LEN(packet_members); i++) {
		bool found = select_field(group, 0, CTF_ROOTS, &packet_members[i], selections);

		if (packet_members[i].offset == offsetof(struct ctf_packet, cpu))
			*ret_has_cpu = found;
	}
}

/* In traces that perf converted, thread and CPU are fields of the payload. */
static void select_thread(struct ctf_event *event, enum raw_dialect dialect,
			  ctf_selections *selections)
{
	for (size_t i = 0; i < CTF_CONTEXT_FIELDS; i++) {
		const struct raw_field *f = &ctf_context_fields[i];
		bool found = select_field(&event->group, 0, 2, f, selections);

		if (dialect == RAW_KERNEL) {
			found |= select_field(&event->group, 0, 2, &ctf_perf_fields[i], selections);
			found |= select_field(&event->group, 2, 3, &ctf_perf_fields[i], selections);
		}
		if (f->offset == offsetof(struct raw_event, cpu))
			event->has_cpu = found;
	}
}

static void select_header(const struct ctf_field *field, ctf_selections *selections,
			  const char **ret_clock)
{
	bool is_number = ctf_is_number(field->type);

	if (is_number && strcmp(field->name ?: "", "id") == 0)
		*vec_push(selections) =
			(struct ctf_selection){ field, offsetof(struct ctf_event_header, id), 8,
						CTF_SELECT_NUMBER };
	if (is_number && field->type->clock) {
		*vec_push(selections) =
			(struct ctf_selection){ field, offsetof(struct ctf_event_header, clock), 8,
						CTF_SELECT_CLOCK };
		*ret_clock = field->type->clock;
	}
	if (field->type->kind == CTF_STRUCT || field->type->kind == CTF_VARIANT)
		for (size_t i = 0; i < field->child_count; i++)
			select_header(&field->children[i], selections, ret_clock);
}

void ctf_bind_header(const struct ctf_group *group, ctf_selections *selections,
		     const char **ret_clock)
{
	*ret_clock = NULL;
	for (unsigned i = 0; i < CTF_ROOTS; i++)
		if (group->roots[i])
			select_header(group->roots[i], selections, ret_clock);
}

/* The arguments of a system call are its first three numbers, except lengths added by the tracer.
 */
static void select_arguments(const struct ctf_field *fields, ctf_selections *selections)
{
	unsigned count = 0;

	for (size_t i = 0; i < fields->child_count && count < 3; i++) {
		const struct ctf_field *child = &fields->children[i];

		if (!ctf_is_number(child->type) || strncmp(child->full_name, "__", 2) == 0)
			continue;
		*vec_push(selections) = (struct ctf_selection){
			child, offsetof(struct raw_event, syscall.args) + 8 * count++, 8,
			CTF_SELECT_NUMBER
		};
	}
}

void ctf_bind_event(struct ctf_event *event, enum raw_dialect dialect, ctf_selections *selections)
{
	int nr;
	const struct raw_layout *layout =
		raw_layout_find(dialect, event->name, strlen(event->name), &nr);

	event->blank = raw_event_empty(layout ? layout->kind : RAW_OTHER);
	select_thread(event, dialect, selections);
	if (!layout)
		return;
	for (size_t i = 0; i < RAW_FIELDS && layout->fields[i].names; i++)
		select_field(&event->group, 2, 3, &layout->fields[i], selections);
	if (nr == SYSCALL_NONE)
		return;
	event->blank.syscall.nr = nr;
	if (layout->kind == RAW_SYSCALL_ENTER && event->group.roots[2])
		select_arguments(event->group.roots[2], selections);
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

bool ctf_group_has_clock(const struct ctf_group *group)
{
	for (unsigned i = 0; i < CTF_ROOTS; i++)
		if (group->roots[i] && has_clock(group->roots[i]))
			return true;
	return false;
}
