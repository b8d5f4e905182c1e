/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc_session - one HTTP/2 connection of a gRPC server, without its socket.
 *
 * Bytes from the sender are fed; frames for it are pulled.  All output that is due is pulled after
 * each feed, so nghttp2 never queues more than the replies to one piece of input, and those that
 * wait for the sender's flow-control window, at most one per open stream.
 *
 * What the library limits (libnghttp2 1.52 of Debian, with the security fixes of deb12u2): 8
 * CONTINUATION frames, 32 settings in a frame, 1,000 unsent acknowledgements of PING and SETTINGS,
 * 1,000 stream resets and then 33 per second, concurrent streams as set here.  A connection that
 * exceeds one of these ends with GOAWAY.  Headers are not stored, and the intake counts what
 * nghttp2 holds (session_memory.h).
 *
 * Windows: a stream can send 4 MiB and a connection 16 MiB ahead, so a large export takes no more
 * round trips than a small one.  Windows promise no memory: the intake limits what is stored, and a
 * request that exceeds it is refused with UNAVAILABLE when it grows, whatever its age.  Older
 * requests are not refused in its favour because they are about to end, or time out.
 */
#ifndef SONDE_RELAY_GRPC_SESSION_H
#define SONDE_RELAY_GRPC_SESSION_H

#include "relay/receive.h"

struct grpc_session;

/* The receiver is borrowed. */
struct grpc_session *grpc_session_new(struct receiver *receiver, uint64_t sender);
void grpc_session_free(struct grpc_session *s);
DEFINE_FREEP(grpc_session)

/* Returns 0, or -EPROTO if the connection must end: pull what is left, then close. */
int grpc_session_feed(struct grpc_session *s, struct view bytes);

/* The next bytes to send, valid until the next call; empty if there are none. */
struct view grpc_session_pull(struct grpc_session *s);

/* Ends the connection: pull what is left, then close. */
void grpc_session_end(struct grpc_session *s);

/* Whether neither side sends anything any more. */
bool grpc_session_is_over(const struct grpc_session *s);

/* The number of streams with an incomplete request or reply. */
size_t grpc_session_streams(const struct grpc_session *s);

/* The number of complete requests, and of bytes of requests, so far. */
uint64_t grpc_session_requests(const struct grpc_session *s);
uint64_t grpc_session_bytes(const struct grpc_session *s);

#endif
