/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/diagnose.h"
#include "cli/style.h"
#include "cli/warn.h"
#include "diagnose/diagnosis.h"
#include "load/load.h"
#include "report/diagnosis.h"
#include "store/baseline_file.h"

/* What a diagnosis needs, and what comes of it. */
struct comparison {
	struct baseline *baseline;
	struct profiles profiles;
	struct loaded loaded;
	struct diagnosis *diagnosis;
	struct observation_counts counts;
	uint64_t digest; /* of the spans of the inputs */
};

static void comparison_done(struct comparison *c)
{
	diagnosis_free(c->diagnosis);
	profiles_done(&c->profiles);
	baseline_free(c->baseline);
	loaded_done(&c->loaded);
}

static void add_observation(void *comparison, const struct observation *o)
{
	struct comparison *c = comparison;

	c->digest += o->identity; /* in any order */
	diagnosis_add_observation(c->diagnosis, o);
}

static void compare(struct comparison *c)
{
	profiles_build(c->baseline, sysconf(_SC_NPROCESSORS_ONLN), &c->profiles);
	c->diagnosis = diagnosis_new(c->baseline, &c->profiles);
	diagnosis_begin(c->diagnosis, &c->loaded.spans);
	observations_find(&c->loaded.spans, add_observation, c, &c->counts);
	diagnosis_finish(c->diagnosis);
}

static int write_report(const struct diagnose_opts *o, const struct comparison *c, FILE *file,
			struct err *err)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	const struct model *model = c->loaded.model;
	struct diagnosis_view view = { .diagnosis = c->diagnosis,
				       .counts = &c->counts,
				       .top = o->top,
				       .length = model_end(model) - model_begin(model),
				       .inputs_digest = c->digest };
	struct style style = output_style();
	struct json j;

	out_init(out, file);
	if (!o->json && !o->check) {
		diagnosis_text(out, &style, &view);
		return out_finish(out, err);
	}
	json_init(&j, out);
	diagnosis_json(&j, &view);
	json_newline(&j);
	return out_finish(out, err);
}

/* Writes the report again and compares it with one that was kept. */
static int check_report(const struct diagnose_opts *o, const struct comparison *c, struct err *err)
{
	_cleanup_(freep) char *text = NULL;
	size_t size = 0, same = 0;
	FILE *file = open_memstream(&text, &size);
	struct view kept;
	int r = file ? write_report(o, c, file, err) : err_errno(err, "cannot write the report");

	if (file)
		fclose(file);
	if (r == 0)
		r = file_map(o->check, &kept, err);
	if (r < 0)
		return r;
	while (same < size && same < kept.len && kept.s[same] == text[same])
		same++;
	if (same < size || same < kept.len)
		r = err_set(err, -EBADMSG,
			    "'%s' is not the report of these inputs and this baseline: it differs "
			    "at byte %zu",
			    o->check, same);
	file_unmap(&kept);
	if (r == 0)
		puts("the report is right: every verdict follows from the inputs and the baseline");
	return r;
}

int diagnose_baseline(const struct diagnose_opts *o, char **inputs, struct err *err)
{
	_cleanup_(comparison_done) struct comparison c = { 0 };
	struct err damage = { "" };
	int damaged, r = baseline_load(o->baseline, &c.baseline, err);

	if (r < 0)
		return r;
	damaged = loaded_open(&c.loaded, inputs, o->format, &damage);
	if (c.loaded.model)
		loaded_rebuild_requests(&c.loaded, o->requests);
	warn_all(&c.loaded.warnings);
	if (c.loaded.model) {
		compare(&c);
		r = o->check ? check_report(o, &c, err) : write_report(o, &c, stdout, err);
	}
	if (damaged < 0)
		*err = damage;
	return damaged < 0 ? damaged : r;
}
