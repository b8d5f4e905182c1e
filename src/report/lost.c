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

void put_losses(struct json *j, const struct model *model)
{
	put_lost(j, model_lost(model, 0, UINT64_MAX));
	json_key(j, "losses");
	json_array(j);
	for (size_t i = 0; i < model_loss_count(model); i++) {
		const struct loss *loss = model_loss(model, i);

		json_object(j);
		put_u64(j, "host", loss->host);
		put_u64(j, loss->tid ? "tid" : "cpu", loss->tid ? loss->tid : loss->cpu);
		put_u64(j, "start", loss->start);
		put_u64(j, "end", loss->end);
		put_u64(j, "count", loss->count);
		json_end(j);
	}
	json_end(j);
}
