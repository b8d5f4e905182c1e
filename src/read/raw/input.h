/* SPDX-License-Identifier: Apache-2.0 */
/* raw_input - a decoder of kernel events as an input: its events, replayed, are records. */
#ifndef SONDE_READ_RAW_INPUT_H
#define SONDE_READ_RAW_INPUT_H

#include "read/input_internal.h"
#include "read/raw/raw.h"

/* Takes the source. */
struct input *raw_input_new(const struct input_format *format, struct raw_source *source);

/* What such a format has as its next, string and free. */
int raw_input_next(struct input *input, const struct record **ret, struct err *err);
const char *raw_input_string(const struct input *input, uint32_t id);
void raw_input_free(struct input *input);

#endif
