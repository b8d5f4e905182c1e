/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "relay/endpoint.h"
#include "test.h"

#define OTLP "OTEL_EXPORTER_OTLP_"

static const struct listen_address here[] = { { "127.0.0.1", 4317 }, { "127.0.0.1", 4318 } };
static const struct endpoint_options defaults = { NULL, here, ARRAY_LEN(here) };

/* Reads the endpoints of an environment: "NAME=value" after OTEL_EXPORTER_OTLP_, NULL at the end.
 */
struct result {
	int code;
	struct endpoints endpoints;
	struct warnings warnings;
	struct err err;
};

static struct result read_with(const struct endpoint_options *options, const char *const *variables)
{
	struct result r = { .err = { "" } };

	clearenv();
	for (; *variables; variables++) {
		size_t len = strcspn(*variables, "=");
		_cleanup_(freep) char *name = must_printf(OTLP "%.*s", (int)len, *variables);

		setenv(name, *variables + len + 1, 1);
	}
	r.code = endpoints_read(options, &r.endpoints, &r.warnings, &r.err);
	return r;
}

#define READ(...) read_with(&defaults, (const char *const[]){ __VA_ARGS__, NULL })

static void done(struct result *r)
{
	endpoints_done(&r->endpoints);
	warnings_done(&r->warnings);
}

static const struct endpoint *traces(const struct result *r)
{
	return &r->endpoints.signals[OTLP_TRACES];
}

static void check_url(const char *variable, const char *traces_url, const char *logs_url)
{
	struct result r = READ(variable);

	CHECK_INT(r.code, 0);
	if (r.code == 0) {
		CHECK_STR(traces(&r)->url, traces_url);
		CHECK_STR(r.endpoints.signals[OTLP_LOGS].url, logs_url);
	}
	done(&r);
}

TEST(signals_are_appended_to_the_base_url)
{
	check_url("ENDPOINT=http://collector:4318", "http://collector:4318/v1/traces",
		  "http://collector:4318/v1/logs");
	check_url("ENDPOINT=http://collector:4318/", "http://collector:4318/v1/traces",
		  "http://collector:4318/v1/logs");
	check_url("ENDPOINT=https://collector/a/b//", "https://collector/a/b/v1/traces",
		  "https://collector/a/b/v1/logs");
	check_url("ENDPOINT=http://[fd00::1]:99/x?tenant=1",
		  "http://[fd00::1]:99/x/v1/traces?tenant=1",
		  "http://[fd00::1]:99/x/v1/logs?tenant=1");
}

TEST(the_url_of_a_signal_is_used_as_it_is)
{
	struct result r = READ("ENDPOINT=http://a:1", "TRACES_ENDPOINT=https://b:2/in/",
			       "LOGS_ENDPOINT=http://c:3");

	CHECK_INT(r.code, 0);
	CHECK_STR(traces(&r)->url, "https://b:2/in/");
	CHECK_STR(traces(&r)->name, "https://b:2");
	CHECK(traces(&r)->is_tls);
	CHECK_STR(r.endpoints.signals[OTLP_METRICS].url, "http://a:1/v1/metrics");
	CHECK_STR(r.endpoints.signals[OTLP_LOGS].url, "http://c:3/");
	CHECK_INT(r.warnings.items.count, 0);
	done(&r);
}

TEST(the_default_protocol_is_http_except_at_the_port_of_grpc)
{
	struct result r =
		READ("ENDPOINT=http://collector:4317/", "LOGS_ENDPOINT=http://collector:9");

	CHECK_INT(r.code, 0);
	CHECK_INT(traces(&r)->protocol, OTLP_GRPC);
	CHECK_STR(traces(&r)->url, "http://collector:4317/"
				   "opentelemetry.proto.collector.trace.v1.TraceService/Export");
	CHECK_INT(r.endpoints.signals[OTLP_LOGS].protocol, OTLP_HTTP_PROTOBUF);
	CHECK_INT(r.warnings.items.count, 1); /* once, not per signal */
	CHECK(strstr(r.warnings.items.items[0], "OTEL_EXPORTER_OTLP_PROTOCOL"));
	done(&r);

	r = READ("ENDPOINT=http://collector:4317", "PROTOCOL=http/protobuf");
	CHECK_INT(traces(&r)->protocol, OTLP_HTTP_PROTOBUF);
	CHECK_INT(r.warnings.items.count, 0);
	done(&r);
}

TEST(grpc_addresses_need_no_scheme)
{
	struct result r = READ("ENDPOINT=collector:9000", "PROTOCOL=grpc");

	CHECK_INT(r.code, 0);
	CHECK_STR(traces(&r)->name, "https://collector:9000");
	done(&r);

	r = READ("ENDPOINT=collector:4317", "INSECURE=TRUE", "LOGS_INSECURE=false");
	CHECK_INT(r.code, 0);
	CHECK_STR(traces(&r)->name, "http://collector:4317");
	CHECK_STR(r.endpoints.signals[OTLP_LOGS].name, "https://collector:4317");
	CHECK_INT(traces(&r)->protocol, OTLP_GRPC);
	done(&r);
}

TEST(a_scheme_outranks_insecure)
{
	struct result r = READ("ENDPOINT=https://collector:4317", "INSECURE=true", "PROTOCOL=grpc");

	CHECK_INT(r.code, 0);
	CHECK(traces(&r)->is_tls);
	done(&r);
}

TEST(json_is_replaced_by_protobuf_with_a_warning)
{
	struct result r = READ("ENDPOINT=http://collector:1", "PROTOCOL=http/json");

	CHECK_INT(r.code, 0);
	CHECK_INT(traces(&r)->protocol, OTLP_HTTP_PROTOBUF);
	CHECK_INT(r.warnings.items.count, 1);
	CHECK(strstr(r.warnings.items.items[0], "http/json"));
	done(&r);
}

TEST(headers_are_decoded)
{
	struct result r = READ(
		"ENDPOINT=http://collector:1",
		"HEADERS= a=1 ,authorization=Basic%20YWI=,,b=x=y,empty=", "LOGS_HEADERS=only=logs");

	CHECK_INT(r.code, 0);
	CHECK_INT(traces(&r)->headers.count, 4);
	CHECK_STR(traces(&r)->headers.items[0], "a: 1");
	CHECK_STR(traces(&r)->headers.items[1], "authorization: Basic YWI=");
	CHECK_STR(traces(&r)->headers.items[2], "b: x=y");
	CHECK_STR(traces(&r)->headers.items[3], "empty;");
	CHECK_INT(r.endpoints.signals[OTLP_LOGS].headers.count, 1);
	CHECK_STR(r.endpoints.signals[OTLP_LOGS].headers.items[0], "only: logs");
	done(&r);
}

TEST(bad_headers_are_errors_that_do_not_show_them)
{
	static const char *const bad[] = {
		"HEADERS=api-key=1,se cret=1",   "HEADERS=api-key=1,secret",
		"HEADERS=api-key=1,=secret",     "HEADERS=api-key=1,x=secret%0d%0aY: 1",
		"HEADERS=api-key=1,x=secret%00", "HEADERS=api-key=1,Content-Type=secret",
		"HEADERS=api-key=1,\xff=secret",
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct result r = READ("ENDPOINT=http://collector:1", bad[i]);

		CHECK_INT(r.code, -EINVAL);
		CHECK(strstr(r.err.text, "header 2 in OTEL_EXPORTER_OTLP_HEADERS"));
		CHECK(!strstr(r.err.text, "secret"));
		done(&r);
	}
}

TEST(plain_settings_have_defaults_and_variants)
{
	struct result r = READ("ENDPOINT=http://collector:1", "TIMEOUT=2500", "LOGS_TIMEOUT=0",
			       "METRICS_COMPRESSION=gzip", "COMPRESSION=none", "TRACES_TIMEOUT=");

	CHECK_INT(r.code, 0);
	CHECK_INT(traces(&r)->timeout, 2500);
	CHECK_INT(r.endpoints.signals[OTLP_LOGS].timeout, 300000);
	CHECK(!traces(&r)->gzip);
	CHECK(r.endpoints.signals[OTLP_METRICS].gzip);
	done(&r);

	r = READ("ENDPOINT=http://collector:1");
	CHECK_INT(traces(&r)->timeout, 10000);
	CHECK(!traces(&r)->gzip);
	CHECK_INT(traces(&r)->headers.count, 0);
	done(&r);
}

TEST(nonsense_is_an_error_that_names_the_variable)
{
	static const char *const bad[][2] = {
		{ "ENDPOINT=collector:4318", "ENDPOINT" },
		{ "ENDPOINT=ftp://collector", "ENDPOINT" },
		{ "ENDPOINT=http://", "ENDPOINT" },
		{ "ENDPOINT=http://a:99999", "ENDPOINT" },
		{ "ENDPOINT=http://a:x", "ENDPOINT" },
		{ "ENDPOINT=http://a b", "ENDPOINT" },
		{ "ENDPOINT=http://a\r\nX: y", "ENDPOINT" },
		{ "ENDPOINT=http://[::1", "ENDPOINT" },
		{ "ENDPOINT=httpx://a", "ENDPOINT" },
		{ "ENDPOINT=4318", "ENDPOINT" },
		{ "LOGS_ENDPOINT=/v1/logs", "LOGS_ENDPOINT" },
		{ "PROTOCOL=thrift", "PROTOCOL" },
		{ "TRACES_PROTOCOL=GRPC", "TRACES_PROTOCOL" },
		{ "COMPRESSION=zstd", "COMPRESSION" },
		{ "TIMEOUT=10s", "TIMEOUT" },
		{ "TIMEOUT=-1", "TIMEOUT" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_(freep) char *name = must_printf(OTLP "%s", bad[i][1]);
		struct result r = READ("ENDPOINT=http://collector:1", bad[i][0]);

		CHECK_INT(r.code, -EINVAL);
		CHECK(strstr(r.err.text, name));
		if (r.code != -EINVAL || !strstr(r.err.text, name))
			printf("# %s: %s\n", bad[i][0], r.err.text);
		done(&r);
	}
}

TEST(passwords_are_not_in_names_and_messages)
{
	struct result r = READ("ENDPOINT=http://me:secret@collector:1");

	CHECK_INT(r.code, 0);
	CHECK(strstr(traces(&r)->url, "secret"));
	CHECK_STR(traces(&r)->name, "http://collector:1");
	done(&r);

	r = READ("ENDPOINT=http://me:secret@collector:x");
	CHECK_INT(r.code, -EINVAL);
	CHECK(!strstr(r.err.text, "secret"));
	done(&r);
}

TEST(without_variables_sonde_would_send_to_itself)
{
	struct result r = READ(NULL);

	CHECK_INT(r.code, -ELOOP);
	CHECK(strstr(r.err.text, "set OTEL_EXPORTER_OTLP_ENDPOINT"));
	CHECK(strstr(r.err.text, "http://localhost:4318"));
	done(&r);

	r = READ("PROTOCOL=grpc");
	CHECK_INT(r.code, -ELOOP);
	CHECK(strstr(r.err.text, "http://localhost:4317"));
	done(&r);

	r = READ("TRACES_ENDPOINT=http://collector:1");
	CHECK_INT(r.code, -ELOOP);
	CHECK(strstr(r.err.text, "metrics"));
	done(&r);
}

TEST(the_default_is_fine_if_sonde_listens_elsewhere)
{
	static const struct listen_address other = { "127.0.0.1", 5318 };
	struct result r = read_with(&(struct endpoint_options){ NULL, &other, 1 },
				    (const char *const[]){ NULL });

	CHECK_INT(r.code, 0);
	CHECK_STR(traces(&r)->url, "http://localhost:4318/v1/traces");
	CHECK(traces(&r)->is_loopback);
	done(&r);
}

static int code_of(const char *url, const char *listen)
{
	struct listen_address address = { listen, 4318 };
	struct result r = read_with(&(struct endpoint_options){ url, &address, 1 },
				    (const char *const[]){ NULL });

	done(&r);
	return r.code;
}

TEST(all_ways_to_name_oneself_are_refused)
{
	char own[256] = "", url[300];

	gethostname(own, sizeof(own) - 1);
	snprintf(url, sizeof(url), "http://%s:4318", own);
	CHECK_INT(code_of(url, "0.0.0.0"), -ELOOP);
	CHECK_INT(code_of("http://127.0.0.1:4318", "127.0.0.1"), -ELOOP);
	CHECK_INT(code_of("http://localhost:4318/path", "127.0.0.1"), -ELOOP);
	CHECK_INT(code_of("http://LOCALHOST:4318", "::1"), -ELOOP);
	CHECK_INT(code_of("http://x.localhost:4318", "127.0.0.1"), -ELOOP);
	CHECK_INT(code_of("http://[::ffff:127.0.0.1]:4318", "127.0.0.1"), -ELOOP);
	CHECK_INT(code_of("http://0.0.0.0:4318", "127.0.0.1"), -ELOOP);
	CHECK_INT(code_of("http://0x7f.1:4318", "127.0.0.1"), -ELOOP);
	CHECK_INT(code_of("http://127.0.0.7:4318", "0.0.0.0"), -ELOOP);
	CHECK_INT(code_of("http://127.0.0.1:4318", "::"), -ELOOP);
	CHECK_INT(code_of("https://[::1]:4318", "::"), -ELOOP);
	CHECK_INT(code_of("http://127.0.0.2:4318", "127.0.0.1"), 0);
	CHECK_INT(code_of("http://127.0.0.1:4319", "0.0.0.0"), 0);
	CHECK_INT(code_of("http://192.0.2.1:4318", "0.0.0.0"), 0);
	CHECK_INT(code_of("http://collector:4318", "0.0.0.0"), 0);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
}

static struct result read_pems(const char *certificate, const char *key)
{
	char dir[] = "/tmp/sonde-endpoint-XXXXXX";

	CHECK(mkdtemp(dir));

	_cleanup_(freep) char *a = must_printf("%s/a", dir), *b = must_printf("%s/b", dir);
	_cleanup_(freep) char *va = must_printf("CLIENT_CERTIFICATE=%s", certificate ? a : "");
	_cleanup_(freep) char *vb = must_printf("CLIENT_KEY=%s", key ? b : "");
	struct result r;

	if (certificate)
		write_file(a, certificate);
	if (key)
		write_file(b, key);
	r = READ("ENDPOINT=https://collector:1", va, vb);
	unlink(a);
	unlink(b);
	rmdir(dir);
	return r;
}

TEST(certificates_and_keys_are_read_at_once)
{
	static const char cert[] = "-----BEGIN CERTIFICATE-----\nxx\n",
			  key[] = "-----BEGIN PRIVATE KEY-----\nyy\n";
	struct result r = read_pems(cert, key);

	CHECK_INT(r.code, 0);
	CHECK_INT(traces(&r)->certificate.size, strlen(cert));
	CHECK_STR(traces(&r)->key.data, key); /* the files are gone */
	CHECK(!traces(&r)->authorities.data);
	done(&r);
}

TEST(bad_certificates_and_keys_are_errors)
{
	static const char cert[] = "-----BEGIN CERTIFICATE-----\nxx\n";
	struct result r = read_pems(cert, NULL);

	CHECK_INT(r.code, -EINVAL);
	CHECK(strstr(r.err.text, "CLIENT_KEY"));
	done(&r);

	r = read_pems(cert, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nsecret\n");
	CHECK_INT(r.code, -EINVAL);
	CHECK(strstr(r.err.text, "passphrase"));
	CHECK(!strstr(r.err.text, "secret"));
	done(&r);

	r = read_pems("secret", "secret");
	CHECK_INT(r.code, -EINVAL);
	CHECK(strstr(r.err.text, "no PEM block"));
	done(&r);

	r = READ("ENDPOINT=https://collector:1", "CERTIFICATE=/nonexistent/ca.pem");
	CHECK_INT(r.code, -ENOENT);
	CHECK(strstr(r.err.text, "/nonexistent/ca.pem"));
	done(&r);
}
