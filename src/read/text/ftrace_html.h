/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ftrace_html - HTML pages of Android's systrace.
 *
 * A page consists of a viewer of several MB and the kernel's text after it, in elements
 * <script class="trace-data">; other such elements contain a list of processes or traces of
 * browsers.  In older pages, the text is a string of JavaScript, linuxPerfData.  Pages of
 * catapult contain a compressed trace instead, which is not supported.
 */
#ifndef SONDE_READ_TEXT_FTRACE_HTML_H
#define SONDE_READ_TEXT_FTRACE_HTML_H

#include "read/text/lines.h"

/* Whether these are the first bytes of an HTML page. */
bool ftrace_html_matches(const char *head, size_t size);

/* Whether these are the first lines of an ftrace text. */
typedef bool ftrace_html_is_trace(const char *text, size_t size);

/* Removes everything but the trace from the lines.  Messages contain the name. */
int ftrace_html_extract(struct text_lines *lines, const char *name, ftrace_html_is_trace *is_trace,
			struct err *err);

#endif
