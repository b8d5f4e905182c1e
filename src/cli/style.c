/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/style.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/opt.h"

enum { USUAL = 80, NARROWEST = 60, WIDEST = 200 };

static size_t columns(void)
{
	const char *given = getenv("COLUMNS");
	struct winsize size;
	uint64_t n;

	if (given && parse_count(given, UINT16_MAX, &n) == 0 && n)
		return n;
	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return USUAL;
}

struct style output_style(void)
{
	size_t n = columns();

	return (struct style){ .colour = opt_colour(),
			       .columns = n < NARROWEST ? NARROWEST
					  : n > WIDEST  ? WIDEST
							: n };
}
