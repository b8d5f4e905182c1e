/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoint_url - the URL of an endpoint: its parts, its path, and whether sonde listens there.
 */
#ifndef SONDE_RELAY_ENDPOINT_URL_H
#define SONDE_RELAY_ENDPOINT_URL_H

#include "relay/endpoint.h"

struct endpoint_url {
	void *handle;  /* CURLU */
	char *host;    /* without brackets */
	unsigned port; /* that of the scheme if the URL has none */
	bool is_tls;
	bool has_path;
};

/*
 * Parses a URL of http or https.  `name` is that of the variable, for the message; the message does
 * not contain the URL if it may contain a password.
 */
int endpoint_url_parse(const char *url, const char *name, struct endpoint_url *ret,
		       struct err *err);
void endpoint_url_done(struct endpoint_url *url);

bool endpoint_url_is_loopback(const struct endpoint_url *url);

/* Whether a connection to the URL reaches this address. */
bool endpoint_url_reaches(const struct endpoint_url *url, const struct listen_address *listen);

/* Replaces the path, or appends to it. */
void endpoint_url_set_path(struct endpoint_url *url, const char *path, bool append);

/* The whole URL.  The caller frees it. */
char *endpoint_url_text(const struct endpoint_url *url);

/* scheme://host:port.  The caller frees it. */
char *endpoint_url_name(const struct endpoint_url *url);

#endif
