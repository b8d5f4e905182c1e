/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Execution graphs, the usual drawing of a critical path: a horizontal line for each
 * worker, with running or blocked edges, and a vertical edge from a worker to one that
 * it wakes.  The test converts a graph to records, and the path of their model back to a
 * graph.
 *
 * Graphs of other projects are read from their file, if it exists.  Graphs in this file have
 * their own notation:
 *
 *	"0R0-3 0B3-6 0R6-9 | 1R0-6 > 1.6-0.6"
 *
 * worker, type (R running, B blocked), start and end; after >, the vertical edges,
 * worker.time-worker.time, with the prefix N for the network and T for a timer.  A worker
 * with only a time, such as 1@3, is recorded from then on.  Expected paths have the same
 * notation; U is unexplained time.
 */
#include <ctype.h>
#include <yyjson.h>

#include "analyse/path.h"
#include "story.h"
#include "test.h"

enum { BASE = 1000 }; /* time 0 of graphs, as no host has time 0 */

struct horizontal {
	uint32_t worker;
	nsec_t start, end;
	char type;
};

struct vertical {
	uint32_t from, to;
	nsec_t start, end;
	char type; /* D, N, T */
};

struct graph {
	VEC(struct horizontal) lines;
	VEC(struct vertical) edges;
};

static void graph_done(struct graph *g)
{
	vec_done(&g->lines);
	vec_done(&g->edges);
}

static int compare_lines(const void *a, const void *b)
{
	const struct horizontal *x = a, *y = b;

	return x->worker != y->worker ? (x->worker > y->worker ? 1 : -1)
	       : x->start != y->start ? (x->start > y->start ? 1 : -1)
				      : (x->end > y->end) - (x->end < y->end);
}

static int compare_edges(const void *a, const void *b)
{
	const struct vertical *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start ? 1 : -1)
	       : x->end != y->end   ? (x->end > y->end ? 1 : -1)
	       : x->from != y->from ? (x->from > y->from ? 1 : -1)
				    : (x->to > y->to) - (x->to < y->to);
}

/* Sorted, so that equal graphs have equal texts. */
static char *graph_text(struct graph *g)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (g->lines.count)
		qsort(g->lines.items, g->lines.count, sizeof(g->lines.items[0]), compare_lines);
	if (g->edges.count)
		qsort(g->edges.items, g->edges.count, sizeof(g->edges.items[0]), compare_edges);
	for (size_t i = 0; i < g->lines.count; i++)
		fprintf(file, "%u%c%" PRIu64 "-%" PRIu64 " ", g->lines.items[i].worker,
			g->lines.items[i].type, g->lines.items[i].start, g->lines.items[i].end);
	fprintf(file, ">");
	for (size_t i = 0; i < g->edges.count; i++)
		fprintf(file, " %u.%" PRIu64 "-%u.%" PRIu64, g->edges.items[i].from,
			g->edges.items[i].start, g->edges.items[i].to, g->edges.items[i].end);
	fclose(file);
	return text;
}

static uint32_t tid_of(uint32_t worker)
{
	return worker + 1;
}

/* The edge to a point, or NULL. */
static const struct vertical *edge_to(const struct graph *g, uint32_t worker, nsec_t time)
{
	for (size_t i = 0; i < g->edges.count; i++)
		if (g->edges.items[i].to == worker && g->edges.items[i].end == time)
			return &g->edges.items[i];
	return NULL;
}

/* An edge that takes time is a message, whatever its type: a wakeup takes none. */
static bool is_message(const struct vertical *e)
{
	return e->type == 'N' || (e->type == 'D' && e->start != e->end);
}

static void tell_begin(struct story *s, const struct graph *g, uint32_t worker)
{
	nsec_t begin = UINT64_MAX;

	for (size_t i = 0; i < g->lines.count; i++)
		if (g->lines.items[i].worker == worker && g->lines.items[i].start < begin)
			begin = g->lines.items[i].start;

	const struct vertical *e = begin < UINT64_MAX ? edge_to(g, worker, begin) : NULL;

	if (begin == UINT64_MAX)
		return;
	if (e && e->type == 'D')
		story_create(s, tid_of(worker), tid_of(e->from), BASE + begin);
	else
		story_begin(s, tid_of(worker), BASE + begin);
}

static void tell_line(struct story *s, const struct graph *g, const struct horizontal *line)
{
	uint32_t tid = tid_of(line->worker);
	nsec_t start = BASE + line->start, end = BASE + line->end;
	const struct vertical *e = edge_to(g, line->worker, line->end);

	if (line->type == 'R')
		story_run(s, tid, start, end);
	else if (line->type == 'B' && e && e->type == 'T')
		story_add(s, REC(WAIT, wait, end, tid, .start = start, .woken = end,
				 .state = STATE_TIMER, .context = WAKE_HRTIMER));
	else if (line->type == 'B' && e && is_message(e))
		story_wait_packet(s, tid, start, end);
	else if (line->type == 'B')
		story_wait(s, tid, start, end, STATE_UNKNOWN, e ? tid_of(e->from) : 0);
}

static struct model *graph_model(const struct graph *g)
{
	_cleanup_(story_done) struct story s = { 0 };

	for (uint32_t worker = 0; worker < 10; worker++)
		tell_begin(&s, g, worker);
	for (size_t i = 0; i < g->lines.count; i++)
		tell_line(&s, g, &g->lines.items[i]);
	for (size_t i = 0; i < g->edges.count; i++) {
		const struct vertical *e = &g->edges.items[i];

		if (!is_message(e) || e->from == e->to)
			continue;
		story_connect(&s, 100 + 2 * i);
		story_send(&s, tid_of(e->from), BASE + e->start, 100 + 2 * i, 5000, 10);
		story_receive(&s, tid_of(e->to), BASE + e->end, 101 + 2 * i, 5000, 10);
	}
	return story_model(&s);
}

static uint32_t worker_of(const struct model *model, const struct step *step)
{
	return model_thread(model, step->thread)->tid - 1;
}

static char type_of(const struct step *step)
{
	if (step->flags & STEP_UNEXPLAINED)
		return 'U';
	return step->state == STATE_RUNNING || step->state == STATE_TIMER ? step->state : 'B';
}

static void add_edge(struct graph *g, uint32_t from, nsec_t start, uint32_t to, nsec_t end)
{
	if (from != to)
		*vec_push(&g->edges) = (struct vertical){ from, to, start - BASE, end - BASE, 'D' };
}

/* Descends into a wait, follows the steps that explain it, and returns. */
static void draw_wait(struct graph *g, const struct model *model, const struct path *path,
		      size_t wait)
{
	const struct step *w = &path->steps.items[wait];
	uint32_t at = worker_of(model, w);
	nsec_t time = w->start;

	for (size_t i = wait + 1; i < path->steps.count; i++) {
		const struct step *s = &path->steps.items[i];

		/* a message in transit all the time still has a sender */
		if (s->parent != wait + 1 || (s->flags & STEP_TRANSIT && s->start > w->start))
			continue;
		add_edge(g, at, time, worker_of(model, s), s->start);
		at = worker_of(model, s);
		time = s->flags & STEP_TRANSIT ? s->start : s->end;
	}
	add_edge(g, at, time, worker_of(model, w), w->end);
}

static void draw_path(struct graph *g, const struct model *model, const struct path *path)
{
	for (size_t i = 0; i < path->steps.count; i++) {
		const struct step *s = &path->steps.items[i];

		if (!s->is_leaf)
			draw_wait(g, model, path, i);
		else if (!(s->flags & STEP_TRANSIT))
			*vec_push(&g->lines) =
				(struct horizontal){ worker_of(model, s), s->start - BASE,
						     s->end - BASE, type_of(s) };
	}
}

static void check_graph(const char *name, const struct graph *g, struct graph *expected,
			uint32_t worker)
{
	_cleanup_(model_freep) struct model *model = graph_model(g);
	_cleanup_(path_done) struct path path = { 0 };
	_cleanup_(graph_done) struct graph drawn = { 0 };
	thread_id thread = model_find_thread(model, tid_of(worker), UINT64_MAX);

	path_of_thread(model, thread, model_thread(model, thread)->begin,
		       model_thread(model, thread)->end, &path);
	draw_path(&drawn, model, &path);
	_cleanup_(freep) char *got = graph_text(&drawn), *want = graph_text(expected);
	CHECK_STR(got, want);
	if (strcmp(got, want) != 0)
		printf("# in %s\n", name);
}

static nsec_t take_number(const char **at)
{
	char *end;
	nsec_t n = strtoull(*at, &end, 10);

	*at = end;
	return n;
}

/* Reads one required character. */
static void pass(const char **at, char c)
{
	CHECK(**at == c);
	*at += **at == c;
}

static void parse_line(struct graph *g, const char **at)
{
	struct horizontal line = { .worker = take_number(at), .type = *(*at)++ };

	line.start = line.end = take_number(at);
	if (line.type != '@') {
		pass(at, '-');
		line.end = take_number(at);
	}
	*vec_push(&g->lines) = line;
}

static void parse_edge(struct graph *g, const char **at)
{
	struct vertical e = { .type = isdigit(**at) ? 'D' : *(*at)++ };

	e.from = take_number(at);
	pass(at, '.');
	e.start = take_number(at);
	pass(at, '-');
	e.to = take_number(at);
	pass(at, '.');
	e.end = take_number(at);
	*vec_push(&g->edges) = e;
}

static struct graph parse_graph(const char *text)
{
	struct graph g = { 0 };
	bool edges = false;

	for (const char *at = text; *at && !test_failures;) {
		if (*at == ' ' || *at == '|' || *at == '>')
			edges |= *at++ == '>';
		else if (edges)
			parse_edge(&g, &at);
		else
			parse_line(&g, &at);
	}
	return g;
}

static void check_text(const char *text, const char *want)
{
	_cleanup_(graph_done) struct graph g = parse_graph(text), expected = parse_graph(want);

	check_graph(text, &g, &expected, 0);
}

TEST(a_worker_alone_is_its_own_path)
{
	check_text("0R0-5 0R5-7", "0R0-5 0R5-7 >");
	check_text("0R0-2 0B2-4 0R4-6", "0R0-2 0B2-4 0R4-6 >");
	check_text("0R0-2 0B2-4 0R4-6 > T0.1-0.4", "0R0-2 0T2-4 0R4-6 >");
}

TEST(a_vertical_edge_leads_to_another_worker_and_back)
{
	check_text("0R0-4 0B4-7 0R7-9 | 1R0-7 1R7-8 > 1.7-0.7",
		   "0R0-4 0R7-9 1R4-7 > 0.4-1.4 1.7-0.7");
	/* edges before the wait do not count */
	check_text("0R0-2 0R2-6 0B6-9 0R9-10 | 1R0-1 1B1-2 1R2-9 > 0.2-1.2 1.9-0.9",
		   "0R0-2 0R2-6 0R9-10 1R6-9 > 0.6-1.6 1.9-0.9");
}

TEST(a_created_worker_leads_to_its_creator)
{
	/* before its start: its creator; it can take a while until it runs */
	check_text("0R0-2 0B2-9 0R9-10 | 1R0-9 | 2R5-9 > 1.5-2.5 2.9-0.9",
		   "0R0-2 0R9-10 1R2-5 2R5-9 > 0.2-1.2 1.5-2.5 2.9-0.9");
}

TEST(waits_within_a_wait_are_resolved_one_by_one)
{
	check_text("0R0-1 0B1-9 0R9-10 | 1R0-2 1B2-4 1R4-5 1B5-8 1R8-9 | 2R0-9 | 3R0-9 "
		   "> 2.4-1.4 3.8-1.8 1.9-0.9",
		   "0R0-1 0R9-10 1R1-2 1R4-5 1R8-9 2R2-4 3R5-8 "
		   "> 0.1-1.1 1.2-2.2 2.4-1.4 1.5-3.5 3.8-1.8 1.9-0.9");
}

TEST(a_message_leads_to_its_sender)
{
	check_text("0R0-2 0B2-9 0R9-10 | 1R0-9 > N1.7-0.9", "0R0-2 0R9-10 1R2-7 > 0.2-1.2 1.7-0.9");
	/* sent before the wait: all of the wait is transit */
	check_text("0R0-5 0B5-9 0R9-10 | 1R0-9 > N1.3-0.9", "0R0-5 0R9-10 > 0.5-1.5 1.5-0.9");
	/* by a worker without other edges */
	check_text("0R0-5 0B5-9 0R9-10 | 1@7 > N1.7-0.9", "0R0-5 0R9-10 1U5-7 > 0.5-1.5 1.7-0.9");
}

TEST(messages_lead_through_workers_that_are_recorded_too_late)
{
	check_text("0R0-1 0B1-9 0R9-10 | 1R0-9 | 2R4-7 | 3R6-9 > N1.3-2.5 N2.6-3.8 3.9-0.9",
		   "0R0-1 0R9-10 1R1-3 2R5-6 3R8-9 > 0.1-1.1 1.3-2.5 2.6-3.8 3.9-0.9");
	/* the first message ended the wait, not the last */
	check_text("0R0-1 0B1-9 0R9-10 | 1R0-9 | 2R0-9 | 3R4-9 > N1.3-3.5 N2.6-3.7 3.9-0.9",
		   "0R0-1 0R9-10 1R1-3 3R5-9 > 0.1-1.1 1.3-3.5 3.9-0.9");
}

TEST(consecutive_waits_lead_to_one_worker_each)
{
	/* one contains the other */
	check_text("0R0-3 0R3-5 0R5-9 0B9-12 0B12-17 0R17-19 | 1R5-12 | 2R3-17 "
		   "> 0.3-2.3 0.5-1.5 1.12-0.12 2.17-0.17",
		   "0R0-3 0R3-5 0R5-9 0R17-19 1R9-12 2R12-17 "
		   "> 0.9-1.9 0.12-2.12 1.12-0.12 2.17-0.17");
	/* they overlap */
	check_text("0R0-3 0R3-5 0R5-9 0B9-12 0B12-17 0R17-19 | 1R3-12 | 2R5-17 "
		   "> 0.3-1.3 0.5-2.5 1.12-0.12 2.17-0.17",
		   "0R0-3 0R3-5 0R5-9 0R17-19 1R9-12 2R12-17 "
		   "> 0.9-1.9 0.12-2.12 1.12-0.12 2.17-0.17");
}

TEST(a_chain_of_creators_is_followed_to_its_end)
{
	check_text("0R0-2 0B2-19 0R19-20 | 1R2-5 1B5-16 1R16-19 | 2R5-7 2B7-11 2R11-16 | 3R7-11 "
		   "> 0.2-1.2 1.5-2.5 1.19-0.19 2.7-3.7 2.16-1.16 3.11-2.11",
		   "0R0-2 0R19-20 1R2-5 1R16-19 2R5-7 2R11-16 3R7-11 "
		   "> 0.2-1.2 1.5-2.5 1.19-0.19 2.7-3.7 2.16-1.16 3.11-2.11");
}

TEST(a_wakeup_from_before_the_wait_explains_all_of_it)
{
	check_text("0R0-4 0B4-9 0R9-12 | 1R0-3 1R3-7 > 1.3-0.9", "0R0-4 0R9-12 > 0.4-1.4 1.4-0.9");
}

TEST(the_time_before_a_sender_began_is_unexplained)
{
	check_text("0R0-2 0B2-15 0R15-16 | 1R4-6 1R6-7 | 2R8-10 2R10-11 | 3R12-13 3R13-15 "
		   "> N1.6-2.10 N2.11-3.13 3.15-0.15",
		   "0R0-2 0R15-16 1U2-4 1R4-6 2R10-11 3R13-15 "
		   "> 0.2-1.2 1.6-2.10 2.11-3.13 3.15-0.15");
}

/* From here on, the graphs of Trace Compass, if their file exists; the rules are the same. */

static uint64_t number_at(yyjson_val *array, size_t i)
{
	return yyjson_get_uint(yyjson_arr_get(array, i));
}

static struct graph load_graph(yyjson_val *object)
{
	struct graph g = { 0 };
	yyjson_val *v;
	size_t i, count;

	yyjson_arr_foreach(yyjson_obj_get(object, "horizontal"), i, count, v) * vec_push(&g.lines) =
		(struct horizontal){ number_at(v, 0), number_at(v, 1), number_at(v, 2),
				     yyjson_get_str(yyjson_arr_get(v, 3))[0] };
	yyjson_arr_foreach(yyjson_obj_get(object, "vertical"), i, count, v) * vec_push(&g.edges) =
		(struct vertical){ number_at(v, 0), number_at(v, 2), number_at(v, 1),
				   number_at(v, 3), yyjson_get_str(yyjson_arr_get(v, 4))[0] };
	yyjson_arr_foreach(yyjson_obj_get(object, "lone_vertices"), i, count, v) *
		vec_push(&g.lines) =
		(struct horizontal){ number_at(v, 0), number_at(v, 1), number_at(v, 1), '@' };
	return g;
}

static void check_graphs_of_trace_compass(void)
{
	_cleanup_(freep) char *path =
		must_printf("%s/critical-path-graphs.json", getenv("SONDE_SHARED_DATA") ?: "");
	yyjson_doc *doc = yyjson_read_file(path, 0, NULL, NULL);
	size_t i, count = 0;
	yyjson_val *test;

	if (!doc)
		return;
	yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), "cases"), i, count, test)
	{
		_cleanup_(graph_done) struct graph g = load_graph(yyjson_obj_get(test, "graph"));
		_cleanup_(graph_done) struct graph expected =
			load_graph(yyjson_obj_get(test, "expected_bounded"));

		check_graph(yyjson_get_str(yyjson_obj_get(test, "name")), &g, &expected,
			    yyjson_get_uint(yyjson_obj_get(test, "start_worker")));
	}
	CHECK_INT(count, 12);
	yyjson_doc_free(doc);
}

TEST(a_worker_that_never_blocks_is_its_own_path)
{
	check_text("0R0-3 0R3-5 | 1R0-5 > 1.3-0.3", "0R0-3 0R3-5 >");
	check_graphs_of_trace_compass();
}
