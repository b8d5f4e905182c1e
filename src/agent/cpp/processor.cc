/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processor - reports the begin and end of each span to the agent.
 *
 * The SDK gives every processor its own copy of an open span to fill in.  Ours contains
 * the data of an event: ids, name, kind, and attributes while a recorder is attached.  It
 * is one block of memory, small enough for the allocator's fast path.  The END event
 * repeats all of it, so that a recorder that attached after the begin gets the whole span.
 *
 * The times are ours: the SDK's are on the wall clock.
 */
#include "agent/cpp/internal.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include <pthread.h>
#include <unistd.h>

#include <opentelemetry/sdk/trace/recordable.h>

#include "agent/agent.h"
#include "event/event.h"
#include "event/span_wire.h"

namespace common = opentelemetry::common;
namespace nostd = opentelemetry::nostd;
namespace sdk = opentelemetry::sdk;
namespace trace = opentelemetry::trace;

namespace
{
/* Cached; reset in a forked child, where it differs. */
thread_local uint32_t own_tid;

uint32_t tid_get()
{
	if (!own_tid)
		own_tid = static_cast<uint32_t>(gettid());
	return own_tid;
}

uint64_t now()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

class span_copy final : public sdk::trace::Recordable
{
      public:
	void begin() noexcept
	{
		span.start = now();
		span.tid = tid_get();
		sonde_agent_begin(event());
	}

	void end() noexcept
	{
		sonde_agent_end(event());
	}

	void SetIdentity(const trace::SpanContext &id, trace::SpanId parent) noexcept override
	{
		std::memcpy(span.trace, id.trace_id().Id().data(), sizeof(span.trace));
		std::memcpy(span.span, id.span_id().Id().data(), sizeof(span.span));
		std::memcpy(span.parent, parent.Id().data(), sizeof(span.parent));
	}

	void SetName(nostd::string_view name) noexcept override;
	void SetAttribute(nostd::string_view key,
			  const common::AttributeValue &value) noexcept override;

	void SetStatus(trace::StatusCode code, nostd::string_view) noexcept override
	{
		span.is_error = code == trace::StatusCode::kError;
	}

	void SetSpanKind(trace::SpanKind kind) noexcept override
	{
		span.kind = static_cast<uint8_t>(static_cast<int>(kind) + SPAN_INTERNAL);
	}

	void AddEvent(nostd::string_view, common::SystemTimestamp,
		      const common::KeyValueIterable &) noexcept override
	{
	}
	void AddLink(const trace::SpanContext &, const common::KeyValueIterable &) noexcept override
	{
	}
	void SetResource(const sdk::resource::Resource &) noexcept override
	{
	}
	void SetStartTime(common::SystemTimestamp) noexcept override
	{
	}
	void SetDuration(std::chrono::nanoseconds) noexcept override
	{
	}
	void SetInstrumentationScope(
		const sdk::instrumentationscope::InstrumentationScope &) noexcept override
	{
	}

      private:
	const sonde_agent_span *event()
	{
		span.name = text;
		span.attributes = text + span.name_size;
		return &span;
	}

	void remove(nostd::string_view key);
	void add(nostd::string_view key, attribute_type type, const void *value, size_t size);

	sonde_agent_span span{};
	char text[896]; /* name, then attributes; attributes that do not fit are left out */
};

/* The name can change while the span is open. */
void span_copy::SetName(nostd::string_view name) noexcept
{
	size_t size = std::min(name.size(), sizeof(text) / 2);

	while (size < name.size() && size > 0 && (name[size] & 0xc0) == 0x80)
		size--; /* do not cut a UTF-8 character */
	if (size + span.attributes_size > sizeof(text))
		span.attributes_size = 0;
	std::memmove(text + size, text + span.name_size, span.attributes_size);
	std::memcpy(text, name.data(), size);
	span.name_size = size;
}

/* Remove the old value of an attribute that is set again. */
void span_copy::remove(nostd::string_view key)
{
	char *at = text + span.name_size, *end = at + span.attributes_size;

	while (at < end) {
		span_attribute head;

		std::memcpy(&head, at, sizeof(head));
		size_t size = sizeof(head) + head.key_size + head.value_size;

		if (nostd::string_view(at + sizeof(head), head.key_size) == key) {
			std::memmove(at, at + size, static_cast<size_t>(end - at) - size);
			span.attributes_size -= size;
			return;
		}
		at += size;
	}
}

void span_copy::add(nostd::string_view key, attribute_type type, const void *value, size_t size)
{
	size_t used = span.name_size + span.attributes_size;
	span_attribute head{};
	char *at = text + used;

	if (key.size() > UINT8_MAX || size > sizeof(text) ||
	    sizeof(head) + key.size() + size > sizeof(text) - used)
		return;
	head.type = static_cast<uint8_t>(type);
	head.key_size = static_cast<uint8_t>(key.size());
	head.value_size = static_cast<uint16_t>(size);
	std::memcpy(at, &head, sizeof(head));
	std::memcpy(at + sizeof(head), key.data(), key.size());
	std::memcpy(at + sizeof(head) + key.size(), value, size);
	span.attributes_size += sizeof(head) + key.size() + size;
}

/* Arrays are left out: a capture cannot store them. */
void span_copy::SetAttribute(nostd::string_view key, const common::AttributeValue &value) noexcept
{
	if (!sonde_agent_is_recording())
		return;
	remove(key);

	auto integer = [&](attribute_type type, int64_t number) {
		add(key, type, &number, sizeof(number));
	};
	if (auto *text_value = nostd::get_if<nostd::string_view>(&value))
		add(key, ATTRIBUTE_STRING, text_value->data(), text_value->size());
	else if (auto *chars = nostd::get_if<const char *>(&value))
		add(key, ATTRIBUTE_STRING, *chars, std::strlen(*chars));
	else if (auto *boolean = nostd::get_if<bool>(&value))
		integer(ATTRIBUTE_BOOL, *boolean);
	else if (auto *i32 = nostd::get_if<int32_t>(&value))
		integer(ATTRIBUTE_INT, *i32);
	else if (auto *u32 = nostd::get_if<uint32_t>(&value))
		integer(ATTRIBUTE_INT, *u32);
	else if (auto *i64 = nostd::get_if<int64_t>(&value))
		integer(ATTRIBUTE_INT, *i64);
	else if (auto *u64 = nostd::get_if<uint64_t>(&value))
		integer(ATTRIBUTE_INT, static_cast<int64_t>(*u64));
	else if (auto *real = nostd::get_if<double>(&value))
		add(key, ATTRIBUTE_DOUBLE, real, sizeof(*real));
}

class processor final : public sdk::trace::SpanProcessor
{
      public:
	/* Out of memory, the SDK's own allocations fail as well. */
	std::unique_ptr<sdk::trace::Recordable> MakeRecordable() noexcept override
	{
		return std::unique_ptr<sdk::trace::Recordable>(new span_copy);
	}

	void OnStart(sdk::trace::Recordable &span, const trace::SpanContext &) noexcept override
	{
		static_cast<span_copy &>(span).begin();
	}

	void OnEnd(std::unique_ptr<sdk::trace::Recordable> &&span) noexcept override
	{
		if (span)
			static_cast<span_copy &>(*span).end();
		span.reset();
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
} // namespace

std::unique_ptr<sdk::trace::SpanProcessor> processor_new()
{
	static int forks = pthread_atfork(nullptr, nullptr, [] { own_tid = 0; });

	(void)forks;
	return std::unique_ptr<sdk::trace::SpanProcessor>(new processor);
}
