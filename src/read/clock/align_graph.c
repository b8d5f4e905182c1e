/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts the lines between pairs of hosts to one line for each host.
 *
 * The paths with the least sums of bounds form a tree.  Its lines keep all messages
 * along the tree in order, but not necessarily those between two hosts that are
 * aligned through a third.  If such a message would be received before it was sent,
 * each host in turn is aligned again with all its neighbours at once, by the same
 * method, until all messages are in order.  The true offsets keep all messages in
 * order, so a solution exists.  The bound of a host grows by the distance that its
 * line moved.
 */
#include <string.h>

#include "event/source.h"
#include "read/clock/align_internal.h"

static const double slope_max = SOURCE_DRIFT_MAX / (double)((int64_t)1 << SOURCE_DRIFT_BITS);

static int64_t rounded(double ns)
{
	const double most = 9e18;

	return (int64_t)(ns > most ? most : ns < -most ? -most : ns);
}

/* The time that both hosts recorded, on the clock of `from`. */
static void overlap(const struct align *align, const struct host_pair *pair, int64_t *ret_begin,
		    int64_t *ret_end)
{
	struct host_extent from = align->extents[pair->link.from],
			   to = align->extents[pair->link.to];
	int64_t begin = minus(to.begin, pair->y), end = minus(to.end, pair->y);

	begin = begin > from.begin ? begin : from.begin;
	end = end < from.end ? end : from.end;
	*ret_begin = begin < pair->min ? begin : pair->min;
	*ret_end = end > pair->max ? end : pair->max;
}

static bool has_enough(const struct align_link *link)
{
	return link->there >= ALIGN_MATCHES_MIN && link->back >= ALIGN_MATCHES_MIN;
}

static void solve_pair(const struct align *align, struct host_pair *pair)
{
	struct align_link *link = &pair->link;
	int64_t begin, end;

	if (!has_enough(link)) {
		fit_reduce(&pair->fit);
		return;
	}
	overlap(align, pair, &begin, &end);

	struct fit_line line =
		fit_solve(&pair->fit, minus(begin, pair->x), minus(end, pair->x), slope_max);

	link->dropped = pair->fit.above.dropped + pair->fit.below.dropped;
	link->contradictory = line.contradictory;
	link->line = (struct align_line){ .shift = plus(pair->y, rounded(line.at_from)),
					  .origin = begin,
					  .drift = line.slope };
	link->bound = line.bound;
	link->middle = plus(begin, minus(end, begin) / 2);
}

struct align_line align_inverse(struct align_line line)
{
	return (struct align_line){ .shift = minus(0, line.shift),
				    .origin = plus(line.origin, line.shift),
				    .drift = -line.drift / (1 + line.drift) };
}

struct align_line align_compose(struct align_line first, struct align_line second)
{
	int64_t since = minus(plus(first.origin, first.shift), second.origin);

	return (struct align_line){
		.shift = plus(plus(first.shift, second.shift), rounded(second.drift * since)),
		.origin = first.origin,
		.drift = first.drift + second.drift + first.drift * second.drift,
	};
}

int64_t align_apply(struct align_line line, int64_t t)
{
	return plus(plus(t, line.shift), rounded(line.drift * minus(t, line.origin)));
}

/* Aligns the host at the other end of the link through it if that has a smaller bound. */
static void follow_link(struct align *align, const struct align_link *link, uint16_t at,
			bool *reached)
{
	uint16_t other = link->from == at ? link->to : link->from;
	double bound = align->hosts[at].bound + link->bound;

	if (reached[other] && align->hosts[other].bound <= bound)
		return;
	reached[other] = true;
	align->hosts[other] = (struct align_host){
		.root = align->hosts[at].root,
		.line = align_compose(other == link->from ? link->line : align_inverse(link->line),
				      align->hosts[at].line),
		.bound = bound,
		.link = link,
	};
}

/* The reached host with the least bound that is not done; host_count if there is none. */
static size_t nearest(const struct align *align, const bool *reached, const bool *done)
{
	size_t best = align->host_count;

	for (size_t i = 0; i < align->host_count; i++)
		if (reached[i] && !done[i] &&
		    (best == align->host_count || align->hosts[i].bound < align->hosts[best].bound))
			best = i;
	return best;
}

static void reach_from(struct align *align, uint16_t root, bool *reached, bool *done)
{
	reached[root] = true;
	align->hosts[root] = (struct align_host){ .root = root };
	for (size_t at; (at = nearest(align, reached, done)) < align->host_count;) {
		done[at] = true;
		for (size_t i = 0; i < align->pairs.count; i++) {
			const struct align_link *link = &align->pairs.items[i].link;

			if ((link->from == at || link->to == at) && has_enough(link) &&
			    !link->contradictory)
				follow_link(align, link, at, reached);
		}
	}
}

/* A message between two hosts, with the times on their own clocks. */
struct host_message {
	uint16_t from, to;
	int64_t sent, received;
};

static size_t message_count(const struct host_pair *pair)
{
	return pair->fit.above.points.count + pair->fit.below.points.count;
}

static struct host_message message_at(const struct host_pair *pair, size_t i)
{
	size_t above = pair->fit.above.points.count;
	struct fit_point p = i < above ? pair->fit.above.points.items[i]
				       : pair->fit.below.points.items[i - above];
	int64_t x = plus(pair->x, rounded(p.x));
	int64_t other = plus(x, plus(pair->y, rounded(i < above ? p.y : -p.y)));

	if (i < above)
		return (struct host_message){ pair->link.from, pair->link.to, x, other };
	return (struct host_message){ pair->link.to, pair->link.from, other, x };
}

static bool is_inside_group(const struct align *align, const struct host_pair *pair)
{
	return align->hosts[pair->link.from].root == align->hosts[pair->link.to].root &&
	       !pair->link.contradictory;
}

/* ns: times are rounded at both ends. */
enum { ROUNDING = 4 };

static bool is_in_order(const struct align *align, const struct host_pair *pair)
{
	for (size_t i = 0; i < message_count(pair); i++) {
		struct host_message m = message_at(pair, i);
		int64_t sent = align_apply(align->hosts[m.from].line, m.sent);

		if (minus(align_apply(align->hosts[m.to].line, m.received), sent) < -ROUNDING)
			return false;
	}
	return true;
}

static bool all_in_order(const struct align *align)
{
	for (size_t i = 0; i < align->pairs.count; i++)
		if (is_inside_group(align, &align->pairs.items[i]) &&
		    !is_in_order(align, &align->pairs.items[i]))
			return false;
	return true;
}

/* Limits for the line of a host that keep its messages with a neighbour in order. */
static void add_points(const struct align *align, const struct host_pair *pair, uint16_t host,
		       struct fit *fit)
{
	struct align_line now = align->hosts[host].line;

	for (size_t i = 0; i < message_count(pair); i++) {
		struct host_message m = message_at(pair, i);
		bool sends = m.from == host;
		int64_t here = sends ? m.sent : m.received;
		int64_t there = align_apply(align->hosts[sends ? m.to : m.from].line,
					    sends ? m.received : m.sent);
		double x = minus(here, now.origin);
		double y = minus(minus(there, here), now.shift);

		if (sends)
			fit_add_above(fit, x, y);
		else
			fit_add_below(fit, x, y);
	}
}

/* Aligns a host with all its neighbours at once. */
static void realign(struct align *align, uint16_t host)
{
	_cleanup_(fit_done) struct fit fit = { 0 };
	struct align_host *h = &align->hosts[host];
	int64_t begin = align->extents[host].begin, end = align->extents[host].end;

	for (size_t i = 0; i < align->pairs.count; i++) {
		const struct host_pair *pair = &align->pairs.items[i];

		if ((pair->link.from == host || pair->link.to == host) &&
		    is_inside_group(align, pair))
			add_points(align, pair, host, &fit);
	}

	double from = minus(begin, h->line.origin);
	struct fit_line line =
		fit_solve(&fit, from, minus(end, h->line.origin), align->host_count * slope_max);

	if (fit.above.dropped)
		return;

	struct align_line moved = { .shift = plus(h->line.shift, rounded(line.at_from)),
				    .origin = begin,
				    .drift = line.slope };
	double at_begin = minus(align_apply(moved, begin), align_apply(h->line, begin));
	double at_end = minus(align_apply(moved, end), align_apply(h->line, end));

	at_begin = at_begin < 0 ? -at_begin : at_begin;
	at_end = at_end < 0 ? -at_end : at_end;
	h->bound += at_begin > at_end ? at_begin : at_end;
	h->line = moved;
}

/* One round is almost always enough. */
enum { ROUNDS = 16 };

/* Keeps the lines of the tree if no round gets all messages in order: some are wrong. */
static void realign_all(struct align *align)
{
	size_t size = align->host_count * sizeof(*align->hosts);
	_cleanup_(freep) struct align_host *tree = must_alloc(size + 1);

	memcpy(tree, align->hosts, size);
	for (int round = 0; !all_in_order(align); round++) {
		if (round == ROUNDS) {
			memcpy(align->hosts, tree, size);
			return;
		}
		for (size_t i = 0; i < align->host_count; i++)
			if (align->hosts[i].root != i)
				realign(align, i);
	}
}

/* Of the links from a root to hosts of earlier groups, takes the one with most messages. */
static void explain_root(struct align *align, uint16_t root)
{
	struct align_host *host = &align->hosts[root];
	uint64_t most = 0;

	for (size_t i = 0; i < align->pairs.count; i++) {
		const struct align_link *link = &align->pairs.items[i].link;

		if (link->from == root && align->hosts[link->to].root != root &&
		    link->there + link->back > most) {
			most = link->there + link->back;
			host->link = link;
		}
	}
}

const struct align_host *align_solve(struct align *align)
{
	_cleanup_(freep) bool *reached = must_alloc(align->host_count);
	_cleanup_(freep) bool *done = must_alloc(align->host_count);

	align_match(align);
	for (size_t i = 0; i < align->pairs.count; i++)
		solve_pair(align, &align->pairs.items[i]);
	for (size_t i = 0; i < align->host_count; i++)
		if (!reached[i])
			reach_from(align, i, reached, done);
	realign_all(align);
	for (size_t i = 1; i < align->host_count; i++)
		if (align->hosts[i].root == i)
			explain_root(align, i);
	return align->hosts;
}
