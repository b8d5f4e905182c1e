/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field - a record as a list of fields, for a program or for a person.
 *
 * What a record means is said once, in describe.c, as a list of fields.  Each
 * has a key, under which it stands in JSON, and a lead, the words before it in
 * a line of text:
 *
 *	field_str(f, "syscall", "  ", "fsync");	   "syscall":"fsync"	 fsync
 *	field_u64(f, "vector", " of irq ", 24);	   "vector":24		 of irq 24
 *
 * A field without a lead is only for programs, one without a key only for
 * people.  An item of a list has FIELD_ITEM for a key.
 */
#ifndef SONDE_REPORT_FIELD_H
#define SONDE_REPORT_FIELD_H

#include "base/json.h"

#define FIELD_ITEM ""

struct fields {
	struct out *out;   /* borrowed */
	struct json *json; /* borrowed; NULL for text */
	nsec_t origin;     /* text counts the time from here */
};

/* What every record begins with. */
struct field_head {
	const char *kind;
	nsec_t time;
	bool has_cpu, has_thread;
	unsigned cpu;
	uint32_t tid, pid;
	const char *comm;
	const char *host; /* for programs; NULL if it need not be said */
	char state;       /* of an interval, else 0: its letter; then, */
	nsec_t start, end;
};

/* A record goes from begin to end: an object, or a line. */
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

/* A number to programs, a word to people; just a number if there is no word. */
void field_word(struct fields *f, const char *key, const char *lead, int64_t n, const char *word);

/* A word to both, or a number to both if there is no word. */
void field_name(struct fields *f, const char *key, const char *lead, const char *word, uint64_t n);

/* true, or left out; its words are the lead. */
void field_flag(struct fields *f, const char *key, const char *lead, bool set);

/* From when to when; a person is told how long. */
void field_span(struct fields *f, const char *lead, nsec_t start, nsec_t end);

void field_words(struct fields *f, const char *words); /* for people only */

void field_object(struct fields *f, const char *key);
void field_list(struct fields *f, const char *key);
void field_end(struct fields *f); /* of the innermost object or list */

#endif
