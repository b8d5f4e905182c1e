/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Epochs: which descriptions the window still needs.
 *
 * A record of epoch k refers to descriptions of the epochs k and k - 1 only (event/event.h).  If
 * epoch k began before the window, all records in the window are of epoch k or later.  So
 * descriptions from before epoch k - 1 are not needed; except that descriptions refer to each
 * other by the same rule, a stack of epoch k - 1 to a frame of epoch k - 2, which is kept as well.
 *
 * An epoch begins with its EPOCH record in the stream, whatever the time of that record: its start
 * is the time of the last record before it.
 */
#include "model/model_internal.h"

static struct input_epochs *epochs_of(struct model *model, uint16_t input)
{
	while (model->epochs.count <= input)
		*vec_push(&model->epochs) = (struct input_epochs){ 0 };
	return &model->epochs.items[input];
}

static uint32_t current_epoch(const struct model *model, uint16_t input)
{
	return input < model->epochs.count ? model->epochs.items[input].number : 0;
}

void model_add_epoch(struct model *model, const struct source *source)
{
	struct input_epochs *epochs = epochs_of(model, source->input);

	epochs->number++;
	*vec_push(&epochs->starts) = model->end;
}

void model_end_input(struct model *model, uint16_t input)
{
	struct input_epochs *epochs = epochs_of(model, input);

	epochs->has_ended = true;
	epochs->end = model->end;
}

struct described model_described(const struct model *model, const struct source *source)
{
	return (struct described){ current_epoch(model, source->input), source->input };
}

bool model_is_needed(const struct model *model, struct described described)
{
	return described.input >= model->epochs.count ||
	       described.epoch >= model->epochs.items[described.input].oldest;
}

bool model_is_thread_over(const struct model *model, const struct thread *thread, nsec_t t)
{
	if (thread->exited || thread->replaced)
		return true;
	if (thread->input >= model->epochs.count)
		return false;

	const struct input_epochs *epochs = &model->epochs.items[thread->input];

	return (epochs->has_ended && epochs->end < t) || thread->epoch + 1 < epochs->number;
}

void model_forget_epochs(struct model *model, nsec_t t)
{
	for (size_t i = 0; i < model->epochs.count; i++) {
		struct input_epochs *epochs = &model->epochs.items[i];
		size_t old = 0;

		while (old < epochs->starts.count && epochs->starts.items[old] < t)
			old++;
		vec_drop_first(&epochs->starts, old);

		uint32_t first = epochs->number - epochs->starts.count; /* in the window */

		epochs->oldest = first > 2 ? first - 2 : 0;
		if (epochs->has_ended && epochs->end < t)
			epochs->oldest = UINT32_MAX;
	}
}
