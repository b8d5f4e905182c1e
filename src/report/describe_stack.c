/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks, innermost function first.  Text has the names, "a < b < c", or the offset in the
 * module for a frame without a name.  Inlined functions have no frame of their own: they
 * belong to the frame they were inlined into.
 */
#include "report/describe.h"

static void describe_symbol(const struct describer *d, const char *lead,
			    const struct record_symbol *r)
{
	struct fields *f = d->fields;
	const char *source = source_string(d->source, r->source);

	field_str(f, "symbol", lead, source_string(d->source, r->name));
	if (*source)
		field_str(f, "source", NULL, source);
	if (r->line)
		field_u64(f, "line", NULL, r->line);
}

/* `module+0x1f`, or only an address */
static void describe_address(const struct describer *d, const char *lead,
			     const struct record_frame *r)
{
	struct fields *f = d->fields;
	const char *module = source_string(d->source, r->module);

	field_hex(f, "address", r->offset ? NULL : lead, r->address);
	if (*module)
		field_str(f, "module", r->offset ? lead : NULL, module);
	if (r->offset)
		field_hex(f, "offset", lead ? "+" : NULL, r->offset);
}

static void describe_frame(const struct describer *d, const char *lead, uint32_t number)
{
	struct fields *f = d->fields;
	struct stack_frame frame = stack_table_frame(d->stacks, d->source, number);
	const struct frame_symbol *symbol = frame.symbol;

	field_object(f, FIELD_ITEM);
	if (frame.record)
		describe_address(d, symbol ? NULL : lead, frame.record);
	if (symbol) {
		describe_symbol(d, lead, symbol->record);
		if (symbol->caller)
			field_list(f, "inlined");
		for (const struct frame_symbol *s = symbol->caller; s; s = s->caller) {
			field_object(f, FIELD_ITEM);
			describe_symbol(d, " < ", s->record);
			field_end(f);
		}
		if (symbol->caller)
			field_end(f);
	}
	field_end(f);
}

static void describe_frames(const struct describer *d, const char *key, const uint32_t *frames,
			    size_t count)
{
	field_list(d->fields, key);
	for (size_t i = 0; i < count; i++)
		describe_frame(d, i ? " < " : "", frames[i]);
	field_end(d->fields);
}

void describe_stack(const struct describer *d, const struct record_stack *r)
{
	struct fields *f = d->fields;

	field_u64(f, "stack", "  ", r->stack);
	field_words(f, r->kernel_count ? "  " : "");
	describe_frames(d, "kernel_frames", r->frames, r->kernel_count);
	field_words(f, !r->user_count ? "" : r->kernel_count ? " < " : "  ");
	describe_frames(d, "user_frames", r->frames + r->kernel_count, r->user_count);
}
