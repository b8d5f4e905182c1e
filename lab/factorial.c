/* SPDX-License-Identifier: Apache-2.0 */
/*
 * factorial - a service whose time depends on its argument.
 *
 *   factorial N      -> ok SIZE DETOUR
 *
 * The span has N as an attribute.  With the fault `detour`, a small number takes as long as a large
 * one: an anomaly that the duration alone does not reveal.
 */
#include <err.h>
#include <stdlib.h>

#include "request.h"

#define LIMBS 4096 /* of nine decimal digits each, at most */
#define LIMB 1000000000u
#define LARGE 3000

/* Multiply the number by a factor; returns its new size. */
static unsigned multiply(unsigned *limbs, unsigned size, unsigned factor)
{
	unsigned long carry = 0;

	for (unsigned i = 0; i < size; i++) {
		carry += (unsigned long)limbs[i] * factor;
		limbs[i] = (unsigned)(carry % LIMB);
		carry /= LIMB;
	}
	if (carry && size < LIMBS)
		limbs[size++] = (unsigned)carry;
	return size;
}

__attribute__((noinline)) static unsigned factorial(unsigned n)
{
	unsigned limbs[LIMBS] = { 1 }, size = 1;

	for (unsigned factor = 2; factor <= n; factor++)
		size = multiply(limbs, size, factor);
	return size;
}

static void reply(struct peer *peer, void *service)
{
	struct request request;
	double strength = 1;
	unsigned n, size, detour = 0;

	(void)service;
	if (sscanf(peer->line, "factorial %u", &n) != 1) {
		peer_write(peer, "bad request\n");
		return;
	}
	REQUEST_BEGIN(&request, peer, "factorial");
	sonde_set_int(&request.span, "n", n);
	size = factorial(n);
	if (n < LARGE && faults_find("detour", "factorial", &strength))
		detour = factorial(LARGE);
	peer_write(peer, "ok %u %u\n", size, detour);
	request_end(&request);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: factorial PORT_FILE");
	service_init("factorial");
	serve(listen_on_free_port(argv[1]), "factorial", reply, NULL);
}
