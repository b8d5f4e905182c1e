/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/top_source.h"

bool top_source_is_stream(char **operands)
{
	struct stat st;

	return operands[0] && strcmp(operands[0], "-") == 0 && !operands[1] &&
	       fstat(STDIN_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

int top_source_stream(const struct live_options *options, struct live **ret, struct err *err)
{
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	_cleanup_(closep) int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return err_errno(err, "cannot read '-'");
	if (terminal >= 0 && dup2(terminal, STDIN_FILENO) < 0) /* for keys */
		return err_errno(err, "cannot read from the terminal");
	return live_open_fd(fd, options, ret, err);
}
