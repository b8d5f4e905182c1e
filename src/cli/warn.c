/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/warn.h"

#include "base/text.h"
#include "cli/log.h"
#include "report/lost.h"

void warn_all(struct warnings *warnings)
{
	for (size_t i = 0; i < warnings->items.count; i++)
		log_message("%s", warnings->items.items[i]);
	warnings_done(warnings);
}

static struct text time_since_begin(const struct model *model, nsec_t t)
{
	return format_time(t > model_begin(model) ? t - model_begin(model) : 0);
}

void warn_lost(const struct model *model)
{
	struct lost lost = model_lost(model, 0, UINT64_MAX);
	nsec_t from = UINT64_MAX, to = 0;

	for (size_t i = 0; i < model_loss_count(model); i++) {
		const struct loss *loss = model_loss(model, i);

		from = loss->start < from ? loss->start : from;
		to = loss->end > to ? loss->end : to;
	}
	if (lost.losses)
		log_message(
			"%s between %s and %s: results can be incomplete; 'sonde info' lists the "
			"losses",
			format_lost(lost).s, time_since_begin(model, from).s,
			time_since_begin(model, to).s);
}
