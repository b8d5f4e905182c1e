/* SPDX-License-Identifier: Apache-2.0 */
/* grpc_reply - the frames that answer a call: headers, the response, and the status in trailers. */
#ifndef SONDE_RELAY_GRPC_REPLY_H
#define SONDE_RELAY_GRPC_REPLY_H

#include <nghttp2/nghttp2.h>

#include "relay/grpc_stream.h"

/* The stream is borrowed until it is closed.  Returns 0, or an error code of nghttp2. */
int grpc_reply_submit(nghttp2_session *http2, struct grpc_stream *stream);

#endif
