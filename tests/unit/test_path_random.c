/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths through random systems: threads run, block, wake each other, send messages, create
 * others and exit at random.  All paths have the properties that path.h states.  Then
 * records that no system could have made.
 */
#include <time.h>

#include "analyse/path.h"
#include "story.h"
#include "test.h"

enum { ACTORS = 12, FIRST_ACTORS = 4, LINKS = ACTORS * ACTORS };

enum mood { ABSENT, RUNNING, READY, LOCKED, ASLEEP, LISTENING };

struct actor {
	enum mood mood;
	nsec_t since; /* start of its state; if ready, of the blocked state before */
	nsec_t woken;
	uint32_t waker;
	uint8_t blocked; /* enum state, while or before it is ready */
	uint8_t context;
};

struct packet {
	nsec_t arrives;
	uint32_t link, position, bytes;
	bool received;
};

struct random_system {
	struct story *story;
	uint32_t first_tid, first_socket; /* allows several systems in one story */
	nsec_t now;
	struct actor actors[ACTORS];
	uint32_t position[LINKS]; /* link from * ACTORS + to */
	VEC(struct packet) packets;
};

static uint32_t tid_of(const struct random_system *w, uint32_t i)
{
	return w->first_tid + i;
}

static uint32_t socket_of(const struct random_system *w, uint32_t link)
{
	return w->first_socket + 2 * link;
}

static void end_run(struct random_system *w, uint32_t i)
{
	story_run(w->story, tid_of(w, i), w->actors[i].since, w->now);
	w->actors[i].since = w->now;
}

static void block(struct random_system *w, uint32_t i)
{
	static const struct {
		enum mood mood;
		uint8_t state;
	} ways[] = { { LOCKED, STATE_LOCK },      { LOCKED, STATE_PROCESS },
		     { LOCKED, STATE_UNKNOWN },   { ASLEEP, STATE_TIMER },
		     { ASLEEP, STATE_DISK },      { LISTENING, STATE_NETWORK },
		     { LISTENING, STATE_NETWORK } };
	size_t way = random() % ARRAY_LEN(ways);

	end_run(w, i);
	w->actors[i].mood = ways[way].mood;
	w->actors[i].blocked = ways[way].state;
}

static void wake(struct random_system *w, uint32_t i, enum wake_context context, uint32_t waker)
{
	w->actors[i].mood = READY;
	w->actors[i].woken = w->now;
	w->actors[i].context = context;
	w->actors[i].waker = waker;
}

static void preempt(struct random_system *w, uint32_t i)
{
	end_run(w, i);
	wake(w, i, WAKE_NONE, 0);
}

static void add_wait(struct random_system *w, uint32_t i, uint8_t flags)
{
	const struct actor *a = &w->actors[i];

	story_add(w->story, REC(WAIT, wait, w->now, tid_of(w, i), .start = a->since,
				.woken = a->woken, .state = a->blocked, .ready = STATE_READY,
				.context = a->context, .waker = a->waker, .flags = flags));
}

static void dispatch(struct random_system *w, uint32_t i)
{
	add_wait(w, i, 0);
	w->actors[i].mood = RUNNING;
	w->actors[i].since = w->now;
	for (size_t k = 0; k < w->packets.count; k++) {
		struct packet *p = &w->packets.items[k];

		if (p->link % ACTORS != i || p->received || p->arrives > w->now)
			continue;
		p->received = true;
		story_receive(w->story, tid_of(w, i), w->now, socket_of(w, p->link) + 1,
			      p->position, p->bytes);
	}
}

static void create(struct random_system *w, uint32_t i)
{
	for (uint32_t k = 0; k < ACTORS; k++)
		if (w->actors[k].mood == ABSENT) {
			story_create(w->story, tid_of(w, k), tid_of(w, i), w->now);
			w->actors[k] = (struct actor){ .mood = RUNNING, .since = w->now };
			return;
		}
}

static void leave(struct random_system *w, uint32_t i)
{
	if (i < FIRST_ACTORS)
		return; /* one thread has to remain */
	end_run(w, i);
	story_add(w->story, REC(EXIT, exit, w->now, tid_of(w, i), .pid = tid_of(w, i)));
	w->actors[i].mood = ABSENT;
}

/* A running thread acts on another. */
static void interact(struct random_system *w, uint32_t i, uint32_t other)
{
	uint32_t link = i * ACTORS + other;

	if (i == other)
		return;
	if (w->actors[other].mood == LOCKED) {
		wake(w, other, WAKE_TASK, tid_of(w, i));
	} else {
		uint32_t bytes = 1 + random() % 100;

		w->position[link] += bytes;
		*vec_push(&w->packets) = (struct packet){ w->now + random() % 30, link,
							  w->position[link], bytes, false };
		story_send(w->story, tid_of(w, i), w->now, socket_of(w, link), w->position[link],
			   bytes);
	}
}

static void act(struct random_system *w, uint32_t i)
{
	int luck = random() % 100;

	switch (w->actors[i].mood) {
	case RUNNING:
		if (luck < 25)
			block(w, i);
		else if (luck < 30)
			preempt(w, i);
		else if (luck < 33)
			create(w, i);
		else if (luck < 35)
			leave(w, i);
		else
			interact(w, i, random() % ACTORS);
		break;
	case READY:
		dispatch(w, i);
		break;
	case ASLEEP:
		if (luck < 40)
			wake(w, i, WAKE_HRTIMER, 0);
		break;
	case LOCKED:
	case LISTENING:
		if (luck < 1) /* stops waiting, as otherwise all might wait for each other */
			wake(w, i, WAKE_HRTIMER, 0);
		break;
	case ABSENT:
		break;
	}
}

static void deliver(struct random_system *w)
{
	for (size_t k = 0; k < w->packets.count; k++) {
		const struct packet *p = &w->packets.items[k];
		uint32_t to = p->link % ACTORS;

		if (!p->received && p->arrives <= w->now && w->actors[to].mood == LISTENING)
			wake(w, to, WAKE_SOFTIRQ, 0);
	}
}

/* Cuts off unfinished intervals at the end. */
static void end_system(struct random_system *w)
{
	for (uint32_t i = 0; i < ACTORS; i++) {
		struct actor *a = &w->actors[i];

		if (a->mood == RUNNING)
			end_run(w, i);
		else if (a->mood != ABSENT && a->mood != READY)
			wake(w, i, WAKE_NONE, 0);
		if (a->mood == READY)
			add_wait(w, i, INTERVAL_OPEN);
	}
	vec_done(&w->packets);
}

static void tell_world(struct story *s, uint32_t first_tid, uint32_t first_socket, int actions)
{
	struct random_system w = {
		.story = s, .first_tid = first_tid, .first_socket = first_socket, .now = 1
	};

	for (uint32_t link = 0; link < LINKS; link++)
		story_connect(s, socket_of(&w, link));
	for (uint32_t i = 0; i < FIRST_ACTORS; i++) {
		story_begin(s, tid_of(&w, i), w.now);
		w.actors[i] = (struct actor){ .mood = RUNNING, .since = w.now };
	}
	for (int i = 0; i < actions; i++) {
		w.now += random() % 3;
		deliver(&w);
		act(&w, random() % ACTORS);
	}
	end_system(&w);
}

/* A step without flags matches the timeline of its thread. */
static void check_step(const struct model *model, const struct step *s)
{
	struct stretch at;

	if (s->flags || !s->thread.i)
		return;
	CHECK(model_stretch_at(model, s->thread, s->start, &at));
	CHECK_INT(at.interval.state, s->state);
	CHECK_INT(at.interval.start, s->begin);
	CHECK(at.interval.start <= s->start && s->end <= at.end);
}

/* Children cover their parent without gap or overlap, and the top steps the whole time. */
static void check_tiles(const struct path *path, nsec_t from, nsec_t to)
{
	_cleanup_(freep) nsec_t *reached = must_alloc((path->steps.count + 1) * sizeof(*reached));
	nsec_t at = from;

	reached[0] = from;
	for (size_t i = 0; i < path->steps.count; i++) {
		const struct step *s = &path->steps.items[i];
		const struct step *above = s->parent ? &path->steps.items[s->parent - 1] : NULL;

		CHECK(s->parent <= i && s->start < s->end);
		CHECK_INT(s->start, reached[s->parent]);
		CHECK_INT(s->depth, above ? above->depth + 1 : 0);
		CHECK(!above || (state_is_blocked(above->state) && !above->is_leaf));
		CHECK(!above || (s->start >= above->start && s->end <= above->end));
		reached[s->parent] = s->end;
		reached[i + 1] = s->start;
		if (!s->is_leaf)
			continue;
		CHECK_INT(s->start, at);
		at = s->end;
	}
	CHECK_INT(at, to);
	CHECK_INT(reached[0], to);
	for (size_t i = 0; i < path->steps.count; i++)
		if (!path->steps.items[i].is_leaf)
			CHECK_INT(reached[i + 1], path->steps.items[i].end);
}

/* The leaves are a prefix of the leaves of a longer path. */
static void check_begin_of(const struct path *path, const struct path *longer)
{
	size_t k = 0;

	for (size_t i = 0; i < path->steps.count && !test_failures; i++) {
		const struct step *s = &path->steps.items[i];

		if (!s->is_leaf)
			continue;
		while (!longer->steps.items[k].is_leaf)
			k++;

		const struct step *l = &longer->steps.items[k++];

		CHECK(s->thread.i == l->thread.i && s->state == l->state && s->flags == l->flags);
		CHECK(s->start == l->start && s->end <= l->end);
	}
}

static void check_thread(const struct model *model, thread_id id)
{
	const struct thread *thread = model_thread(model, id);
	nsec_t cut = thread->begin + (thread->end - thread->begin) * (random() % 100) / 100;
	_cleanup_(path_done) struct path path = { 0 }, part = { 0 };

	path_of_thread(model, id, thread->begin, thread->end, &path);
	check_tiles(&path, thread->begin, thread->end);
	for (size_t i = 0; i < path.steps.count; i++)
		check_step(model, &path.steps.items[i]);
	path_of_thread(model, id, thread->begin, cut, &part);
	check_tiles(&part, thread->begin, cut);
	check_begin_of(&part, &path);
}

TEST(paths_cover_their_time_and_match_the_timelines)
{
	for (int seed = 1; seed <= 60 && !test_failures; seed++) {
		_cleanup_(story_done) struct story s = { 0 };

		srandom(seed);
		tell_world(&s, 1, 1000, 3000);
		_cleanup_(model_freep) struct model *model = story_model(&s);

		CHECK(model_thread_count(model) > FIRST_ACTORS);
		for (uint32_t i = 1; i < model_thread_count(model); i++)
			check_thread(model, (thread_id){ i });
		if (test_failures)
			printf("# with seed %d\n", seed);
	}
}

/* Random systems contain the interesting cases. */
TEST(random_systems_contain_chains_and_messages)
{
	_cleanup_(story_done) struct story s = { 0 };
	_cleanup_(path_done) struct path path = { 0 };
	uint32_t deepest = 0, transits = 0, unexplained = 0;

	srandom(1);
	tell_world(&s, 1, 1000, 20000);
	_cleanup_(model_freep) struct model *model = story_model(&s);

	for (uint32_t i = 1; i < model_thread_count(model); i++) {
		const struct thread *thread = model_thread(model, (thread_id){ i });

		path_of_thread(model, (thread_id){ i }, thread->begin, thread->end, &path);
	}
	for (size_t i = 0; i < path.steps.count; i++) {
		deepest = path.steps.items[i].depth > deepest ? path.steps.items[i].depth : deepest;
		transits += path.steps.items[i].flags & STEP_TRANSIT;
		unexplained += (path.steps.items[i].flags & STEP_UNEXPLAINED) > 0;
	}
	CHECK(transits > 100);
	CHECK(unexplained < path.steps.count / 50);
}

TEST(unrelated_threads_change_nothing)
{
	for (int seed = 1; seed <= 20 && !test_failures; seed++) {
		_cleanup_(story_done) struct story alone = { 0 }, beside = { 0 };

		srandom(seed);
		tell_world(&alone, 1, 1000, 2000);
		srandom(seed + 1000);
		tell_world(&beside, 501, 5000, 2000);
		srandom(seed);
		tell_world(&beside, 1, 1000, 2000);
		_cleanup_(model_freep) struct model *one = story_model(&alone);
		_cleanup_(model_freep) struct model *both = story_model(&beside);

		for (uint32_t tid = 1; tid <= ACTORS; tid++) {
			_cleanup_(freep) char *a = story_path(one, tid, 0, 100000);
			_cleanup_(freep) char *b = story_path(both, tid, 0, 100000);

			CHECK_STR(b, a);
		}
	}
}

static uint64_t any(uint64_t limit)
{
	return random() % limit;
}

/* Random records, even with times that decrease. */
static void add_nonsense(struct story *s, int count)
{
	static const char states[] = "RDNTLIU?CQ";

	for (uint64_t n = 100; n < 110; n += 2)
		story_connect(s, n);
	for (int i = 0; i < count; i++) {
		nsec_t time = any(1000);
		uint32_t tid = any(6), peer = any(6);

		switch (any(6)) {
		case 0:
			story_add(s, REC(TASK, task, time, tid, .pid = tid, .parent = peer,
					 .event = any(5), .flags = any(20) == 0));
			break;
		case 1:
			story_add(s, REC(RUN, run, time, tid, .start = any(1000)));
			break;
		case 2:
		case 3:
			story_add(s,
				  REC(WAIT, wait, time, tid, .start = any(1000), .woken = any(1000),
				      .state = states[any(9)], .ready = states[any(9)],
				      .waker = peer, .context = any(6),
				      .object = any(2) ? 100 + any(10) : 0, .object_kind = any(8)));
			break;
		case 4:
			story_add(s,
				  REC(MESSAGE, message, time, tid, .object = 100 + any(12),
				      .bytes = any(50), .position = any(300), .direction = any(2)));
			break;
		default:
			story_add(s, REC(EXIT, exit, time, tid));
		}
	}
}

static struct model *unsorted_model(const struct story *s)
{
	struct source source = story_source(0);
	struct model *model = model_new();

	for (size_t i = 0; i < s->events.count; i++)
		model_add(model, &source, &s->events.items[i].record.head);
	model_finish(model);
	return model;
}

TEST(contradictory_records_still_have_a_path)
{
	for (int seed = 1; seed <= 300 && !test_failures; seed++) {
		_cleanup_(story_done) struct story s = { 0 };

		srandom(seed);
		add_nonsense(&s, 200);
		_cleanup_(model_freep) struct model *model =
			seed % 2 ? story_model(&s) : unsorted_model(&s);

		for (uint32_t i = 0; i < model_thread_count(model); i++) {
			_cleanup_(path_done) struct path path = { 0 };

			path_of_thread(model, (thread_id){ i }, 0, 1200, &path);
			check_tiles(&path, 0, 1200);
		}
		if (test_failures)
			printf("# with seed %d\n", seed);
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Two threads that pass a lock to each other; the second also receives a message each time. */
static void tell_handoff(struct story *s, uint64_t rounds)
{
	story_connect(s, 100);
	story_begin(s, 1, 1);
	story_begin(s, 2, 1);
	for (uint64_t i = 0; i < rounds; i++) {
		nsec_t t = 1 + 100 * i;

		story_run(s, 1, t, t + 40);
		story_send(s, 1, t + 39, 100, 10 * (i + 1), 10);
		story_wait_packet(s, 2, t, t + 45);
		story_receive(s, 2, t + 46, 101, 10 * (i + 1), 10);
		story_run(s, 2, t + 45, t + 100);
		story_wait(s, 1, t + 40, t + 100, STATE_LOCK, 2);
	}
}

static double time_of_path(uint64_t rounds)
{
	_cleanup_(story_done) struct story s = { 0 };

	tell_handoff(&s, rounds);
	_cleanup_(model_freep) struct model *model = story_model(&s);
	double best = 1e9;

	for (int i = 0; i < 3; i++) {
		_cleanup_(path_done) struct path path = { 0 };
		double start = seconds();

		path_of_thread(model, model_find_thread(model, 1, 1), 1, 1 + 100 * rounds, &path);
		start = seconds() - start;
		best = start < best ? start : best;
		/* 1R; 1L with 2N below it, which 1 cannot explain; and 2R */
		CHECK_INT(path.steps.count, 4 * rounds);
	}
	return best;
}

TEST(cost_is_linear)
{
	bool is_linear = false;

	/* other processes can evict the caches once, but not every time */
	for (int i = 0; i < 5 && !is_linear; i++) {
		double once = time_of_path(20000), eight = time_of_path(160000);

		is_linear = eight < 24 * once + 0.01; /* quadratic cost would be 64 times */
		if (!is_linear)
			printf("# %f s, eight times as much %f s\n", once, eight);
	}
	CHECK(is_linear);
}
