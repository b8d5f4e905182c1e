/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "analyse/contrast_traits.h"
#include "base/text.h"
#include "cli/diagnose.h"
#include "cli/style.h"
#include "cli/warn.h"
#include "load/slowest.h"
#include "load/span_warnings.h"
#include "report/contrast.h"
#include "report/explain.h"
#include "report/json_put.h"

/* An operation that can be diagnosed. */
struct candidate_operation {
	const struct request_entry *entry; /* borrowed */
	struct contrast_choice choice;
	bool is_enough;
	double lost; /* time that its slow requests take longer than usual ones, ns */
};

typedef VEC(struct candidate_operation) candidates;

static int parse_limit(const char *slow, struct contrast_limit *ret, struct err *err)
{
	struct contrast_limit limit = { .thousandths = 95000 };

	if (slow && parse_percentile(slow, &limit.thousandths) < 0) {
		limit.thousandths = 0;
		if (parse_time(slow, &limit.time) < 0 || !limit.time)
			return err_usage(err,
					 "--slow requires a time such as 20ms or a percentile such "
					 "as p95, not '%s'",
					 slow);
	}
	*ret = limit;
	return 0;
}

static double sum_of(const nsec_t *times, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += times[i];
	return sum;
}

static void add_operation(const struct request_entry *entry, struct contrast_limit limit,
			  candidates *ret)
{
	size_t count = entry->list.count;
	_cleanup_(freep) nsec_t *times = must_alloc(count * sizeof(*times));
	struct candidate_operation o = { .entry = entry };

	for (size_t i = 0; i < count; i++)
		times[i] = entry->list.items[i].to - entry->list.items[i].from;
	o.choice = contrast_choose(times, count, limit);
	o.is_enough = contrast_is_enough(o.choice, limit);
	if (o.choice.usual)
		o.lost = sum_of(times, o.choice.slow) -
			 sum_of(times + count - o.choice.usual, o.choice.usual) / o.choice.usual *
				 o.choice.slow;
	*vec_push(ret) = o;
}

/* Those with enough requests first, of these those of clients, then those whose slow requests cost
 * most. */
static int worse_first(const void *a, const void *b)
{
	const struct candidate_operation *x = a, *y = b;
	int ranks = request_entry_rank(x->entry) - request_entry_rank(y->entry);

	if (x->is_enough != y->is_enough)
		return x->is_enough ? -1 : 1;
	if (ranks)
		return ranks;
	if (x->lost != y->lost)
		return x->lost > y->lost ? -1 : 1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static void find_operations(const struct slowest *slowest, struct contrast_limit limit,
			    candidates *ret)
{
	for (size_t i = 0; i < slowest->entries.count; i++)
		add_operation(&slowest->entries.items[i], limit, ret);
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(ret->items[0]), worse_first);
}

static span_id *spans_of(const subjects *list)
{
	span_id *spans = must_alloc((list->count + 1) * sizeof(*spans));

	for (size_t i = 0; i < list->count; i++)
		spans[i] = list->items[i].span;
	return spans;
}

struct printing {
	const struct diagnose_opts *opts;
	const struct loaded *loaded;
	struct contrast_limit limit;
	struct out *out;
	struct style style;
	struct json json;
	bool misses_thread; /* whether a cause is a span without a known thread */
};

static void print_operation(struct printing *p, const struct candidate_operation *o)
{
	const struct span_set *spans = &p->loaded->spans;
	_cleanup_(freep) span_id *all = spans_of(&o->entry->list);
	_cleanup_(contrast_done) struct contrast contrast = { 0 };
	_cleanup_(contrast_traits_done) struct contrast_traits traits = { 0 };
	struct contrast_view view = { .spans = spans,
				      .request = all[0],
				      .latency = o->entry->latency,
				      .limit = p->limit,
				      .choice = o->choice,
				      .traits = &traits,
				      .host_name = load_host_name,
				      .arg = p->loaded->merge };

	if (o->is_enough) {
		contrast_find(spans, all, o->choice.slow,
			      all + o->entry->list.count - o->choice.usual, o->choice.usual,
			      &contrast);
		contrast_traits_find(spans, &contrast, &traits);
		view.contrast = &contrast;
	}
	if (p->opts->json)
		contrast_json(&p->json, &view);
	else
		contrast_text(p->out, &p->style, &view);
	p->misses_thread |= contrast_misses_thread(&view);
}

static void print_text(struct printing *p, const candidates *list, const struct slowest *slowest)
{
	size_t shown = list->count < p->opts->top ? list->count : p->opts->top;

	for (size_t i = 0; i < shown; i++) {
		if (i > 0 && list->items[i - 1].is_enough)
			out_char(p->out, '\n');
		print_operation(p, &list->items[i]);
	}
	if (shown < list->count) {
		struct phrase more;

		snprintf(more.s, sizeof(more.s), "\n%s more operation%s; use --top to see more\n",
			 format_count(list->count - shown).s, list->count - shown == 1 ? "" : "s");
		out_str(p->out, more.s);
	}
	if (p->misses_thread)
		explain_missing_thread(p->out, &p->style);
	explain_left_out(p->out, slowest->lost, slowest->all);
}

static void print_json(struct printing *p, const candidates *list, const struct slowest *slowest)
{
	struct lost lost = model_lost(p->loaded->model, 0, UINT64_MAX);

	json_object(&p->json);
	json_key(&p->json, "operations");
	json_array(&p->json);
	for (size_t i = 0; i < list->count && i < p->opts->top; i++)
		print_operation(p, &list->items[i]);
	json_end(&p->json);
	put_u64(&p->json, "operation_count", list->count);
	put_u64(&p->json, "left_out", slowest->lost);
	put_u64(&p->json, "not_recorded", slowest->uncovered);
	put_u64(&p->json, "lost", lost.records);
	if (lost.losses)
		put_bool(&p->json, "incomplete", true);
	json_end(&p->json);
	json_newline(&p->json);
}

static int print_all(const struct diagnose_opts *opts, const struct loaded *loaded,
		     const struct slowest *slowest, struct contrast_limit limit, struct err *err)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	struct printing p = {
		.opts = opts, .loaded = loaded, .limit = limit, .out = out, .style = output_style()
	};
	candidates list = { 0 };

	out_init(out, stdout);
	json_init(&p.json, out);
	find_operations(slowest, limit, &list);
	if (opts->json)
		print_json(&p, &list, slowest);
	else
		print_text(&p, &list, slowest);
	vec_done(&list);
	return out_finish(out, err);
}

static void warn_partly_recorded(struct loaded *loaded, const struct slowest *slowest)
{
	if (slowest->uncovered)
		warnings_add(&loaded->warnings,
			     "left out %s request%s that the recording does not cover",
			     format_count(slowest->uncovered).s,
			     slowest->uncovered == 1 ? "" : "s");
}

int diagnose_contrast(const struct diagnose_opts *o, char **inputs, struct err *err)
{
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	_cleanup_(slowest_done) struct slowest slowest = { 0 };
	struct err damage = { "" }, failure = { "" };
	struct selection selection;
	struct contrast_limit limit = { 0 };

	if (opt_selection(&o->select, &selection, err) < 0 || parse_limit(o->slow, &limit, err) < 0)
		return -EUSAGE;
	selection.only_rebuilt = o->requests;

	int damaged = loaded_open(&loaded, inputs, o->format, &damage), r = 0;

	warn_all(&loaded.warnings);
	if (loaded.model) {
		loaded_rebuild_requests(&loaded, o->requests);
		r = slowest_find(&loaded, &selection, 0, &slowest, &failure);
	}
	if (loaded.model && r == 0) {
		warn_partly_recorded(&loaded, &slowest);
		span_warnings_roots(&loaded.spans, &loaded.warnings);
		warn_lost(loaded.model);
	}
	warn_all(&loaded.warnings);
	if (loaded.model && r == 0)
		r = print_all(o, &loaded, &slowest, limit, &failure);
	*err = damaged < 0 ? damage : failure;
	return damaged < 0 ? damaged : r;
}
