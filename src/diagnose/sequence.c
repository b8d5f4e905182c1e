/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/sequence.h"

static void unfold(struct sequence *s)
{
	if (s->is_folded)
		folded_sequence_done(&s->folded);
	s->is_folded = false;
}

void sequence_done(struct sequence *s)
{
	unfold(s);
	vec_done(&s->letters);
	vec_done(&s->times);
}

static void fold(struct sequence *s)
{
	const struct folded_sequence *folded = &s->folded;
	letter_times times = { 0 };

	fold_sequence(s->letters.items, s->letters.count, &s->folded);
	s->is_folded = true;
	for (uint32_t i = 0; i < folded->length; i++)
		*vec_push(&times) = 0;
	for (size_t i = 0; i < s->times.count; i++)
		times.items[folded->positions[i]] += s->times.items[i];
	s->letters.count = 0;
	for (uint32_t i = 0; i < folded->length; i++)
		*vec_push(&s->letters) = folded->letters[i];
	vec_done(&s->times);
	s->times = times;
}

void sequence_of(const struct kept_span *sample, uint32_t interval, uint32_t longest,
		 struct sequence *ret)
{
	const struct own_interval *of = &sample->intervals[interval];

	unfold(ret);
	ret->letters.count = ret->times.count = 0;
	for (uint32_t i = 0; i < of->run_count; i++) {
		*vec_push(&ret->letters) = sample->runs[of->run + i].letter;
		*vec_push(&ret->times) = sample->runs[of->run + i].time;
	}
	if (ret->letters.count > longest)
		fold(ret);
}
