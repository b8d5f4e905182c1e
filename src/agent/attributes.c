/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/attributes.h"

#include <string.h>

#include "event/event.h"
#include "event/span_wire.h"

static const char dropped_key[] = "sonde.dropped_attributes";

enum {
	DROPPED_SIZE = sizeof(struct span_attribute) + sizeof(dropped_key) - 1 + 8,
	ROOM = SONDE_ATTRIBUTES_SIZE - DROPPED_SIZE, /* the rest is reserved for it */
};

static void add(struct sonde_span *span, uint8_t type, const char *key, const void *value,
		size_t value_size, size_t room)
{
	size_t key_size = strlen(key);
	struct span_attribute head = { .type = type };
	uint8_t *to = span->attributes + span->attributes_size;

	if (key_size > UINT8_MAX || value_size > room ||
	    span->attributes_size + sizeof(head) + key_size + value_size > room) {
		span->dropped += span->dropped < UINT16_MAX;
		return;
	}
	head.key_size = (uint8_t)key_size;
	head.value_size = (uint16_t)value_size;
	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), key, key_size);
	memcpy(to + sizeof(head) + key_size, value, value_size);
	span->attributes_size += (uint16_t)(sizeof(head) + key_size + value_size);
}

void attributes_close(struct sonde_span *span)
{
	int64_t dropped = span->dropped;

	if (dropped)
		add(span, ATTRIBUTE_INT, dropped_key, &dropped, sizeof(dropped),
		    SONDE_ATTRIBUTES_SIZE);
}

void sonde_set_string(struct sonde_span *span, const char *key, const char *value)
{
	if (span->site && value)
		add(span, ATTRIBUTE_STRING, key, value, strlen(value), ROOM);
}

void sonde_set_int(struct sonde_span *span, const char *key, int64_t value)
{
	if (span->site)
		add(span, ATTRIBUTE_INT, key, &value, sizeof(value), ROOM);
}

void sonde_set_double(struct sonde_span *span, const char *key, double value)
{
	if (span->site)
		add(span, ATTRIBUTE_DOUBLE, key, &value, sizeof(value), ROOM);
}

void sonde_set_bool(struct sonde_span *span, const char *key, bool value)
{
	uint64_t wide = value;

	if (span->site)
		add(span, ATTRIBUTE_BOOL, key, &wide, sizeof(wide), ROOM);
}
