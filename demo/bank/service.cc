/* SPDX-License-Identifier: Apache-2.0 */
#include "service.h"

#include "../faults.h"

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <thread>
#include <unistd.h>

#include <opentelemetry/context/propagation/text_map_propagator.h>
#include <opentelemetry/exporters/otlp/otlp_http_exporter_factory.h>
#include <opentelemetry/sdk/common/global_log_handler.h>
#include <opentelemetry/sdk/resource/resource.h>
#include <opentelemetry/sdk/trace/batch_span_processor_factory.h>
#include <opentelemetry/sdk/trace/batch_span_processor_options.h>
#include <opentelemetry/sdk/trace/processor.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>
#include <opentelemetry/trace/propagation/http_trace_context.h>
#include <opentelemetry/trace/provider.h>

namespace bank
{

namespace otel = opentelemetry;
namespace sdk = opentelemetry::sdk;

constexpr int threads = 8;

bool fault(const std::string &name)
{
	static const std::string directory = setting("BANK_FAULTS");

	return access((directory + "/" + name).c_str(), F_OK) == 0;
}

std::string setting(const char *name)
{
	const char *value = getenv(name);

	if (!value) {
		std::cerr << name << " is not set; use demo/bank/run\n";
		exit(EXIT_FAILURE);
	}
	return value;
}

std::string address(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "127.0.0.1";
}

/* Log a missing collector once, instead of once for each batch. */
class LogOnce : public sdk::common::internal_log::LogHandler
{
	std::atomic<bool> logged = false;

	void Handle(sdk::common::internal_log::LogLevel, const char *, int, const char *message,
		    const sdk::common::AttributeMap &) noexcept override
	{
		if (!logged.exchange(true))
			std::cerr << message << "\n";
	}
};

static void start_telemetry(const std::string &name)
{
	std::vector<std::unique_ptr<sdk::trace::SpanProcessor>> processors;
	auto resource = sdk::resource::Resource::Create({ { "service.name", name } });

	sdk::common::internal_log::GlobalLogHandler::SetLogHandler(
		otel::nostd::shared_ptr<sdk::common::internal_log::LogHandler>(new LogOnce));
	if (getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
		processors.push_back(sdk::trace::BatchSpanProcessorFactory::Create(
			otel::exporter::otlp::OtlpHttpExporterFactory::Create(), {}));
	std::shared_ptr<otel::trace::TracerProvider> provider =
		sdk::trace::TracerProviderFactory::Create(std::move(processors), resource);
	otel::trace::Provider::SetTracerProvider(provider);
}

static otel::nostd::shared_ptr<otel::trace::Tracer> tracer()
{
	return otel::trace::Provider::GetTracerProvider()->GetTracer("bank");
}

Span::Span(const std::string &name, const otel::trace::StartSpanOptions &options)
    : span(tracer()->StartSpan(name, options)), scope(span)
{
}

Span::~Span()
{
	span->End();
}

void Span::set(const char *key, const std::string &value)
{
	span->SetAttribute(key, value);
}

void Span::fail(const std::string &reason)
{
	span->SetStatus(otel::trace::StatusCode::kError, reason);
}

otel::trace::StartSpanOptions client_span()
{
	otel::trace::StartSpanOptions options;

	options.kind = otel::trace::SpanKind::kClient;
	return options;
}

/* HTTP headers as a carrier of OpenTelemetry. */
struct Carrier : otel::context::propagation::TextMapCarrier {
	httplib::Headers headers;

	explicit Carrier(httplib::Headers headers = {}) : headers(std::move(headers))
	{
	}
	otel::nostd::string_view Get(otel::nostd::string_view key) const noexcept override
	{
		auto found = headers.find(std::string(key));
		return found == headers.end() ? "" : otel::nostd::string_view(found->second);
	}
	void Set(otel::nostd::string_view key, otel::nostd::string_view value) noexcept override
	{
		headers.emplace(std::string(key), std::string(value));
	}
};

/* A span for a request; its parent is in the headers. */
static otel::trace::StartSpanOptions server_span(const httplib::Request &request)
{
	Carrier carrier(request.headers);
	auto here = otel::context::RuntimeContext::GetCurrent();
	otel::trace::StartSpanOptions options;

	options.kind = otel::trace::SpanKind::kServer;
	options.parent = otel::trace::propagation::HttpTraceContext().Extract(carrier, here);
	return options;
}

Service::Service(const std::string &service_name) : name(service_name)
{
	static const std::string faults = setting("BANK_FAULTS");
	static const std::string logs = setting("BANK_DIRECTORY");
	sigset_t wanted;

	faults_init(faults.c_str(), name.c_str(), logs.c_str());

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGTERM);
	sigprocmask(SIG_BLOCK, &wanted, nullptr); /* serve() waits for it */
	start_telemetry(name);
	server.new_task_queue = [] { return new httplib::ThreadPool(threads); };
	server.Get("/health", [](const httplib::Request &, httplib::Response &response) {
		response.set_content("well", "text/plain");
	});
}

Service::~Service()
{
	auto none = otel::nostd::shared_ptr<otel::trace::TracerProvider>();

	otel::trace::Provider::SetTracerProvider(none); /* exports the remaining spans */
}

void Service::on(const std::string &path, Handler handler)
{
	server.Get(path + "/(\\d{1,9})",
		   [=, this](const httplib::Request &request, httplib::Response &response) {
			   handle(path, handler, request, response);
		   });
}

void Service::handle(const std::string &path, const Handler &handler,
		     const httplib::Request &request, httplib::Response &response)
{
	Span span("GET " + path, server_span(request));

	faults_inject(path.c_str() + 1);
	try {
		std::string body = handler(std::stoi(request.matches[1]));
		response.set_content(body, "application/json");
	} catch (const std::exception &e) {
		span.fail(e.what());
		std::cerr << request.path << ": " << e.what() << "\n";
		response.status = 500;
	}
}

void Service::serve(int port)
{
	std::thread until([this] {
		sigset_t wanted;
		int which;

		sigemptyset(&wanted);
		sigaddset(&wanted, SIGTERM);
		sigwait(&wanted, &which);
		server.stop();
	});

	if (!server.listen(address("BANK_LISTEN"), port)) {
		std::cerr << "cannot listen on port " << port << "\n";
		exit(EXIT_FAILURE);
	}
	until.join();
}

std::string call(const std::string &host, int port, const std::string &path)
{
	Span span("GET", client_span());
	Carrier carrier;
	httplib::Client client(host, port);

	otel::trace::propagation::HttpTraceContext().Inject(
		carrier, otel::context::RuntimeContext::GetCurrent());
	auto reply = client.Get(path, carrier.headers);
	if (!reply || reply->status != 200) {
		span.fail("no reply");
		throw std::runtime_error("no reply from port " + std::to_string(port) + " to " +
					 path);
	}
	return reply->body;
}

} // namespace bank
