/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ftrace_html - the page that Android's systrace writes.
 *
 * It is a viewer of several MB, and behind that the kernel's text, in elements
 * <script class="trace-data">, of which others hold a list of processes or what
 * browsers recorded; in older pages it is a string of JavaScript, linuxPerfData.
 * Pages of catapult hold a compressed trace instead, which is not read.
 */
#ifndef SONDE_READ_TEXT_FTRACE_HTML_H
#define SONDE_READ_TEXT_FTRACE_HTML_H

#include "read/text/lines.h"

/* By its first bytes. */
bool ftrace_html_matches(const char *head, size_t size);

/* Whether a text is one of ftrace, by its first lines. */
typedef bool ftrace_html_is_trace(const char *text, size_t size);

/* Reduces the lines to those of the trace.  The name is for messages. */
int ftrace_html_reduce(struct text_lines *lines, const char *name, ftrace_html_is_trace *is_trace,
		       struct err *err);

#endif
