/* SPDX-License-Identifier: Apache-2.0 */
/* OTEP 4719's mapping, found and read from outside. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "agent_read.h"
#include "otlp/protobuf.h"

struct found {
	char text[2048]; /* KEY=VALUE of all attributes, in order */
};

/* The header of the OTEP. */
struct header {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published_at, payload;
};

static const struct header *find_header(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uintptr_t address = 0;
	char line[512];

	while (maps && !address && fgets(line, sizeof(line), maps))
		if (strstr(line, "/memfd:OTEL_CTX") || strstr(line, ":OTEL_CTX]"))
			address = strtoull(line, NULL, 16);
	if (maps)
		fclose(maps);
	return (const void *)address;
}

/* AnyValue: a string, or the number of elements of an array. */
static void add_value(struct found *found, struct view bytes)
{
	struct pb_reader pb = pb_reader_of(bytes);
	struct pb_field f = { 0 };
	size_t used = strlen(found->text);

	while (pb_next(&pb, &f) > 0) {
		CHECK(!memchr(f.bytes.s, '\0', f.bytes.len));
		if (f.tag == PB_TAG(1, PB_BYTES))
			snprintf(found->text + used, sizeof(found->text) - used, "=%.*s;",
				 (int)f.bytes.len, f.bytes.s);
		else if (f.tag == PB_TAG(5, PB_BYTES))
			snprintf(found->text + used, sizeof(found->text) - used, "=[%zu];",
				 f.bytes.len);
	}
}

/* Fields of this number are KeyValues. */
static void add_pairs(struct found *found, struct view bytes, uint32_t number)
{
	struct pb_reader pb = pb_reader_of(bytes);
	struct pb_field f = { 0 }, part = { 0 };
	int r;

	while ((r = pb_next(&pb, &f)) > 0) {
		struct pb_reader pair = pb_reader_of(f.bytes);
		size_t used = strlen(found->text);

		if (f.tag != PB_TAG(number, PB_BYTES))
			continue;
		while (pb_next(&pair, &part) > 0)
			if (part.tag == PB_TAG(1, PB_BYTES))
				snprintf(found->text + used, sizeof(found->text) - used, "%.*s",
					 (int)part.bytes.len, part.bytes.s);
			else
				add_value(found, part.bytes);
	}
	CHECK_INT(r, 0);
}

static struct found read_published(void)
{
	const struct header *header = find_header();
	struct found found = { "" };
	struct pb_field f = { 0 };

	CHECK(header && !memcmp(header->signature, "OTEL_CTX", 8));
	if (!header)
		return found;
	CHECK_INT(header->version, 2);
	CHECK(header->published_at != 0);
	struct view bytes = { (const char *)(uintptr_t)header->payload, header->payload_size };
	struct pb_reader pb = pb_reader_of(bytes);

	add_pairs(&found, bytes, 2);
	while (pb_next(&pb, &f) > 0)
		if (f.tag == PB_TAG(1, PB_BYTES))
			add_pairs(&found, f.bytes, 1);
	return found;
}

#define RULES "threadlocal.schema_version=tlsdesc_v1_dev;threadlocal.attribute_key_map=[0];"

static void nameless(void)
{
	unsetenv("OTEL_SERVICE_NAME");
	unsetenv("OTEL_RESOURCE_ATTRIBUTES");
	CHECK(!find_header());
	sonde_agent_clear_context();
	CHECK_STR(read_published().text,
		  RULES "service.name=unknown_service:test_agent_published;");
}

TEST(a_process_without_service_name_is_published_as_unknown)
{
	CHECK(in_child(nameless));
}

static void named_by_environment(void)
{
	setenv("OTEL_RESOURCE_ATTRIBUTES",
	       "service.name=bank, deployment.environment.name=a%20b%2,=,x=", 1);
	sonde_agent_clear_context();
	CHECK_STR(read_published().text,
		  RULES "service.name=bank;deployment.environment.name=a b%2;x=;");
	CHECK_STR(agent_service, "bank");
}

static void strange_environment(void)
{
	setenv("OTEL_RESOURCE_ATTRIBUTES",
	       "a=%2F%2f%41%zz%1g%`0%:0%G0%,no value,b=%4,service.namex=c", 1);
	unsetenv("OTEL_SERVICE_NAME");
	program_invocation_short_name =
		"a program whose name is so long that it does not fit into the name of a service";
	sonde_agent_clear_context();
	CHECK_STR(read_published().text, RULES
		  "service.name=unknown_service:a program whose name is so long that it does no;"
		  "a=//A%zz%1g%`0%:0%G0%;b=%4;service.namex=c;");
}

TEST(invalid_percent_encoding_is_taken_literally)
{
	CHECK(in_child(strange_environment));
}

TEST(the_environment_sets_the_service_name)
{
	CHECK(in_child(named_by_environment));
	setenv("OTEL_SERVICE_NAME", "teller", 1);
	sonde_agent_clear_context();
	CHECK_STR(read_published().text, RULES "service.name=teller;");
}

TEST(a_new_service_name_gets_a_new_publication_time)
{
	uint64_t before = find_header()->published_at;

	sonde_agent_set_service("vault");
	CHECK_STR(read_published().text, RULES "service.name=vault;");
	CHECK(find_header()->published_at > before);
}

static void child(void)
{
	CHECK(!find_header()); /* not inherited */
	sonde_agent_clear_context();
	CHECK_STR(read_published().text, RULES "service.name=vault;");
}

TEST(a_child_publishes_on_first_use)
{
	CHECK(in_child(child));
}

static void much(void)
{
	static char text[8192];

	strcpy(text, "k=v");
	while (strlen(text) < 8000)
		strcat(text, ",key-of-some-length=value-of-some-length");
	setenv("OTEL_RESOURCE_ATTRIBUTES", text, 1);
	sonde_agent_set_service("large");
	CHECK(strstr(read_published().text, RULES "service.name=large;k=v;key-of") != NULL);
}

TEST(attributes_that_do_not_fit_are_left_out)
{
	CHECK(in_child(much));
}

/* One attribute with ever longer keys: the longest published one fills the mapping. */
static void fill(void)
{
	static char text[4096];
	uint32_t most = 0;

	for (size_t size = 3000; size < sizeof(text) - 3; size++) {
		memset(text, 'k', size);
		strcpy(text + size, "=v");
		setenv("OTEL_RESOURCE_ATTRIBUTES", text, 1);
		sonde_agent_set_service("full");
		if (find_header()->payload_size > most)
			most = find_header()->payload_size;
	}
	CHECK_INT(most, 4096 - sizeof(struct header));
}

TEST(a_message_can_fill_its_mapping_completely)
{
	CHECK(in_child(fill));
}

enum { NAMES = 60013 };

/* A text of one repeated letter. */
static void set_letters(char letter)
{
	char name[SPAN_SERVICE_MAX] = "";

	memset(name, letter, sizeof(name) - 1);
	sonde_agent_set_service(name);
}

static void *rename_often(void *arg)
{
	for (int i = 0; i < NAMES; i++)
		set_letters('a' + i % 26);
	__atomic_store_n((bool *)arg, true, __ATOMIC_RELAXED);
	return NULL;
}

/* Read the message as the OTEP requires; false if it changed in between. */
static bool read_moment(const struct header *header, char message[4096])
{
	uint64_t before = __atomic_load_n(&header->published_at, __ATOMIC_SEQ_CST);
	uint32_t size = header->payload_size;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(message, (const void *)(uintptr_t)header->payload, size);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	message[size] = '\0';
	return before && __atomic_load_n(&header->published_at, __ATOMIC_SEQ_CST) == before;
}

TEST(a_concurrent_reader_gets_a_consistent_message_or_none)
{
	char message[4096] = "";
	pthread_t thread;
	bool done = false;

	set_letters('x');
	const struct header *header = find_header();

	if (!header || pthread_create(&thread, NULL, rename_often, &done))
		abort();
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
		if (!read_moment(header, message))
			continue;
		const char *name = memmem(message, sizeof(message), "service.name", 12);
		const char *value = name ? name + 12 + 6 : ""; /* after two field headers */

		CHECK_INT(strspn(value, (char[]){ *value, '\0' }), SPAN_SERVICE_MAX - 1);
	}
	pthread_join(thread, NULL);
}
