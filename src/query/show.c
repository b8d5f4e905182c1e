/* SPDX-License-Identifier: Apache-2.0 */
#include "query/show.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/vec.h"

enum { WINDOW = 1000, COLUMN_WIDTH_MAX = 40 };

/* A value in the buffered text of a table. */
struct buffered_cell {
	size_t end; /* offset of its end; it starts at the end of the cell before */
	uint32_t width;
};

struct show {
	struct out *out; /* borrowed */
	struct query_sink sink;
	bool safe;
	VEC(char *) names;
	struct json json;

	/* SHOW_TEXT only */
	size_t tables; /* number of tables written */
	size_t rows;   /* number of rows in the buffer */
	size_t blanks; /* pending; written only before more text of the line */
	uint32_t *widths;
	bool *is_word; /* by column: it has a value that is not a number */
	bool has_head;
	VEC(struct buffered_cell) cells;
	struct out *buffer; /* writes to text */
	char *text;
	size_t text_size;
};

static void copy_names(struct show *s, const char *const *names, size_t count)
{
	for (size_t i = 0; i < s->names.count; i++)
		free(s->names.items[i]);
	s->names.count = 0;
	for (size_t i = 0; i < count; i++)
		*vec_push(&s->names) = must_strdup(names[i] ? names[i] : "");
}

static void put_blob(struct out *out, const struct query_value *v)
{
	for (size_t i = 0; i < v->len; i++) {
		out_char(out, "0123456789abcdef"[(unsigned char)v->s[i] >> 4]);
		out_char(out, "0123456789abcdef"[v->s[i] & 15]);
	}
}

/* Three decimals. */
static size_t put_short_real(struct out *out, double n)
{
	char text[40];
	bool plain = n == 0 || (fabs(n) >= 0.001 && fabs(n) < 1e15);
	size_t len = snprintf(text, sizeof(text), plain ? "%.3f" : "%.3g", n);

	out_bytes(out, text, len);
	return len;
}

static size_t put_int(struct out *out, int64_t n)
{
	char text[24];
	size_t len = snprintf(text, sizeof(text), "%lld", (long long)n);

	out_bytes(out, text, len);
	return len;
}

/* Write a value of a table; returns its width. */
static size_t put_cell(struct out *out, const struct query_value *v)
{
	switch (v->type) {
	case QUERY_INT:
		return put_int(out, v->i);
	case QUERY_REAL:
		return put_short_real(out, v->real);
	case QUERY_TEXT:
		return out_escaped(out, v->s, v->len);
	case QUERY_BLOB:
		put_blob(out, v);
		return 2 * v->len;
	case QUERY_NULL:
		break;
	}
	return 0;
}

static void end_cell(struct show *s, size_t width)
{
	size_t end = ftello(s->buffer->file) + s->buffer->used;

	*vec_push(&s->cells) = (struct buffered_cell){ end, width };
}

static int text_begin(void *arg, const char *const *names, size_t count)
{
	struct show *s = arg;

	copy_names(s, names, count);
	s->widths = must_realloc(s->widths, (count + 1) * sizeof(*s->widths));
	s->is_word = must_realloc(s->is_word, (count + 1) * sizeof(*s->is_word));
	memset(s->widths, 0, count * sizeof(*s->widths));
	memset(s->is_word, 0, count * sizeof(*s->is_word));
	s->rows = 0;
	s->has_head = false;
	if (s->tables++)
		out_char(s->out, '\n');
	return 0;
}

/* Delay blanks until more text follows, so that no line ends with blanks. */
static void put_padded(struct show *s, size_t column, const char *text, size_t len, size_t width)
{
	size_t pad = width < s->widths[column] ? s->widths[column] - width : 0;

	if (!s->is_word[column])
		s->blanks += pad;
	if (len) {
		out_fill(s->out, s->blanks, ' ');
		out_bytes(s->out, text, len);
		s->blanks = 0;
	}
	s->blanks += 2 + (s->is_word[column] ? pad : 0);
	if (column + 1 == s->names.count) {
		out_char(s->out, '\n');
		s->blanks = 0;
	}
}

/* Buffer the column names like a row, to escape and measure them. */
static void buffer_head(struct show *s)
{
	for (size_t i = 0; i < s->names.count; i++) {
		const char *name = s->names.items[i];

		end_cell(s, out_escaped(s->buffer, name, strlen(name)));
	}
	s->rows++;
	s->has_head = true;
}

static void measure(struct show *s)
{
	for (size_t i = 0; i < s->cells.count; i++) {
		uint32_t *width = &s->widths[i % s->names.count];
		uint32_t wanted = s->cells.items[i].width;

		if (wanted > *width)
			*width = wanted < COLUMN_WIDTH_MAX ? wanted : COLUMN_WIDTH_MAX;
	}
}

/* Write the buffered rows and empty the buffer. */
static int text_flush(struct show *s)
{
	size_t begin = 0;
	int r = out_flush(s->buffer);

	measure(s);
	for (size_t i = 0; i < s->cells.count; i++) {
		struct buffered_cell p = s->cells.items[i];

		put_padded(s, i % s->names.count, s->text + begin, p.end - begin, p.width);
		begin = p.end;
	}
	s->cells.count = s->rows = 0;
	fseeko(s->buffer->file, 0, SEEK_SET);
	return r;
}

static int text_row(void *arg, const struct query_value *values)
{
	struct show *s = arg;

	if (!s->has_head)
		buffer_head(s);
	for (size_t i = 0; i < s->names.count; i++) {
		s->is_word[i] |= values[i].type == QUERY_TEXT || values[i].type == QUERY_BLOB;
		end_cell(s, put_cell(s->buffer, &values[i]));
	}
	return ++s->rows < WINDOW ? 0 : text_flush(s);
}

static int text_end(void *arg)
{
	struct show *s = arg;

	if (!s->has_head)
		buffer_head(s);
	return text_flush(s);
}

/* Write one character; an invalid byte becomes U+FFFD.  Returns the number of bytes read. */
static size_t csv_char(struct show *s, const char *c, size_t len)
{
	size_t n = utf8_length(c, len);

	if (*c == '"')
		out_str(s->out, "\"\"");
	else if (s->safe)
		out_escaped(s->out, c, n ? n : 1);
	else if (n)
		out_bytes(s->out, c, n);
	else
		out_str(s->out, "\xef\xbf\xbd");
	return n ? n : 1;
}

/* Quote a text with quotes, commas or line ends, and double its quotes. */
static void csv_text(struct show *s, const char *text, size_t len)
{
	bool plain = len > 0 && text[0] != ' ' && text[len - 1] != ' ';

	for (size_t i = 0; i < len && plain; i++)
		plain = !strchr(",\"\r\n", text[i]);
	if (!plain)
		out_char(s->out, '"');
	for (size_t i = 0; i < len;)
		i += csv_char(s, text + i, len - i);
	if (!plain)
		out_char(s->out, '"');
}

static int csv_begin(void *arg, const char *const *names, size_t count)
{
	struct show *s = arg;

	copy_names(s, names, count);
	for (size_t i = 0; i < count; i++) {
		csv_text(s, s->names.items[i], strlen(s->names.items[i]));
		out_char(s->out, i + 1 < count ? ',' : '\n');
	}
	return 0;
}

static void csv_value(struct show *s, const struct query_value *v)
{
	char text[40];

	switch (v->type) {
	case QUERY_INT:
		out_i64(s->out, v->i);
		break;
	case QUERY_REAL:
		out_bytes(s->out, text, snprintf(text, sizeof(text), "%.15g", v->real));
		break;
	case QUERY_TEXT:
		csv_text(s, v->s, v->len);
		break;
	case QUERY_BLOB:
		put_blob(s->out, v);
		break;
	case QUERY_NULL:
		break;
	}
}

static int csv_row(void *arg, const struct query_value *values)
{
	struct show *s = arg;

	for (size_t i = 0; i < s->names.count; i++) {
		csv_value(s, &values[i]);
		out_char(s->out, i + 1 < s->names.count ? ',' : '\n');
	}
	return s->out->error;
}

static int csv_end(void *arg)
{
	return ((struct show *)arg)->out->error;
}

/* Columns can have the same name, but keys of an object cannot: write tid, tid_2, tid_3. */
static void number_names(struct show *s)
{
	for (size_t i = 1; i < s->names.count; i++) {
		char *name = s->names.items[i];
		unsigned suffix = 1;

		for (size_t k = 0; k < i; k++)
			if (strcmp(s->names.items[k], s->names.items[i]) == 0) {
				if (s->names.items[i] != name)
					free(s->names.items[i]);
				s->names.items[i] = must_printf("%s_%u", name, ++suffix);
				k = -1; /* compare with all of them again */
			}
		if (s->names.items[i] != name)
			free(name);
	}
}

static int json_begin(void *arg, const char *const *names, size_t count)
{
	struct show *s = arg;

	copy_names(s, names, count);
	number_names(s);
	json_init(&s->json, s->out);
	json_array(&s->json);
	return 0;
}

static void json_value(struct show *s, const struct query_value *v)
{
	switch (v->type) {
	case QUERY_INT:
		json_i64(&s->json, v->i);
		break;
	case QUERY_REAL:
		json_real(&s->json, v->real);
		break;
	case QUERY_TEXT:
		json_string_n(&s->json, v->s, v->len);
		break;
	case QUERY_BLOB: {
		_cleanup_(freep) char *hex = must_alloc(2 * v->len + 1);

		for (size_t i = 0; i < v->len; i++)
			sprintf(hex + 2 * i, "%02x", (unsigned char)v->s[i]);
		json_string(&s->json, hex);
		break;
	}
	case QUERY_NULL:
		json_real(&s->json, NAN); /* writes null */
		break;
	}
}

static int json_row(void *arg, const struct query_value *values)
{
	struct show *s = arg;

	json_object(&s->json);
	for (size_t i = 0; i < s->names.count; i++) {
		json_key_escaped(&s->json, s->names.items[i]);
		json_value(s, &values[i]);
	}
	json_end(&s->json);
	return s->out->error;
}

static int json_finish(void *arg)
{
	struct show *s = arg;

	json_end(&s->json);
	json_newline(&s->json);
	return s->out->error;
}

struct show *show_new(struct out *out, enum show_format format, bool safe)
{
	static const struct query_sink sinks[] = {
		[SHOW_TEXT] = { text_begin, text_row, text_end, NULL },
		[SHOW_CSV] = { csv_begin, csv_row, csv_end, NULL },
		[SHOW_JSON] = { json_begin, json_row, json_finish, NULL },
	};
	struct show *s = must_alloc(sizeof(*s));

	s->out = out;
	s->safe = safe;
	s->sink = sinks[format];
	s->sink.arg = s;
	s->buffer = must_alloc(sizeof(*s->buffer));
	out_init(s->buffer, open_memstream(&s->text, &s->text_size));
	return s;
}

void show_free(struct show *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->names.count; i++)
		free(s->names.items[i]);
	vec_done(&s->names);
	vec_done(&s->cells);
	fclose(s->buffer->file);
	free(s->buffer);
	free(s->text);
	free(s->widths);
	free(s->is_word);
	free(s);
}

const struct query_sink *show_sink(const struct show *s)
{
	return &s->sink;
}
