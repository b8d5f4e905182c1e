/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/opt.h"
#include "record/kernel/feature.h"
#include "record/inspect.h"
#include "record/privilege.h"
#include "report/json_put.h"

struct doctor_opts {
	bool json;
	uint32_t pid;
};

static const struct opt doctor_opts[] = {
	{ OPT_PID, 'p', "pid", "PID", "report what sonde can read from a process instead",
	  offsetof(struct doctor_opts, pid) },
	{ OPT_FLAG, 0, "json", NULL, "write JSON instead of text",
	  offsetof(struct doctor_opts, json) },
	{ 0 },
};

static const struct doctor_opts doctor_defaults = { 0 };

static bool can_record(const struct feature *features, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (features[i].required && !features[i].ok)
			return false;
	return true;
}

static void put_feature(struct json *j, const struct feature *f)
{
	json_object(j);
	put_string(j, "name", f->name);
	put_string(j, "provides", f->provides);
	put_bool(j, "ok", f->ok);
	put_bool(j, "required", f->required);
	put_string(j, "reason", f->why);
	put_string(j, "remedy", f->remedy);
	json_end(j);
}

static int print_json(const struct doctor_opts *o, const struct feature *features, size_t count,
		      struct err *err)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	struct json j;

	out_init(out, stdout);
	json_init(&j, out);
	json_object(&j);
	if (o->pid)
		put_u64(&j, "pid", o->pid);
	else
		put_bool(&j, "can_record", can_record(features, count));
	json_key(&j, "features");
	json_array(&j);
	for (size_t i = 0; i < count; i++)
		put_feature(&j, &features[i]);
	json_end(&j);
	json_end(&j);
	json_newline(&j);
	return out_finish(out, err);
}

/* A line below a feature; it can contain names from processes and files, so escape it. */
static void print_detail(struct out *out, const char *mark, const char *text)
{
	out_fill(out, 21, ' ');
	out_str(out, mark);
	out_escaped(out, text, strlen(text));
	out_char(out, '\n');
}

static int print_text(const struct feature *features, size_t count, const char *summary,
		      struct err *err)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));

	out_init(out, stdout);
	for (size_t i = 0; i < count; i++) {
		const struct feature *f = &features[i];

		out_str(out, f->ok ? "yes  " : "no   ");
		out_str(out, f->name);
		out_fill(out, strlen(f->name) < 15 ? 16 - strlen(f->name) : 1, ' ');
		out_str(out, f->provides);
		out_char(out, '\n');
		print_detail(out, "", f->why);
		if (f->remedy[0])
			print_detail(out, "-> ", f->remedy);
	}
	out_char(out, '\n');
	out_str(out, summary);
	out_char(out, '\n');
	return out_finish(out, err);
}

static const char *summarize_host(const struct feature *features, size_t count)
{
	return can_record(features, count)
		       ? "sonde can record here."
		       : "sonde cannot record here, but it can read captures and traces.";
}

static bool is_ok(const struct feature *features, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(features[i].name, name) == 0)
			return features[i].ok;
	return false;
}

static const char *summarize_process(const struct feature *features, size_t count)
{
	if (is_ok(features, count, "spans"))
		return "sonde records its spans.";
	if (is_ok(features, count, "context") && !is_ok(features, count, "agent"))
		return "sonde records the span that each thread works for; its SDK exports the "
		       "spans.";
	if (is_ok(features, count, "agent"))
		return "sonde will record its spans once it has any.";
	return "sonde cannot record its spans, but it can record its threads.";
}

static int doctor_run(const void *opts, char **operands, struct err *err)
{
	const struct doctor_opts *o = opts;
	struct feature features[FEATURE_MAX];
	size_t count = 0;
	int r = 0;

	if (o->pid)
		r = inspect_process(o->pid, features, &count, err);
	else
		count = features_probe(features);
	if (r < 0)
		return r;
	if (o->json)
		return print_json(o, features, count, err);
	return print_text(
		features, count,
		o->pid ? summarize_process(features, count) : summarize_host(features, count), err);
}

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "report what can be recorded here, and how to enable the rest",
	.synopsis = "[OPTION]...",
	.examples = "  sudo sonde doctor\n"
		    "  sonde doctor --pid 4127\n"
		    "  sonde doctor --json | jq '.features[] | select(.ok | not)'\n",
	.opts = doctor_opts,
	.defaults = &doctor_defaults,
	.opts_size = sizeof(doctor_defaults),
	.caps = PRIVILEGE_CAPS,
	.run = doctor_run,
};
