/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_split - a large JSON document as several small ones.
 *
 * To parse a document takes some three times its size in memory, and getting
 * that much costs more than parsing.  But what is large in a file of spans is one
 * list; each of these documents has a part of it and is otherwise the same:
 *
 *	{"data": [{"spans": [1, 2, 3, 4], "processes": {}}]}
 *	{"data": [{"spans": [1, 2], "processes": {}}]}
 *	{"data": [{"spans": [3, 4], "processes": {}}]}
 *
 * Lists around that one have to have one item, or the others would be told more
 * than once.  Only brackets and strings are looked at here: a document that is
 * not as it should be is either not split, or the parser finds what is wrong.
 */
#ifndef SONDE_READ_SPAN_JSON_SPLIT_H
#define SONDE_READ_SPAN_JSON_SPLIT_H

#include "base/view.h"

/*
 * The names that the list may have in the object that is the root, in one that is
 * in a list, and so on; NULL if there are fewer.  One called "spans" has no other
 * list in its items.
 */
enum { JSON_LEVELS = 3, JSON_NAMES = 3 };
struct json_shape {
	const char *names[JSON_LEVELS][JSON_NAMES];
};

struct json_split {
	struct view text;        /* borrowed */
	size_t begin, end;       /* of the items of the list */
	size_t at;               /* of those that are left */
	size_t items, items_end; /* of those of the last document */
	char *document;
	size_t room;
};

/* Whether there is such a list, and not much around it. */
bool json_split_begin(struct json_split *split, struct view text, const struct json_shape *shape);
void json_split_done(struct json_split *split);

/* The next document, with items of that many bytes or a few more.  False behind the last. */
bool json_split_next(struct json_split *split, size_t size, struct view *ret);

/* Where the whole text has what the last document has there. */
size_t json_split_offset(const struct json_split *split, size_t offset);

/* Where the text has something else than blanks, from `at` on; its length if it has not. */
size_t json_skip_blanks(struct view text, size_t at);

#endif
