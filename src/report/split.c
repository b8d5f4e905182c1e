/* SPDX-License-Identifier: Apache-2.0 */
#include "report/split.h"

#include <inttypes.h>

#include "report/json_put.h"
#include "report/phrase_step.h"

static void append_attribute(struct phrase *p, const struct split *split,
			     const struct split_part *part)
{
	if (split->is_text && part->text)
		phrase_append(p, "with %s = %s", split->key, part->text);
	else if (split->is_text)
		phrase_append(p, "with other values of %s", split->key);
	else if (part->from == part->to)
		phrase_append(p, "with %s = %" PRId64, split->key, part->from);
	else
		phrase_append(p, "with %s from %" PRId64 " to %" PRId64, split->key, part->from,
			      part->to);
}

struct phrase split_phrase(const struct profile *profile)
{
	const struct split *split = profile->part_of;
	const struct split_part *part = &split->parts[profile->part];
	struct phrase p = { "" };

	if (split->kind == SPAN_TRAIT_ATTRIBUTE)
		append_attribute(&p, split, part);
	else if (split->kind == SPAN_TRAIT_FUNCTION)
		phrase_append(&p, "mostly in %s", part->text ?: "other functions");
	else
		phrase_append(&p, "with events of %s", part->text ?: "other probes");
	return p;
}

void split_json(struct json *j, const struct profile *profile)
{
	const struct split *split = profile->part_of;
	const struct split_part *part = &split->parts[profile->part];

	put_string(j, "kind", span_trait_kind_name(split->kind));
	if (split->kind == SPAN_TRAIT_ATTRIBUTE)
		put_string(j, "key", split->key);
	if (!split->is_text) {
		json_key(j, "from");
		json_i64(j, part->from);
		json_key(j, "to");
		json_i64(j, part->to);
	} else if (part->text) {
		put_string(j, "value", part->text);
	} else {
		put_bool(j, "others", true);
	}
}
