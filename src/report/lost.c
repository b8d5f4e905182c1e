/* SPDX-License-Identifier: Apache-2.0 */
#include "report/lost.h"

#include "report/json_put.h"

struct text format_lost(struct lost lost)
{
	struct text text;

	if (lost.records)
		snprintf(text.s, sizeof(text.s), "%.16s record%s lost",
			 format_count(lost.records).s, lost.records == 1 ? "" : "s");
	else
		snprintf(text.s, sizeof(text.s), "records lost");
	return text;
}

void put_lost(struct json *j, struct lost lost)
{
	put_u64(j, "lost", lost.records);
	if (lost.losses)
		put_bool(j, "incomplete", true);
}
