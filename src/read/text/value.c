/* SPDX-License-Identifier: Apache-2.0 */
#include "read/text/value.h"

#include <arpa/inet.h>
#include <string.h>

static inline int hex_digit(char c)
{
	if (text_is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

const char *text_hex(const char *p, const char *end, uint64_t *ret)
{
	uint64_t n = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		p += 2;

	const char *begin = p;

	for (int digit; p < end && (digit = hex_digit(*p)) >= 0; p++) {
		if (n >> 60)
			return NULL;
		n = n << 4 | digit;
	}
	*ret = n;
	return p > begin ? p : NULL;
}

/* Words that the kernel prints for numbers; each has one meaning. */
static const struct {
	const char *word;
	uint16_t number;
} words[] = {
	{ "AF_INET", 2 },         { "AF_INET6", 10 },      { "IPPROTO_TCP", 6 },
	{ "IPPROTO_DCCP", 33 },   { "IPPROTO_SCTP", 132 }, { "IPPROTO_MPTCP", 262 },
	{ "TCP_ESTABLISHED", 1 }, { "TCP_SYN_SENT", 2 },   { "TCP_SYN_RECV", 3 },
	{ "TCP_FIN_WAIT1", 4 },   { "TCP_FIN_WAIT2", 5 },  { "TCP_TIME_WAIT", 6 },
	{ "TCP_CLOSE", 7 },       { "TCP_CLOSE_WAIT", 8 }, { "TCP_LAST_ACK", 9 },
	{ "TCP_LISTEN", 10 },     { "TCP_CLOSING", 11 },   { "TCP_NEW_SYN_RECV", 12 },
};

static const char *parse_word(const char *p, const char *end, uint64_t *ret)
{
	const char *begin = p;

	while (p < end &&
	       (*p == '_' || text_is_digit(*p) || ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z')))
		p++;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (view_is((struct view){ begin, p - begin }, words[i].word)) {
			*ret = words[i].number;
			return p;
		}
	return NULL;
}

/* A TEXT_NUMBER; negative numbers in two's complement. */
static const char *parse_number(const char *p, const char *end, uint64_t *ret)
{
	bool negative = p < end && *p == '-';
	uint64_t n;

	p += negative;
	if (p < end && !text_is_digit(*p))
		return parse_word(p, end, ret);
	p = end - p > 2 && p[0] == '0' && p[1] == 'x' ? text_hex(p, end, &n)
						      : text_decimal(p, end, &n);
	if (p)
		*ret = negative ? -n : n;
	return p;
}

/* RAW_STATE_* of a letter, or -1 if there is none. */
static int state_bits(char letter, enum text_form form)
{
	switch (form == TEXT_STATE_TRACE_CMD ? letter : 0) {
	case 'X': /* trace-cmd prints the letters of kernels before 4.14 for newer numbers */
		return RAW_STATE_ZOMBIE;
	case 'Z':
		return RAW_STATE_DEAD;
	case 'x':
		return RAW_STATE_PARKED;
	case 'W':
		return RAW_STATE_IDLE;
	default:
		return raw_state_of_letter(letter);
	}
}

static const char *parse_state(const char *p, const char *end, enum text_form form, uint64_t *ret)
{
	const char *begin = p;
	uint64_t state = 0;

	if (p < end && text_is_digit(*p)) {
		struct raw_states states = raw_states_of_release(NULL);

		p = parse_number(p, end, &state);
		*ret = raw_state_read(&states, state, false);
		return p;
	}
	for (; p < end && *p != ' '; p++) {
		int bits = *p == '|' || *p == '+' ? 0 : state_bits(*p, form);

		if (bits < 0)
			return NULL;
		state |= bits;
	}
	*ret = state;
	return p > begin ? p : NULL;
}

static const char *parse_device(const char *p, const char *end, uint64_t *ret)
{
	uint64_t major = 0, minor = 0;

	p = text_decimal(p, end, &major);
	if (!p || p == end || *p != ',')
		return NULL;
	p = text_decimal(p + 1, end, &minor);
	if (!p)
		return NULL;
	*ret = major << 20 | (minor & 0xfffff);
	return p;
}

static void put_number(struct raw_event *e, const struct raw_field *field, uint64_t n)
{
	char *target = (char *)e + field->offset;

	switch (field->size) {
	case 1:
		*(uint8_t *)target = n;
		break;
	case 2:
		*(uint16_t *)target = n;
		break;
	case 4:
		*(uint32_t *)target = n;
		break;
	default:
		*(uint64_t *)target = n;
		break;
	}
}

static const char *parse_list(struct raw_event *e, const struct raw_field *field, const char *p,
			      const char *end)
{
	size_t room = field ? field->size / sizeof(uint64_t) : 0;
	uint64_t n;

	for (size_t i = 0;; i++) {
		p = text_hex(p, end, &n);
		if (!p)
			return NULL;
		if (i < room)
			memcpy((char *)e + field->offset + i * sizeof(n), &n, sizeof(n));
		if (end - p < 2 || p[0] != ',' || p[1] != ' ')
			return p;
		p += 2;
	}
}

/* Whether this is an IPv4 address inside of IPv6 (::ffff:a.b.c.d). */
static bool is_mapped(const uint8_t bytes[16])
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(bytes, prefix, sizeof(prefix)) == 0;
}

/* An IPv4 address inside of IPv6 is stored as IPv4 in the fields local and peer. */
static void put_address(struct raw_event *e, const struct raw_field *field, const uint8_t bytes[16],
			bool is_6)
{
	struct socket_address *address = &e->socket.address;
	bool plain = field->offset == offsetof(struct raw_event, socket.address.local) ||
		     field->offset == offsetof(struct raw_event, socket.address.peer);
	bool mapped = is_6 && plain && is_mapped(bytes);

	memcpy((char *)e + field->offset, mapped ? bytes + 12 : bytes, is_6 && !mapped ? 16 : 4);
	if (plain && !address->family)
		address->family = is_6 && !mapped ? AF_INET6 : AF_INET;
}

static const char *parse_address(struct raw_event *e, const struct raw_field *field, const char *p,
				 const char *end)
{
	char text[INET6_ADDRSTRLEN];
	uint8_t bytes[16];
	size_t len = 0;

	while (p + len < end && (hex_digit(p[len]) >= 0 || p[len] == '.' || p[len] == ':'))
		len++;
	if (len >= sizeof(text))
		return NULL;
	memcpy(text, p, len);
	text[len] = '\0';

	bool is_6 = memchr(text, ':', len);

	if (inet_pton(is_6 ? AF_INET6 : AF_INET, text, bytes) != 1)
		return NULL;
	if (field)
		put_address(e, field, bytes, is_6);
	return p + len;
}

const char *text_parse(struct raw_event *e, const struct raw_field *field, enum text_form form,
		       const char *p, const char *end)
{
	uint64_t n;

	switch (form) {
	case TEXT_LIST:
		return parse_list(e, field, p, end);
	case TEXT_ADDRESS:
		return parse_address(e, field, p, end);
	case TEXT_HEX:
		p = text_hex(p, end, &n);
		break;
	case TEXT_STATE:
	case TEXT_STATE_TRACE_CMD:
		p = parse_state(p, end, form, &n);
		break;
	case TEXT_DEVICE:
		p = parse_device(p, end, &n);
		break;
	default:
		p = parse_number(p, end, &n);
		break;
	}
	if (p && field && (n || form != TEXT_NONZERO))
		put_number(e, field, n);
	return p;
}

enum text_form text_form_of(const struct raw_field *field)
{
	switch ((enum raw_type)field->type) {
	case RAW_TEXT:
		return TEXT_COMM;
	case RAW_ADDRESS:
		return TEXT_ADDRESS;
	case RAW_NUMBERS:
		return TEXT_LIST;
	case RAW_NUMBER:
		break;
	}
	return strcmp(field->names, "prev_state") == 0 ? TEXT_STATE : TEXT_NUMBER;
}

void text_parse_any(struct raw_event *e, const struct raw_field *field, struct raw_text value)
{
	enum text_form form = text_form_of(field);
	const char *end = value.s + value.len;

	if (form == TEXT_COMM) {
		memcpy((char *)e + field->offset, &value, sizeof(value));
		return;
	}
	/* pointers are hexadecimal without 0x, such as ffff888266ef2e40 */
	if (text_parse(e, field, form, value.s, end) != end && form == TEXT_NUMBER)
		text_parse(e, field, TEXT_HEX, value.s, end);
}
