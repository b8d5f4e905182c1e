/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/control.h"
#include "base/file.h"

/* Of --budget: of one CPU.  No host has so many that more were useful. */
enum { PERCENT_MAX = 100000 };

static const char keys[] = "'threshold', 'config' or 'budget'";

int budget_parse(const char *text, double *ret, struct err *err)
{
	char *end;
	double percent = strtod(text, &end);

	if (strcmp(text, "none") == 0) {
		*ret = 0;
		return 0;
	}
	if (end == text || strcmp(end, "%") != 0 || !(percent >= 0.001 && percent <= PERCENT_MAX))
		return err_set(err, -EINVAL,
			       "a budget is a share of one CPU such as 5%% or 0.5%%, or 'none', "
			       "not '%s'",
			       text);
	*ret = percent / 100;
	return 0;
}

/* The value of "KEY=VALUE", if it has this key; or NULL. */
static const char *value_of(const char *setting, const char *key)
{
	size_t len = strlen(key);

	return strncmp(setting, key, len) == 0 && setting[len] == '=' ? setting + len + 1 : NULL;
}

static void append(struct pb_buffer *message, const char *s, size_t len)
{
	pb_append(message, (struct view){ s, len });
}

static int write_config(const char *path, struct pb_buffer *message, struct err *err)
{
	_cleanup_(file_unmap) struct view text = { 0 };
	int r = file_map(path, &text, err);

	if (r < 0)
		return r;
	if (text.len > CONTROL_REQUEST_MAX / 2)
		return err_set(err, -EFBIG, "'%s' is larger than %d KiB", path,
			       CONTROL_REQUEST_MAX / 2 >> 10);
	if (text.len && memchr(text.s, '\0', text.len))
		return err_set(err, -EINVAL, "'%s' is not a text file", path);
	append(message, "config=", 7);
	append(message, path, strlen(path) + 1);
	append(message, text.s, text.len);
	append(message, "", 1);
	return 0;
}

int settings_write(const char *setting, struct pb_buffer *message, struct err *err)
{
	const char *path = value_of(setting, "config");
	size_t size = message->size;
	int r = 0;

	if (path)
		r = write_config(path, message, err);
	else
		append(message, setting, strlen(setting) + 1);
	if (r == 0 && message->size > CONTROL_REQUEST_MAX) {
		message->size = size;
		r = err_set(err, -EFBIG, "too many settings");
	}
	return r;
}

static int read_setting(const char *setting, const char *next, struct settings *ret,
			struct err *err)
{
	const char *threshold = value_of(setting, "threshold");
	const char *config = value_of(setting, "config");
	const char *budget = value_of(setting, "budget");

	if (threshold) {
		ret->slow.standard = threshold;
	} else if (config && !next) {
		return err_set(err, -EINVAL, "the rules of '%s' are missing", config);
	} else if (config) {
		ret->slow.name = config;
		ret->slow.rules = (struct view){ next, strlen(next) };
	} else if (budget) {
		ret->has_budget = true;
		return budget_parse(budget, &ret->budget, err);
	} else {
		return err_set(err, -EINVAL,
			       "unknown setting '%.100s'; use %s, as in threshold=5ms", setting,
			       keys);
	}
	return 0;
}

int settings_read(struct view message, struct settings *ret, struct err *err)
{
	struct settings settings = { 0 };

	if (!message.len || message.s[message.len - 1] != '\0')
		return err_set(err, -EBADMSG, "the settings are incomplete");

	const char *at = message.s, *end = message.s + message.len;

	while (at < end) {
		const char *next = at + strlen(at) + 1;
		int r = read_setting(at, next < end ? next : NULL, &settings, err);

		if (r < 0)
			return r;
		at = value_of(at, "config") ? next + strlen(next) + 1 : next;
	}
	*ret = settings;
	return 0;
}

char *settings_describe(const struct settings *settings)
{
	const struct slow_change *slow = &settings->slow;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	const char *separator = "";

	if (!file)
		return NULL;
	if (slow->standard) {
		fprintf(file, "threshold %s", slow->standard);
		separator = ", ";
	}
	if (slow->name) {
		fprintf(file, "%srules of '%s'", separator, slow->name);
		separator = ", ";
	}
	if (settings->has_budget && settings->budget > 0)
		fprintf(file, "%sbudget %g %% of a CPU", separator, 100 * settings->budget);
	else if (settings->has_budget)
		fprintf(file, "%sno budget", separator);
	fclose(file);
	return text;
}
