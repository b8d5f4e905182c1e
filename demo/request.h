/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request - one request in a service of the demo: what its handler does first and last.
 *
 * The demo runs without spans.  Compiled with DEMO_SPANS, the same services have a span per
 * request and per call (sonde.h), and send the trace context after a tab at the end of a line;
 * the lab needs these.
 */
#ifndef SONDE_DEMO_REQUEST_H
#define SONDE_DEMO_REQUEST_H

#include "faults.h"
#include "net.h"

#ifdef DEMO_SPANS
#include "agent/sonde.h"

struct request {
	struct sonde_span span;
};

/* Begin a request that a peer has sent, or a call to another service. */
#define REQUEST_BEGIN(request, peer, name) \
	do { \
		static struct sonde_site site_ = { name, 0 }; \
		sonde_begin_remote(&site_, (peer)->trace, &(request)->span); \
		faults_inject(name); \
	} while (0)
#define CALL_BEGIN(request, name) SONDE_BEGIN(&(request)->span, name)

static inline void request_end(struct request *request)
{
	sonde_end(&request->span);
}

enum { TRACE_SIZE = SONDE_TRACEPARENT_SIZE + 1 };

/* The end of a line for a call to another service: nothing, or a tab and the trace context. */
static inline const char *request_trace(struct request *request, char text[TRACE_SIZE])
{
	text[0] = '\t';
	sonde_traceparent(&request->span, text + 1);
	return text[1] ? text : "";
}
#else
struct request {
};

#define REQUEST_BEGIN(request, peer, name) ((void)(request), faults_inject(name))
#define CALL_BEGIN(request, name) ((void)(request))

static inline void request_end(struct request *request)
{
	(void)request;
}

enum { TRACE_SIZE = 1 };

static inline const char *request_trace(struct request *request, char text[TRACE_SIZE])
{
	(void)request;
	(void)text;
	return "";
}
#endif
#endif
