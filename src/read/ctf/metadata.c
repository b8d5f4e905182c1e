/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctf_metadata - parses the blocks of a trace's metadata.
 *
 *	trace { byte_order = le; packet.header := struct { ... }; };
 *	env { hostname = "web1"; tracer_name = "lttng-modules"; };
 *	clock { name = "monotonic"; freq = 1000000000; offset = 1457111225177515989; };
 *	stream { id = 0; event.header := struct ...; packet.context := struct ...; };
 *	event { name = "sched_switch"; id = 3; stream_id = 0; fields := struct { ... }; };
 *
 * A block is a list of values (=) and types (:=) with keys.  Unknown keys are ignored.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "read/ctf/parser.h"

void ctf_fail(struct ctf_parser *p, int code, const char *fmt, ...)
{
	char why[256];
	va_list args;

	if (p->code)
		return;
	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	p->code = err_set(p->err, code, "'%s', line %u: %s", p->name, p->token.line, why);
	p->token.kind = CTF_END;
	p->lexer.at = p->lexer.end;
}

void ctf_fail_expected(struct ctf_parser *p, const char *what)
{
	ctf_fail(p, -EBADMSG, "expected %s", what);
}

void ctf_advance(struct ctf_parser *p)
{
	p->token = ctf_lexer_next(&p->lexer);
}

bool ctf_accept(struct ctf_parser *p, int kind)
{
	if (p->token.kind != kind || p->code)
		return false;
	ctf_advance(p);
	return true;
}

bool ctf_accept_word(struct ctf_parser *p, const char *word)
{
	return ctf_token_is(&p->token, word) && ctf_accept(p, CTF_NAME);
}

void ctf_expect(struct ctf_parser *p, int kind, const char *what)
{
	if (!ctf_accept(p, kind))
		ctf_fail_expected(p, what);
}

bool ctf_in_block(struct ctf_parser *p)
{
	return !p->code && p->token.kind != '}' && p->token.kind != CTF_END;
}

const char *ctf_parse_path(struct ctf_parser *p)
{
	char path[CTF_WORDS];
	size_t used = 0;
	bool is_string = p->token.kind == CTF_STRING_LITERAL;
	const char *string = p->token.s; /* already in the arena */

	if (is_string && ctf_accept(p, CTF_STRING_LITERAL))
		return string;
	do {
		if (p->token.kind != CTF_NAME) {
			ctf_fail_expected(p, "a name");
			return "";
		}
		if (p->token.len + 2 > CTF_WORDS - used) {
			ctf_fail(p, -EBADMSG, "a name is too long");
			return "";
		}
		if (used)
			path[used++] = '.';
		memcpy(path + used, p->token.s, p->token.len);
		used += p->token.len;
		ctf_advance(p);
	} while (ctf_accept(p, '.') || ctf_accept(p, CTF_ARROW));

	char *copy = arena_alloc(p->arena, used + 1);

	memcpy(copy, path, used);
	return copy;
}

struct ctf_value ctf_parse_value(struct ctf_parser *p)
{
	struct ctf_value value = { .is_negative = ctf_accept(p, '-') };

	if (!value.is_negative)
		ctf_accept(p, '+');
	value.number = p->token.number;
	value.is_number = ctf_accept(p, CTF_NUMBER);
	value.text = value.is_number ? NULL : ctf_parse_path(p);
	return value;
}

/* Handlers for the keys of a block; target is the object that the block describes. */
struct metadata_block {
	void (*value)(struct ctf_parser *p, void *target, const char *key,
		      const struct ctf_value *value);
	void (*type)(struct ctf_parser *p, void *target, const char *key,
		     const struct ctf_type *type);
};

static void parse_entry(struct ctf_parser *p, const struct metadata_block *block, void *target)
{
	const char *key = ctf_parse_path(p);

	if (ctf_accept(p, CTF_TYPE_IS)) {
		const struct ctf_type *type = ctf_parse_type(p, false);

		if (!p->code && type->kind != CTF_STRUCT)
			ctf_fail(p, -EBADMSG, "'%s' must be a struct", key);
		else if (!p->code && block->type)
			block->type(p, target, key, type);
	} else {
		ctf_expect(p, CTF_ASSIGN, "'=' or ':='");

		struct ctf_value value = ctf_parse_value(p);

		if (!p->code && block->value)
			block->value(p, target, key, &value);
	}
	ctf_expect(p, ';', "';'");
}

static void parse_block(struct ctf_parser *p, const struct metadata_block *block, void *target)
{
	size_t scope = ctf_scope_begin(p);

	ctf_expect(p, '{', "'{'");
	while (ctf_in_block(p))
		if (!ctf_parse_declaration(p))
			parse_entry(p, block, target);
	ctf_expect(p, '}', "'}'");
	ctf_expect(p, ';', "';'");
	ctf_scope_end(p, scope);
}

static void trace_value(struct ctf_parser *p, void *target, const char *key,
			const struct ctf_value *v)
{
	struct ctf_metadata *meta = target;

	if (strcmp(key, "byte_order") != 0)
		return;
	if (v->is_number || (strcasecmp(v->text, "le") != 0 && strcasecmp(v->text, "be") != 0 &&
			     strcasecmp(v->text, "network") != 0))
		ctf_fail(p, -EBADMSG, "the byte order of a trace must be le or be");
	else
		meta->is_big = strcasecmp(v->text, "le") != 0;
	meta->has_order = true;
}

static void trace_type(struct ctf_parser *p, void *target, const char *key,
		       const struct ctf_type *type)
{
	if (strcmp(key, "packet.header") == 0)
		((struct ctf_metadata *)target)->packet_header = type;
}

static void env_value(struct ctf_parser *p, void *target, const char *key,
		      const struct ctf_value *v)
{
	struct ctf_metadata *meta = target;

	if (strcmp(key, "hostname") == 0 || strcmp(key, "host") == 0)
		meta->host = v->text;
	else if (strcmp(key, "tracer_name") == 0)
		meta->tracer = v->text;
	else if (strcmp(key, "kernel_release") == 0 || strcmp(key, "release") == 0)
		meta->kernel = v->text;
}

static void clock_value(struct ctf_parser *p, void *target, const char *key,
			const struct ctf_value *v)
{
	struct ctf_clock *clock = target;
	int64_t number = v->is_negative ? -v->number : v->number;

	if (strcmp(key, "name") == 0 && v->text)
		clock->name = v->text;
	else if (strcmp(key, "uuid") == 0)
		clock->uuid = v->text;
	else if (strcmp(key, "freq") == 0 && v->is_number)
		clock->frequency = v->number;
	else if (strcmp(key, "offset_s") == 0 && v->is_number)
		clock->offset_s = number;
	else if (strcmp(key, "offset") == 0 && v->is_number)
		clock->offset = number;
	if (clock->frequency < 1 || clock->frequency > 1000000000000ull)
		ctf_fail(p, -EBADMSG, "the frequency of a clock must be 1 Hz to 1 THz");
}

static void stream_value(struct ctf_parser *p, void *target, const char *key,
			 const struct ctf_value *v)
{
	if (strcmp(key, "id") == 0 && v->is_number)
		((struct ctf_stream_class *)target)->id = v->number;
}

static void stream_type(struct ctf_parser *p, void *target, const char *key,
			const struct ctf_type *type)
{
	struct ctf_stream_class *stream = target;

	if (strcmp(key, "packet.context") == 0)
		stream->packet_context = type;
	else if (strcmp(key, "event.header") == 0)
		stream->event_header = type;
	else if (strcmp(key, "event.context") == 0)
		stream->event_context = type;
}

static void event_value(struct ctf_parser *p, void *target, const char *key,
			const struct ctf_value *v)
{
	struct ctf_event_class *event = target;

	if (strcmp(key, "id") == 0 && v->is_number)
		event->id = v->number;
	else if (strcmp(key, "stream_id") == 0 && v->is_number)
		event->stream_id = v->number;
	else if (strcmp(key, "name") == 0 && v->text)
		event->name = v->text;
}

static void event_type(struct ctf_parser *p, void *target, const char *key,
		       const struct ctf_type *type)
{
	struct ctf_event_class *event = target;

	if (strcmp(key, "fields") == 0)
		event->fields = type;
	else if (strcmp(key, "context") == 0)
		event->context = type;
}

static void parse_top(struct ctf_parser *p, struct ctf_metadata *meta)
{
	static const struct metadata_block trace = { trace_value, trace_type },
					   env = { env_value, NULL }, clock = { clock_value, NULL },
					   stream = { stream_value, stream_type },
					   event = { event_value, event_type }, callsite = { 0 };

	if (ctf_accept(p, ';') || ctf_parse_declaration(p)) {
		return;
	} else if (ctf_accept_word(p, "trace")) {
		parse_block(p, &trace, meta);
	} else if (ctf_accept_word(p, "env")) {
		parse_block(p, &env, meta);
	} else if (ctf_accept_word(p, "clock")) {
		*vec_push(&meta->clocks) = (struct ctf_clock){ "", .frequency = 1000000000 };
		parse_block(p, &clock, &meta->clocks.items[meta->clocks.count - 1]);
	} else if (ctf_accept_word(p, "stream")) {
		*vec_push(&meta->streams) = (struct ctf_stream_class){ 0 };
		parse_block(p, &stream, &meta->streams.items[meta->streams.count - 1]);
	} else if (ctf_accept_word(p, "event")) {
		*vec_push(&meta->events) = (struct ctf_event_class){ .name = "" };
		parse_block(p, &event, &meta->events.items[meta->events.count - 1]);
	} else if (ctf_accept_word(p, "callsite")) {
		parse_block(p, &callsite, NULL);
	} else {
		ctf_fail_expected(p, "trace, env, clock, stream, event or a declaration");
	}
}

void ctf_metadata_free(struct ctf_metadata *meta)
{
	if (!meta)
		return;
	vec_done(&meta->clocks);
	vec_done(&meta->streams);
	vec_done(&meta->events);
	arena_free(meta->arena);
	free(meta);
}

int ctf_metadata_parse(const char *name, const char *text, size_t size, struct ctf_metadata **ret,
		       struct err *err)
{
	_cleanup_(ctf_metadata_freep) struct ctf_metadata *meta = must_alloc(sizeof(*meta));

	meta->arena = arena_new();

	struct ctf_parser p = { .name = name,
				.lexer = { text, text + size, 1, meta->arena },
				.arena = meta->arena,
				.err = err };

	ctf_advance(&p);
	while (!p.code && p.token.kind != CTF_END)
		parse_top(&p, meta);
	if (!p.code && !meta->has_order)
		ctf_fail(&p, -EBADMSG, "the metadata declares no byte order");
	vec_done(&p.symbols);
	map_done(&p.latest);
	if (p.code)
		return p.code;
	*ret = TAKE(meta);
	return 0;
}
