/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans TRUTH - spans in a known pattern over threads and tasks, for the tests.
 *
 * Each pattern is one way in which the work of a service moves: down a call stack, to
 * threads that receive a context, through std::async, through a queue in which one thread
 * alternates between open tasks, from the thread that begins a span to the one that
 * ends it, and into a forked child.
 */
#include "truth.h"

#include <condition_variable>
#include <deque>
#include <future>
#include <thread>

#include <sys/wait.h>

#include <opentelemetry/sdk/trace/processor.h>
#include <opentelemetry/sdk/trace/recordable.h>
#include <opentelemetry/sdk/trace/span_data.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>

namespace sdk = opentelemetry::sdk;

namespace
{
/* A processor that discards everything: another test covers the export. */
class discard : public sdk::trace::SpanProcessor
{
	std::unique_ptr<sdk::trace::Recordable> MakeRecordable() noexcept override
	{
		return std::make_unique<sdk::trace::SpanData>();
	}
	void OnStart(sdk::trace::Recordable &, const trace::SpanContext &) noexcept override
	{
	}
	void OnEnd(std::unique_ptr<sdk::trace::Recordable> &&) noexcept override
	{
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

/* Nested calls, with work before, between and after. */
void nest(const job *parent, int depth)
{
	static const char *const names[] = { "nest 0", "nest 1", "nest 2", "nest 3", "nest 4" };
	job here(names[depth], parent);
	{
		work in(here);

		burn(200);
		if (depth > 0) {
			nest(&here, depth - 1);
			burn(100);
			nest(&here, depth - 1);
		}
		burn(100);
	}
	here.finish();
}

/* Threads with their own spans, which also work for a span of the main thread. */
void threads(int count)
{
	job all("threads", nullptr, trace::SpanKind::kServer);
	std::vector<std::thread> running;

	for (int i = 0; i < count; i++)
		running.emplace_back([&all] {
			{
				work in(all);
				burn(300);
			}
			nest(&all, 2);
		});
	for (auto &thread : running)
		thread.join();
	all.finish();
}

void asynchronous(int count)
{
	job all("async", nullptr);
	std::vector<std::future<void>> results;
	{
		work in(all);

		for (int i = 0; i < count; i++)
			results.push_back(std::async(std::launch::async, [&all] {
				job part("async part", &all, trace::SpanKind::kClient);
				{
					work on(part);
					burn(700);
				}
				part.finish();
			}));
		burn(500);
		for (auto &result : results)
			result.get();
	}
	all.finish();
}

/* A task of several steps, interleaved with other tasks on the same thread. */
struct task {
	job_ptr whole, part;
	int steps;
};

void step(task &one)
{
	if (one.steps % 3 == 0)
		one.part = std::make_shared<job>("task part", one.whole.get());
	work in(one.part ? *one.part : *one.whole);
	burn(150);
	{
		work out(*one.whole); /* back to the parent while the part is open */
		burn(50);
	}
	burn(20);
}

void queue_run(int count)
{
	std::deque<task> queue;

	for (int i = 0; i < count; i++)
		queue.push_back({ std::make_shared<job>("task", nullptr), nullptr, 10 });
	while (!queue.empty()) {
		task one = queue.front();

		queue.pop_front();
		step(one);
		if (one.part && one.steps % 3 == 1) {
			one.part->finish();
			one.part = nullptr;
		}
		if (--one.steps > 0) {
			queue.push_back(one);
			continue;
		}
		if (one.part)
			one.part->finish();
		one.whole->finish();
	}
}

/* Spans that begin, continue and end on three threads. */
void moved(int count)
{
	for (int i = 0; i < count; i++) {
		job one("moved", nullptr);

		std::thread([&one] {
			work in(one);
			burn(200);
		}).join();
		std::thread([&one] {
			{
				work in(one);
				burn(100);
			}
			one.finish();
		}).join();
	}
}

/* Detaching an outer context also detaches the inner ones. */
void crossed(int count)
{
	for (int i = 0; i < count; i++) {
		job outer("outer", nullptr), inner("inner", &outer);
		now_at &now = now_at::get();

		now.change(&outer);
		auto first = context::RuntimeContext::Attach(outer.context);
		burn(100);
		now.change(&inner);
		auto second = context::RuntimeContext::Attach(inner.context);
		burn(100);
		now.change(nullptr);
		first.reset();
		burn(50);
		second.reset(); /* already detached */
		burn(50);
		inner.finish();
		outer.finish();
	}
}

/* A child inherits the current span of the fork. */
void forked(int count)
{
	job all("fork", nullptr);

	all.is_cpu_known = false; /* the CPU time of the children is unknown */
	for (int i = 0; i < count; i++) {
		work in(all);
		pid_t child = fork();

		if (child == 0) {
			nest(&all, 1);
			_exit(0);
		}
		waitpid(child, nullptr, 0);
	}
	all.finish();
}
} // namespace

int main(int argc, char **argv)
{
	if (argc != 2 || !(truth::get().file = std::fopen(argv[1], "ae"))) {
		std::fprintf(stderr, "usage: spans TRUTH\n");
		return 2;
	}
	trace::Provider::SetTracerProvider(nostd::shared_ptr<trace::TracerProvider>(
		sdk::trace::TracerProviderFactory::Create(std::make_unique<discard>()).release()));
	for (int i = 0; i < 7; i++) {
		nest(nullptr, 4);
		threads(3);
		asynchronous(5);
		queue_run(5);
		std::thread(queue_run, 4).join();
		moved(5);
		crossed(5);
		forked(2);
	}
	return 0;
}
