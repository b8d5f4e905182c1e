/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context - publish the current span of a thread whenever it changes.
 *
 * The SDK stores the current context of each thread in a storage object, one per
 * process, and accesses it by virtual calls: Attach() and Detach().  An official function
 * replaces that object, but other threads may be using it, and the pointer to it is not
 * atomic.  So the object stays, and gets another vtable: a copy of its own, in which these
 * two functions are ours.  That is a single store, atomic for other threads.  Our
 * functions call the originals and then publish the current span; so contexts that are
 * attached and detached in any order, or fail to be, are reported as the SDK has them.
 *
 * Only the SDK's own storage, which is per thread, is followed.  A program can supply
 * another one (for fibres, say), in which the current context changes without a call:
 * then nothing is published.
 */
#include "agent/cpp/internal.h"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <typeinfo>

#include <opentelemetry/context/runtime_context.h>
#include <opentelemetry/trace/context.h>

#include "agent/agent.h"

namespace context = opentelemetry::context;
namespace nostd = opentelemetry::nostd;
namespace trace = opentelemetry::trace;

namespace
{
using storage = context::RuntimeContextStorage;

/* A member function is called like a function with the object as its first argument. */
using current_function = context::Context(storage *);
using attach_function = nostd::unique_ptr<context::Token>(storage *, const context::Context &);
using detach_function = bool(storage *, context::Token &);

/* The first word of an object points to the member `current`. */
struct vtable {
	std::ptrdiff_t offset;
	const std::type_info *type;
	current_function *current;
	attach_function *attach;
	detach_function *detach;
	void (*destroy[2])(storage *);
};

vtable original, ours;

vtable *vtable_of(const storage *object)
{
	char *functions;

	std::memcpy(&functions, static_cast<const void *>(object), sizeof(functions));
	return reinterpret_cast<vtable *>(functions - offsetof(vtable, current));
}

void publish(const context::Context &current) noexcept
{
	context::ContextValue value = current.GetValue(trace::kSpanKey);
	auto *span = nostd::get_if<nostd::shared_ptr<trace::Span>>(&value);

	if (span && *span) {
		trace::SpanContext id = (*span)->GetContext();

		if (id.IsValid())
			return sonde_agent_set_context(id.trace_id().Id().data(),
						       id.span_id().Id().data(),
						       id.trace_flags().flags());
	}
	sonde_agent_clear_context();
}

nostd::unique_ptr<context::Token> attach(storage *self, const context::Context &next)
{
	auto token = original.attach(self, next);

	publish(next);
	return token;
}

bool detach(storage *self, context::Token &token)
{
	bool done = original.detach(self, token);

	publish(original.current(self));
	return done;
}
} // namespace

void context_follow() noexcept
{
	auto object = context::RuntimeContext::GetConstRuntimeContextStorage();
	vtable *found = object ? vtable_of(object.get()) : nullptr;

	if (!found || found == &ours || *found->type != typeid(context::ThreadLocalContextStorage))
		return;
	original = *found;
	ours = original;
	ours.attach = attach;
	ours.detach = detach;
	reinterpret_cast<std::atomic<void *> *>(const_cast<storage *>(object.get()))
		->store(&ours.current, std::memory_order_release);
	publish(original.current(const_cast<storage *>(object.get())));
}
