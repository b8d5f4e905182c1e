/* SPDX-License-Identifier: Apache-2.0 */
#include "otlp_random.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { DEPTH_MAX = 11 };

const ProtobufCMessageDescriptor *const otlp_random_requests[OTLP_SIGNAL_COUNT] = {
	&opentelemetry__proto__collector__trace__v1__export_trace_service_request__descriptor,
	&opentelemetry__proto__collector__metrics__v1__export_metrics_service_request__descriptor,
	&opentelemetry__proto__collector__logs__v1__export_logs_service_request__descriptor,
};

struct otlp_random otlp_random_new(uint64_t number)
{
	return (struct otlp_random){ arena_new(), number * 0x9e3779b97f4a7c15ull + 1 };
}

void otlp_random_done(struct otlp_random *r)
{
	arena_free(r->arena);
}

uint64_t otlp_random_next(struct otlp_random *r)
{
	r->seed ^= r->seed << 13;
	r->seed ^= r->seed >> 7;
	r->seed ^= r->seed << 17;
	return r->seed * 0x2545f4914f6cdd1dull;
}

uint32_t otlp_random_below(struct otlp_random *r, uint32_t n)
{
	return (otlp_random_next(r) >> 32) % n;
}

/* Small and large numbers, and those at the limits. */
static uint64_t any_number(struct otlp_random *r)
{
	switch (otlp_random_below(r, 8)) {
	case 0:
		return 0;
	case 1:
		return 1ull << (otlp_random_below(r, 2) ? 63 : 31);
	case 2:
		return UINT64_MAX >> (otlp_random_below(r, 2) ? 1 : 0);
	default:
		return otlp_random_next(r) >> otlp_random_below(r, 64);
	}
}

static double any_double(struct otlp_random *r)
{
	static const double specials[] = {
		0, -0.0, 1, INFINITY, -INFINITY, 0x1p-1074, 0x1.fffffffffffffp1023
	};
	uint32_t i = otlp_random_below(r, 16);

	if (i < ARRAY_LEN(specials))
		return specials[i];
	return i == 15 ? NAN : ldexp(otlp_random_next(r), (int)otlp_random_below(r, 200) - 100);
}

static char *any_text(struct otlp_random *r)
{
	static const char *const characters[] = { "\"", "\\", "\n", "\1",           "/",
						  "ä",  "€",  "😀", "\xed\x9f\xbf", "\x7f" };
	size_t length = otlp_random_below(r, otlp_random_below(r, 8) ? 12 : 200);
	char *s = arena_alloc(r->arena, 4 * length + 1), *end = s;

	for (size_t i = 0; i < length; i++)
		if (otlp_random_below(r, 8))
			*end++ = 'a' + otlp_random_below(r, 26);
		else
			end = stpcpy(end, characters[otlp_random_below(r, ARRAY_LEN(characters))]);
	return s;
}

static bool is_id(const char *name)
{
	size_t n = strlen(name);

	return n > 3 && strcmp(name + n - 3, "_id") == 0;
}

static ProtobufCBinaryData any_bytes(struct otlp_random *r, const char *name)
{
	size_t len = otlp_random_below(r, 40);

	if (is_id(name))
		len = otlp_random_below(r, 4) == 0 ? 0 : strcmp(name, "trace_id") == 0 ? 16 : 8;

	ProtobufCBinaryData data = { len, arena_alloc(r->arena, len + 1) };

	for (size_t i = 0; i < len; i++)
		data.data[i] = otlp_random_below(r, 256);
	return data;
}

static size_t size_of(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return 8;
	default:
		return 4;
	}
}

static void fill(struct otlp_random *r, const ProtobufCFieldDescriptor *f, void *to,
		 unsigned int depth)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_STRING:
		*(char **)to = any_text(r);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		*(ProtobufCMessage **)to = otlp_random_message(r, f->descriptor, depth + 1);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		*(ProtobufCBinaryData *)to = any_bytes(r, f->name);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		*(double *)to = any_double(r);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)to = otlp_random_below(r, 2);
		break;
	case PROTOBUF_C_TYPE_ENUM:
		*(int *)to = otlp_random_below(r, 9) ? otlp_random_below(r, 3) : any_number(r);
		break;
	default:
		memcpy(to, &(uint64_t){ any_number(r) }, size_of(f->type));
	}
}

static void fill_list(struct otlp_random *r, const ProtobufCFieldDescriptor *f, char *message,
		      unsigned int depth)
{
	size_t n = otlp_random_below(r, 4), size = size_of(f->type);
	char *items = arena_alloc(r->arena, (n + 1) * size);

	for (size_t i = 0; i < n; i++)
		fill(r, f, items + i * size, depth);
	*(size_t *)(message + f->quantifier_offset) = n;
	*(char **)(message + f->offset) = items;
}

ProtobufCMessage *otlp_random_message(struct otlp_random *r, const ProtobufCMessageDescriptor *type,
				      unsigned int depth)
{
	char *message = arena_alloc(r->arena, type->sizeof_message);

	protobuf_c_message_init(type, message);
	for (unsigned int i = 0; i < type->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &type->fields[i];
		int *chosen = (int *)(message + f->quantifier_offset);

		if (depth > DEPTH_MAX && f->type == PROTOBUF_C_TYPE_MESSAGE)
			continue;
		if (f->label == PROTOBUF_C_LABEL_REPEATED) {
			fill_list(r, f, message, depth);
		} else if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
			if (*chosen || otlp_random_below(r, 3))
				continue;
			*chosen = f->id;
			fill(r, f, message + f->offset, depth);
		} else if (otlp_random_below(r, 4)) {
			fill(r, f, message + f->offset, depth);
		}
	}
	return (ProtobufCMessage *)message;
}

struct view otlp_random_pack(struct otlp_random *r, const void *message)
{
	size_t size = protobuf_c_message_get_packed_size(message);
	uint8_t *data = arena_alloc(r->arena, size + 1);

	protobuf_c_message_pack(message, data);
	return (struct view){ (const char *)data, size };
}

struct view otlp_random_repack(struct otlp_random *r, const ProtobufCMessageDescriptor *type,
			       struct view bytes)
{
	ProtobufCMessage *m =
		protobuf_c_message_unpack(type, NULL, bytes.len, (const uint8_t *)bytes.s);
	struct view packed = m ? otlp_random_pack(r, m) : (struct view){ 0 };

	protobuf_c_message_free_unpacked(m, NULL);
	return packed;
}

void otlp_random_json_name(const char *name, char ret[64])
{
	bool is_upper = false;

	for (; *name; name++) {
		if (*name != '_')
			*ret++ = is_upper ? *name - 'a' + 'A' : *name;
		is_upper = *name == '_';
	}
	*ret = '\0';
}

static void put_text(struct otlp_random *r, FILE *out, const char *s)
{
	putc('"', out);
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == '"' || *s == '\\' ||
		    (*s < 0x7f && *s > 0 && otlp_random_below(r, 9) == 0))
			fprintf(out, "\\u%04x", *s);
		else
			putc(*s, out);
	putc('"', out);
}

static void put_bytes(struct otlp_random *r, FILE *out, const ProtobufCBinaryData *data, bool as_id)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0, count = 0;

	putc('"', out);
	for (size_t i = 0; i < data->len; i++)
		if (as_id) {
			fprintf(out, otlp_random_below(r, 2) ? "%02x" : "%02X", data->data[i]);
		} else {
			bits = bits << 8 | data->data[i];
			for (count += 8; count >= 6; count -= 6)
				putc(digits[bits >> (count - 6) & 63], out);
		}
	if (count)
		putc(digits[bits << (6 - count) & 63], out);
	for (; count && count < 8; count += 2)
		if (count != 6)
			putc('=', out);
	putc('"', out);
}

static void put_double(FILE *out, double n)
{
	if (isnan(n))
		fputs("\"NaN\"", out);
	else if (isinf(n))
		fputs(n > 0 ? "\"Infinity\"" : "\"-Infinity\"", out);
	else
		fprintf(out, "%.17g", n);
}

static void put_enum(struct otlp_random *r, FILE *out, const ProtobufCFieldDescriptor *f, int n)
{
	const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(f->descriptor, n);

	if (value && otlp_random_below(r, 2))
		fprintf(out, "\"%s\"", value->name);
	else
		fprintf(out, "%d", n);
}

/* Integers are numbers or strings. */
static void put_integer(struct otlp_random *r, FILE *out, const ProtobufCFieldDescriptor *f,
			const void *at)
{
	const char *quote = otlp_random_below(r, 2) ? "\"" : "";

	fputs(quote, out);
	if (f->type == PROTOBUF_C_TYPE_INT32 || f->type == PROTOBUF_C_TYPE_SINT32)
		fprintf(out, "%" PRId32, *(const int32_t *)at);
	else if (size_of(f->type) == 4)
		fprintf(out, "%" PRIu32, *(const uint32_t *)at);
	else if (f->type == PROTOBUF_C_TYPE_INT64 || f->type == PROTOBUF_C_TYPE_SFIXED64)
		fprintf(out, "%" PRId64, *(const int64_t *)at);
	else
		fprintf(out, "%" PRIu64, *(const uint64_t *)at);
	fputs(quote, out);
}

static void put_message(struct otlp_random *r, FILE *out, const ProtobufCMessage *message);

static void put_value(struct otlp_random *r, FILE *out, const ProtobufCFieldDescriptor *f,
		      const void *at)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_STRING:
		put_text(r, out, *(char *const *)at);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		put_message(r, out, *(ProtobufCMessage *const *)at);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		put_bytes(r, out, at, is_id(f->name));
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		put_double(out, *(const double *)at);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		fputs(*(const protobuf_c_boolean *)at ? "true" : "false", out);
		break;
	case PROTOBUF_C_TYPE_ENUM:
		put_enum(r, out, f, *(const int *)at);
		break;
	default:
		put_integer(r, out, f, at);
	}
}

static void put_list(struct otlp_random *r, FILE *out, const ProtobufCFieldDescriptor *f,
		     const char *message)
{
	size_t n = *(const size_t *)(message + f->quantifier_offset);
	const char *items = *(char *const *)(message + f->offset);

	putc('[', out);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ", " : "", out);
		put_value(r, out, f, items + i * size_of(f->type));
	}
	putc(']', out);
}

static bool is_present(const ProtobufCFieldDescriptor *f, const char *message)
{
	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		return true;
	if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		return *(const int *)(message + f->quantifier_offset) == (int)f->id;
	return f->type != PROTOBUF_C_TYPE_MESSAGE || *(void *const *)(message + f->offset);
}

static void put_message(struct otlp_random *r, FILE *out, const ProtobufCMessage *message)
{
	const char *separator = "";

	putc('{', out);
	for (unsigned int i = 0; i < message->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &message->descriptor->fields[i];
		char name[64];

		if (!is_present(f, (const char *)message))
			continue;
		otlp_random_json_name(f->name, name);
		fprintf(out, "%s\"%s\": ", separator, name);
		separator =
			otlp_random_below(r, 5) ? "," : ", \"unknown\": [{\"key\": [1]}, null],\n";
		if (f->label == PROTOBUF_C_LABEL_REPEATED)
			put_list(r, out, f, (const char *)message);
		else
			put_value(r, out, f, (const char *)message + f->offset);
	}
	putc('}', out);
}

char *otlp_random_json(struct otlp_random *r, const ProtobufCMessage *message)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		abort();
	put_message(r, out, message);
	fclose(out);
	return text;
}
