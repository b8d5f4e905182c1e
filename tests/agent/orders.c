/* SPDX-License-Identifier: Apache-2.0 */
/* Handles an order every few milliseconds, until its standard input ends. */
#include <poll.h>
#include <stdio.h>

#include "agent/sonde.h"

int main(void)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };

	puts("ready");
	fflush(stdout);
	while (poll(&input, 1, 2) == 0) {
		struct sonde_span order, line;

		SONDE_BEGIN(&order, "order");
		SONDE_BEGIN(&line, "order.line");
		sonde_set_string(&line, "article", "a nail");
		sonde_end(&line);
		sonde_end(&order);
	}
	return 0;
}
