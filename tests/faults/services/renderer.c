// SPDX-License-Identifier: Apache-2.0
/* renderer - render each line of the input; every seventh needs the slow device. */
#include "http.h"

int main(void)
{
	char line[256];

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; fgets(line, sizeof(line), stdin); i++) {
		if (i % 7 == 0)
			sleep_ms(80);
		printf("image %d of %s", i, line);
	}
	return 0;
}
