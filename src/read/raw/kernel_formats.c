/* SPDX-License-Identifier: Apache-2.0 */
#include "read/raw/kernel_formats.h"

#include <string.h>

#include "read/file/byte_cursor.h"

void kernel_formats_init(struct kernel_formats *formats, struct kernel_abi abi)
{
	/* large, but the kernel allocates only the pages that are written */
	*formats = (struct kernel_formats){
		.abi = abi,
		.texts = must_alloc(KERNEL_FORMAT_IDS * sizeof(formats->texts[0])),
		.bound = must_alloc(KERNEL_FORMAT_IDS * sizeof(formats->bound[0])),
	};
}

void kernel_formats_done(struct kernel_formats *formats)
{
	for (size_t i = 0; formats->bound && i < KERNEL_FORMAT_IDS; i++)
		kernel_format_free(formats->bound[i]);
	free(formats->bound);
	free(formats->texts);
}

/* The number after "ID:", or 0. */
static uint32_t id_of(const char *text, size_t len)
{
	const char *at = memmem(text, len, "\nID: ", 5), *end = text + len;
	uint32_t id = 0;

	if (!at)
		return 0;
	for (at += 5; at < end && *at >= '0' && *at <= '9' && id < KERNEL_FORMAT_IDS; at++)
		id = 10 * id + (*at - '0');
	return id < KERNEL_FORMAT_IDS ? id : 0;
}

/* Ignores texts without a number, and duplicates. */
static void add(struct kernel_formats *formats, const char *system, const char *text, size_t len)
{
	uint32_t id = id_of(text, len);

	if (id && !formats->texts[id].text)
		formats->texts[id] = (struct kernel_format_text){ system, text, len };
}

const struct kernel_format *kernel_formats_bind(struct kernel_formats *formats, uint16_t id)
{
	struct kernel_format_text *text = &formats->texts[id];

	if (!text->text)
		return NULL;
	formats->bound[id] = kernel_format_new(text->system, text->text, text->len, formats->abi);
	if (!formats->bound[id])
		text->text = NULL; /* invalid: do not try again */
	return formats->bound[id];
}

uint32_t kernel_formats_kinds(const struct kernel_formats *formats)
{
	uint32_t kinds = 0;

	for (size_t id = 0; id < KERNEL_FORMAT_IDS; id++) {
		const char *text = formats->texts[id].text;
		size_t len = formats->texts[id].len;

		if (!text || len < 6 || memcmp(text, "name: ", 6) != 0)
			continue;
		const char *end = memchr(text, '\n', len);
		int nr;
		const struct raw_layout *layout =
			raw_layout_find(RAW_KERNEL, text + 6, (end ?: text + len) - text - 6, &nr);
		kinds |= 1u << (layout ? layout->kind : RAW_OTHER);
	}
	return kinds;
}

struct raw_states kernel_formats_states(const struct kernel_formats *formats, const char *release)
{
	static const char name[] = "name: sched_switch\n";
	struct raw_states states = raw_states_of_release(release);

	for (size_t id = 0; id < KERNEL_FORMAT_IDS; id++) {
		const struct kernel_format_text *t = &formats->texts[id];

		if (t->text && t->len >= sizeof(name) &&
		    memcmp(t->text, name, sizeof(name) - 1) == 0 &&
		    raw_states_of_format(t->text, t->len, &states))
			break;
	}
	states.shifted = raw_states_are_shifted(release);
	return states;
}

/* Reads a count, and that many sizes and texts. */
static bool read_texts(struct kernel_formats *formats, struct byte_cursor *c, const char *system)
{
	struct view text;
	uint64_t count;

	if (!byte_cursor_number(c, 4, &count))
		return false;
	while (count--) {
		if (!byte_cursor_block(c, 8, &text))
			return false;
		add(formats, system, text.s, text.len);
	}
	return true;
}

size_t kernel_formats_read_ftrace(struct kernel_formats *formats, const char *data, size_t size)
{
	struct byte_cursor c = { data, data + size, formats->abi.swap };

	return read_texts(formats, &c, "ftrace") ? c.at - data : 0;
}

size_t kernel_formats_read_systems(struct kernel_formats *formats, const char *data, size_t size)
{
	struct byte_cursor c = { data, data + size, formats->abi.swap };
	const char *system;
	uint64_t count;

	if (!byte_cursor_number(&c, 4, &count))
		return 0;
	for (; count--; formats->systems++)
		if (!byte_cursor_string(&c, &system) || !read_texts(formats, &c, system))
			return 0;
	return c.at - data;
}
