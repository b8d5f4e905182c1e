/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/annotate_control.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "cli/annotate_status.h"
#include "cli/log.h"

#define NAME_PREFIX "@sonde-annotate-"
#define REPLY_MAX (10 * NSEC_PER_SEC)

enum { NAME_DIGITS = 16 };

int annotate_control_open(struct annotate_control *ret, struct err *err)
{
	struct annotate_control c = { 0 };
	uint64_t secret;
	int r;

	if (getrandom(&secret, sizeof(secret), 0) != sizeof(secret))
		return err_errno(err, "cannot get a random number");
	snprintf(c.name, sizeof(c.name), NAME_PREFIX "%0*" PRIx64, NAME_DIGITS, secret);
	r = control_server_new(c.name, &c.server);
	if (r < 0)
		return err_set(err, r, "cannot create the socket '%s': %s", c.name, strerror(-r));
	*ret = c;
	return 0;
}

void annotate_control_done(struct annotate_control *c)
{
	control_server_free(c->server);
	c->server = NULL;
}

static int obey(struct view request, apply_settings_fn *apply, void *arg, char **ret_text,
		struct err *err)
{
	struct settings settings;
	int r = settings_read(request, &settings, err);

	if (r == 0)
		r = apply(arg, &settings, err);
	if (r == 0)
		*ret_text = settings_describe(&settings);
	return r;
}

void annotate_control_run(struct annotate_control *c, apply_settings_fn *apply, void *arg)
{
	struct view request;

	control_server_poll(c->server);
	while (control_server_next(c->server, &request)) {
		_cleanup_(freep) char *text = NULL;
		struct err err = { "" };
		int r = obey(request, apply, arg, &text, &err);

		if (r == 0)
			log_message("changed while running: %s", text ?: "");
		control_server_reply(c->server, r, r == 0 ? text ?: "" : err.text);
	}
}

/* Whether a page contains the name of a control socket, and nothing else. */
static bool is_name(const char *page)
{
	size_t prefix = strlen(NAME_PREFIX);

	return strncmp(page, NAME_PREFIX, prefix) == 0 &&
	       strspn(page + prefix, "0123456789abcdef") == NAME_DIGITS &&
	       !page[prefix + NAME_DIGITS];
}

static int find_socket(const char *http, char **ret_name, struct err *err)
{
	_cleanup_(freep) char *page = NULL;
	size_t size;
	FILE *file = open_memstream(&page, &size);
	int r;

	if (!file)
		return err_errno(err, "out of memory");
	r = relay_get_page(http, ANNOTATE_CONTROL_PAGE, file, err);
	fclose(file);
	if (r < 0)
		return r;
	if (!is_name(page))
		return err_set(err, -EBADMSG, "'%s' is not the HTTP address of 'sonde annotate'",
			       http);
	*ret_name = TAKE(page);
	return 0;
}

static int explain_failure(int r, const char *http, struct err *err)
{
	if (r == -EPERM || r == -EACCES)
		return err_set(err, r,
			       "the 'sonde annotate' at '%s' belongs to another user; run this as "
			       "that user or root",
			       http);
	if (r == -ECONNREFUSED || r == -ENOENT)
		return err_set(err, r,
			       "the 'sonde annotate' at '%s' runs on another host or in "
			       "another network namespace",
			       http);
	if (r == -EPIPE)
		return err_set(err, r,
			       "the 'sonde annotate' at '%s' has ended, or refuses this user",
			       http);
	return err_set(err, r, "cannot change the 'sonde annotate' at '%s': %s", http,
		       strerror(-r));
}

static void message_done(struct pb_buffer *message)
{
	pb_buffer_done(message);
}

int annotate_control_send(const char *http, const struct opt_list *settings, struct err *err)
{
	_cleanup_(message_done) struct pb_buffer message = { 0 };
	_cleanup_(freep) char *name = NULL;
	_cleanup_(freep) struct control_reply *reply = must_alloc(sizeof(*reply));
	_cleanup_(closep) int fd = -1;
	struct control_peer peer;
	int r = 0;

	for (size_t i = 0; i < settings->count && r == 0; i++)
		r = settings_write(settings->items[i], &message, err);
	if (r == 0)
		r = find_socket(http, &name, err);
	if (r < 0)
		return r;
	fd = control_connect(name, &peer);
	r = fd < 0 ? fd
		   : control_ask(fd, (struct view){ (char *)message.data, message.size }, REPLY_MAX,
				 reply);
	if (r < 0)
		return explain_failure(r, http, err);
	if (reply->code < 0)
		return err_set(err, -EINVAL, "%s", reply->text);
	puts(reply->text);
	return 0;
}
