/* SPDX-License-Identifier: Apache-2.0 */
#include "read/text/ftrace_event.h"

#include <string.h>

enum { NAME_MAX_LEN = 100, PATTERNS = 4 };

/* The form of a line, which determines the meaning of its first word. */
enum line_kind { LINE_EVENT = 'e', LINE_CALL = '(', LINE_RETURN = '>', LINE_OTHER = 'o' };

#define PREV "prev_comm={prev_comm} prev_pid={prev_pid} prev_prio={prev_prio:d} "
#define NEXT "next_comm={next_comm} next_pid={next_pid} next_prio={next_prio:d}"
#define SOCK \
	"sk address = {sk:x}, family = {family} protocol = {protocol}, length = {ret}, " \
	"error = {ret:n}, flags = {flags}"

/* How the kernel, trace-cmd and other tools print each event. */
static const struct {
	const char *names;
	const char *patterns[PATTERNS];
} event_patterns[] = {
	{ "sched_switch",
	  { PREV "prev_state={prev_state} ==> " NEXT,
	    "{prev_comm}:{prev_pid} [{prev_prio:d}] {prev_state:S} ==> "
	    "{next_comm}:{next_pid} [{next_prio:d}]",
	    PREV "prev_state={prev_state} " NEXT } },
	{ "sched_waking sched_wakeup sched_wakeup_new",
	  { "comm={comm} pid={pid} prio={prio:d}", "{comm}:{pid} [{prio:d}]" } },
	{ "sched_process_fork",
	  { "comm={parent_comm:c} pid={parent_pid} child_comm={child_comm} child_pid={child_pid}",
	    "parent_comm={parent_comm:c} parent_pid={parent_pid} child_comm={child_comm} "
	    "child_pid={child_pid}",
	    "{parent_comm:c}:{parent_pid} child={child_comm}:{child_pid}" } },
	{ "sched_process_exec", { "filename={filename:p} pid={pid} old_pid={old_pid}" } },
	{ "sched_process_exit",
	  { "comm={comm} pid={pid} prio={prio:d}", "{comm}:{pid} [{prio:d}]" } },
	{ "task_newtask", { "pid={pid} comm={comm} clone_flags={clone_flags:x} oom_score_adj=" } },
	{ "task_rename",
	  { "pid={pid} oldcomm={oldcomm:c} newcomm={newcomm} oom_score_adj=",
	    "oldcomm={oldcomm:c} newcomm={newcomm} oom_score_adj=" } },
	{ "irq_handler_entry", { "irq={irq} name={name}" } },
	{ "irq_handler_exit", { "irq={irq} ret={ret}" } },
	{ "softirq_entry softirq_exit", { "vec={vec} [action={action}]", "vec={vec}" } },
	{ "sys_enter", { "NR {id} ({args})" } },
	{ "sys_exit", { "NR {id} = {ret}" } },
	{ "block_rq_issue",
	  { "{dev:v} {rwbs:t} {bytes} ({cmd}) {sector} + {nr_sector} {ioprio}[{comm}]" } },
	{ "block_rq_complete",
	  { "{dev:v} {rwbs:t} ({cmd}) {sector} + {nr_sector} {ioprio}[{error}]" } },
	{ "sock_send_length sock_recv_length", { SOCK } },
};

static const char *const return_patterns[] = { "{ret:x}", NULL };

/* NULL if there are none. */
static const char *const *patterns_of(const char *name)
{
	const char *colon = strrchr(name, ':');

	name = colon ? colon + 1 : name;
	for (size_t i = 0; i < ARRAY_LEN(event_patterns); i++)
		if (raw_is_one_of(event_patterns[i].names, name, strlen(name)))
			return event_patterns[i].patterns;
	return strncmp(name, "sys_exit_", 9) == 0 ? return_patterns : NULL;
}

/* For "sys_read" in a call or return, the event is sys_enter_read or sys_exit_read. */
static struct text_type *add_call(struct text_types *types, struct text_type_name word)
{
	size_t prefix = strlen("sys_");
	_cleanup_(freep) char *name =
		must_printf("%s%.*s", word.line_kind == LINE_CALL ? "sys_enter_" : "sys_exit_",
			    (int)(word.word.len - prefix), word.word.s + prefix);

	return text_types_add(types, word, name, true, patterns_of(name));
}

static struct text_type *add_type(struct text_types *types, struct text_type_name word)
{
	if (word.line_kind == LINE_CALL || word.line_kind == LINE_RETURN)
		return add_call(types, word);

	_cleanup_(freep) char *name = must_printf("%.*s", (int)word.word.len, word.word.s);

	return text_types_add(types, word, name, true, patterns_of(name));
}

static bool is_call_name(const char *word, size_t len)
{
	return len > 4 && memcmp(word, "sys_", 4) == 0;
}

/* The length and the meaning of the word at *p; moves *p after it, unless LINE_OTHER. */
static enum line_kind first_word(const char **p, const char *end, size_t *ret_len)
{
	const char *word = *p, *q = word;
	const char *last = end - word > NAME_MAX_LEN ? word + NAME_MAX_LEN : end;

	while (q < last && *q != ' ' && *q != '(')
		q++;
	*ret_len = q - word;
	if (q > word + 1 && q[-1] == ':' && (q == end || *q == ' ')) {
		*ret_len = q - 1 - word;
		*p = text_skip_blanks(q, end);
		return LINE_EVENT;
	}
	if (q < end && *q == '(' && is_call_name(word, q - word)) {
		*p = q + 1;
		return LINE_CALL;
	}
	if (end - q > 4 && memcmp(q, " -> ", 4) == 0 && is_call_name(word, q - word)) {
		*p = q + 4;
		return LINE_RETURN;
	}
	return LINE_OTHER;
}

struct text_type *ftrace_event_type(struct text_types *types, const char **p, const char *end)
{
	const char *word = *p;
	size_t len;
	enum line_kind kind = first_word(p, end, &len);

	if (kind == LINE_OTHER) {
		/* the function tracer and stacks have no event name */
		word = word < end && *word == '<' ? "stack" : "function";
		len = strlen(word);
	}

	struct text_type_name name = { kind, { word, len } };

	return text_types_find(types, name) ?: add_type(types, name);
}

/* The next argument of "fd: 0x3, filename: 0x7ffe6f218390 "/etc/passwd")". */
static bool next_argument(const char **p, const char *end, struct raw_text *ret_key,
			  struct raw_text *ret_value)
{
	const char *key = *p, *colon = memchr(key, ':', end - key);

	if (!colon || end - colon < 3 || colon[1] != ' ')
		return false;

	const char *value = colon + 2, *stop = value;

	for (bool quoted = false; stop < end && (quoted || (*stop != ',' && *stop != ')')); stop++)
		quoted ^= *stop == '"';
	*ret_key = (struct raw_text){ key, colon - key };
	*ret_value = (struct raw_text){ value, stop - value };
	*p = text_skip_blanks(stop < end ? stop + 1 : end, end);
	return true;
}

static void parse_arguments(const struct text_type *type, struct view text, struct raw_event *e)
{
	const char *p = text.s, *end = p + text.len;
	struct raw_text key, value;

	for (size_t i = 0; next_argument(&p, end, &key, &value); i++) {
		const char *stop = value.s + value.len;
		const char *quote = memchr(value.s, '"', value.len);
		uint64_t n;

		if (i < ARRAY_LEN(e->syscall.args) && text_hex(value.s, stop, &n))
			e->syscall.args[i] = n;
		if (quote && stop[-1] == '"' && stop - quote > 1 &&
		    text_find_field(type->layout, key.s, key.len))
			e->syscall.path = (struct raw_text){ quote + 1, stop - quote - 2 };
	}
}

/* Resets all fields that a failed match has set; keeps the head. */
static void reset_fields(struct raw_event *e)
{
	struct raw_event empty = raw_event_empty(e->kind);
	size_t head = offsetof(struct raw_event, sched_switch);

	memcpy((char *)e + head, (char *)&empty + head, sizeof(empty) - head);
}

/* The index of the pattern that matches, which sets the fields of the event; or -1. */
static int match_patterns(const struct text_type *type, struct view text, struct raw_event *e,
			  struct raw_text *values)
{
	for (size_t i = 0; i < type->pattern_count; i++) {
		if (text_pattern_match(&type->patterns[i], text.s, text.s + text.len, e, values))
			return i;
		reset_fields(e);
	}
	return -1;
}

void ftrace_event_parse(const struct text_type *type, struct view text, struct raw_event *e)
{
	if (!type->layout || !type->layout->fields[0].names)
		return;
	if (match_patterns(type, text, e, NULL) < 0) {
		if (type->nr != SYSCALL_NONE && type->kind == RAW_SYSCALL_ENTER)
			parse_arguments(type, text, e);
		else
			text_parse_pairs(type->layout, text, e);
	}
	if (type->nr != SYSCALL_NONE)
		e->syscall.nr = type->nr;
}

static void visit_arguments(struct view text, const struct raw_visitor *visitor, void *arg)
{
	const char *p = text.s;
	struct raw_text key, value;

	while (next_argument(&p, text.s + text.len, &key, &value))
		text_visit(visitor, arg, key, value);
}

void ftrace_event_visit(const struct text_type *type, struct view text,
			const struct raw_visitor *visitor, void *arg)
{
	struct raw_event e = raw_event_empty(type->kind);
	struct raw_text values[TEXT_VALUES_MAX];
	int matched = match_patterns(type, text, &e, values);

	if (matched < 0) {
		if (type->nr != SYSCALL_NONE && type->kind == RAW_SYSCALL_ENTER)
			visit_arguments(text, visitor, arg);
		else
			text_visit_pairs(text, visitor, arg);
		return;
	}
	for (size_t i = 0; i < type->patterns[matched].count; i++) {
		const struct text_step *step = &type->patterns[matched].steps[i];

		text_visit(visitor, arg, (struct raw_text){ step->name, step->name_len },
			   values[i]);
	}
}
