/* SPDX-License-Identifier: Apache-2.0 */
/*
 * balance - the balance of an account.  ledger computes it, and redis caches it
 * for a few seconds.
 */
#include <memory>
#include <stdexcept>

#include <hiredis/hiredis.h>

#include "service.h"

constexpr int keep_seconds = 5;

/* Each thread has its own connection until it exits. */
class Cache
{
	using Reply = std::unique_ptr<redisReply, decltype(&freeReplyObject)>;
	redisContext *context =
		redisConnect("127.0.0.1", std::stoi(bank::setting("BANK_REDIS_PORT")));

	template <typename... Args>
	Reply command(const char *name, const char *format, Args... args)
	{
		bank::Span span(name, bank::client_span());

		span.set("db.system", "redis");
		Reply reply(static_cast<redisReply *>(redisCommand(context, format, args...)),
			    freeReplyObject);
		if (!reply || reply->type == REDIS_REPLY_ERROR)
			throw std::runtime_error("redis does not reply");
		return reply;
	}

      public:
	~Cache()
	{
		redisFree(context);
	}
	std::string get(int account)
	{
		auto reply = command("GET", "GET balance:%d", account);
		return reply->type == REDIS_REPLY_STRING ? reply->str : "";
	}
	void put(int account, const std::string &text)
	{
		command("SETEX", "SETEX balance:%d %d %s", account, keep_seconds, text.c_str());
	}
};

static std::string balance_of(int account)
{
	static const int ledger = std::stoi(bank::setting("BANK_LEDGER_PORT"));
	static const std::string host = bank::address("BANK_BALANCE_CALLS");
	thread_local Cache cache;
	std::string cached = cache.get(account);

	if (!cached.empty())
		return cached;
	std::string balance = bank::call(host, ledger, "/balance/" + std::to_string(account));
	cache.put(account, balance);
	return balance;
}

int main()
{
	bank::Service service("balance");

	service.on("/balance", balance_of);
	service.serve(std::stoi(bank::setting("BANK_BALANCE_PORT")));
}
