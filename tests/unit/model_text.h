/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_text - everything that a model holds of a period, as text, to compare two models.
 *
 * The text has names and times, but no numbers of threads, spans, refs or strings, which differ
 * between a window and the whole.  What began before the period is clipped to it.
 */
#ifndef SONDE_TESTS_MODEL_TEXT_H
#define SONDE_TESTS_MODEL_TEXT_H

#include "model/model.h"

/* The caller frees it. */
char *model_text(const struct model *model, nsec_t from, nsec_t to);

#endif
