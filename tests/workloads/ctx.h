/* SPDX-License-Identifier: Apache-2.0 */
/* ctx - between those who publish a context and those who say which. */
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

/* The thread works for this from now on; NULL for nothing. */
void ctx_set(const struct ctx_record *record);

#endif
