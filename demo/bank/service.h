/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service - what the bank's C++ services share: a small HTTP server with a pool
 * of threads (cpp-httplib), and spans by hand with OpenTelemetry's SDK, since
 * C++ has no instrumentation that comes by itself.  Nothing here knows of sonde.
 *
 * A question is GET PATH/ACCOUNT and its answer a line of JSON.  The context of a
 * trace travels in the header `traceparent`, so that one request is one trace.
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

/* Whether it is switched on, which it is while there is a file of its name. */
bool fault(const std::string &name);

/* From the environment; without it there is no service. */
std::string setting(const char *name);

/* A span that is the thread's current one until the end of the scope. */
class Span
{
      public:
	explicit Span(const std::string &name,
		      const opentelemetry::trace::StartSpanOptions &options = {});
	~Span();
	void set(const char *key, const std::string &value);
	void fail(const std::string &why);

      private:
	opentelemetry::nostd::shared_ptr<opentelemetry::trace::Span> span;
	opentelemetry::trace::Scope scope;
};

/* A span for a question to another: a database, a service. */
opentelemetry::trace::StartSpanOptions asking();

using Answer = std::function<std::string(int account)>;

class Service
{
      public:
	/* Sets up OpenTelemetry too; make it first, before any thread. */
	explicit Service(const std::string &name);
	~Service();

	void on(const std::string &path, Answer answer);

	/* Until SIGTERM. */
	void serve(int port);

      private:
	void handle(const std::string &path, const Answer &answer, const httplib::Request &request,
		    httplib::Response &response);

	httplib::Server server;
};

/* GET it from another service on this machine, in the current trace. */
std::string call(int port, const std::string &path);

} // namespace bank

#endif
