/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account - where the time of the requests of a batch went.
 *
 * Half of the budget goes to the operations in equal parts, so that each row has an account, the
 * other half by their time, so that the sum over all rows is accurate.
 */
#include <stdio.h>
#include <string.h>

#include "analyse/lost.h"
#include "analyse/requests/idle.h"
#include "report/explain.h"
#include "top/sample.h"
#include "top/top_internal.h"

/* The accounts of an operation in a batch. */
struct accounting {
	struct top *top;
	const struct live_view *view;
	struct operation *op;
	struct path_shares shares;
	struct cause_sum causes;
	uint64_t idle;
};

/* Records that are missing would look like a cause. */
static bool is_incomplete(const struct live_view *view, span_id span)
{
	return model_loss_count(view->model) && lost_of_tree(view->spans, span).losses;
}

static void account_one(struct accounting *a, span_id span, double weight)
{
	_cleanup_(account_done) struct account account = { 0 };

	account_of_span_brief(a->view->spans, span, &account);
	a->top->accounts++;
	a->top->steps += account.steps;
	path_shares_add(&a->shares, a->view->spans, &account, weight);
	cause_sum_add_weighted(&a->causes, a->view->spans, &account, weight);
	a->idle += request_is_idle(a->view->spans, span);
}

/* Removes the requests in which records were lost. */
static void leave_out_incomplete(struct accounting *a)
{
	struct top *top = a->top;
	size_t kept = 0;

	for (size_t i = 0; i < a->op->batch.count; i++)
		if (!is_incomplete(a->view, a->op->batch.items[i].span))
			a->op->batch.items[kept++] = a->op->batch.items[i];
	top->seconds[top->operations.second % SECONDS_EXACT].left_out += a->op->batch.count - kept;
	a->op->batch.count = kept;
}

static void add_sample(struct accounting *a, double size)
{
	latencies times = { 0 };
	samples chosen = { 0 };

	for (size_t i = 0; i < a->op->batch.count; i++)
		*vec_push(&times) = a->op->batch.items[i].latency;
	sample_choose(times.items, times.count, size, &a->top->seed, &chosen);
	for (size_t i = 0; i < chosen.count; i++)
		account_one(a, a->op->batch.items[chosen.items[i].index].span,
			    chosen.items[i].weight);
	a->top->budget -= chosen.count < a->top->budget ? chosen.count : a->top->budget;
	vec_done(&times);
	vec_done(&chosen);
}

static void add_costs(struct accounting *a)
{
	struct top *top = a->top;
	uint64_t at = top->operations.second % SECONDS_EXACT;
	struct costs costs = { .idle = a->idle };

	costs_add_accounts(&costs, &a->shares, &a->causes);
	a->op->is_idle = costs.idle * 10 > costs.accounts * 9;
	costs_add(&a->op->costs[at], &costs);
	if (!a->op->is_idle)
		costs_add(&top->seconds[at].costs, &costs);
	costs_done(&costs);
}

static char *explain(const struct live_view *view, span_id span, const struct latency *usual,
		     size_t columns)
{
	_cleanup_(account_done) struct account account = { 0 };
	_cleanup_(cause_sum_done) struct cause_sum causes = { 0 };
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	struct style style = { .columns = columns };
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	out_init(out, file);
	account_of_span(view->spans, span, &account);
	explain_text(out, &style, view->spans, &account, usual->count > 1 ? usual : NULL);
	cause_sum_add(&causes, view->spans, &account);
	cause_sum_finish(&causes);
	explain_causes(out, &style, view->spans, &account, &causes);
	out_flush(out);
	fclose(file);
	return text;
}

/* Explains the slowest request of a batch, if it is slower than the one explained before. */
static void explain_slowest(struct accounting *a)
{
	struct operation *op = a->op;
	struct top *top = a->top;
	const struct ended_request *slowest = NULL;
	bool is_old = top->operations.second - op->slowest_second >= TOP_SECONDS;

	for (size_t i = 0; i < op->batch.count; i++)
		if (!slowest || op->batch.items[i].latency > slowest->latency)
			slowest = &op->batch.items[i];
	if (!slowest || !top->explanations ||
	    (op->explanation && !is_old && slowest->latency <= op->slowest))
		return;
	top->explanations--;

	struct seconds_sum sum = seconds_sum(&op->seconds, NULL, 0);
	struct latency usual = { sum.count, sum.p50, sum.p95, sum.p99 };

	free(op->explanation);
	op->explanation = explain(a->view, slowest->span, &usual, top->options.columns);
	op->slowest = slowest->latency;
	op->slowest_second = top->operations.second;
}

static void account_operation(struct accounting *a, double size)
{
	leave_out_incomplete(a);
	add_sample(a, size);
	path_shares_finish(&a->shares);
	cause_sum_finish(&a->causes);
	sentences_add(&a->top->sentences, a->view->spans, &a->causes, a->top->operations.second);
	add_costs(a);
	explain_slowest(a);
	path_shares_done(&a->shares);
	cause_sum_done(&a->causes);
}

/* An operation with requests in the batch. */
struct batch_part {
	struct operation *op;
	nsec_t time;
};

static int more_time_first(const void *a, const void *b)
{
	const struct batch_part *x = a, *y = b;

	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return strcmp(x->op->name, y->op->name);
}

void top_account_batch(struct top *top, const struct live_view *view)
{
	VEC(struct batch_part) parts = { 0 };
	size_t requests = 0, budget = top->budget;
	nsec_t total = 0;

	for (size_t i = 0; i <= top->operations.items.count; i++) {
		struct operation *op =
			i ? top->operations.items.items[i - 1] : top->operations.rest;
		nsec_t time = 0;

		if (!op || !op->batch.count)
			continue;
		for (size_t k = 0; k < op->batch.count; k++)
			time += op->batch.items[k].latency;
		*vec_push(&parts) = (struct batch_part){ op, time };
		total += time;
		requests += op->batch.count;
	}
	if (parts.count)
		qsort(parts.items, parts.count, sizeof(parts.items[0]), more_time_first);
	for (size_t i = 0; i < parts.count; i++) {
		const struct batch_part *part = &parts.items[i];
		struct accounting a = { .top = top, .view = view, .op = part->op };
		double by_time = total ? (double)part->time / total : 0;
		double size = requests <= budget ? part->op->batch.count
						 : budget / 2.0 * (by_time + 1.0 / parts.count);

		account_operation(&a, size);
		part->op->batch.count = 0;
	}
	vec_done(&parts);
}
