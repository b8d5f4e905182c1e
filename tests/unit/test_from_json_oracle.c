/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares our table of OTLP's messages with opentelemetry-proto, and conversion from JSON and the
 * check of requests with protobuf-c, on random requests of all signals.
 */
#include "otlp/check.h"
#include "otlp/from_json.h"
#include "otlp/schema.h"
#include "otlp_random.h"
#include "test.h"

enum { REQUESTS = 500, DAMAGES = 6000 };

static enum schema_type type_of(const ProtobufCFieldDescriptor *f)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_STRING:
		return SCHEMA_STRING;
	case PROTOBUF_C_TYPE_BYTES:
		return strstr(f->name, "_id") ? SCHEMA_ID : SCHEMA_BYTES;
	case PROTOBUF_C_TYPE_MESSAGE:
		return SCHEMA_MESSAGE;
	case PROTOBUF_C_TYPE_BOOL:
		return SCHEMA_BOOL;
	case PROTOBUF_C_TYPE_ENUM:
		return SCHEMA_ENUM;
	case PROTOBUF_C_TYPE_INT32:
		return SCHEMA_INT32;
	case PROTOBUF_C_TYPE_UINT32:
		return SCHEMA_UINT32;
	case PROTOBUF_C_TYPE_SINT32:
		return SCHEMA_SINT32;
	case PROTOBUF_C_TYPE_INT64:
		return SCHEMA_INT64;
	case PROTOBUF_C_TYPE_UINT64:
		return SCHEMA_UINT64;
	case PROTOBUF_C_TYPE_FIXED32:
		return SCHEMA_FIXED32;
	case PROTOBUF_C_TYPE_FIXED64:
		return SCHEMA_FIXED64;
	case PROTOBUF_C_TYPE_SFIXED64:
		return SCHEMA_SFIXED64;
	default:
		return SCHEMA_DOUBLE;
	}
}

static void compare_enum(const char *const *ours, const ProtobufCEnumDescriptor *theirs)
{
	unsigned int n = 0;

	for (; ours[n]; n++) {
		const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(theirs, n);

		CHECK_STR(ours[n], value ? value->name : "");
	}
	CHECK_INT(n, theirs->n_values);
}

static int compare_message(const struct schema_message *ours,
			   const ProtobufCMessageDescriptor *theirs, unsigned int depth);

static int compare_field(const struct schema_field *ours, const ProtobufCFieldDescriptor *theirs,
			 unsigned int depth)
{
	char name[64];

	otlp_random_json_name(theirs->name, name);
	CHECK_STR(ours->name ?: "", name);
	CHECK_INT(ours->name_length, strlen(name));
	CHECK_INT(ours->type, type_of(theirs));
	CHECK_INT(ours->is_list, theirs->label == PROTOBUF_C_LABEL_REPEATED);
	CHECK_INT(ours->has_presence, (theirs->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0);
	if (ours->type == SCHEMA_ID)
		CHECK_INT(ours->id_size, strcmp(theirs->name, "trace_id") == 0 ? 16 : 8);
	if (ours->type == SCHEMA_ENUM)
		compare_enum(ours->names, theirs->descriptor);
	return ours->type == SCHEMA_MESSAGE && depth < 10
		       ? compare_message(ours->message, theirs->descriptor, depth + 1)
		       : 0;
}

/* The number of messages. */
static int compare_message(const struct schema_message *ours,
			   const ProtobufCMessageDescriptor *theirs, unsigned int depth)
{
	int known = 0, messages = 1;

	CHECK(strcmp(strrchr(ours->name, '.') ? strrchr(ours->name, '.') + 1 : ours->name,
		     theirs->short_name) == 0);
	CHECK_INT(ours->is_value, strcmp(ours->name, "AnyValue") == 0);
	for (unsigned int i = 0; i < ours->count; i++)
		known += ours->fields[i].name != NULL;
	for (unsigned int i = 0; i < theirs->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &theirs->fields[i];

		CHECK(f->id < ours->count);
		if (f->id < ours->count)
			messages += compare_field(&ours->fields[f->id], f, depth);
	}
	CHECK_INT(known, theirs->n_fields);
	return messages;
}

TEST(the_table_of_messages_is_that_of_opentelemetry_proto)
{
	for (int s = 0; s < OTLP_SIGNAL_COUNT; s++)
		CHECK(compare_message(otlp_requests[s], otlp_random_requests[s], 0) > 20);
}

TEST(json_is_converted_to_what_protobuf_c_packs)
{
	size_t bytes = 0;

	for (int s = 0; s < OTLP_SIGNAL_COUNT; s++)
		for (uint64_t i = 0; i < REQUESTS; i++) {
			_cleanup_(otlp_random_done) struct otlp_random r = otlp_random_new(i);
			_cleanup_(pb_buffer_done) struct pb_buffer out = { 0 };
			ProtobufCMessage *message =
				otlp_random_message(&r, otlp_random_requests[s], 0);
			struct view want = otlp_random_pack(&r, message);
			_cleanup_(freep) char *json = otlp_random_json(&r, message);
			struct err err = { "" };
			int code =
				otlp_from_json(s, (struct view){ json, strlen(json) }, &out, &err);
			struct view got = { out.data ? (char *)out.data : "", out.size };

			got = otlp_random_repack(&r, otlp_random_requests[s], got);
			if (code < 0 || !view_equal(got, want)) {
				printf("# signal %d request %" PRIu64 ": %s\n", s, i, err.text);
				CHECK(!"equal");
			}
			bytes += want.len;
		}
	CHECK(bytes > 3 * REQUESTS * 100);
}

static uint64_t count_items(const ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *type = message->descriptor;
	size_t length = strlen(type->short_name);
	uint64_t n = strcmp(type->short_name, "Span") == 0 ||
		     strcmp(type->short_name, "LogRecord") == 0 ||
		     (length > 9 && strcmp(type->short_name + length - 9, "DataPoint") == 0);

	for (unsigned int i = 0; i < type->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &type->fields[i];
		const char *quantifier = (const char *)message + f->quantifier_offset;
		const void *member = (const char *)message + f->offset;

		if (f->type != PROTOBUF_C_TYPE_MESSAGE)
			continue;
		if (f->label == PROTOBUF_C_LABEL_REPEATED)
			for (size_t k = 0; k < *(const size_t *)quantifier; k++)
				n += count_items((*(ProtobufCMessage ***)member)[k]);
		else if ((!(f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) ||
			  *(const int *)quantifier == (int)f->id) &&
			 *(ProtobufCMessage **)member)
			n += count_items(*(ProtobufCMessage **)member);
	}
	return n;
}

TEST(the_check_accepts_requests_and_counts_their_items)
{
	uint64_t items = 0;

	for (int s = 0; s < OTLP_SIGNAL_COUNT; s++)
		for (uint64_t i = 0; i < REQUESTS; i++) {
			_cleanup_(otlp_random_done) struct otlp_random r = otlp_random_new(i);
			ProtobufCMessage *message =
				otlp_random_message(&r, otlp_random_requests[s], 0);
			struct otlp_totals totals = { 0 };
			struct err err = { "" };

			CHECK_INT(otlp_check(s, otlp_random_pack(&r, message), &totals, &err), 0);
			CHECK_STR(err.text, "");
			CHECK_INT(totals.items, count_items(message));
			items += totals.items;
		}
	CHECK(items > 3 * REQUESTS);
}

/* Our check refuses more: text that is not UTF-8, ids of a wrong size, fields of a wrong type. */
TEST(the_check_refuses_what_protobuf_c_cannot_unpack)
{
	int accepted = 0, refused = 0;

	for (uint64_t i = 0; i < DAMAGES; i++) {
		_cleanup_(otlp_random_done) struct otlp_random r = otlp_random_new(i);
		int s = i % OTLP_SIGNAL_COUNT;
		struct view bytes =
			otlp_random_pack(&r, otlp_random_message(&r, otlp_random_requests[s], 0));
		struct otlp_totals totals;
		struct err err = { "" };

		for (uint32_t k = 1 + otlp_random_below(&r, 3); bytes.len && k; k--)
			((char *)bytes.s)[otlp_random_below(&r, bytes.len)] =
				otlp_random_below(&r, 256);

		bool ours = otlp_check(s, bytes, &totals, &err) == 0;
		bool theirs = otlp_random_repack(&r, otlp_random_requests[s], bytes).s;

		CHECK(theirs || !ours);
		CHECK(ours || strstr(err.text, "at offset"));
		accepted += ours;
		refused += !theirs;
	}
	CHECK(accepted > DAMAGES / 20);
	CHECK(refused > DAMAGES / 20);
}
