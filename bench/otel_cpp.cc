/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otel_cpp - the cost of a span of opentelemetry-cpp, and a service with spans.
 *
 * bench-otel-cpp CPU: for each line "OPERATION COUNT", execute the operation on that
 * CPU and print the ns of CPU time per operation.
 *
 * bench-otel-cpp PORT STEPS: a web service with a thread per connection, which
 * computes that many steps on each request, in three spans.
 *
 * The exporter discards spans.  That of the service gets them in batches, as usual; in
 * the loop, batches would overflow, and the benchmark would measure the error handling.
 */
#include <cstdio>
#include <cstdlib>
#include <map>
#include <ctime>
#include <string>
#include <thread>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <opentelemetry/context/runtime_context.h>
#include <opentelemetry/sdk/trace/batch_span_processor_factory.h>
#include <opentelemetry/sdk/trace/batch_span_processor_options.h>
#include <opentelemetry/sdk/trace/exporter.h>
#include <opentelemetry/sdk/trace/simple_processor_factory.h>
#include <opentelemetry/sdk/trace/span_data.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>
#include <opentelemetry/trace/provider.h>
#include <opentelemetry/trace/scope.h>

namespace context = opentelemetry::context;
namespace nostd = opentelemetry::nostd;
namespace sdk = opentelemetry::sdk;
namespace trace = opentelemetry::trace;

namespace
{
class nowhere : public sdk::trace::SpanExporter
{
	std::unique_ptr<sdk::trace::Recordable> MakeRecordable() noexcept override
	{
		return std::make_unique<sdk::trace::SpanData>();
	}
	sdk::common::ExportResult
	Export(const nostd::span<std::unique_ptr<sdk::trace::Recordable>> &) noexcept override
	{
		return sdk::common::ExportResult::kSuccess;
	}
	bool ForceFlush(std::chrono::microseconds) noexcept override
	{
		return true;
	}
	bool Shutdown(std::chrono::microseconds) noexcept override
	{
		return true;
	}
};

nostd::shared_ptr<trace::Tracer> tracer;

void span(long count)
{
	for (long i = 0; i < count; i++)
		tracer->StartSpan("a span of the benchmark")->End();
}

void attributes(long count)
{
	for (long i = 0; i < count; i++)
		tracer->StartSpan("a span of the benchmark",
				  { { "http.method", "GET" }, { "http.status_code", 200 } })
			->End();
}

void attach(long count)
{
	static auto around = tracer->StartSpan("around");
	static context::Context empty, with = empty.SetValue(trace::kSpanKey, around);

	for (long i = 0; i < count; i += 2)
		context::RuntimeContext::Attach(with); /* and detached at once */
}

void step(long count)
{
	for (volatile long i = 0; i < count;)
		i = i + 1;
}

void handle(long steps)
{
	auto whole = tracer->StartSpan("GET /", { { "http.method", "GET" } });
	trace::Scope in_whole(whole);

	for (const char *name : { "look up", "render" }) {
		auto part = tracer->StartSpan(name);
		trace::Scope in_part(part);
		step(steps / 2);
	}
}

/* A request without its work. */
void request(long count)
{
	for (long i = 0; i < count; i++)
		handle(0);
}

void serve_in_spans(int fd, long steps)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
	char text[4096];

	while (read(fd, text, sizeof(text)) > 0) {
		handle(steps);
		if (write(fd, answer, sizeof(answer) - 1) < 0)
			break;
	}
	close(fd);
}

/* CPU time of this thread, in ns. */
double cpu_now()
{
	timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

int serve(int port, long steps)
{
	sockaddr_in address{};
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	address.sin_family = AF_INET;
	address.sin_port = htons(static_cast<uint16_t>(port));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof(address)) ||
	    listen(listener, 128))
		return std::perror("cannot listen"), 1;
	for (;;) {
		int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);

		if (fd < 0)
			return std::perror("cannot accept a connection"), 1;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		std::thread(serve_in_spans, fd, steps).detach();
	}
}

int obey(int cpu)
{
	static const std::map<std::string, void (*)(long)> operations = {
		{ "span", span }, { "attributes", attributes }, { "attach", attach },
		{ "step", step }, { "request", request },
	};
	cpu_set_t set;
	char operation[32];
	long count;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	while (std::scanf("%31s %ld", operation, &count) == 2) {
		double start = cpu_now();
		operations.at(operation)(count);
		std::printf("%.2f\n", (cpu_now() - start) / static_cast<double>(count));
		std::fflush(stdout);
	}
	return 0;
}
} // namespace

int main(int argc, char **argv)
{
	auto exporter = std::make_unique<nowhere>();
	auto processor =
		argc == 2 ? sdk::trace::SimpleSpanProcessorFactory::Create(std::move(exporter))
			  : sdk::trace::BatchSpanProcessorFactory::Create(std::move(exporter), {});
	auto provider = sdk::trace::TracerProviderFactory::Create(std::move(processor));

	tracer = provider->GetTracer("bench");
	if (argc == 2)
		return obey(std::atoi(argv[1]));
	if (argc == 3)
		return serve(std::atoi(argv[1]), std::atol(argv[2]));
	std::fprintf(stderr, "usage: bench-otel-cpp CPU | PORT STEPS\n");
	return 2;
}
