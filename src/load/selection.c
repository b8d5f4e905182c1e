/* SPDX-License-Identifier: Apache-2.0 */
#include "load/selection.h"

#include <errno.h>
#include <string.h>

#include "analyse/latency.h"
#include "analyse/lost.h"
#include "base/text.h"
#include "event/socket_name.h"

void selected_done(struct selected *selected)
{
	vec_done(&selected->spans);
	vec_done(&selected->lost);
}

int selection_check(const struct selection *s, struct err *err)
{
	unsigned int thousandths;
	nsec_t time;

	if (!s->above || parse_percentile(s->above, &thousandths) == 0 ||
	    parse_time(s->above, &time) == 0)
		return 0;
	return err_set(err, -EINVAL,
		       "--above requires a time such as 20ms or a percentile such as p95, not '%s'",
		       s->above);
}

bool selection_is_restricted(const struct selection *s)
{
	return s->entries.count || s->services.count || s->operations.count || s->from || s->to ||
	       s->above;
}

/* "80", "127.0.0.1" and "127.0.0.1:80" all match the address "127.0.0.1:80". */
static bool address_matches(const char *address, const char *wanted)
{
	const char *port = strrchr(address, ':');

	if (!port)
		return *address && strcmp(address, wanted) == 0;
	return strcmp(address, wanted) == 0 || strcmp(port + 1, wanted) == 0 ||
	       (strlen(wanted) == (size_t)(port - address) &&
		strncmp(address, wanted, port - address) == 0);
}

static bool is_named(const struct name_list *list, const char *name,
		     bool (*matches)(const char *name, const char *wanted))
{
	for (size_t i = 0; i < list->count; i++)
		if (matches(name, list->items[i]))
			return true;
	return !list->count;
}

static bool is_equal(const char *name, const char *wanted)
{
	return strcmp(name, wanted) == 0;
}

/* The server's side of the connection, or the address of the client. */
static bool matches_entry(const struct span_set *spans, const struct selection *s,
			  const struct span *span)
{
	const struct socket *socket = model_socket(spans->model, span->host, span->socket);
	struct socket_name name;

	if (!s->entries.count)
		return true;
	if (!socket)
		return is_named(&s->entries, span_set_string(spans, span->operation),
				address_matches);
	socket_name_init(&name, &socket->address);
	for (size_t i = 0; i < s->entries.count; i++) {
		const char *wanted = s->entries.items[i];
		bool is_port = strspn(wanted, "0123456789") == strlen(wanted);

		if (address_matches(name.local, wanted) ||
		    (!is_port && address_matches(name.peer, wanted)))
			return true;
	}
	return false;
}

static bool matches_names(const struct span_set *spans, const struct selection *s, span_id id)
{
	const struct span *span = span_set_at(spans, id);
	const char *operation = span_set_string(spans, span->operation);

	return matches_entry(spans, s, span) &&
	       is_named(&s->services, span_set_string(spans, span->service), is_equal) &&
	       is_named(&s->operations, operation, is_equal);
}

static bool is_topmost(const struct span_set *spans, const struct selection *s, span_id id)
{
	if (!s->entries.count && !s->services.count && !s->operations.count)
		return !span_set_at(spans, id)->parent.i;
	if (!matches_names(spans, s, id))
		return false;
	for (id = span_set_at(spans, id)->parent; id.i; id = span_set_at(spans, id)->parent)
		if (matches_names(spans, s, id))
			return false;
	return true;
}

static bool is_selected(const struct loaded *loaded, const struct selection *s, span_id id)
{
	const struct span *span = span_set_at(&loaded->spans, id);
	nsec_t begin = model_begin(loaded->model);

	if ((s->only_rebuilt && span->source != SPAN_INFERRED) ||
	    (!s->with_open && span->flags & SPAN_OPEN) ||
	    (s->from && span->start < begin + s->from) || (s->to && span->start >= begin + s->to))
		return false;
	return is_topmost(&loaded->spans, s, id);
}

uint64_t selection_entry(const struct span *span)
{
	return span->source == SPAN_INFERRED ? span->operation.i
					     : (uint64_t)span->service.i << 32 | span->operation.i;
}

struct entry_times {
	latencies times;
	nsec_t least; /* latency that a request needs to be selected */
};

typedef VEC(struct entry_times) entry_list;

static struct entry_times *entry_of(struct map *index, entry_list *list, const struct span *span)
{
	uint64_t *at = map_insert(index, selection_entry(span));

	if (!*at) {
		*vec_push(list) = (struct entry_times){ 0 };
		*at = list->count;
	}
	return &list->items[*at - 1];
}

static void find_percentiles(const struct span_set *spans, const struct selected *selected,
			     unsigned int thousandths, struct map *index, entry_list *list)
{
	for (size_t i = 0; i < selected->spans.count; i++) {
		const struct span *span = span_set_at(spans, selected->spans.items[i]);

		if (!(span->flags & SPAN_OPEN))
			*vec_push(&entry_of(index, list, span)->times) =
				span->end - span_arrival(span);
	}
	for (size_t i = 0; i < list->count; i++) {
		struct entry_times *e = &list->items[i];

		e->least = latency_at(&e->times, thousandths);
		vec_done(&e->times);
	}
}

static void keep_above(const struct span_set *spans, const char *above, struct selected *selected)
{
	unsigned int thousandths = 0;
	struct map index = { 0 };
	entry_list list = { 0 };
	size_t kept = 0;
	nsec_t time = 0;

	if (parse_percentile(above, &thousandths) == 0)
		find_percentiles(spans, selected, thousandths, &index, &list);
	else
		parse_time(above, &time);
	for (size_t i = 0; i < selected->spans.count; i++) {
		span_id id = selected->spans.items[i];
		const struct span *span = span_set_at(spans, id);
		nsec_t least = thousandths ? entry_of(&index, &list, span)->least : time;

		if (!(span->flags & SPAN_OPEN) && span->end - span_arrival(span) >= least)
			selected->spans.items[kept++] = id;
	}
	selected->spans.count = kept;
	map_done(&index);
	vec_done(&list);
}

static void leave_out_lost(const struct span_set *spans, struct selected *selected)
{
	size_t kept = 0;

	if (!model_loss_count(spans->model))
		return;
	for (size_t i = 0; i < selected->spans.count; i++) {
		span_id id = selected->spans.items[i];

		if (lost_of_tree(spans, id).losses)
			*vec_push(&selected->lost) = id;
		else
			selected->spans.items[kept++] = id;
	}
	if (kept)
		selected->spans.count = kept;
	else
		vec_done(&selected->lost);
}

void selection_find(const struct loaded *loaded, const struct selection *selection,
		    struct selected *ret)
{
	const struct span_set *spans = &loaded->spans;

	*ret = (struct selected){ 0 };
	for (uint32_t i = 1; i < span_set_count(spans); i++)
		if (is_selected(loaded, selection, (span_id){ i }))
			*vec_push(&ret->spans) = (span_id){ i };
	ret->all = ret->spans.count;
	leave_out_lost(spans, ret);
	if (selection->above)
		keep_above(spans, selection->above, ret);
}
