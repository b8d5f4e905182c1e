/* SPDX-License-Identifier: Apache-2.0 */
#include "read/kernel_formats.h"

#include <string.h>

void kernel_formats_init(struct kernel_formats *formats, struct kernel_abi abi)
{
	/* large, but of the pages only those are there that are written */
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

/* The number behind "ID:", or 0. */
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

void kernel_formats_add(struct kernel_formats *formats, const char *system, const char *text,
			size_t len)
{
	uint32_t id = id_of(text, len);

	if (id && !formats->texts[id].text)
		formats->texts[id] = (struct kernel_text){ system, text, len };
}

const struct kernel_format *kernel_formats_bind(struct kernel_formats *formats, uint16_t id)
{
	struct kernel_text *text = &formats->texts[id];

	if (!text->text)
		return NULL;
	formats->bound[id] = kernel_format_new(text->system, text->text, text->len, formats->abi);
	if (!formats->bound[id])
		text->text = NULL; /* makes no sense: not to be tried again */
	return formats->bound[id];
}

struct cursor {
	const char *at, *end;
	bool swap;
};

static bool take_number(struct cursor *c, size_t size, uint64_t *ret)
{
	if ((size_t)(c->end - c->at) < size)
		return false;
	*ret = tracepoint_number(c->at, size, false, c->swap);
	c->at += size;
	return true;
}

/* A count, and so many sizes and texts. */
static bool take_texts(struct kernel_formats *formats, struct cursor *c, const char *system)
{
	uint64_t count, len;

	if (!take_number(c, 4, &count))
		return false;
	while (count--) {
		if (!take_number(c, 8, &len) || len > (size_t)(c->end - c->at))
			return false;
		kernel_formats_add(formats, system, c->at, len);
		c->at += len;
	}
	return true;
}

size_t kernel_formats_read_ftrace(struct kernel_formats *formats, const char *data, size_t size)
{
	struct cursor c = { data, data + size, formats->abi.swap };

	return take_texts(formats, &c, "ftrace") ? c.at - data : 0;
}

size_t kernel_formats_read_systems(struct kernel_formats *formats, const char *data, size_t size)
{
	struct cursor c = { data, data + size, formats->abi.swap };
	uint64_t count;

	if (!take_number(&c, 4, &count))
		return 0;
	while (count--) {
		const char *system = c.at, *end = memchr(c.at, '\0', c.end - c.at);

		if (!end)
			return 0;
		c.at = end + 1;
		if (!take_texts(formats, &c, system))
			return 0;
	}
	return c.at - data;
}
