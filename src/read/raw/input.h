/* SPDX-License-Identifier: Apache-2.0 */
/* raw_input - an input that replays the events of a decoder as records. */
#ifndef SONDE_READ_RAW_INPUT_H
#define SONDE_READ_RAW_INPUT_H

#include "read/input_internal.h"
#include "read/raw/raw.h"

/* Takes ownership of the source. */
struct input *raw_input_new(const struct input_format *format, struct raw_source *source);

/* The methods of a struct input_format whose inputs come from raw_input_new(). */
int raw_input_next(struct input *input, const struct record **ret, struct err *err);
const char *raw_input_string(const struct input *input, uint32_t id);
void raw_input_free(struct input *input);

#endif
