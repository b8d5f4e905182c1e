/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/sequence.h"

#include "analyse/fold.h"

void sequence_done(struct sequence *s)
{
	vec_done(&s->letters);
	vec_done(&s->times);
}

static void fold(struct sequence *s)
{
	struct folded_sequence folded;
	letter_times times = { 0 };

	fold_sequence(s->letters.items, s->letters.count, &folded);
	for (uint32_t i = 0; i < folded.length; i++)
		*vec_push(&times) = 0;
	for (size_t i = 0; i < s->times.count; i++)
		times.items[folded.positions[i]] += s->times.items[i];
	s->letters.count = 0;
	for (uint32_t i = 0; i < folded.length; i++)
		*vec_push(&s->letters) = folded.letters[i];
	vec_done(&s->times);
	s->times = times;
	folded_sequence_done(&folded);
}

void sequence_of(const struct kept_span *sample, uint32_t interval, uint32_t longest,
		 struct sequence *ret)
{
	const struct own_interval *of = &sample->intervals[interval];

	ret->letters.count = ret->times.count = 0;
	for (uint32_t i = 0; i < of->run_count; i++) {
		*vec_push(&ret->letters) = sample->runs[of->run + i].letter;
		*vec_push(&ret->times) = sample->runs[of->run + i].time;
	}
	if (ret->letters.count > longest)
		fold(ret);
}
