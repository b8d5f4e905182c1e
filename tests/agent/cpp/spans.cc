/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans TRUTH - spans in a known pattern, over threads and tasks, for the tests.
 *
 * Each shape below is one way in which a service's work moves: down a stack of
 * calls, over threads that are handed a context, through std::async, through a
 * queue whose worker takes turns at several open tasks, from the thread that
 * began a span to the one that ends it, and into a forked child.
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
/* A processor that keeps nothing: what is exported is another test's affair. */
class nowhere : public sdk::trace::SpanProcessor
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

/* Calls within calls, with work before, between and after. */
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

/* Threads that have their own spans, and work for one that is the main thread's as well. */
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

/* A task has some steps; between two of them others are at work on the same thread. */
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
		work out(*one.whole); /* back in the parent for a moment, though the part is open */
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

/* Begun here, worked for there, ended elsewhere. */
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

/* Who detaches an outer context gives up all that were attached since. */
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
		second.reset(); /* is not there any more */
		burn(50);
		inner.finish();
		outer.finish();
	}
}

/* A child is in the span that its parent forked in, until it says otherwise. */
void forked(int count)
{
	job all("fork", nullptr);

	all.is_cpu_known = false; /* what the children do for it, they cannot tell us */
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
		sdk::trace::TracerProviderFactory::Create(std::make_unique<nowhere>()).release()));
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
