// SPDX-License-Identifier: Apache-2.0
/* resize MS - compute for this time, and print the result. */
#include "http.h"

int main(int argc, char **argv)
{
	spin_us(atof(argv[1]) * 1000);
	puts("resized");
	return 0;
}
