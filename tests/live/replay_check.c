/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_check - whether the window finds in a capture what the model of the whole finds.
 *
 *	replay_check [-a] [-o] [-v] [-w SECONDS] [-t MILLISECONDS] [-m MILLISECONDS] CAPTURE...
 *
 * Each capture is loaded whole, and replayed through a window (-w) with a tick (-t) as live/ does.
 * Requests with the same identity, which is the socket, the time of the read and the thread, or the
 * ids of a recorded root, are compared: latency, shape of the tree, path by service and state, and
 * the sentence for the first cause.  Prints how many differ, with -v each one.
 *
 * A window begins without knowledge and cannot see the future, so a few differences are expected.
 * With -m, requests of the first and last milliseconds do not count.  Exit status 1: a request is
 * missing, is returned twice, or has another latency.  With -o, only the window runs.  With
 * -a, all inputs are parts of one, such as a capture and its spans.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "analyse/account.h"
#include "analyse/causes.h"
#include "analyse/requests/path_share.h"
#include "analyse/requests/window.h"
#include "base/hash.h"
#include "load/load.h"
#include "report/phrase.h"

struct finding {
	nsec_t start, end;
	uint64_t shape, shares;
	uint32_t tid;
	uint32_t spans;
	uint32_t times; /* number of times that it was found */
	bool is_whole;
	struct phrase sentence;
};

struct findings {
	VEC(struct finding) items;
	struct map index; /* identity -> index + 1 */
};

struct differences {
	size_t requests, missing, extra, twice, latency, shape, shares, sentence;
};

static nsec_t window = 10 * NSEC_PER_SEC, tick = NSEC_PER_SEC;
static bool verbose;
static bool only_window; /* for measurements: no file, no comparison */

static uint64_t identity(const struct span *span)
{
	uint64_t rebuilt[] = { span->socket, span->read, span->tid, span->host };

	if (span->source == SPAN_INFERRED)
		return hash_bytes(rebuilt, sizeof(rebuilt));
	return hash_pair(hash_bytes(span->trace, sizeof(span->trace)),
			 hash_bytes(span->id, sizeof(span->id)));
}

static uint64_t text_hash(const char *text)
{
	return hash_bytes(text, strlen(text));
}

/* The tree below a span, whatever the order of siblings. */
static uint64_t shape_of(const struct span_set *spans, span_id id, uint32_t *count)
{
	const struct span *span = span_set_at(spans, id);
	uint64_t sum = 0;

	++*count;
	for (span_id c = span->first_child; c.i; c = span_set_at(spans, c)->next)
		sum += shape_of(spans, c, count);
	return hash_pair(sum, hash_pair(text_hash(span_set_string(spans, span->service)),
					text_hash(span_set_string(spans, span->operation))));
}

static uint64_t shares_of(const struct span_set *spans, const struct account *account)
{
	struct path_shares shares = { 0 };
	uint64_t sum = 0;

	path_shares_add(&shares, spans, account, 1);
	path_shares_finish(&shares);
	for (size_t i = 0; i < shares.items.count; i++) {
		const struct path_share *s = &shares.items.items[i];

		sum += hash_pair(hash_pair(text_hash(s->service), s->state), s->time);
	}
	path_shares_done(&shares);
	return sum;
}

static void first_sentence(const struct span_set *spans, const struct account *account,
			   struct phrase *ret)
{
	struct cause_sum sum = { 0 };

	cause_sum_add(&sum, spans, account);
	cause_sum_finish(&sum);
	if (sum.groups.count)
		*ret = phrase_cause(spans, account, sum.groups.items[0].node);
	cause_sum_done(&sum);
}

static void add_finding(struct findings *findings, const struct span_set *spans, span_id id)
{
	const struct span *span = span_set_at(spans, id);
	if (only_window)
		return;

	uint64_t *at = map_insert(&findings->index, identity(span));
	struct finding f = { .start = span_arrival(span), .end = span->end, .tid = span->tid };
	struct account account;

	if (*at) {
		findings->items.items[*at - 1].times++;
		return;
	}
	f.times = 1;
	f.is_whole = !(span->flags & SPAN_OPEN);
	f.shape = shape_of(spans, id, &f.spans);
	account_of_span_brief(spans, id, &account);
	f.shares = shares_of(spans, &account);
	first_sentence(spans, &account, &f.sentence);
	account_done(&account);
	*vec_push(&findings->items) = f;
	*at = findings->items.count;
}

static int find_in_file(char **paths, struct findings *ret, nsec_t *begin, nsec_t *end)
{
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	struct err err = { 0 };
	int r = loaded_open(&loaded, paths, NULL, &err);

	if (!loaded.model) {
		fprintf(stderr, "replay_check: %s\n", err.text);
		return r;
	}
	loaded_rebuild_requests(&loaded, false);
	*begin = model_begin(loaded.model);
	*end = model_end(loaded.model);
	for (uint32_t i = 1; i < span_set_count(&loaded.spans); i++) {
		const struct span *span = span_set_at(&loaded.spans, (span_id){ i });
		bool is_root = !span->parent.i && span->end > span->start;

		if (is_root && (span->source != SPAN_INFERRED || span->kind == SPAN_SERVER))
			add_finding(ret, &loaded.spans, (span_id){ i });
	}
	return 0;
}

static void advance(struct request_window *w, struct model *model, nsec_t now, struct findings *ret)
{
	struct request_batch batch;

	model_update(model);
	if (now)
		request_window_advance(w, model, now, &batch);
	else
		request_window_finish(w, model, &batch);
	for (size_t i = 0; i < batch.ended.count; i++)
		add_finding(ret, &batch.spans, batch.ended.items[i]);
	request_batch_done(&batch);
	if (now > window) {
		nsec_t needs = request_window_needs(w);

		model_forget(model, now - window < needs ? now - window : needs);
	}
}

static int find_in_window(char **paths, struct findings *ret, struct request_counts *counts)
{
	struct merge *merge = NULL;
	struct err err = { 0 };
	const struct source *source;
	const struct record *record;
	nsec_t next = 0;
	int r = merge_open(paths, NULL, &merge, &err);

	if (r < 0)
		return r;

	_cleanup_(model_freep) struct model *model = model_new();
	_cleanup_(request_window_freep) struct request_window *w = request_window_new(window);

	if (merge_start(merge))
		model_set_begin(model, merge_start(merge));
	while (merge_next(merge, &record, &source, &err) > 0) {
		nsec_t now = source_time(source, record->time);

		next = next ? next : now + tick;
		if (now >= next) {
			advance(w, model, now, ret);
			next = now + tick;
		}
		model_add(model, source, record);
	}
	advance(w, model, 0, ret);
	*counts = request_window_counts(w);
	merge_free(merge);
	return 0;
}

static void show(const char *what, const struct finding *file, const struct finding *live,
		 nsec_t begin)
{
	const struct finding *any = file ? file : live;

	if (!verbose)
		return;
	printf("  %s: tid %u at %.6f s", what, any->tid, (double)(any->start - begin) / 1e9);
	if (file)
		printf(", file %.3f ms, %u spans, %s", (double)(file->end - file->start) / 1e6,
		       file->spans, file->sentence.s);
	if (live)
		printf(", window %.3f ms, %u spans, %s", (double)(live->end - live->start) / 1e6,
		       live->spans, live->sentence.s);
	printf("\n");
}

static const struct finding *find(const struct findings *findings, uint64_t key)
{
	const uint64_t *at = map_find(&findings->index, key);

	return at ? &findings->items.items[*at - 1] : NULL;
}

static bool counts_at(const struct finding *f, nsec_t begin, nsec_t end)
{
	return f->is_whole && f->start >= begin && f->end <= end;
}

static void compare(const struct finding *file, const struct finding *live, nsec_t begin,
		    struct differences *d)
{
	d->requests++;
	if (!live) {
		d->missing++;
		show("missing", file, NULL, begin);
	} else if (live->times != file->times) { /* several if they were pipelined */
		d->twice++;
		show("twice", file, live, begin);
	} else if (file->start != live->start || file->end != live->end) {
		d->latency++;
		show("latency", file, live, begin);
	} else if (file->shape != live->shape) {
		d->shape++;
		show("shape", file, live, begin);
	} else if (file->shares != live->shares) {
		d->shares++;
		show("path", file, live, begin);
	} else if (strcmp(file->sentence.s, live->sentence.s) != 0) {
		d->sentence++;
		show("cause", file, live, begin);
	}
}

static int check(char **paths, nsec_t margin)
{
	struct findings file = { 0 }, live = { 0 };
	struct differences d = { 0 };
	struct request_counts counts = { 0 };
	uint64_t key, at;
	nsec_t begin = 0, end = 0;
	int r = only_window ? 0 : find_in_file(paths, &file, &begin, &end);

	if (r < 0)
		return 2;
	r = find_in_window(paths, &live, &counts);

	nsec_t from = begin + margin, to = end > margin ? end - margin : 0;

	for (size_t pos = 0; map_next(&file.index, &pos, &key, &at);)
		if (counts_at(&file.items.items[at - 1], from, to))
			compare(&file.items.items[at - 1], find(&live, key), begin, &d);
	for (size_t pos = 0; map_next(&live.index, &pos, &key, &at);)
		if (counts_at(&live.items.items[at - 1], from, to) && !find(&file, key)) {
			d.extra++;
			show("extra", NULL, &live.items.items[at - 1], begin);
		}
	printf("%s: %zu requests: missing %zu, extra %zu, twice %zu; different latency %zu, shape "
	       "%zu, path %zu, cause %zu (%ju ended, %ju truncated, %ju without reply)\n",
	       paths[0], d.requests, d.missing, d.extra, d.twice, d.latency, d.shape, d.shares,
	       d.sentence, (uintmax_t)counts.ended, (uintmax_t)counts.truncated,
	       (uintmax_t)counts.no_reply);
	vec_done(&file.items);
	vec_done(&live.items);
	map_done(&file.index);
	map_done(&live.index);
	return r < 0 || d.missing || d.extra || d.twice || d.latency;
}

int main(int argc, char **argv)
{
	nsec_t margin = 0;
	bool together = false;
	int option, result = 0;

	while ((option = getopt(argc, argv, "aovw:t:m:")) != -1) {
		if (option == 'v')
			verbose = true;
		else if (option == 'a')
			together = true;
		else if (option == 'o')
			only_window = true;
		else if (option == 'w')
			window = strtoull(optarg, NULL, 10) * NSEC_PER_SEC;
		else if (option == 't')
			tick = strtoull(optarg, NULL, 10) * NSEC_PER_MSEC;
		else if (option == 'm')
			margin = strtoull(optarg, NULL, 10) * NSEC_PER_MSEC;
		else
			return 2;
	}
	if (together)
		return check(argv + optind, margin);
	for (int i = optind; i < argc; i++) {
		int r = check((char *[]){ argv[i], NULL }, margin);

		result = r > result ? r : result;
	}
	return result;
}
