/* SPDX-License-Identifier: Apache-2.0 */
#include "read/text/source.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static const char *get_name(struct raw_source *source)
{
	const struct text_source *t = (const struct text_source *)source;

	return t->type && !t->is_held ? t->type->name : "lost";
}

static const char *get_type_name(struct raw_source *source, uint32_t type)
{
	return text_types_name(&((const struct text_source *)source)->types, type);
}

static const void *get_data(struct raw_source *source, size_t *ret_size)
{
	const struct text_source *t = (const struct text_source *)source;

	*ret_size = t->text.len;
	return t->text.s;
}

void text_source_init(struct text_source *t)
{
	t->source.name = get_name;
	t->source.type_name = get_type_name;
	t->source.data = get_data;
	t->source.free = text_source_free;
	for (size_t i = 0; i < RAW_KIND_COUNT; i++)
		t->empty[i] = raw_event_empty(i);
}

static struct text_cpu *get_cpu(struct text_source *t, uint16_t cpu)
{
	while (t->cpus.count <= cpu)
		*vec_push(&t->cpus) = (struct text_cpu){ 0 };
	return &t->cpus.items[cpu];
}

void text_source_lost(struct text_source *t, uint16_t cpu, uint64_t count)
{
	struct text_cpu *c = get_cpu(t, cpu);

	if (__builtin_add_overflow(c->lost, count, &c->lost))
		c->lost = UINT64_MAX;
}

void text_source_emit(struct text_source *t, const struct raw_event *e, struct raw_event *ret)
{
	struct text_cpu *cpu = get_cpu(t, e->cpu);

	*ret = *e;
	if (cpu->lost) {
		t->held = *e;
		t->is_held = true;
		*ret = t->empty[RAW_LOST];
		ret->time = e->time;
		ret->cpu = e->cpu;
		ret->lost.start = cpu->last ?: e->time;
		ret->lost.count = cpu->lost;
		cpu->lost = 0;
	}
	cpu->last = e->time;
}

bool text_source_next_held(struct text_source *t, struct raw_event *ret)
{
	if (!t->is_held)
		return false;
	*ret = t->held;
	t->is_held = false;
	return true;
}

void text_source_set_kinds(struct text_source *t, uint32_t kinds)
{
	t->source.kinds = kinds;
	t->source.has_kinds = true;
}

void text_source_warning(struct text_source *t, const char *fmt, ...)
{
	_cleanup_(freep) char *before = t->source.warning;
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	t->source.warning = must_printf("%s%s%s", before ?: "", before ? "; " : "", text);
}

void text_source_warn_unknown(struct text_source *t, const char *name)
{
	const struct text_lines *lines = &t->lines;

	if (lines->unknown)
		text_source_warning(t,
				    "'%s': skipped %" PRIu64 " of %" PRIu64 " lines: line %" PRIu64
				    " is not an event",
				    name, lines->unknown, lines->unknown + lines->events,
				    lines->first_unknown);
}

void text_source_free(struct raw_source *source)
{
	struct text_source *t = (struct text_source *)source;

	text_lines_done(&t->lines);
	text_types_done(&t->types);
	vec_done(&t->cpus);
	free(t->source.warning);
	free(t);
}
