// SPDX-License-Identifier: Apache-2.0
/* logger - read log lines from the input and store them, with a pause after each burst. */
#include "http.h"

int main(void)
{
	static char buffer[4096];

	for (ssize_t sum = 0, n; (n = read(0, buffer, sizeof(buffer))) > 0;) {
		sum += n;
		if (sum >= 256 << 10) {
			sleep_ms(120); /* the log server */
			sum = 0;
		}
	}
	return 0;
}
