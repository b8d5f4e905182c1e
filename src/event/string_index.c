/* SPDX-License-Identifier: Apache-2.0 */
#include "event/string_index.h"

#include <string.h>

#include "base/search.h"

void string_index_init(struct string_index *index, uint32_t next)
{
	*index = (struct string_index){ .base = next };
}

void string_index_done(struct string_index *index)
{
	vec_done(&index->strings);
	vec_done(&index->ranges);
}

/* Start a range at the id `first` if there is a gap; false if the ids do not grow. */
static bool begin_block(struct string_index *index, uint64_t first, uint32_t count)
{
	if (first == 0)
		first = string_index_next(index);
	if (first > UINT32_MAX ||
	    first + count > (uint64_t)UINT32_MAX + 1) /* the id 0 is the empty string */
		return false;
	if (index->strings.count == 0)
		index->base = first;

	uint32_t offset = (uint32_t)first - index->base;

	if (offset < index->next || (uint64_t)offset + count > UINT32_MAX)
		return false;
	if (index->ranges.count == 0 || offset > index->next)
		*vec_push(&index->ranges) = (struct string_range){ offset, index->strings.count };
	index->next = offset;
	return true;
}

const char *string_index_add(struct string_index *index, const char *s, size_t size, uint64_t first,
			     uint32_t count)
{
	const char *end = s + size;
	uint32_t found = 0;

	if (!begin_block(index, first, count))
		return "the numbers of its strings do not grow";
	for (const char *nul; s < end && (nul = memchr(s, 0, end - s)); s = nul + 1) {
		*vec_push(&index->strings) = s;
		found++;
	}
	index->next += found;
	if (s < end)
		return "a string is not terminated";
	return found == count ? NULL : "the number of its strings is wrong";
}

const char *string_index_find(const struct string_index *index, uint32_t id)
{
	const struct string_range *ranges = index->ranges.items;
	uint32_t offset = id - index->base;
	size_t count = index->ranges.count;

	if (count == 0)
		return NULL;
	if (count > 1)
		count = partition_point(count, i, ranges[i].offset <= offset);

	size_t i = ranges[count - 1].first + (offset - ranges[count - 1].offset);
	size_t end = count < index->ranges.count ? ranges[count].first : index->strings.count;

	return i < end ? index->strings.items[i] : NULL;
}
