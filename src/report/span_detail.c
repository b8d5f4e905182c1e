/* SPDX-License-Identifier: Apache-2.0 */
#include "report/span_detail.h"

#include <stdio.h>
#include <string.h>

#include "base/out.h"

/* Keys of the semantic conventions, old and new, by how exactly they name the work. */
static const char *const keys[] = {
	"db.query.text",
	"db.statement",
	"rpc.method",
	"http.route",
	"url.path",
	"http.target",
	"messaging.destination.name",
	"messaging.destination",
	"graphql.operation.name",
	"db.collection.name",
};

/* The string of the first key that the span has; "" if none. */
static const char *find_text(const struct model *model, struct attributes all)
{
	const char *best = "";
	size_t rank = ARRAY_LEN(keys);

	for (size_t i = 0; i < all.count; i++)
		for (size_t k = 0; k < rank; k++)
			if (all.items[i].type == ATTRIBUTE_STRING &&
			    strcmp(model_string(model, all.items[i].key), keys[k]) == 0) {
				best = model_string(model, (str_id){ all.items[i].value });
				rank = k;
			}
	return best;
}

/* Copies text as one line: white space becomes a blank; a long text is cut at a character. */
static void copy_line(char *ret, size_t room, const char *text)
{
	size_t used = 0, n;

	text += strspn(text, " \t\r\n");
	while (*text) {
		size_t space = strspn(text, " \t\r\n");

		n = space ? 1 : utf8_length(text, strlen(text));
		n = n ? n : 1;
		if (used + n + strlen("...") >= room) {
			used += snprintf(ret + used, room - used, "...");
			break;
		}
		if (space)
			ret[used] = ' ';
		else
			memcpy(ret + used, text, n);
		used += n;
		text += space ? space : n;
	}
	ret[used] = '\0';
}

struct span_detail span_detail(const struct span_set *spans, span_id id)
{
	struct span_detail detail = { "" };
	const char *operation = span_set_string(spans, span_set_at(spans, id)->operation);
	const char *text;

	if (id.i >= model_span_count(spans->model))
		return detail;
	text = find_text(spans->model, model_span_attributes(spans->model, id));
	if (!*text || strstr(operation, text))
		return detail;
	detail.s[0] = detail.s[1] = ' ';
	copy_line(detail.s + 2, sizeof(detail.s) - 2, text);
	return detail;
}
