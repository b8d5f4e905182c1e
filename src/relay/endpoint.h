/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoint - where the requests of each signal go, from OTEL_EXPORTER_OTLP_*.
 *
 * The variables and their rules are those of OpenTelemetry's exporter specification, so that what
 * configures an SDK also configures sonde.  OTEL_EXPORTER_OTLP_TRACES_X outranks
 * OTEL_EXPORTER_OTLP_X for traces, and so on; an empty variable counts as unset.
 *
 *	ENDPOINT       URL.  HTTP: the base to which v1/traces is appended; the variable of a single
 *	               signal is used as it is.  gRPC: host and port, with or without a scheme
 *	PROTOCOL       grpc or http/protobuf; see below for the default
 *	HEADERS        name=value,name=value, with percent-encoded values
 *	COMPRESSION    gzip or none
 *	TIMEOUT        ms for one attempt; default 10 s, at most 5 min, which 0 stands for as well
 *	CERTIFICATE    PEM file of trusted certificates; default: those of the system
 *	CLIENT_CERTIFICATE, CLIENT_KEY    PEM files, for a collector that verifies its clients
 *	INSECURE       true: no TLS for a gRPC endpoint without a scheme
 *
 * Without PROTOCOL it is http/protobuf, except that port 4317 means grpc, with a warning: this is
 * the port of OTLP/gRPC, and HTTP sent there cannot succeed.  http/json is replaced by
 * http/protobuf, which every collector supports, with a warning.
 *
 * An endpoint is refused if sonde itself listens there: each request would go round for ever.  This
 * includes the default, http://localhost:4318.
 *
 * Headers, keys and a password in the URL are secrets: no message contains them.  Files are read at
 * once, because the process gives up its privileges afterwards.
 */
#ifndef SONDE_RELAY_ENDPOINT_H
#define SONDE_RELAY_ENDPOINT_H

#include "base/err.h"
#include "base/warnings.h"
#include "relay/export.h"

enum otlp_protocol { OTLP_HTTP_PROTOBUF, OTLP_GRPC };

/* Content of a PEM file. */
struct pem {
	char *data; /* NULL if there is none */
	size_t size;
};

struct endpoint {
	enum otlp_protocol protocol;
	char *url;  /* of the request; may contain a password */
	char *name; /* scheme, host and port, for messages */
	bool is_tls;
	bool is_loopback;
	bool gzip;
	unsigned timeout;    /* ms */
	VEC(char *) headers; /* "name: value", or "name;" for an empty value */
	struct pem authorities, certificate, key;
};

struct endpoints {
	struct endpoint signals[OTLP_SIGNAL_COUNT];
};

/* An address on which sonde listens. */
struct listen_address {
	const char *host; /* a number, such as 127.0.0.1, ::1, 0.0.0.0 */
	uint16_t port;
};

struct endpoint_options {
	const char *url; /* instead of the ENDPOINT variables; NULL: use the variables */
	const struct listen_address *listens;
	size_t listen_count;
};

int endpoints_read(const struct endpoint_options *options, struct endpoints *ret,
		   struct warnings *warnings, struct err *err);
void endpoints_done(struct endpoints *endpoints);

/* traces, metrics, logs */
const char *otlp_signal_name(enum otlp_signal signal);

#endif
