/* SPDX-License-Identifier: Apache-2.0 */
#include "flight/capture_name.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SUFFIX ".sonde"

enum { WORD_MAX = 24 };

struct name_word {
	char s[WORD_MAX + 1];
};

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_';
}

/* The name with one '_' for each run of other characters; "unknown" if nothing is left. */
static struct name_word plain_word(const char *name)
{
	struct name_word w = { "" };
	size_t n = 0;

	for (const char *c = name; *c && n < WORD_MAX; c++)
		if (is_plain(*c) && (n > 0 || *c != '.'))
			w.s[n++] = *c;
		else if (n > 0 && w.s[n - 1] != '_')
			w.s[n++] = '_';
	while (n > 0 && w.s[n - 1] == '_')
		w.s[--n] = '\0';
	return *w.s ? w : (struct name_word){ "unknown" };
}

/* Of an address, the port says more than the host, and must not be cut off. */
static struct name_word entry_word(const char *entry)
{
	const char *colon = strrchr(entry, ':');
	bool is_port = colon && colon[1];

	for (const char *c = is_port ? colon + 1 : ""; *c; c++)
		is_port = is_port && *c >= '0' && *c <= '9';
	return plain_word(is_port ? colon + 1 : entry);
}

static void put_time(struct capture_name *name, nsec_t time, int64_t realtime_offset)
{
	int64_t real = (int64_t)(time + (uint64_t)realtime_offset);
	time_t seconds = (real < 0 ? 0 : real) / NSEC_PER_SEC;
	unsigned int ms = real < 0 ? 0 : real / NSEC_PER_MSEC % 1000;
	struct tm tm;

	gmtime_r(&seconds, &tm);
	size_t n = strftime(name->s, sizeof(name->s), "%Y-%m-%dT%H-%M-%S", &tm);
	snprintf(name->s + n, sizeof(name->s) - n, ".%03uZ", ms);
}

struct capture_name capture_name_of_request(const struct slow_request *request,
					    int64_t realtime_offset)
{
	struct capture_name name = { "" };
	struct name_word service = plain_word(request->service);
	struct name_word entry = entry_word(request->entry);
	const uint8_t *id = request->trace;

	put_time(&name, request->start, realtime_offset);
	size_t n = strlen(name.s);
	snprintf(name.s + n, sizeof(name.s) - n, "-%s-%s-%llums-%02x%02x%02x%02x" SUFFIX, service.s,
		 entry.s, (request->end - request->start) / NSEC_PER_MSEC, id[0], id[1], id[2],
		 id[3]);
	return name;
}

struct capture_name capture_name_of_snap(nsec_t time, int64_t realtime_offset)
{
	struct capture_name name = { "" };

	put_time(&name, time, realtime_offset);
	size_t n = strlen(name.s);
	snprintf(name.s + n, sizeof(name.s) - n, "-snap" SUFFIX);
	return name;
}

bool capture_name_is_safe(const char *name)
{
	size_t n = strnlen(name, sizeof(struct capture_name));

	if (n == sizeof(struct capture_name) || n <= strlen(SUFFIX) || *name == '.' ||
	    strcmp(name + n - strlen(SUFFIX), SUFFIX) != 0)
		return false;
	for (; *name; name++)
		if (!is_plain(*name) && *name != '-')
			return false;
	return true;
}
