/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/requests/sum.h"
#include "report/contrast.h"
#include "report/explain.h"
#include "report/phrase_step.h"

enum { LINES_MERGED = 24 }; /* causes with words; each needs an account */

/* As in analyse/causes.c: repeated calls are the answer if no single cause is. */
static bool leads(const struct contrast *c, const struct contrast_cause *pattern)
{
	double largest = c->causes.count ? c->causes.items[0].part : 0;

	return pattern->part > c->difference * 0.4 && largest < c->difference * 0.5;
}

enum contrast_verdict contrast_verdict(const struct contrast_view *view)
{
	const struct contrast *c = view->contrast;

	if (!c && !view->limit.thousandths && !view->choice.slow)
		return VERDICT_NONE_SLOW;
	if (!c && view->limit.thousandths &&
	    view->latency.count >= CONTRAST_SLOW_MIN + CONTRAST_USUAL_MIN)
		return VERDICT_SAME;
	if (!c)
		return VERDICT_TOO_FEW;
	if (!contrast_differs(c))
		return VERDICT_SAME;
	for (size_t i = 0; i < c->causes.count; i++)
		if (c->causes.items[i].stands_out && c->causes.items[i].part * 5 >= c->difference)
			return VERDICT_CAUSES;
	return c->patterns.count && leads(c, &c->patterns.items[0]) ? VERDICT_CAUSES
								    : VERDICT_SPREAD;
}

const char *contrast_service(const struct span_set *spans, const struct cause_group *group)
{
	if (group->thread.i)
		return request_service(spans->model, group->thread);
	return span_set_string(spans, span_set_at(spans, group->span)->service);
}

static void add_to_line(struct contrast_line *line, const struct contrast_cause *cause)
{
	struct contrast_cause *sum = &line->cause;

	line->merged++;
	sum->part += cause->part;
	sum->noise += cause->noise;
	sum->slow += cause->slow;
	sum->usual += cause->usual;
	sum->stands_out |= cause->stands_out;
	if (cause->slow_requests > sum->slow_requests)
		sum->slow_requests = cause->slow_requests;
	if (cause->usual_requests > sum->usual_requests)
		sum->usual_requests = cause->usual_requests;
}

static void add_line(const struct contrast_view *view, const struct contrast_cause *cause,
		     contrast_lines *lines)
{
	struct phrase text = explain_cause(view->spans, NULL, &cause->group);

	for (size_t i = 0; i < lines->count; i++)
		if (strcmp(lines->items[i].text.s, text.s) == 0) {
			add_to_line(&lines->items[i], cause);
			return;
		}
	*vec_push(lines) = (struct contrast_line){ *cause, text, !cause->group.is_pattern };
}

static int larger_part_first(const void *a, const void *b)
{
	const struct contrast_line *x = a, *y = b;

	if (x->cause.group.is_pattern != y->cause.group.is_pattern)
		return x->cause.group.is_pattern ? -1 : 1;
	if (x->cause.part != y->cause.part)
		return x->cause.part > y->cause.part ? -1 : 1;
	return strcmp(x->text.s, y->text.s);
}

void contrast_lines_find(const struct contrast_view *view, contrast_lines *ret)
{
	const struct contrast *c = view->contrast;
	size_t first = 0, last = c->causes.count;

	if (c->patterns.count && leads(c, &c->patterns.items[0]))
		add_line(view, &c->patterns.items[0], ret);
	/* parts are sorted: the largest ones are at both ends */
	for (size_t i = 0; i < LINES_MERGED && first < last; i++) {
		const struct contrast_cause *least = &c->causes.items[last - 1];
		bool is_first = c->causes.items[first].part >= fabs(least->part);

		add_line(view, is_first ? &c->causes.items[first] : least, ret);
		first += is_first;
		last -= !is_first;
	}
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(ret->items[0]), larger_part_first);
}

struct phrase contrast_value(const struct model *model, const struct attribute *a)
{
	struct phrase p = { "" };
	double real;

	switch (a->type) {
	case ATTRIBUTE_STRING:
		phrase_append(&p, "%.200s", model_string(model, (str_id){ a->value }));
		break;
	case ATTRIBUTE_BOOL:
		phrase_append(&p, "%s", a->value ? "true" : "false");
		break;
	case ATTRIBUTE_DOUBLE:
		memcpy(&real, &a->value, sizeof(real));
		phrase_append(&p, "%g", real);
		break;
	default:
		phrase_append(&p, "%" PRId64, (int64_t)a->value);
	}
	return p;
}

struct phrase contrast_trait(const struct contrast_view *view, const struct trait *trait)
{
	const struct span *span = span_set_at(view->spans, trait->span);
	const struct model *model = view->spans->model;
	const struct thread *thread = model_thread(model, span->thread);
	const char *service = span_set_string(view->spans, span->service);
	struct phrase p = { "" };

	switch (trait->kind) {
	case TRAIT_ATTRIBUTE:
		phrase_append(&p, "have %.100s = %.200s in %.100s",
			      model_string(model, trait->attribute->key),
			      contrast_value(model, trait->attribute).s, service);
		break;
	case TRAIT_THREAD:
		phrase_append(&p, "were handled by thread %s",
			      phrase_thread(model, span->thread).s);
		break;
	case TRAIT_PROCESS:
		phrase_append(&p, "were handled by process %s (%u)",
			      model_string(model, model_process_name(model, span->thread)),
			      thread->pid);
		break;
	default:
		phrase_append(&p, "were handled by %.100s on host %.100s", service,
			      view->host_name(view->arg, thread->host));
	}
	return p;
}

bool contrast_misses_thread(const struct contrast_view *view)
{
	const struct contrast *c = view->contrast;

	for (size_t i = 0; c && i < c->causes.count; i++)
		if (c->causes.items[i].stands_out && !c->causes.items[i].group.thread.i)
			return true;
	return false;
}
