/* SPDX-License-Identifier: Apache-2.0 */
#include "report/export/otlp_put.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "event/kind.h"
#include "event/syscall.h"

struct view clean_text(struct clean_text *clean, const char *s)
{
	static const char replacement[] = "\xef\xbf\xbd";
	size_t length = strlen(s), at = 0, n;

	while (at < length && (n = utf8_length(s + at, length - at)))
		at += n;
	if (at == length)
		return (struct view){ s, length };
	clean->bytes.count = 0;
	for (at = 0; at < length; at += n ? n : 1) {
		n = utf8_length(s + at, length - at);
		for (size_t i = 0; i < (n ? n : strlen(replacement)); i++)
			*vec_push(&clean->bytes) = (n ? s + at : replacement)[i];
	}
	return (struct view){ clean->bytes.items, clean->bytes.count };
}

void otlp_put_done(struct otlp_put *p)
{
	vec_done(&p->key.bytes);
	vec_done(&p->value.bytes);
}

const struct attribute *otlp_put_find_own(const struct otlp_put *p, const char *key)
{
	for (size_t i = 0; i < p->own.count; i++)
		if (strcmp(model_string(p->model, p->own.items[i].key), key) == 0)
			return &p->own.items[i];
	return NULL;
}

void otlp_put(struct otlp_put *p, const char *key, const struct otlp_value *value)
{
	if (!otlp_put_find_own(p, key))
		otlp_put_attribute(p->w, clean_text(&p->key, key), value);
}

void otlp_put_text(struct otlp_put *p, const char *key, const char *value)
{
	if (*value)
		otlp_put(p, key,
			 &(struct otlp_value){ OTLP_STRING, .text = clean_text(&p->value, value) });
}

void otlp_put_int(struct otlp_put *p, const char *key, int64_t n)
{
	otlp_put(p, key, &(struct otlp_value){ OTLP_INT, .number = n });
}

void otlp_put_real(struct otlp_put *p, const char *key, double n)
{
	otlp_put(p, key, &(struct otlp_value){ OTLP_DOUBLE, .real = n });
}

void otlp_put_true(struct otlp_put *p, const char *key)
{
	otlp_put(p, key, &(struct otlp_value){ OTLP_BOOL, .boolean = true });
}

void otlp_put_count(struct otlp_put *p, const char *lead, const char *name, uint64_t n)
{
	_cleanup_(freep) char *key = must_printf("sonde.%s.%s", lead, name);

	otlp_put_int(p, key, n);
}

void otlp_put_states(struct otlp_put *p, const char *lead, const nsec_t states[128])
{
	for (const char *letter = state_letters; *letter; letter++)
		if (states[(int)*letter])
			otlp_put_count(p, lead, (char[]){ *letter, '\0' }, states[(int)*letter]);
}

void otlp_put_address(struct otlp_put *p, const char *side, const char *address)
{
	const char *port = strrchr(address, ':');
	_cleanup_(freep) char *name = must_printf("network.%s.address", side);
	_cleanup_(freep) char *number = must_printf("network.%s.port", side);

	if (!port)
		return;

	bool bracket = address[0] == '[';
	_cleanup_(freep) char *host =
		must_printf("%.*s", (int)(port - address) - 2 * bracket, address + bracket);

	otlp_put_text(p, name, host);
	otlp_put_int(p, number, strtol(port + 1, NULL, 10));
}

void otlp_put_use(struct otlp_put *p, const struct request_use *use)
{
	otlp_put_states(p, "state", use->states);
	for (size_t i = 0; i < use->calls.count; i++)
		otlp_put_count(p, "syscall", syscall_name(use->calls.items[i].nr) ?: "unknown",
			       use->calls.items[i].count);
	for (size_t i = 0; i < use->probe_events.count; i++) {
		const char *name = model_probe_name(p->model, use->probe_events.items[i].type);

		otlp_put_count(p, "probe_event", name ?: "unknown",
			       use->probe_events.items[i].count);
	}
}

void otlp_put_queueing(struct otlp_put *p, const struct span *span)
{
	nsec_t arrival = span_arrival(span);

	if (span->read && span->arrival && span->read > arrival)
		otlp_put_int(p, "sonde.queueing", span->read - arrival);
	if (span->source != SPAN_INFERRED && span->arrival && span->start > arrival)
		otlp_put_int(p, "sonde.before_span", span->start - arrival);
	if (span->sent && span->end > span->sent)
		otlp_put_int(p, "sonde.send_buffer", span->end - span->sent);
	if (span->join_confidence > 0)
		otlp_put_real(p, "sonde.join_confidence", span->join_confidence);
}
