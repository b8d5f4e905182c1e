/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/text.h"
#include "relay/endpoint_headers.h"
#include "relay/endpoint_url.h"

enum { PORT_GRPC = 4317 };
enum { TIMEOUT_DEFAULT = 10000, TIMEOUT_MAX = 300000 }; /* ms */
enum { PEM_MAX = 4 << 20 };

static const struct signal_words {
	const char *name, *infix, *path, *method;
} words[] = {
	{ "traces", "TRACES_", "/v1/traces",
	  "/opentelemetry.proto.collector.trace.v1.TraceService/Export" },
	{ "metrics", "METRICS_", "/v1/metrics",
	  "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export" },
	{ "logs", "LOGS_", "/v1/logs",
	  "/opentelemetry.proto.collector.logs.v1.LogsService/Export" },
};

const char *otlp_signal_name(enum otlp_signal signal)
{
	return words[signal].name;
}

/* A variable and its value. */
struct setting {
	char name[64];
	const char *value; /* NULL if it is unset */
	bool is_own;       /* of this signal only */
};

static bool look_up(struct setting *s, const char *infix, const char *what)
{
	snprintf(s->name, sizeof(s->name), "OTEL_EXPORTER_OTLP_%s%s", infix, what);
	s->value = getenv(s->name);
	if (s->value && !*s->value)
		s->value = NULL;
	return s->value;
}

static struct setting setting_of(enum otlp_signal signal, const char *what)
{
	struct setting s;

	s.is_own = look_up(&s, words[signal].infix, what);
	if (!s.is_own)
		look_up(&s, "", what);
	return s;
}

/* A warning about a variable of all signals is added once. */
static void warn_once(struct warnings *warnings, const char *text)
{
	for (size_t i = 0; i < warnings->items.count; i++)
		if (strcmp(warnings->items.items[i], text) == 0)
			return;
	warnings_add(warnings, "%s", text);
}

/* Everything about one endpoint while it is read. */
struct reading {
	enum otlp_signal signal;
	const struct endpoint_options *options;
	struct endpoint *endpoint;
	struct warnings *warnings;
	struct err *err;
	struct endpoint_url url;
	bool is_base; /* the path of the signal is appended to the URL */
};

static int read_protocol(struct reading *r, bool *ret_is_default)
{
	struct setting s = setting_of(r->signal, "PROTOCOL");

	*ret_is_default = !s.value;
	r->endpoint->protocol = OTLP_HTTP_PROTOBUF;
	if (!s.value || strcmp(s.value, "http/protobuf") == 0)
		return 0;
	if (strcmp(s.value, "grpc") == 0) {
		r->endpoint->protocol = OTLP_GRPC;
		return 0;
	}
	if (strcmp(s.value, "http/json") == 0) {
		_cleanup_(freep) char *text =
			must_printf("%s is http/json; sonde sends http/protobuf instead", s.name);

		warn_once(r->warnings, text);
		return 0;
	}
	return err_set(r->err, -EINVAL, "%s is '%s', not grpc or http/protobuf", s.name, s.value);
}

static bool read_bool(struct reading *r, const char *what)
{
	struct setting s = setting_of(r->signal, what);

	if (!s.value || strcasecmp(s.value, "false") == 0)
		return false;
	if (strcasecmp(s.value, "true") == 0)
		return true;

	_cleanup_(freep) char *text =
		must_printf("%s is neither true nor false; sonde uses false", s.name);

	warn_once(r->warnings, text);
	return false;
}

/* gRPC knows addresses without a scheme. */
static char *add_scheme(struct reading *r, const char *address)
{
	return must_printf("%s://%s", read_bool(r, "INSECURE") ? "http" : "https", address);
}

static bool ends_in_grpc_port(const char *address)
{
	size_t len = strlen(address);

	return len > 5 && strcmp(address + len - 5, ":4317") == 0;
}

static int read_url(struct reading *r, const char *address, const char *name)
{
	_cleanup_(freep) char *whole = NULL;
	struct endpoint *e = r->endpoint;
	bool is_default, has_scheme = strstr(address, "://");
	int result = read_protocol(r, &is_default);

	if (result < 0)
		return result;
	if (!has_scheme && (e->protocol == OTLP_GRPC || (is_default && ends_in_grpc_port(address))))
		address = whole = add_scheme(r, address);
	result = endpoint_url_parse(address, name, &r->url, r->err);
	if (result < 0)
		return result;
	e->is_tls = r->url.is_tls;
	e->is_loopback = endpoint_url_is_loopback(&r->url);
	e->name = endpoint_url_name(&r->url);
	if (is_default && r->url.port == PORT_GRPC) {
		_cleanup_(freep) char *text =
			must_printf("sending to '%s' with gRPC because of its port; set "
				    "OTEL_EXPORTER_OTLP_PROTOCOL to choose",
				    e->name);

		e->protocol = OTLP_GRPC;
		warn_once(r->warnings, text);
	}
	return 0;
}

static int check_loop(struct reading *r, bool is_default)
{
	static const char advice[] = "set OTEL_EXPORTER_OTLP_ENDPOINT to the address of the "
				     "collector, such as http://HOST:4318";
	const char *name = words[r->signal].name;

	for (size_t i = 0; i < r->options->listen_count; i++) {
		if (!endpoint_url_reaches(&r->url, &r->options->listens[i]))
			continue;
		if (is_default)
			return err_set(r->err, -ELOOP,
				       "no collector for %s: OTEL_EXPORTER_OTLP_ENDPOINT is unset, "
				       "and sonde itself listens at its default, %s; %s",
				       name, r->endpoint->name, advice);
		return err_set(r->err, -ELOOP,
			       "cannot send %s to '%s': sonde itself listens there; %s", name,
			       r->endpoint->name, advice);
	}
	return 0;
}

static void set_path(struct reading *r)
{
	struct endpoint *e = r->endpoint;

	if (e->protocol == OTLP_GRPC && r->url.has_path) {
		_cleanup_(freep) char *text = must_printf(
			"the path of the endpoint at '%s' has no meaning with gRPC", e->name);

		warn_once(r->warnings, text);
	}
	if (e->protocol == OTLP_GRPC)
		endpoint_url_set_path(&r->url, words[r->signal].method, false);
	else if (r->is_base)
		endpoint_url_set_path(&r->url, words[r->signal].path, true);
	e->url = endpoint_url_text(&r->url);
}

static int read_endpoint(struct reading *r)
{
	struct setting s = setting_of(r->signal, "ENDPOINT"), protocol;
	const char *address = r->options->url, *name = "the address";

	r->is_base = address || !s.is_own;
	if (!address) {
		address = s.value;
		name = s.name;
	}
	if (!address) {
		protocol = setting_of(r->signal, "PROTOCOL");
		address = protocol.value && strcmp(protocol.value, "grpc") == 0
				  ? "http://localhost:4317"
				  : "http://localhost:4318";
	}

	int result = read_url(r, address, name);

	if (result == 0)
		result = check_loop(r, !r->options->url && !s.value);
	if (result == 0)
		set_path(r);
	endpoint_url_done(&r->url);
	return result;
}

static int read_plain_settings(struct reading *r)
{
	struct setting compression = setting_of(r->signal, "COMPRESSION");
	struct setting timeout = setting_of(r->signal, "TIMEOUT");
	struct setting headers = setting_of(r->signal, "HEADERS");
	struct endpoint *e = r->endpoint;
	uint64_t ms = TIMEOUT_DEFAULT;

	e->gzip = compression.value && strcmp(compression.value, "gzip") == 0;
	if (compression.value && !e->gzip && strcmp(compression.value, "none") != 0)
		return err_set(r->err, -EINVAL, "%s is '%s', not gzip or none", compression.name,
			       compression.value);
	if (timeout.value && parse_count(timeout.value, UINT32_MAX, &ms) < 0)
		return err_set(r->err, -EINVAL, "%s is '%s', not a number of milliseconds",
			       timeout.name, timeout.value);
	e->timeout = ms == 0 || ms > TIMEOUT_MAX ? TIMEOUT_MAX : ms;
	return headers.value ? endpoint_headers_parse(headers.value, headers.name, e, r->err) : 0;
}

static bool pem_contains(const struct pem *pem, const char *text)
{
	return memmem(pem->data, pem->size, text, strlen(text));
}

/* `label` is the end of the first line of a PEM block. */
static int read_pem(struct reading *r, const char *what, const char *label, struct pem *ret)
{
	struct setting s = setting_of(r->signal, what);
	struct view file;

	if (!s.value)
		return 0;

	int result = file_map(s.value, &file, r->err);

	if (result < 0)
		return result;
	ret->size = file.len < PEM_MAX ? file.len : PEM_MAX;
	ret->data = must_alloc(ret->size + 1);
	memcpy(ret->data, file.s, ret->size);
	file_unmap(&file);
	if (!pem_contains(ret, label))
		return err_set(r->err, -EINVAL, "cannot use '%s' of %s: no PEM block '%s'", s.value,
			       s.name, label);
	if (pem_contains(ret, "ENCRYPTED"))
		return err_set(r->err, -EINVAL,
			       "cannot use '%s' of %s: it has a passphrase; decrypt the key, for "
			       "example with openssl pkey",
			       s.value, s.name);
	return 0;
}

static int read_pems(struct reading *r)
{
	struct endpoint *e = r->endpoint;
	int result = 0;

	if (!e->is_tls)
		return 0;
	result = read_pem(r, "CERTIFICATE", "CERTIFICATE-----", &e->authorities);
	if (result == 0)
		result = read_pem(r, "CLIENT_CERTIFICATE", "CERTIFICATE-----", &e->certificate);
	if (result == 0)
		result = read_pem(r, "CLIENT_KEY", "PRIVATE KEY-----", &e->key);
	if (result == 0 && !e->certificate.data != !e->key.data)
		result = err_set(r->err, -EINVAL,
				 "set both OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and "
				 "OTEL_EXPORTER_OTLP_CLIENT_KEY, or none of them");
	return result;
}

int endpoints_read(const struct endpoint_options *options, struct endpoints *ret,
		   struct warnings *warnings, struct err *err)
{
	struct endpoints all = { 0 };
	int result = 0;

	for (int i = 0; i < OTLP_SIGNAL_COUNT && result == 0; i++) {
		struct reading r = { .signal = i,
				     .options = options,
				     .endpoint = &all.signals[i],
				     .warnings = warnings,
				     .err = err };

		result = read_endpoint(&r);
		if (result == 0)
			result = read_plain_settings(&r);
		if (result == 0)
			result = read_pems(&r);
	}
	if (result < 0) {
		endpoints_done(&all);
		return result;
	}
	*ret = all;
	return 0;
}

static void pem_done(struct pem *pem)
{
	if (pem->data)
		explicit_bzero(pem->data, pem->size);
	free(pem->data);
}

void endpoints_done(struct endpoints *endpoints)
{
	for (int i = 0; i < OTLP_SIGNAL_COUNT; i++) {
		struct endpoint *e = &endpoints->signals[i];

		for (size_t k = 0; k < e->headers.count; k++)
			free(e->headers.items[k]);
		vec_done(&e->headers);
		pem_done(&e->authorities);
		pem_done(&e->certificate);
		pem_done(&e->key);
		free(e->url);
		free(e->name);
		*e = (struct endpoint){ 0 };
	}
}
