/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth - spans of opentelemetry-cpp, and the truth about them.
 *
 * A `job` is a span with an entry in the truth file: when the program began and ended
 * it, and the CPU time of threads that worked for it.  `work` is a scope that makes a
 * job, or none, the current one.  Each thread reads its CPU clock when it changes jobs,
 * and adds the time to the previous job.
 */
#ifndef SONDE_TESTS_AGENT_CPP_TRUTH_H
#define SONDE_TESTS_AGENT_CPP_TRUTH_H

#include <atomic>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <unistd.h>

#include <opentelemetry/context/runtime_context.h>
#include <opentelemetry/trace/context.h>
#include <opentelemetry/trace/provider.h>
#include <opentelemetry/trace/tracer.h>

namespace context = opentelemetry::context;
namespace nostd = opentelemetry::nostd;
namespace trace = opentelemetry::trace;

inline uint64_t clock_now(clockid_t clock)
{
	timespec t;

	clock_gettime(clock, &t);
	return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

inline uint64_t cpu_now()
{
	return clock_now(CLOCK_THREAD_CPUTIME_ID);
}

/* Use this much CPU time. */
inline void burn(unsigned microseconds)
{
	for (uint64_t end = cpu_now() + microseconds * 1000u; cpu_now() < end;)
		for (volatile int i = 0; i < 200;)
			i = i + 1;
}

struct job {
	nostd::shared_ptr<trace::Span> span;
	context::Context context; /* has the span as current */
	std::string name, parent;
	uint64_t begin, end = 0;
	trace::SpanKind kind;
	int tid, pid;
	bool is_cpu_known = true;
	std::atomic<uint64_t> cpu{ 0 }, switches{ 0 };

	job(const char *name, const job *parent, trace::SpanKind kind = trace::SpanKind::kInternal);
	void finish();
};
using job_ptr = std::shared_ptr<job>;

template <typename id> std::string hex(const id &value)
{
	char text[2 * id::kSize];

	value.ToLowerBase16(text);
	return std::string(text, sizeof(text));
}

/* The ended jobs of all threads. */
struct truth {
	std::mutex mutex;
	std::FILE *file = nullptr;

	static truth &get()
	{
		static truth one;
		return one;
	}

	void add(const job &done)
	{
		trace::SpanContext id = done.span->GetContext();
		std::lock_guard<std::mutex> lock(mutex);

		std::fprintf(
			file,
			"{\"trace\": \"%s\", \"span\": \"%s\", \"parent\": \"%s\", "
			"\"name\": \"%s\", \"tid\": %d, \"pid\": %d, \"begin\": %lu, \"end\": %lu, "
			"\"end_tid\": %d, \"attributes\": {\"job\": \"%s\", \"kind\": %d}",
			hex(id.trace_id()).c_str(), hex(id.span_id()).c_str(), done.parent.c_str(),
			done.name.c_str(), done.tid, done.pid, done.begin, done.end, gettid(),
			done.name.c_str(), static_cast<int>(done.kind));
		if (done.is_cpu_known)
			std::fprintf(file, ", \"cpu\": %lu, \"switches\": %lu", done.cpu.load(),
				     done.switches.load());
		std::fprintf(file, "}\n");
		std::fflush(file);
	}
};

/*
 * The first span of a thread takes the SDK about 30 us before it begins: it seeds random numbers
 * and touches new memory.  So each thread begins with a span that is not in the truth file.
 */
inline nostd::shared_ptr<trace::Tracer> tracer()
{
	static thread_local int warm; /* a pid: a forked child starts cold */
	auto by = trace::Provider::GetTracerProvider()->GetTracer("truth");

	if (warm != getpid())
		by->StartSpan("warm")->End();
	warm = getpid();
	return by;
}

inline job::job(const char *called, const job *above, trace::SpanKind of_kind)
    : name(called), kind(of_kind), tid(gettid()), pid(getpid())
{
	trace::StartSpanOptions options;
	context::Context empty;

	options.kind = kind;
	if (above) {
		options.parent = above->context;
		parent = hex(above->span->GetContext().span_id());
	} else {
		options.parent = empty.SetValue(trace::kIsRootSpanKey, true);
	}
	auto by = tracer();
	begin = clock_now(CLOCK_MONOTONIC);
	span = by->StartSpan(called, options);
	span->SetAttribute("job", called);
	span->SetAttribute("kind", static_cast<int>(kind));
	context = empty.SetValue(trace::kSpanKey, span);
}

/* Called by the last thread of the job. */
inline void job::finish()
{
	span->End();
	end = clock_now(CLOCK_MONOTONIC);
	truth::get().add(*this);
}

/* The current job of the calling thread, and its CPU time when that began. */
struct now_at {
	job *current = nullptr;
	uint64_t since = 0;

	static now_at &get()
	{
		static thread_local now_at one;
		return one;
	}

	job *change(job *next)
	{
		uint64_t at = cpu_now();
		job *before = current;

		if (before) {
			before->cpu += at - since;
			before->switches++;
		}
		if (next)
			next->switches++;
		current = next;
		since = at;
		return before;
	}
};

class work
{
      public:
	explicit work(job &next) : before(now_at::get().change(&next))
	{
		token = context::RuntimeContext::Attach(next.context);
	}
	~work()
	{
		now_at::get().change(before);
		token.reset(); /* detaches */
	}

      private:
	job *before;
	nostd::unique_ptr<context::Token> token;
};

#endif
