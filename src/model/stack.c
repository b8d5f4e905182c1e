/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks, frames and probe types: what has a number of its capture.
 *
 * A model can contain several captures, which use the same numbers for different objects.  So each
 * gets a number of the model when it first appears, which can be before the record that describes
 * it.
 *
 * In a sliding window, a number is dropped once its last use and description are in an epoch that
 * the window no longer needs (epoch.c), and reused for another object.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/model_internal.h"

static uint32_t new_number(struct numbers *numbers)
{
	if (numbers->unused.count)
		return numbers->unused.items[--numbers->unused.count];
	if (!numbers->stamps.count)
		*vec_push(&numbers->stamps) = (struct described){ 0 };
	vec_push(&numbers->stamps);
	return numbers->stamps.count - 1;
}

uint32_t model_own_number(struct model *model, struct numbers *numbers, const struct source *source,
			  uint32_t number)
{
	uint64_t *at;

	if (!number)
		return 0;
	at = map_insert(&numbers->own, (uint64_t)source->input << 32 | number);
	if (!*at)
		*at = new_number(numbers);
	numbers->stamps.items[*at] = model_described(model, source);
	return *at;
}

size_t model_numbers_memory(const struct numbers *numbers)
{
	return numbers->own.room * sizeof(struct map_slot) +
	       numbers->stamps.room * sizeof(struct described) +
	       numbers->unused.room * sizeof(uint32_t);
}

void model_numbers_done(struct numbers *numbers)
{
	map_done(&numbers->own);
	vec_done(&numbers->stamps);
	vec_done(&numbers->unused);
}

/* Extends a list by number up to a number, and returns its item. */
#define numbered(list, number) \
	({ \
		while ((list)->count <= (number)) \
			memset(vec_push(list), 0, sizeof((list)->items[0])); \
		&(list)->items[number]; \
	})

void model_add_stack(struct model *model, const struct source *source, const struct record_stack *r)
{
	uint32_t number = model_own_number(model, &model->stack_numbers, source, r->stack);
	size_t count = (size_t)r->kernel_count + r->user_count;

	if (!number)
		return;
	*numbered(&model->stacks, number) = model->stack_frames.count + 1;
	*vec_push(&model->stack_frames) = count;
	*vec_push(&model->stack_frames) = r->kernel_count;
	for (size_t i = 0; i < count; i++)
		*vec_push(&model->stack_frames) =
			model_own_number(model, &model->frame_numbers, source, r->frames[i]);
}

static struct frame *frame_of(struct model *model, const struct source *source, uint32_t number)
{
	return numbered(&model->frames,
			model_own_number(model, &model->frame_numbers, source, number));
}

void model_add_frame(struct model *model, const struct source *source, const struct record_frame *r)
{
	struct frame *frame = frame_of(model, source, r->frame);

	frame->address = r->address;
	frame->offset = r->offset;
	frame->module = model_add_string(model, source, r->module);
}

/* With inlined functions, the outermost symbol comes last and stays: it is the one called. */
void model_add_symbol(struct model *model, const struct source *source,
		      const struct record_symbol *r)
{
	struct frame *frame = frame_of(model, source, r->frame);

	frame->symbol = model_add_string(model, source, r->name);
	frame->source = model_add_string(model, source, r->source);
	frame->line = r->line;
}

void model_add_probe_type(struct model *model, const struct source *source,
			  const struct record_probe_type *r)
{
	uint32_t number = model_own_number(model, &model->probe_numbers, source, r->type);

	if (number)
		*numbered(&model->probe_names, number) = model_add_string(model, source, r->name);
}

static size_t number_count(const struct numbers *numbers)
{
	return numbers->stamps.count ?: 1;
}

size_t model_stack_count(const struct model *model)
{
	return number_count(&model->stack_numbers);
}

size_t model_probe_type_count(const struct model *model)
{
	return number_count(&model->probe_numbers);
}

const char *model_probe_name(const struct model *model, uint32_t type)
{
	bool is_named = type < model->probe_names.count && model->probe_names.items[type].i;

	return is_named ? strtab_get(model->strings, model->probe_names.items[type]) : NULL;
}

struct stack model_stack(const struct model *model, uint32_t stack)
{
	size_t at = stack < model->stacks.count ? model->stacks.items[stack] : 0;

	if (!at)
		return (struct stack){ 0 };

	const uint32_t *words = &model->stack_frames.items[at - 1];

	return (struct stack){ words + 2, words[0], words[1] };
}

struct frame model_frame(const struct model *model, uint32_t frame)
{
	return frame < model->frames.count ? model->frames.items[frame] : (struct frame){ 0 };
}

const char *model_stack_function(const struct model *model, uint32_t number)
{
	struct stack stack = model_stack(model, number);

	for (size_t i = stack.kernel_count; i < stack.count; i++) {
		struct frame frame = model_frame(model, stack.frames[i]);
		const char *module = model_string(model, frame.module);

		if (frame.symbol.i && !strstr(module, "/libc.so") && !strstr(module, "/libpthread"))
			return model_string(model, frame.symbol);
	}
	return NULL;
}

struct number_sweep {
	struct model *model;
	struct numbers *numbers;
};

static bool number_stays(void *arg, uint64_t key, uint64_t *value)
{
	struct number_sweep *s = arg;

	if (model_is_needed(s->model, s->numbers->stamps.items[*value]))
		return true;
	*vec_push(&s->numbers->unused) = *value;
	s->numbers->stamps.items[*value].epoch = UINT32_MAX; /* not in use */
	return false;
}

/* Drops the numbers at the end that are not in use, so that lists by number can shrink. */
static void shrink_numbers(struct numbers *numbers)
{
	size_t kept = 0;

	while (numbers->stamps.count > 1 &&
	       numbers->stamps.items[numbers->stamps.count - 1].epoch == UINT32_MAX)
		numbers->stamps.count--;
	for (size_t i = 0; i < numbers->unused.count; i++)
		if (numbers->unused.items[i] < numbers->stamps.count)
			numbers->unused.items[kept++] = numbers->unused.items[i];
	numbers->unused.count = kept;
	vec_shrink(&numbers->stamps);
	vec_shrink(&numbers->unused);
}

static void sweep_numbers(struct model *model, struct numbers *numbers)
{
	struct number_sweep s = { model, numbers };

	map_sweep(&numbers->own, number_stays, &s);
	shrink_numbers(numbers);
}

/* Clears the items of unused numbers in a list by number. */
#define clear_unused(list, numbers) \
	do { \
		if ((list)->count > (numbers)->stamps.count) \
			(list)->count = (numbers)->stamps.count; \
		for (size_t i_ = 0; i_ < (numbers)->unused.count; i_++) \
			if ((numbers)->unused.items[i_] < (list)->count) \
				memset(&(list)->items[(numbers)->unused.items[i_]], 0, \
				       sizeof((list)->items[0])); \
		vec_shrink(list); \
	} while (0)

/* Moves the frames of the remaining stacks together. */
static void pack_stacks(struct model *model)
{
	VEC(uint32_t) packed = { 0 };

	for (size_t i = 0; i < model->stacks.count; i++) {
		const uint32_t *from;
		size_t at = model->stacks.items[i];

		if (!at)
			continue;
		from = &model->stack_frames.items[at - 1];
		model->stacks.items[i] = packed.count + 1;
		for (size_t k = 0; k < 2 + (size_t)from[0]; k++)
			*vec_push(&packed) = from[k];
	}
	vec_done(&model->stack_frames);
	model->stack_frames.items = packed.items;
	model->stack_frames.count = packed.count;
	model->stack_frames.room = packed.room;
}

void model_sweep_stacks(struct model *model)
{
	sweep_numbers(model, &model->stack_numbers);
	sweep_numbers(model, &model->frame_numbers);
	sweep_numbers(model, &model->probe_numbers);
	clear_unused(&model->stacks, &model->stack_numbers);
	clear_unused(&model->frames, &model->frame_numbers);
	clear_unused(&model->probe_names, &model->probe_numbers);
	pack_stacks(model);
}

static void put_frame(FILE *file, const struct model *model, uint32_t number)
{
	struct frame frame = model_frame(model, number);
	const char *module = model_string(model, frame.module);

	if (frame.symbol.i)
		fputs(model_string(model, frame.symbol), file);
	else if (*module)
		fprintf(file, "%s+0x%" PRIx64, module, frame.offset ?: frame.address);
	else
		fprintf(file, "0x%" PRIx64, frame.address);
}

char *model_stack_text(const struct model *model, uint32_t number, const char *separator,
		       bool innermost_first)
{
	struct stack stack = model_stack(model, number);
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	for (size_t i = 0; i < stack.count; i++) {
		fputs(i ? separator : "", file);
		put_frame(file, model, stack.frames[innermost_first ? i : stack.count - 1 - i]);
	}
	fclose(file);
	return text;
}
