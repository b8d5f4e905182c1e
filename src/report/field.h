/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field - a record as a list of fields, in JSON or as text.
 *
 * describe.c turns each record into a list of fields.  A field has a key for JSON and a
 * lead, the words in front of it in text:
 *
 *	field_str(f, "syscall", "  ", "fsync");	   "syscall":"fsync"	 fsync
 *	field_u64(f, "vector", " of irq ", 24);	   "vector":24		 of irq 24
 *
 * A field without a lead appears in JSON only, a field without a key in text only.  The
 * key of a list item is FIELD_ITEM.
 */
#ifndef SONDE_REPORT_FIELD_H
#define SONDE_REPORT_FIELD_H

#include "base/json.h"

#define FIELD_ITEM ""

struct fields {
	struct out *out;   /* borrowed */
	struct json *json; /* borrowed; NULL for text */
	nsec_t origin;     /* time 0 of text output */
};

/* The first fields of every record. */
struct field_head {
	const char *kind;
	nsec_t time;
	bool has_cpu, has_thread;
	unsigned cpu;
	uint32_t tid, pid;
	const char *comm;
	const char *host;  /* JSON only; NULL to omit it */
	char state;        /* letter of an interval, or 0 */
	nsec_t start, end; /* of an interval */
};

/* A record is an object or a line, from begin to end. */
void fields_begin(struct fields *f, const struct field_head *head);
void fields_end(struct fields *f);

void field_str(struct fields *f, const char *key, const char *lead, const char *s); /* not NULL */
void field_str_n(struct fields *f, const char *key, const char *lead, const char *s, size_t len);
void field_u64(struct fields *f, const char *key, const char *lead, uint64_t n);
void field_i64(struct fields *f, const char *key, const char *lead, int64_t n);
void field_real(struct fields *f, const char *key, const char *lead, double n);
void field_bool(struct fields *f, const char *key, const char *lead, bool b);

void field_hex(struct fields *f, const char *key, const char *lead, uint64_t n); /* text: 0x1f */
void field_time(struct fields *f, const char *key, const char *lead,
		nsec_t ns); /* text: 1.234 ms */

/* A number in JSON, a word in text; a number in both if word is NULL. */
void field_word(struct fields *f, const char *key, const char *lead, int64_t n, const char *word);

/* A word, or a number if word is NULL. */
void field_name(struct fields *f, const char *key, const char *lead, const char *word, uint64_t n);

/* true, or omitted; its text is the lead. */
void field_flag(struct fields *f, const char *key, const char *lead, bool set);

/* Start and end in JSON, the duration in text. */
void field_range(struct fields *f, const char *lead, nsec_t start, nsec_t end);

void field_words(struct fields *f, const char *words); /* text only */

void field_object(struct fields *f, const char *key);
void field_list(struct fields *f, const char *key);
void field_end(struct fields *f); /* of the innermost object or list */

#endif
