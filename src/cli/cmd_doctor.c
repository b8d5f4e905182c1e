/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/opt.h"
#include "record/feature.h"

struct doctor_opts {
	bool json;
};

static const struct opt doctor_opts[] = {
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

static int print_json(const struct feature *features, size_t count)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	struct json j;

	out_init(out, stdout);
	json_init(&j, out);
	json_object(&j);
	json_key(&j, "can_record");
	json_bool(&j, can_record(features, count));
	json_key(&j, "features");
	json_array(&j);
	for (size_t i = 0; i < count; i++) {
		const struct feature *f = &features[i];

		json_object(&j);
		json_key(&j, "name");
		json_string(&j, f->name);
		json_key(&j, "gives");
		json_string(&j, f->gives);
		json_key(&j, "ok");
		json_bool(&j, f->ok);
		json_key(&j, "required");
		json_bool(&j, f->required);
		json_key(&j, "why");
		json_string(&j, f->why);
		json_key(&j, "remedy");
		json_string(&j, f->remedy);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	json_newline(&j);
	return out_flush(out);
}

static void print_text(const struct feature *features, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct feature *f = &features[i];

		printf("%-3s  %-15s %s\n", f->ok ? "yes" : "no", f->name, f->gives);
		printf("     %-15s %s\n", "", f->why);
		if (f->remedy[0])
			printf("     %-15s -> %s\n", "", f->remedy);
	}
	printf("\n%s\n",
	       can_record(features, count)
		       ? "sonde can record here."
		       : "sonde cannot record here, but it can read what others recorded.");
}

static int doctor_run(const void *opts, char **operands, struct err *err)
{
	const struct doctor_opts *o = opts;
	struct feature features[FEATURE_MAX];
	size_t count = features_probe(features);

	if (o->json)
		return print_json(features, count);
	print_text(features, count);
	return 0;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "say what can be recorded here, and what to do about the rest",
	.synopsis = "[OPTION]...",
	.examples = "  sonde doctor\n"
		    "  sonde doctor --json | jq '.features[] | select(.ok | not)'\n",
	.opts = doctor_opts,
	.defaults = &doctor_defaults,
	.opts_size = sizeof(doctor_defaults),
	.run = doctor_run,
};
