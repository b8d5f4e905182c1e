/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_random - random export requests of all signals, as protobuf-c has them, and their JSON.
 *
 * Both are made by reflection on the descriptors that protoc-c generates from opentelemetry-proto,
 * so that they do not share any table with the code that they test.
 */
#ifndef SONDE_TESTS_OTLP_RANDOM_H
#define SONDE_TESTS_OTLP_RANDOM_H

#include "base/arena.h"
#include "base/view.h"
#include "otlp.pb-c.h"
#include "otlp/signal.h"

struct otlp_random {
	struct arena *arena; /* of all messages and texts */
	uint64_t seed;
};

struct otlp_random otlp_random_new(uint64_t number);
void otlp_random_done(struct otlp_random *r);

uint64_t otlp_random_next(struct otlp_random *r);
uint32_t otlp_random_below(struct otlp_random *r, uint32_t n);

extern const ProtobufCMessageDescriptor *const otlp_random_requests[OTLP_SIGNAL_COUNT];

/* A message that collectors accept; `depth` is that of the messages around it. */
ProtobufCMessage *otlp_random_message(struct otlp_random *r, const ProtobufCMessageDescriptor *type,
				      unsigned int depth);

struct view otlp_random_pack(struct otlp_random *r, const void *message);

/* Unpacks a message and packs it again; the view is NULL if it cannot be unpacked. */
struct view otlp_random_repack(struct otlp_random *r, const ProtobufCMessageDescriptor *type,
			       struct view bytes);

/* The JSON of a message, in one of its forms.  The caller frees it. */
char *otlp_random_json(struct otlp_random *r, const ProtobufCMessage *message);

/* The name of a field in JSON. */
void otlp_random_json_name(const char *name, char ret[64]);

static inline bool view_equal(struct view a, struct view b)
{
	return a.s && b.s && a.len == b.len && memcmp(a.s, b.s, a.len) == 0;
}

#endif
