/* SPDX-License-Identifier: Apache-2.0 */
/* ctx - the interface between ctx_publish.c and the variable in ctx_var.c. */
#ifndef SONDE_TESTS_CTX_H
#define SONDE_TESTS_CTX_H

#include <stdint.h>

struct ctx_record {
	uint8_t trace[16];
	uint8_t span[8];
	uint8_t valid;
	uint8_t flags;
	uint16_t attributes_size;
};

/* Publish this context for the current thread; NULL for none. */
void ctx_set(const struct ctx_record *record);

#endif
