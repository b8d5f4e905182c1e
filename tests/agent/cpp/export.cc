/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export [URL] - exports spans, to compare the output with and without the agent.
 *
 * Ids are counters, so that only times differ between two runs.  Each kind of processor
 * has its own exporter: one that exports at once, one in batches, and one that is added
 * later; to text, or as OTLP JSON to URL.
 */
#include <iostream>
#include <sstream>

#include <opentelemetry/exporters/ostream/span_exporter_factory.h>
#include <opentelemetry/exporters/otlp/otlp_http_exporter_factory.h>
#include <opentelemetry/exporters/otlp/otlp_http_exporter_options.h>
#include <opentelemetry/sdk/resource/resource.h>
#include <opentelemetry/sdk/trace/batch_span_processor_factory.h>
#include <opentelemetry/sdk/trace/batch_span_processor_options.h>
#include <opentelemetry/sdk/trace/id_generator.h>
#include <opentelemetry/sdk/trace/samplers/always_on_factory.h>
#include <opentelemetry/sdk/trace/simple_processor_factory.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>
#include <opentelemetry/trace/provider.h>
#include <opentelemetry/trace/scope.h>

namespace otlp = opentelemetry::exporter::otlp;
namespace sdk = opentelemetry::sdk;
namespace trace = opentelemetry::trace;

namespace
{
class counter : public sdk::trace::IdGenerator
{
      public:
	counter() : sdk::trace::IdGenerator(true)
	{
	}
	trace::SpanId GenerateSpanId() noexcept override
	{
		uint8_t id[8] = { 0x5a, 0, 0, 0, 0, 0, 0, ++spans };
		return trace::SpanId(id);
	}
	trace::TraceId GenerateTraceId() noexcept override
	{
		uint8_t id[16] = { 0x7a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ++traces };
		return trace::TraceId(id);
	}

      private:
	uint8_t spans = 0, traces = 0;
};

std::unique_ptr<sdk::trace::SpanExporter> exporter(std::ostream &text, const char *url)
{
	if (!url)
		return opentelemetry::exporter::trace::OStreamSpanExporterFactory::Create(text);
	otlp::OtlpHttpExporterOptions options;

	options.url = url;
	options.content_type = otlp::HttpRequestContentType::kJson;
	return otlp::OtlpHttpExporterFactory::Create(options);
}

void work(trace::Tracer &tracer)
{
	auto outer = tracer.StartSpan("outer",
				      { { "int", 1 }, { "text", "a text" }, { "truth", true } });
	trace::Scope in_outer(outer);
	const double numbers[] = { 1.5, 2.5 };

	for (int i = 0; i < 7; i++) {
		trace::StartSpanOptions options;

		options.kind = static_cast<trace::SpanKind>(i % 5);
		auto inner =
			tracer.StartSpan("inner", { { "turn", i } },
					 { { outer->GetContext(), { { "link", i } } } }, options);
		trace::Scope in_inner(inner);

		inner->SetAttribute("turn", i + 100);
		inner->SetAttribute("list", opentelemetry::nostd::span<const double>(numbers));
		inner->SetAttribute("long", std::string(5000, 'x'));
		inner->AddEvent("event", { { "key", "value" } });
		if (i % 2)
			inner->SetStatus(trace::StatusCode::kError, "it failed");
		if (i == 3)
			inner->UpdateName(std::string(3000, 'n'));
		if (i == 4)
			inner->End(); /* its destructor does it again */
	}
}
} // namespace

int main(int argc, char **argv)
{
	const char *url = argc > 1 ? argv[1] : nullptr;
	std::ostringstream batch, later;
	std::vector<std::unique_ptr<sdk::trace::SpanProcessor>> processors;

	processors.push_back(
		sdk::trace::SimpleSpanProcessorFactory::Create(exporter(std::cout, url)));
	processors.push_back(sdk::trace::BatchSpanProcessorFactory::Create(
		exporter(batch, url), sdk::trace::BatchSpanProcessorOptions()));
	auto provider = sdk::trace::TracerProviderFactory::Create(
		std::move(processors),
		sdk::resource::Resource::Create({ { "service.name", "export" } }),
		sdk::trace::AlwaysOnSamplerFactory::Create(), std::make_unique<counter>());
	auto tracer = provider->GetTracer("exporting", "1.0");

	work(*tracer);
	static_cast<sdk::trace::TracerProvider &>(*provider).AddProcessor(
		sdk::trace::SimpleSpanProcessorFactory::Create(exporter(later, url)));
	work(*tracer);
	bool flushed = static_cast<sdk::trace::TracerProvider &>(*provider).ForceFlush();
	bool ended = static_cast<sdk::trace::TracerProvider &>(*provider).Shutdown();

	std::cout << "in batches:\n" << batch.str() << "added later:\n" << later.str();
	std::cout << "flushed " << flushed << ", shut down " << ended << std::endl;
}
