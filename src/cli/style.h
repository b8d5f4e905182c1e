/* SPDX-License-Identifier: Apache-2.0 */
/* style - colours and width of text on stdout. */
#ifndef SONDE_CLI_STYLE_H
#define SONDE_CLI_STYLE_H

#include "report/wrap.h"

/* The width is COLUMNS, or that of the terminal; 80 if stdout is none. */
struct style output_style(void);

#endif
