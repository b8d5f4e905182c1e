/* SPDX-License-Identifier: Apache-2.0 */
/*
 * annotate_control - change a running `sonde annotate`: `sonde annotate --set=threshold=5ms`.
 *
 * The instance listens on a control socket (base/control.h) with an abstract name: the relay has
 * dropped its privileges when it ends, so it could not remove a file.  Half of the name is random,
 * so that no other user can take it before; the HTTP port that --http names has it as a page.
 * Names are those of the network namespace, as ports are, so two instances never share one.  All
 * users can connect, and all but root and the user who started the instance are disconnected.
 */
#ifndef SONDE_CLI_ANNOTATE_CONTROL_H
#define SONDE_CLI_ANNOTATE_CONTROL_H

#include "annotate/settings.h"
#include "base/control.h"
#include "cli/opt.h"

/* Path of the page with the name. */
#define ANNOTATE_CONTROL_PAGE "/control"

struct annotate_control {
	struct control_server *server;
	char name[40];
};

/* Call it before privileges drop. */
int annotate_control_open(struct annotate_control *ret, struct err *err);
void annotate_control_done(struct annotate_control *c);

/* Applies settings, all or none. */
typedef int apply_settings_fn(void *arg, const struct settings *settings, struct err *err);

/* Replies to all requests that wait. */
void annotate_control_run(struct annotate_control *c, apply_settings_fn *apply, void *arg);

/* The client: sends settings to the instance with this HTTP address, and prints its reply. */
int annotate_control_send(const char *http, const struct opt_list *settings, struct err *err);

#endif
