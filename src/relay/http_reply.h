/* SPDX-License-Identifier: Apache-2.0 */
/* http_reply - the reply to a request of OTLP/HTTP, in the encoding of the request. */
#ifndef SONDE_RELAY_HTTP_REPLY_H
#define SONDE_RELAY_HTTP_REPLY_H

#include "relay/http_request.h"

/* Queues the reply; request->reply.status is set. */
enum MHD_Result http_reply_queue(struct MHD_Connection *connection,
				 const struct http_request *request);

#endif
