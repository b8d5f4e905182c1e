/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd_message - pass a status, and a file descriptor, to another process over a Unix socket.
 *
 * One message is one status with at most one descriptor.  The socket keeps the boundaries of
 * messages (SOCK_SEQPACKET).
 */
#ifndef SONDE_BASE_FD_MESSAGE_H
#define SONDE_BASE_FD_MESSAGE_H

/* fd -1: none.  Negative errno on failure. */
int fd_message_send(int socket, int status, int fd);

/*
 * The status, which is 0 or negative; -EPIPE at the end, -EBADMSG if the message is malformed, or
 * another negative errno.  *ret_fd is a descriptor that the caller closes, or -1; if ret_fd is NULL
 * or the call fails, a received descriptor is closed.
 */
int fd_message_receive(int socket, int *ret_fd);

#endif
