/* SPDX-License-Identifier: Apache-2.0 */
#include "read/text/ftrace_head.h"

#include <string.h>

#include "read/text/value.h"

enum {
	COLUMN = 16,        /* end of a name */
	LATENCY_COLUMN = 8, /* the same in the latency format */
	FLAGS_MAX = 8,
	SEARCH_MAX = 128, /* bytes that are searched for a head at another column */
};

/* The third flag describes the interrupt context. */
static uint8_t context_of(const char *flags, size_t len)
{
	if (len < 3)
		return RAW_CONTEXT_UNKNOWN;
	switch (flags[2]) {
	case '.':
		return RAW_IN_TASK;
	case 's':
		return RAW_IN_SOFTIRQ;
	case 'h':
	case 'H':
	case 'z':
	case 'Z':
		return RAW_IN_IRQ;
	default:
		return RAW_CONTEXT_UNKNOWN;
	}
}

/* Optional flags, and blanks. */
static const char *parse_flags(const char *p, const char *end, struct ftrace_head *h)
{
	const char *flags = p;

	h->context = RAW_CONTEXT_UNKNOWN;
	if (p < end && !text_is_digit(*p)) {
		while (p < end && *p != ' ' && p - flags < FLAGS_MAX)
			p++;
		if (p == end || *p != ' ')
			return NULL;
		h->context = context_of(flags, p - flags);
		p = text_skip_blanks(p, end);
	}
	return p;
}

/* Digits after the decimal point, in nanoseconds. */
static const char *parse_fraction(const char *p, const char *end, uint64_t *ret)
{
	static const uint32_t scale[] = { 1000000000, 100000000, 10000000, 1000000, 100000,
					  10000,      1000,      100,      10,      1 };
	const char *begin = p;

	p = text_decimal(p, end, ret);
	if (!p || p - begin >= (ptrdiff_t)ARRAY_LEN(scale))
		return NULL;
	*ret *= scale[p - begin];
	return p;
}

/* The time: 3127.089581, 3127.089581771, 11883295055us!, or a count. */
static const char *parse_time(const char *p, const char *end, struct ftrace_head *h)
{
	uint64_t whole, fraction = 0, unit = 1;

	p = text_decimal(p, end, &whole);
	if (!p || end - p < 2)
		return NULL;
	h->is_counter = *p == ':';
	if (*p == '.') {
		p = parse_fraction(p + 1, end, &fraction);
		unit = NSEC_PER_SEC;
	} else if (p[0] == 'u' && p[1] == 's') {
		p += 2;
		p += p < end && *p != ':'; /* marks a delay */
		unit = NSEC_PER_USEC;
	}
	if (!p || p == end || *p != ':' || __builtin_mul_overflow(whole, unit, &whole) ||
	    __builtin_add_overflow(whole, fraction, &whole) || whole > INT64_MAX)
		return NULL;
	h->time = whole;
	return p + 1;
}

/* Skips the time since the previous event, "(+6)", of trace-cmd report --ts-diff. */
static const char *skip_difference(const char *p, const char *end)
{
	p = text_skip_blanks(p, end);
	if (end - p > 3 && p[0] == '(' && p[1] == '+') {
		const char *close = memchr(p, ')', end - p);

		p = close ? text_skip_blanks(close + 1, end) : p;
	}
	return p;
}

/* Parses the head from "[000]" on. */
static bool parse_from_cpu(const char *p, const char *end, struct ftrace_head *h)
{
	uint64_t cpu;

	if (p == end || *p != '[' || !(p = text_decimal(p + 1, end, &cpu)) || p == end ||
	    *p != ']' || cpu > UINT16_MAX)
		return false;
	h->cpu = cpu;
	p = parse_flags(text_skip_blanks(p + 1, end), end, h);
	if (!p || !(p = parse_time(p, end, h)))
		return false;
	h->rest = skip_difference(p, end);
	return true;
}

/* "(  1234)", or "(-------)" if unknown. */
static const char *parse_process(const char *p, const char *end, struct ftrace_head *h)
{
	uint64_t pid;

	p = text_skip_blanks(p + 1, end);
	if (p < end && *p == '-') {
		while (p < end && *p == '-')
			p++;
	} else {
		p = text_decimal(p, end, &pid);
		if (!p || pid > INT32_MAX)
			return NULL;
		h->pid = pid;
	}
	return p < end && *p == ')' ? p + 1 : NULL;
}

static const char *parse_tid(const char *p, const char *end, struct ftrace_head *h)
{
	uint64_t tid;

	p = text_decimal(p, end, &tid);
	if (!p || tid > INT32_MAX)
		return NULL;
	h->tid = tid;
	return p;
}

/* Parses the head from the thread id on, which is "pid/tid" in some output of perf. */
static bool parse_from_tid(const char *p, const char *end, struct ftrace_head *h)
{
	h->pid = RAW_UNKNOWN;
	p = parse_tid(p, end, h);
	if (p && p < end && *p == '/') {
		h->pid = h->tid;
		p = parse_tid(p + 1, end, h);
	}
	if (!p)
		return false;
	p = text_skip_blanks(p, end);
	if (p < end && *p == '(') {
		p = parse_process(p, end, h);
		if (!p)
			return false;
		p = text_skip_blanks(p, end);
	}
	return parse_from_cpu(p, end, h);
}

/* In the latency format, there is no blank between CPU and flags. */
static bool parse_latency(const char *p, const char *end, struct ftrace_head *h)
{
	uint64_t cpu;

	h->pid = RAW_UNKNOWN;
	p = parse_tid(p, end, h);
	if (!p || !(p = text_decimal(text_skip_blanks(p, end), end, &cpu)) || cpu > UINT16_MAX ||
	    p == end || *p == ' ')
		return false;
	h->cpu = cpu;
	p = parse_flags(p, end, h);
	if (!p || !(p = parse_time(p, end, h)))
		return false;
	h->rest = skip_difference(p, end);
	return true;
}

static bool parse_at_column(const char *s, const char *end, struct ftrace_head *h,
			    const char **ret_name_end)
{
	if (end - s > COLUMN && (s[COLUMN] == '-' || s[COLUMN] == ' ') &&
	    parse_from_tid(s[COLUMN] == '-' ? s + COLUMN + 1 : text_skip_blanks(s + COLUMN, end),
			   end, h)) {
		*ret_name_end = s + COLUMN;
		return true;
	}
	if (end - s > LATENCY_COLUMN && s[LATENCY_COLUMN] == '-' &&
	    parse_latency(s + LATENCY_COLUMN + 1, end, h)) {
		*ret_name_end = s + LATENCY_COLUMN;
		return true;
	}
	return false;
}

/* The start of the thread id before a bracket, blanks and "(1234)"; NULL if there is none. */
static const char *tid_before(const char *s, const char *bracket)
{
	const char *p = bracket;

	while (p > s && p[-1] == ' ')
		p--;
	if (p > s && p[-1] == ')') {
		while (p > s && p[-1] != '(')
			p--;
		p -= p > s;
		while (p > s && p[-1] == ' ')
			p--;
	}

	const char *end = p;

	while (p > s && (text_is_digit(p[-1]) || p[-1] == '/'))
		p--;
	return p < end && p > s && (p[-1] == '-' || p[-1] == ' ') ? p : NULL;
}

/* Searches for a head at any column. */
static bool search_head(const char *s, const char *end, struct ftrace_head *h,
			const char **ret_name_end)
{
	const char *last = end - s > SEARCH_MAX ? s + SEARCH_MAX : end;

	for (const char *p = s; (p = memchr(p, '[', last - p)); p++) {
		const char *tid = tid_before(s, p);

		if (!tid || !parse_from_tid(tid, end, h))
			continue;
		for (tid--; tid > s && tid[-1] == ' ' && *tid == ' ';)
			tid--;
		*ret_name_end = tid;
		return true;
	}
	return false;
}

static bool is_word(struct raw_text text, const char *word)
{
	return view_is((struct view){ text.s, text.len }, word);
}

bool ftrace_head_read(struct view line, struct ftrace_head *ret)
{
	const char *end = line.s + line.len, *name_end;

	if (!parse_at_column(line.s, end, ret, &name_end)) {
		line.s = text_skip_blanks(line.s, end);
		if (!search_head(line.s, end, ret, &name_end))
			return false;
	}

	const char *name = text_skip_blanks(line.s, name_end);

	ret->comm = (struct raw_text){ name, name_end - name };
	if (is_word(ret->comm, "<...>") || is_word(ret->comm, "<idle>"))
		ret->comm = (struct raw_text){ 0 }; /* the kernel did not record a name */
	return true;
}
