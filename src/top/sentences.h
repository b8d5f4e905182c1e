/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sentences - causes in words, which outlive the requests that they are taken from.
 *
 * A sentence takes a whole account of an example.  So one is made only for the largest causes, and
 * again only after some seconds, as its threads or objects can have changed, or if a much longer
 * example is found.
 */
#ifndef SONDE_TOP_SENTENCES_H
#define SONDE_TOP_SENTENCES_H

#include "analyse/causes.h"

struct sentences {
	struct map index; /* key of a cause -> struct sentence */
	size_t budget;    /* sentences that may still be made in this second */
};

void sentences_done(struct sentences *sentences);

/* Makes the sentences of the largest causes of a sum, as far as they are missing or old. */
void sentences_add(struct sentences *sentences, const struct span_set *spans,
		   const struct cause_sum *causes, uint64_t second);

/* NULL if there is none. */
const char *sentences_find(const struct sentences *sentences, uint64_t key);

/* A new second; drops the sentences that were not made again for a minute. */
void sentences_advance(struct sentences *sentences, uint64_t second);

#endif
