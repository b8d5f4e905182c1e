/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash - keyed hashes, for tables of which others choose the keys.
 *
 * A process that is recorded and the author of a trace choose names, ids and
 * numbers.  With a hash that they know, they could choose keys that all fall into
 * one place of a table and make each look-up linear, or two ids that look like
 * one.  So each process has a random key.
 *
 * Bytes are hashed by SipHash-1-3 (Aumasson and Bernstein, 2012), as the tables of
 * Rust and Python use it.  Numbers are hashed by simple tabulation, which takes
 * less than half as many instructions; with random tables it is proven to keep
 * linear probing at constant time for any set of keys (Patrascu and Thorup, 2011).
 *
 * A value differs from run to run.  It must not be written, and no result may
 * depend on the order of values.
 */
#ifndef SONDE_BASE_HASH_H
#define SONDE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *data, size_t size);

/* Random numbers for each byte of a number; filled before main() begins. */
extern uint64_t hash_tables[8][256];

static inline uint64_t hash_number(uint64_t number)
{
	uint64_t hash = 0;

#pragma GCC unroll 8
	for (int i = 0; i < 8; i++)
		hash ^= hash_tables[i][(uint8_t)(number >> 8 * i)];
	return hash;
}

/*
 * A key for a number together with another one, such as that of its host.  Pairs that differ have
 * different keys, except with a probability of 2^-64 that no input can raise.
 */
static inline uint64_t hash_pair(uint64_t number, uint32_t other)
{
	return hash_number(number) + other;
}

#endif
