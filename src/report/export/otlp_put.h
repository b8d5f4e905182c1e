/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_put - write attributes of an OTLP span or resource.
 *
 * Names and values come from recorded programs and can contain any bytes, but strings in protobuf
 * must be valid UTF-8: what is not is replaced.  An attribute that the span itself has is not
 * written again.
 */
#ifndef SONDE_REPORT_EXPORT_OTLP_PUT_H
#define SONDE_REPORT_EXPORT_OTLP_PUT_H

#include "analyse/requests/sum.h"
#include "otlp/trace.h"

struct clean_text {
	VEC(char) bytes;
};

/* The text, or a copy with invalid UTF-8 replaced, valid until the next use of `clean`. */
struct view clean_text(struct clean_text *clean, const char *s);

/* All zero except for writer and model. */
struct otlp_put {
	struct otlp_writer *w;     /* borrowed */
	const struct model *model; /* borrowed */
	struct attributes own;     /* attributes of the current span itself */
	struct clean_text key, value;
};

void otlp_put_done(struct otlp_put *p);

/* The attribute of the span itself with this name, or NULL. */
const struct attribute *otlp_put_find_own(const struct otlp_put *p, const char *key);

void otlp_put(struct otlp_put *p, const char *key, const struct otlp_value *value);
void otlp_put_text(struct otlp_put *p, const char *key, const char *value); /* not if it is "" */
void otlp_put_int(struct otlp_put *p, const char *key, int64_t n);
void otlp_put_real(struct otlp_put *p, const char *key, double n);
void otlp_put_true(struct otlp_put *p, const char *key);

/* An attribute such as "sonde.probe_event.sched:sched_switch". */
void otlp_put_count(struct otlp_put *p, const char *lead, const char *name, uint64_t n);

/* Times by state: "sonde.LEAD.D". */
void otlp_put_states(struct otlp_put *p, const char *lead, const nsec_t states[128]);

/* An address with a port, by the names of the semantic conventions; `side`: "peer" or "local". */
void otlp_put_address(struct otlp_put *p, const char *side, const char *address);

/* The time in each state, system calls and probe events. */
void otlp_put_use(struct otlp_put *p, const struct request_use *use);

/* How long the request was in a queue before it was read, and its reply in the send buffer. */
void otlp_put_queueing(struct otlp_put *p, const struct span *span);

#endif
