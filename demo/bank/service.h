/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service - common code of the bank's C++ services: an HTTP server with a thread
 * pool (cpp-httplib), and manual spans with the OpenTelemetry SDK, as there is no
 * automatic instrumentation for C++.  Nothing here depends on sonde.
 *
 * A request is GET PATH/ACCOUNT, and its reply a line of JSON.  The header
 * `traceparent` carries the trace context, so that one request is one trace.
 */
#ifndef SONDE_DEMO_BANK_SERVICE_H
#define SONDE_DEMO_BANK_SERVICE_H

#include <functional>
#include <string>

#include <httplib.h>
#include <opentelemetry/trace/scope.h>
#include <opentelemetry/trace/tracer.h>

namespace bank
{

/* Whether a fault is injected, which is so while a file with its name exists. */
bool fault(const std::string &name);

/* A variable of the environment; exits if it is not set. */
std::string setting(const char *name);

/* An address in the environment; 127.0.0.1 if it is not set. */
std::string address(const char *name);

/* A span that is the current one of the thread until the end of the scope. */
class Span
{
      public:
	explicit Span(const std::string &name,
		      const opentelemetry::trace::StartSpanOptions &options = {});
	~Span();
	void set(const char *key, const std::string &value);
	void fail(const std::string &reason);

      private:
	opentelemetry::nostd::shared_ptr<opentelemetry::trace::Span> span;
	opentelemetry::trace::Scope scope;
};

/* Options of a span for a call to a database or a service. */
opentelemetry::trace::StartSpanOptions client_span();

using Handler = std::function<std::string(int account)>;

class Service
{
      public:
	/* Also sets up OpenTelemetry, so create it before any thread. */
	explicit Service(const std::string &service_name);
	~Service();

	void on(const std::string &path, Handler handler);

	/* Serve requests until SIGTERM. */
	void serve(int port);

      private:
	void handle(const std::string &path, const Handler &handler,
		    const httplib::Request &request, httplib::Response &response);

	const std::string name;
	httplib::Server server;
};

/* GET a path from another service, in the current trace. */
std::string call(const std::string &host, int port, const std::string &path);

} // namespace bank

#endif
