/* SPDX-License-Identifier: Apache-2.0 */
/*
 * currency - a gRPC service that converts amounts of money, and its client.
 *
 * bench-currency serve PORT [URL SAMPLING]: the service, with gRPC's synchronous server: a
 * thread handles a request from its begin to its end, and more requests at once start more
 * threads.  With an URL, the SDK exports this share of the traces to it, in batches over
 * OTLP/HTTP; without, spans are those of the API, which do nothing.
 *
 * bench-currency call PORT COUNT THREADS CALLS: COUNT requests, one after another in each
 * thread and on its connection, for each of which the service executes CALLS extra system
 * calls.  Prints the seconds that all of them took, and the median and the 99th percentile
 * of their latencies in µs; and returns when the service has exported their spans.
 */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

#include <grpcpp/grpcpp.h>
#include <opentelemetry/exporters/otlp/otlp_http_exporter_factory.h>
#include <opentelemetry/exporters/otlp/otlp_http_exporter_options.h>
#include <opentelemetry/sdk/resource/resource.h>
#include <opentelemetry/sdk/trace/batch_span_processor_factory.h>
#include <opentelemetry/sdk/trace/batch_span_processor_options.h>
#include <opentelemetry/sdk/trace/samplers/parent_factory.h>
#include <opentelemetry/sdk/trace/samplers/trace_id_ratio_factory.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>
#include <opentelemetry/trace/provider.h>
#include <opentelemetry/trace/scope.h>

#include "currency.grpc.pb.h"

namespace nostd = opentelemetry::nostd;
namespace otlp = opentelemetry::exporter::otlp;
namespace sdk = opentelemetry::sdk;
namespace trace = opentelemetry::trace;

namespace
{
using steady = std::chrono::steady_clock;

constexpr double NANOS = 1e9;

/* Units of a currency for one euro. */
double rate_of(const std::string &currency)
{
	static const std::map<std::string, double> rates = {
		{ "EUR", 1.0 },    { "USD", 1.0837 }, { "GBP", 0.8541 },  { "JPY", 169.2 },
		{ "CHF", 0.9532 }, { "SEK", 11.41 },  { "NOK", 11.63 },   { "DKK", 7.4604 },
		{ "PLN", 4.2815 }, { "CZK", 25.21 },  { "HUF", 391.6 },   { "CAD", 1.4874 },
		{ "AUD", 1.6219 }, { "NZD", 1.7788 }, { "CNY", 7.8712 },  { "INR", 90.48 },
		{ "KRW", 1493.0 }, { "BRL", 5.9221 }, { "MXN", 19.4806 }, { "ZAR", 19.7725 },
	};
	auto found = rates.find(currency);

	return found == rates.end() ? 0 : found->second;
}

bool convert(const bench::Money &from, const std::string &to, bench::Money *ret)
{
	double rate = rate_of(from.currency());

	if (rate == 0 || rate_of(to) == 0)
		return false;

	double amount =
		(static_cast<double>(from.units()) + from.nanos() / NANOS) / rate * rate_of(to);
	double units = std::trunc(amount);

	ret->set_currency(to);
	ret->set_units(static_cast<int64_t>(units));
	ret->set_nanos(static_cast<int32_t>((amount - units) * NANOS));
	return true;
}

class service final : public bench::Currency::Service
{
      public:
	service(nostd::shared_ptr<trace::Tracer> from, sdk::trace::TracerProvider *flushed)
	    : tracer(std::move(from)), provider(flushed)
	{
	}

	grpc::Status Convert(grpc::ServerContext *, const bench::Conversion *request,
			     bench::Money *reply) override
	{
		trace::StartSpanOptions options;

		options.kind = trace::SpanKind::kServer;
		auto span = tracer->StartSpan("Currency/Convert",
					      { { "rpc.system", "grpc" },
						{ "rpc.service", "bench.Currency" },
						{ "rpc.method", "Convert" } },
					      options);
		trace::Scope scope(span);

		for (uint32_t i = 0; i < request->system_calls(); i++)
			syscall(SYS_getpid);
		span->SetAttribute("app.currency.from", request->from().currency());
		span->SetAttribute("app.currency.to", request->to());
		if (!convert(request->from(), request->to(), reply)) {
			span->SetStatus(trace::StatusCode::kError);
			return { grpc::StatusCode::INVALID_ARGUMENT, "unknown currency" };
		}
		span->SetStatus(trace::StatusCode::kOk);
		return grpc::Status::OK;
	}

	grpc::Status Flush(grpc::ServerContext *, const bench::Nothing *, bench::Nothing *) override
	{
		if (provider)
			provider->ForceFlush();
		return grpc::Status::OK;
	}

      private:
	nostd::shared_ptr<trace::Tracer> tracer;
	sdk::trace::TracerProvider *provider; /* borrowed; null without SDK */
};

std::unique_ptr<sdk::trace::TracerProvider> start_sdk(const std::string &url, double sampling)
{
	otlp::OtlpHttpExporterOptions to;
	sdk::trace::BatchSpanProcessorOptions batches;

	batches.max_queue_size =
		1 << 16; /* so that no span is dropped, and all variants do the same */
	to.url = url + "/v1/traces";
	to.content_type = otlp::HttpRequestContentType::kBinary;
	return sdk::trace::TracerProviderFactory::Create(
		sdk::trace::BatchSpanProcessorFactory::Create(
			otlp::OtlpHttpExporterFactory::Create(to), batches),
		sdk::resource::Resource::Create({ { "service.name", "currency" } }),
		sdk::trace::ParentBasedSamplerFactory::Create(
			sdk::trace::TraceIdRatioBasedSamplerFactory::Create(sampling)));
}

int serve(const std::string &address, const char *url, double sampling)
{
	auto provider = url ? start_sdk(url, sampling) : nullptr;
	service currency(provider ? provider->GetTracer("bench")
				  : trace::Provider::GetTracerProvider()->GetTracer("bench"),
			 provider.get());
	grpc::ServerBuilder builder;

	builder.AddListeningPort(address, grpc::InsecureServerCredentials());
	builder.RegisterService(&currency);
	auto server = builder.BuildAndStart();
	if (!server)
		return std::fprintf(stderr, "bench-currency: cannot listen on %s\n",
				    address.c_str()),
		       1;
	server->Wait();
	return 0;
}

/* A connection of its own, which exists on return. */
std::shared_ptr<grpc::Channel> connect_to(const std::string &address)
{
	grpc::ChannelArguments arguments;

	arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
	auto channel =
		grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
	if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10)))
		std::fprintf(stderr, "bench-currency: cannot connect to %s\n", address.c_str()),
			std::exit(1);
	return channel;
}

/* Send the requests; returns the latency of each in µs. */
std::vector<double> send(const std::shared_ptr<grpc::Channel> &channel, long count, uint32_t calls)
{
	auto stub = bench::Currency::NewStub(channel);
	std::vector<double> latencies;
	bench::Conversion request;
	bench::Money reply;

	request.mutable_from()->set_currency("CHF");
	request.mutable_from()->set_units(1729);
	request.mutable_from()->set_nanos(370000000);
	request.set_to("JPY");
	request.set_system_calls(calls);
	latencies.reserve(static_cast<size_t>(count));
	for (long i = 0; i < count; i++) {
		grpc::ClientContext context;
		auto begin = steady::now();
		grpc::Status status = stub->Convert(&context, request, &reply);

		if (!status.ok() || reply.units() != 306975)
			std::fprintf(stderr, "bench-currency: wrong reply %ld: %s\n",
				     static_cast<long>(reply.units()),
				     status.error_message().c_str()),
				std::exit(1);
		latencies.push_back(
			std::chrono::duration<double, std::micro>(steady::now() - begin).count());
	}
	return latencies;
}

void flush(const std::shared_ptr<grpc::Channel> &channel)
{
	grpc::ClientContext context;
	bench::Nothing nothing;

	bench::Currency::NewStub(channel)->Flush(&context, nothing, &nothing);
}

int call(const std::string &address, long count, size_t threads, uint32_t calls)
{
	std::vector<std::shared_ptr<grpc::Channel>> channels;
	std::vector<std::vector<double>> parts(threads);
	std::vector<std::thread> senders;
	std::vector<double> all;

	for (size_t i = 0; i < threads; i++)
		channels.push_back(connect_to(address));
	auto begin = steady::now();
	for (size_t i = 0; i < threads; i++) {
		long share = count / static_cast<long>(threads) +
			     (static_cast<long>(i) < count % static_cast<long>(threads));

		senders.emplace_back([&, i, share] { parts[i] = send(channels[i], share, calls); });
	}
	for (auto &sender : senders)
		sender.join();
	double took = std::chrono::duration<double>(steady::now() - begin).count();

	flush(channels[0]);
	for (auto &part : parts)
		all.insert(all.end(), part.begin(), part.end());
	std::sort(all.begin(), all.end());
	std::printf("%.6f %.1f %.1f\n", took, all[all.size() / 2], all[all.size() * 99 / 100]);
	return 0;
}
} // namespace

int main(int argc, char **argv)
{
	std::string what = argc > 2 ? argv[1] : "",
		    address = argc > 2 ? std::string("127.0.0.1:") + argv[2] : "";

	if (what == "serve" && (argc == 3 || argc == 5))
		return serve(address, argc == 5 ? argv[3] : nullptr,
			     argc == 5 ? std::atof(argv[4]) : 0);
	if (what == "call" && argc == 6 && std::atol(argv[3]) > 0 && std::atol(argv[4]) > 0)
		return call(address, std::atol(argv[3]), static_cast<size_t>(std::atol(argv[4])),
			    static_cast<uint32_t>(std::atol(argv[5])));
	std::fprintf(stderr, "usage: bench-currency serve PORT [URL SAMPLING] | call PORT COUNT "
			     "THREADS CALLS\n");
	return 2;
}
