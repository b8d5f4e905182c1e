/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash - keyed hashes, for tables with untrusted keys.
 *
 * Recorded processes and the authors of traces choose names, ids and numbers.
 * If they could predict the hash, they could choose keys that collide and make
 * each lookup linear.  So each run of sonde hashes with a random key.
 *
 * Bytes are hashed with SipHash-1-3 (Aumasson and Bernstein, 2012), as in the hash
 * tables of Rust and Python.  Numbers are hashed with simple tabulation, which takes
 * less than half as many instructions; with random tables, linear probing takes
 * constant expected time for any set of keys (Patrascu and Thorup, 2011).
 *
 * Hashes differ from run to run.  Do not write them to files, and do not let a
 * result depend on their order.
 */
#ifndef SONDE_BASE_HASH_H
#define SONDE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *data, size_t size);

/* A random number for each value of each byte of a key; filled before main() starts. */
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
 * different keys, except with a probability of 2^-64 that no input can raise.  With other = 0, such
 * as the only host, the key is the number: maps hash their keys anyway.
 */
static inline uint64_t hash_pair(uint64_t number, uint32_t other)
{
	return other ? hash_number(number) + other : number;
}

#endif
