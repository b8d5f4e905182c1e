/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/annotate_scope.h"

#include "base/text.h"
#include "cli/log.h"

char *annotate_scope_text(const struct annotate_scope *scope, const struct annotate_status *status)
{
	const char *plural = status->processes == 1 ? "" : "es";

	if (!status->has_scope)
		return must_strdup("the recorder has not started yet");
	if (!scope->agents)
		return must_printf("recording %s process%s%s", format_count(status->processes).s,
				   plural, scope->all ? " (-a)" : " of --pid, --port or --cgroup");
	if (!status->processes)
		return must_strdup("no process started by 'sonde run' yet; -a records all");
	return must_printf("recording %s process%s that 'sonde run' started%s",
			   format_count(status->processes).s, plural,
			   status->scope_refused ? "; others were refused" : "");
}

static void log_refused(struct annotate_scope *scope, const struct annotate_status *status)
{
	if (!scope->refused && status->scope_refused)
		log_message("processes register faster than sonde accepts them, or more of them: "
			    "some are not recorded; see LIMITS in sonde-annotate(1)");
	scope->refused = status->scope_refused;
}

void annotate_scope_log(struct annotate_scope *scope, const struct annotate_status *status)
{
	bool is_first = !scope->logged;
	bool was_empty = scope->logged == 1;

	if (!scope->agents || !status->has_scope)
		return;
	log_refused(scope, status);
	if (is_first || was_empty != !status->processes) {
		_cleanup_(freep) char *text = annotate_scope_text(scope, status);

		log_message("%s", text);
	}
	scope->logged = 1 + status->processes;
}
