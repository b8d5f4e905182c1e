/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger - adds up the entries of each account, which are in PostgreSQL.
 *
 * In addition, the thread `auditor` computes a digest of all entries each second,
 * to detect changes.  A lock protects the digest; every request holds it for a
 * moment.  With the fault `lock`, the auditor computes digests without a pause and
 * holds the lock while it queries the database.  `slow-query@ledger` compares numbers
 * as text, so that the database cannot use an index.
 */
#include <chrono>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <libpq-fe.h>

#include "service.h"

using namespace std::chrono_literals;

static const char amounts_query[] = "SELECT amount FROM entries WHERE account = $1";
static const char entries_query[] = "SELECT id, peer, amount FROM entries WHERE account = $1"
				    " ORDER BY id DESC LIMIT 10";
static const char slow_amounts_query[] =
	"SELECT amount FROM entries WHERE account::text = $1::text";
static const char slow_entries_query[] =
	"SELECT id, peer, amount FROM entries WHERE account::text = $1::text"
	" ORDER BY id DESC LIMIT 10";
static const char digest_query[] = "SELECT md5(string_agg(md5(e::text), '' ORDER BY id))"
				   " FROM entries e WHERE id >= $1";

struct Books {
	std::mutex lock;
	long replies = 0;
	std::string digest; /* of all entries, from the last audit */
};

static Books books;

/* Each thread has its own connection until it exits. */
class Database
{
	PGconn *connection = PQconnectdb(bank::setting("BANK_DATABASE").c_str());

      public:
	~Database()
	{
		PQfinish(connection);
	}
	using Rows = std::unique_ptr<PGresult, decltype(&PQclear)>;
	Rows query(const char *statement, int number)
	{
		bank::Span span("SELECT", bank::client_span());
		std::string text = std::to_string(number);
		const char *value = text.c_str();

		span.set("db.system", "postgresql");
		span.set("db.statement", statement);
		Rows rows(PQexecParams(connection, statement, 1, nullptr, &value, nullptr, nullptr,
				       0),
			  PQclear);
		if (PQresultStatus(rows.get()) != PGRES_TUPLES_OK)
			throw std::runtime_error(PQerrorMessage(connection));
		return rows;
	}
};

static Database &database()
{
	thread_local Database mine;
	return mine;
}

static long number_at(const Database::Rows &rows, int row, int column)
{
	return std::stol(PQgetvalue(rows.get(), row, column));
}

/* Hash a reply, and count it. */
static unsigned long seal(const std::string &text)
{
	constexpr size_t steps = 1 << 20; /* about 2 ms of arithmetic */
	unsigned long hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < steps; i++)
		hash = (hash ^ (unsigned char)text[i % text.size()]) * 0x100000001b3;
	std::lock_guard hold(books.lock);
	books.replies++;
	return hash;
}

static std::string sealed(const std::string &name, const std::string &value)
{
	return "{\"" + name + "\": " + value + ", \"seal\": " + std::to_string(seal(value)) + "}\n";
}

static std::string balance_of(int account)
{
	bool slow = bank::fault("slow-query@ledger");
	auto rows = database().query(slow ? slow_amounts_query : amounts_query, account);
	long sum = 0;

	for (int i = 0; i < PQntuples(rows.get()); i++)
		sum += number_at(rows, i, 0);
	return sealed("balance", std::to_string(sum));
}

static std::string entries_of(int account)
{
	bool slow = bank::fault("slow-query@ledger");
	auto rows = database().query(slow ? slow_entries_query : entries_query, account);
	std::string list;

	for (int i = 0; i < PQntuples(rows.get()); i++)
		list += (i ? ", [" : "[") + std::to_string(number_at(rows, i, 0)) + ", " +
			std::to_string(number_at(rows, i, 1)) + ", " +
			std::to_string(number_at(rows, i, 2)) + "]";
	return sealed("entries", "[" + list + "]");
}

static std::string digest()
{
	return PQgetvalue(database().query(digest_query, 0).get(), 0, 0);
}

static void audit()
{
	bank::Span span("audit");
	std::string taken = digest();
	std::lock_guard hold(books.lock);

	books.digest = taken;
}

static void audit_locked()
{
	bank::Span span("audit");
	std::lock_guard hold(books.lock);

	books.digest = digest();
}

static void audit_until(std::stop_token stop)
{
	constexpr int interval = 100; /* iterations of 10 ms: an audit each second */

	pthread_setname_np(pthread_self(), "auditor");
	for (int turn = 0; !stop.stop_requested(); turn++) {
		try {
			if (bank::fault("lock"))
				audit_locked();
			else if (turn % interval == 0)
				audit();
		} catch (const std::exception &e) {
			std::cerr << "audit: " << e.what() << "\n";
		}
		std::this_thread::sleep_for(10ms);
	}
}

int main()
{
	bank::Service service("ledger");

	std::jthread auditor(audit_until);
	service.on("/balance", balance_of);
	service.on("/entries", entries_of);
	service.serve(std::stoi(bank::setting("BANK_LEDGER_PORT")));
}
