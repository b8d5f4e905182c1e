/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_cases CASE - unusual providers, contexts and processes.
 *
 * Each case runs with and without the agent, and must succeed in both.  With it, the
 * thread must publish the SDK's current span.
 */
#include "published.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <opentelemetry/context/runtime_context.h>
#include <opentelemetry/sdk/trace/simple_processor_factory.h>
#include <opentelemetry/exporters/ostream/span_exporter_factory.h>
#include <opentelemetry/sdk/trace/tracer_context.h>
#include <opentelemetry/sdk/trace/tracer_context_factory.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>
#include <opentelemetry/trace/provider.h>
#include <opentelemetry/trace/scope.h>

namespace context = opentelemetry::context;
namespace nostd = opentelemetry::nostd;
namespace sdk = opentelemetry::sdk;
namespace trace = opentelemetry::trace;

namespace
{
std::string id_of(trace::Span &span)
{
	char text[16];

	span.GetContext().span_id().ToLowerBase16(text);
	return std::string(text, sizeof(text));
}

std::unique_ptr<sdk::trace::SpanProcessor> to_stderr()
{
	return sdk::trace::SimpleSpanProcessorFactory::Create(
		opentelemetry::exporter::trace::OStreamSpanExporterFactory::Create(std::cerr));
}

/* Nested spans, and what is published. */
void nest(trace::TracerProvider &provider)
{
	auto tracer = provider.GetTracer("edge_cases");

	expect("", "before");
	{
		auto outer = tracer->StartSpan("outer");
		trace::Scope in_outer(outer);
		{
			auto inner = tracer->StartSpan("inner");
			trace::Scope in_inner(inner);
			expect(id_of(*inner), "inner");
			std::thread([] { expect("", "another thread"); }).join();
		}
		expect(id_of(*outer), "outer");
		auto none = context::RuntimeContext::Attach(context::Context());
		expect("", "no context");
		none.reset();
		expect(id_of(*outer), "outer again");
	}
	expect("", "after");
}

/* All ways to create a provider. */
void providers()
{
	std::vector<std::unique_ptr<sdk::trace::SpanProcessor>> none, two;

	two.push_back(to_stderr());
	two.push_back(to_stderr());
	nest(*sdk::trace::TracerProviderFactory::Create(to_stderr()));
	nest(*sdk::trace::TracerProviderFactory::Create(std::move(two)));
	nest(*sdk::trace::TracerProviderFactory::Create(std::move(none)));
	sdk::trace::TracerProvider direct(to_stderr());
	nest(direct);
	std::vector<std::unique_ptr<sdk::trace::SpanProcessor>> one;
	one.push_back(to_stderr());
	nest(*sdk::trace::TracerProviderFactory::Create(
		std::make_unique<sdk::trace::TracerContext>(std::move(one))));
	sdk::trace::TracerProvider of_context(sdk::trace::TracerContextFactory::Create({}));
	nest(of_context);
}

/* Static objects are destroyed in reverse order; the span outlives the provider. */
struct keeper {
	nostd::shared_ptr<trace::Span> span;

	~keeper()
	{
		span->SetAttribute("at", "exit");
		span->End();
	}
};

void exit_order()
{
	static keeper first;
	static auto provider = sdk::trace::TracerProviderFactory::Create(to_stderr());
	static keeper last;

	for (keeper *k : { &first, &last }) {
		k->span = provider->GetTracer("edge_cases")->StartSpan("kept");
		trace::Scope in(k->span);
		expect(id_of(*k->span), "kept");
	}
}

/* Threads have contexts before the provider exists. */
void late_provider()
{
	std::atomic<bool> stop{ false };
	std::vector<std::thread> threads;

	for (int i = 0; i < 3; i++)
		threads.emplace_back([&] {
			while (!stop) {
				context::Context some("key", true);
				auto token = context::RuntimeContext::Attach(some);
				context::RuntimeContext::GetCurrent();
			}
		});
	for (int i = 0; i < 50; i++)
		nest(*sdk::trace::TracerProviderFactory::Create(to_stderr()));
	stop = true;
	for (auto &thread : threads)
		thread.join();
}

/* A context storage supplied by the program cannot be followed. */
class own_storage : public context::RuntimeContextStorage
{
	context::Context current;

	context::Context GetCurrent() noexcept override
	{
		return current;
	}
	nostd::unique_ptr<context::Token> Attach(const context::Context &next) noexcept override
	{
		current = next;
		return CreateToken(next);
	}
	bool Detach(context::Token &) noexcept override
	{
		current = context::Context();
		return true;
	}
};

void custom_storage()
{
	context::RuntimeContext::SetRuntimeContextStorage(
		nostd::shared_ptr<context::RuntimeContextStorage>(new own_storage));
	auto provider = sdk::trace::TracerProviderFactory::Create(to_stderr());
	auto span = provider->GetTracer("edge_cases")->StartSpan("span");
	trace::Scope in(span);

	expect("", "a storage of its own");
}

void forks()
{
	auto provider = sdk::trace::TracerProviderFactory::Create(to_stderr());
	auto span = provider->GetTracer("edge_cases")->StartSpan("around");
	trace::Scope in(span);

	for (int i = 0; i < 20; i++) {
		int status;
		pid_t child = fork();

		if (child == 0) {
			expect(id_of(*span), "in a child");
			auto inner = provider->GetTracer("edge_cases")->StartSpan("child's");
			trace::Scope in_inner(inner);
			expect(id_of(*inner), "in a span of the child");
			_exit(0);
		}
		if (waitpid(child, &status, 0) != child || status)
			std::exit(1);
		expect(id_of(*span), "in the parent");
	}
}

/* Load and unload libraries that use the SDK or contain one. */
void plugin(const char *name)
{
	for (int i = 0; i < 3; i++) {
		void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		auto *run = library ? reinterpret_cast<int (*)()>(dlsym(library, "plugin_run"))
				    : nullptr;

		if (!run || run()) {
			std::printf("%s: %s\n", name, run ? "it failed" : dlerror());
			std::exit(1);
		}
		dlclose(library);
	}
}
/* Wait for inspection until the standard input ends. */
void waits()
{
	auto provider = sdk::trace::TracerProviderFactory::Create(to_stderr());

	std::puts("ready");
	std::fflush(stdout);
	while (std::getchar() != EOF)
		;
}
} // namespace

int main(int argc, char **argv)
{
	static const std::map<std::string, std::function<void(const char *)>> cases = {
		{ "providers", [](const char *) { providers(); } },
		{ "exit_order", [](const char *) { exit_order(); } },
		{ "late_provider", [](const char *) { late_provider(); } },
		{ "custom_storage", [](const char *) { custom_storage(); } },
		{ "forks", [](const char *) { forks(); } },
		{ "plugin", plugin },
		{ "waits", [](const char *) { waits(); } },
	};
	auto found = argc > 1 ? cases.find(argv[1]) : cases.end();

	if (found == cases.end())
		return 2;
	found->second(argc > 2 ? argv[2] : nullptr);
	return 0;
}
