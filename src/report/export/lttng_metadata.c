/* SPDX-License-Identifier: Apache-2.0 */
#include "report/export/lttng_metadata.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/out.h"

/* The types of LTTng's kernel tracer, which other tools expect. */
static const char types[] =
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := unsigned long;\n\n";

static const char packets[] = "typealias integer {\n"
			      "	size = 32; align = 8; signed = false;\n"
			      "	map = clock.monotonic.value;\n"
			      "} := uint32_clock_monotonic_t;\n\n"
			      "typealias integer {\n"
			      "	size = 64; align = 8; signed = false;\n"
			      "	map = clock.monotonic.value;\n"
			      "} := uint64_clock_monotonic_t;\n\n"
			      "struct packet_context {\n"
			      "	uint64_clock_monotonic_t timestamp_begin;\n"
			      "	uint64_clock_monotonic_t timestamp_end;\n"
			      "	uint64_t content_size;\n"
			      "	uint64_t packet_size;\n"
			      "	uint64_t packet_seq_num;\n"
			      "	unsigned long events_discarded;\n"
			      "	uint32_t cpu_id;\n"
			      "};\n\n"
			      "struct event_header_large {\n"
			      "	enum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;\n"
			      "	variant <id> {\n"
			      "		struct {\n"
			      "			uint32_clock_monotonic_t timestamp;\n"
			      "		} compact;\n"
			      "		struct {\n"
			      "			uint32_t id;\n"
			      "			uint64_clock_monotonic_t timestamp;\n"
			      "		} extended;\n"
			      "	} v;\n"
			      "} align(8);\n\n"
			      "stream {\n"
			      "	id = 0;\n"
			      "	event.header := struct event_header_large;\n"
			      "	packet.context := struct packet_context;\n"
			      "	event.context := struct {\n"
			      "		integer { size = 32; align = 8; signed = 1; encoding = "
			      "none; base = 10; } _tid;\n"
			      "	};\n"
			      "};\n";

static void put_uuid(FILE *f, const uint8_t uuid[16])
{
	for (size_t i = 0; i < 16; i++)
		fprintf(f, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

/* A quoted string, without quotes and control characters. */
static void put_quoted(FILE *f, const char *s)
{
	size_t left = strlen(s), n;

	putc('"', f);
	for (; left; s += n, left -= n) {
		n = utf8_length(s, left);
		if (n && !utf8_control(s, n) && *s != '"' && *s != '\\')
			fwrite(s, 1, n, f);
		n = n ? n : 1;
	}
	putc('"', f);
}

static void put_known(FILE *f, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	fprintf(f, "	%s = ", key);
	put_quoted(f, value);
	fputs(";\n", f);
}

static void put_trace(FILE *f, const struct lttng_origin *about, const uint8_t uuid[16])
{
	fputs("trace {\n	major = 1;\n	minor = 8;\n	uuid = \"", f);
	put_uuid(f, uuid);
	fputs("\";\n	byte_order = le;\n"
	      "	packet.header := struct {\n"
	      "		uint32_t magic;\n"
	      "		uint8_t  uuid[16];\n"
	      "		uint32_t stream_id;\n"
	      "		uint64_t stream_instance_id;\n"
	      "	};\n"
	      "};\n\n"
	      "env {\n",
	      f);
	put_known(f, "hostname", about->host);
	fputs("	domain = \"kernel\";\n	sysname = \"Linux\";\n", f);
	put_known(f, "kernel_release", about->kernel);
	fputs("	tracer_name = \"lttng-modules\";\n"
	      "	tracer_major = 2;\n	tracer_minor = 13;\n	tracer_patchlevel = 0;\n"
	      "	trace_buffering_scheme = \"global\";\n"
	      "	sonde_version = \"" SONDE_VERSION "\";\n"
	      "};\n\n",
	      f);
}

static void put_clock(FILE *f, const struct lttng_origin *about)
{
	int64_t offset = about->realtime_offset > 0 ? about->realtime_offset : 0;

	/* all traces of one export share a clock, so it has the same name in each */
	fprintf(f,
		"clock {\n"
		"	name = \"monotonic\";\n"
		"	uuid = \"50bde000-0000-4000-8000-%012" PRIx64 "\";\n"
		"	description = \"Monotonic Clock\";\n"
		"	freq = 1000000000; /* Frequency, in Hz */\n"
		"	/* clock value offset from Epoch is: offset * (1/freq) */\n"
		"	offset = %" PRId64 ";\n"
		"};\n\n",
		(uint64_t)offset & 0xffffffffffff, offset);
}

static void put_integer(FILE *f, unsigned size, bool is_signed, const char *encoding, unsigned base)
{
	fprintf(f,
		"		integer { size = %u; align = 8; signed = %d; encoding = %s; base = "
		"%u; }",
		size, is_signed, encoding, base);
}

static void put_field(FILE *f, const struct lttng_field *field)
{
	const char *array = "";

	switch (field->type) {
	case LTTNG_I32:
	case LTTNG_U32:
		put_integer(f, 32, field->type == LTTNG_I32, "none", 10);
		break;
	case LTTNG_I64:
	case LTTNG_U64:
		put_integer(f, 64, field->type == LTTNG_I64, "none", 10);
		break;
	case LTTNG_X64:
		put_integer(f, 64, false, "none", 16);
		break;
	case LTTNG_U8:
		put_integer(f, 8, false, "none", 10);
		break;
	case LTTNG_LETTER:
		put_integer(f, 8, true, "UTF8", 10);
		array = "[1]";
		break;
	case LTTNG_COMM:
		put_integer(f, 8, true, "UTF8", 10);
		array = "[16]";
		break;
	case LTTNG_ADDRESS:
		put_integer(f, 8, false, "none", 16);
		array = "[16]";
		break;
	case LTTNG_ARGS:
		put_integer(f, 64, false, "none", 16);
		array = "[3]";
		break;
	case LTTNG_STRING:
		fputs("		string", f);
		break;
	case LTTNG_END:
		return;
	}
	fprintf(f, " _%s%s;\n", field->name, array);
}

static void put_event(FILE *f, unsigned id)
{
	const struct lttng_event *event = lttng_event_of(id);
	char name[64];

	lttng_event_name(id, name);
	fprintf(f,
		"\nevent {\n	name = \"%s\";\n	id = %u;\n	stream_id = 0;\n	"
		"fields := struct {\n",
		name, id);
	for (size_t i = 0; i < LTTNG_FIELDS && event->fields[i].type; i++)
		put_field(f, &event->fields[i]);
	fputs("	};\n};\n", f);
}

char *lttng_metadata(const struct lttng_origin *about, const uint8_t uuid[16],
		     const uint64_t used[LTTNG_IDS / 64])
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		abort(); /* out of memory */
	fputs("/* CTF 1.8 */\n\n", f);
	fputs(types, f);
	put_trace(f, about, uuid);
	put_clock(f, about);
	fputs(packets, f);
	for (unsigned id = 0; id < LTTNG_IDS; id++)
		if (used[id / 64] & (uint64_t)1 << id % 64)
			put_event(f, id);
	fclose(f);
	return text;
}
