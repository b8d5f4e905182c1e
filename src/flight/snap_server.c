/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "flight/capture_dir.h"
#include "flight/snap.h"

int snap_server_new(const char *directory, struct control_server **ret, struct err *err)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int n = snprintf(path, sizeof(path), "%s/" CAPTURE_DIR_SOCKET "%d", directory, getpid());

	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(err, -ENAMETOOLONG,
			       "'sonde snap' will not work, because the path of '%s' is too long "
			       "for a socket; SIGUSR1 does",
			       directory);

	int r = control_server_new(path, ret);

	if (r < 0)
		return err_set(err, r, "'sonde snap' will not work: cannot create '%s': %s", path,
			       strerror(-r));
	return 0;
}

void snap_server_reply(struct control_server *s, int code, const char *text)
{
	struct view request;

	while (control_server_next(s, &request))
		control_server_reply(s, code, text);
}
