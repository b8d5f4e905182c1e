/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_split - splits a large JSON document into several small ones.
 *
 * Parsing a document takes about three times its size in memory, and allocating that much
 * costs more than parsing.  The large part of a file with spans is a single list, so each
 * of the small documents contains a part of the list and is otherwise identical:
 *
 *	{"data": [{"spans": [1, 2, 3, 4], "processes": {}}]}
 *	{"data": [{"spans": [1, 2], "processes": {}}]}
 *	{"data": [{"spans": [3, 4], "processes": {}}]}
 *
 * Each list around that one must have a single item, since other items would be repeated.
 * This module looks at brackets and strings only: it does not split an invalid document, or
 * the parser detects the error in a part.
 */
#ifndef SONDE_READ_SPAN_JSON_SPLIT_H
#define SONDE_READ_SPAN_JSON_SPLIT_H

#include "base/view.h"

/*
 * The possible names of the list in the root object, in the object inside of that list, and
 * so on; unused names are NULL.  A list called "spans" is always the innermost.
 */
enum { JSON_LEVELS = 3, JSON_NAMES = 3 };
struct json_shape {
	const char *names[JSON_LEVELS][JSON_NAMES];
};

struct json_split {
	struct view text;        /* borrowed */
	size_t begin, end;       /* offsets of the items of the list */
	size_t at;               /* offset of the remaining items */
	size_t items, items_end; /* offsets of the items in the last document */
	char *document;
	size_t capacity; /* of document */
};

/* False if there is no such list or there is much text around it. */
bool json_split_begin(struct json_split *split, struct view text, const struct json_shape *shape);
void json_split_done(struct json_split *split);

/* The next document, with items of at least size bytes; false after the last. */
bool json_split_next(struct json_split *split, size_t size, struct view *ret);

/* Converts an offset in the last document to one in the text. */
size_t json_split_offset(const struct json_split *split, size_t offset);

/* The offset of the first character from `at` on that is not white space. */
size_t json_skip_blanks(struct view text, size_t at);

#endif
