/* SPDX-License-Identifier: Apache-2.0 */
/*
 * factorial COUNT SEED SLOWED - COUNT spans whose time depends on their attribute `n`.
 *
 * Each span computes the factorial of one of four numbers, chosen at random.  Numbers up to SLOWED
 * take as long as the largest.  The number of each span is printed after the span.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/sonde.h"

enum { LIMBS = 1200, LIMB = 1000000000, PAUSE_US = 1000 };

static const unsigned int numbers[] = { 400, 700, 1000, 2000 };

/* Returns the number of limbs, of nine decimal digits each. */
__attribute__((noinline)) static unsigned int factorial(unsigned int n)
{
	static unsigned int limbs[LIMBS];
	unsigned int size = 1;

	limbs[0] = 1;
	for (unsigned int factor = 2; factor <= n; factor++) {
		unsigned long carry = 0;

		for (unsigned int i = 0; i < size; i++) {
			carry += (unsigned long)limbs[i] * factor;
			limbs[i] = carry % LIMB;
			carry /= LIMB;
		}
		if (carry && size < LIMBS)
			limbs[size++] = carry;
	}
	return size;
}

int main(int argc, char **argv)
{
	unsigned int seed = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	unsigned int slowed = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;

	for (int left = argc == 4 ? atoi(argv[1]) : 0; left; left--) {
		unsigned int n = numbers[rand_r(&seed) / 7 % 4], size;
		struct sonde_span span;

		SONDE_BEGIN(&span, "factorial");
		sonde_set_int(&span, "n", n);
		size = factorial(n <= slowed ? numbers[3] : n);
		sonde_end(&span);
		printf("%u %u\n", n, size);
		usleep(PAUSE_US);
	}
	return 0;
}
