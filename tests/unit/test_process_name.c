/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "model/process_name.h"
#include "test.h"

struct named {
	const char *comm, *cmdline, *cgroup, *name;
};

static void check_all(const struct named *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		CHECK_STR(process_name(list[i].comm, list[i].cmdline, list[i].cgroup).s,
			  list[i].name);
}

TEST(an_interpreter_is_named_after_its_script)
{
	static const struct named list[] = {
		{ "python3", "python3 app.py", "", "app.py" },
		{ "python3", "/usr/bin/python3 -u -W ignore /srv/shop/app.py --port 80", "",
		  "app.py" },
		{ "python3.11", "/opt/venv/bin/python3.11 -X dev=1 worker.py", "", "worker.py" },
		{ "python", "python /srv/orders/main.py", "", "orders/main.py" },
		{ "python", "python /srv/orders/src/main.py", "", "orders/main.py" },
		{ "python3", "python3 /opt/tool/__main__.py", "", "tool" },
		{ "python3", "python3 main.py", "", "main.py" },
		{ "app.py", "/usr/bin/python3 ./app.py", "", "app.py" },
		{ "node", "node server.js", "", "server.js" },
		{ "MainThread", "node --inspect=9229 -r dotenv/config dist/index.js", "",
		  "index.js" },
		{ "node-MainThread", "/usr/bin/node /srv/billing/dist/index.js", "",
		  "billing/index.js" },
		{ "deno", "deno run --allow-net api.ts", "", "api.ts" },
		{ "bun", "bun run api.ts", "", "api.ts" },
		{ "ruby", "ruby -I lib bin/jobs.rb", "", "jobs.rb" },
		{ "perl", "perl -w /usr/sbin/spamd.pl", "", "spamd.pl" },
		{ "php8.2", "php8.2 -d memory_limit=1G artisan queue:work", "",
		  "artisan queue:work" },
		{ "php", "php -S 0.0.0.0:8000 router.php", "", "router.php" },
		{ "bash", "bash -e /srv/run.sh", "", "run.sh" },
		{ "bash", "-bash", "", "bash" },
		{ "dotnet", "dotnet /app/Shop.dll", "", "Shop.dll" },
		{ "beam.smp", "/usr/lib/erlang/bin/beam.smp -W w -- -root /x -sname rabbit@host",
		  "", "rabbit@host" },
	};

	check_all(list, ARRAY_LEN(list));
}

TEST(a_module_a_jar_and_a_class_are_names)
{
	static const struct named list[] = {
		{ "python3", "python3 -m http.server 8000", "", "http.server" },
		{ "python3", "python3 -m uvicorn main:app --port 8000", "", "uvicorn main:app" },
		{ "python3", "python3 -m uvicorn --port 8000 --reload main:app", "",
		  "uvicorn main:app" },
		{ "uvicorn", "/opt/venv/bin/python /opt/venv/bin/uvicorn shop.main:app", "",
		  "uvicorn shop.main:app" },
		{ "gunicorn", "/usr/bin/python3 /usr/bin/gunicorn -w 4 -b 0.0.0.0:80 shop:app", "",
		  "gunicorn shop:app" },
		{ "gunicorn", "gunicorn: worker [shop:app]", "", "gunicorn shop:app" },
		{ "gunicorn", "gunicorn: master [gunicorn]", "", "gunicorn" },
		{ "flask", "/usr/bin/python3 /usr/bin/flask --app shop run -p 5000", "",
		  "flask shop" },
		{ "flask", "/usr/bin/python3 /usr/bin/flask run -p 5000", "", "flask" },
		{ "celery", "/usr/bin/python3 /usr/bin/celery -A jobs worker", "", "celery jobs" },
		{ "python3", "python3 manage.py runserver", "", "manage.py runserver" },
		{ "uwsgi", "uwsgi --http :80 --ini /etc/shop.ini", "", "uwsgi shop.ini" },
		{ "java", "java -Xmx1g -jar /srv/bank.jar --spring.profiles.active=x", "",
		  "bank.jar" },
		{ "java", "java -cp a.jar:b.jar -Dx=y kafka.Kafka server.properties", "", "Kafka" },
		{ "java", "/usr/bin/java -classpath x org.apache.catalina.startup.Bootstrap start",
		  "", "org.apache.catalina.startup.Bootstrap" },
		{ "java", "java --module-path mods -m shop/com.shop.Checkout", "", "Checkout" },
		{ "java", "java Bank.java", "", "Bank.java" },
		{ "java", "java -cp . Bank", "", "Bank" },
	};

	check_all(list, ARRAY_LEN(list));
}

TEST(a_program_has_its_whole_name)
{
	static const struct named list[] = {
		{ "opentelemetry-c", "/usr/bin/opentelemetry-collector --config x", "",
		  "opentelemetry-collector" },
		{ "postgres", "postgres: shop shop 127.0.0.1(45678) UPDATE waiting", "",
		  "postgres" },
		{ "nginx", "nginx: worker process", "", "nginx" },
		{ "redis-server", "redis-server *:6379", "", "redis-server" },
		{ "haproxy", "/usr/sbin/haproxy -Ws -f /etc/haproxy/haproxy.cfg", "", "haproxy" },
		{ "contacts", "", "", "contacts" },
		{ "front/1", "build/demo/front 80", "", "front" },
		{ "", "./contacts 1", "", "contacts" },
		{ "", "", "", "" },
	};

	check_all(list, ARRAY_LEN(list));
}

TEST(a_process_that_renamed_itself_keeps_its_name)
{
	static const struct named list[] = {
		{ "billing", "./chain front billing", "", "billing" },
		{ "billing", "python3 chain.py", "", "billing" },
		{ "kworker", "nginx: worker process", "", "kworker" },
	};

	check_all(list, ARRAY_LEN(list));
}

TEST(an_interpreter_without_a_script_is_named_after_its_unit)
{
	static const struct named list[] = {
		{ "python3", "python3 -c import x", "/system.slice/shop.service", "shop" },
		{ "python3", "python3 -c import x", "/system.slice/shop.service/workers", "shop" },
		{ "python3", "python3 -c import x", "/user.slice/user@1000.service/app.slice",
		  "python3 -c" },
		{ "node", "node -e code", "/", "node -c" },
		{ "python3", "python3", "", "python3" },
		{ "python3", "python3 app.py", "/system.slice/shop.service", "app.py" },
	};

	check_all(list, ARRAY_LEN(list));
}

TEST(a_hostile_command_line_gives_a_short_name)
{
	static const char *const lines[] = { " ",      "-",         "/",       "//",
					     ":",      "[",         "x: []",   "python3 -m",
					     "java -", "java -jar", "java .",  "node -r",
					     "a: [",   "a: ]b[",    "python/", "uvicorn -" };
	char line[4096] = "python3 ";

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		CHECK(strlen(process_name("x", lines[i], ".service").s) < 64);
	for (size_t i = strlen(line); i < sizeof(line) - 1; i += 2)
		memcpy(line + i, "\xc3\xa9", i + 2 < sizeof(line) ? 2 : 1);
	line[sizeof(line) - 1] = '\0';

	struct process_name name = process_name("python3", line, "");

	CHECK(strlen(name.s) < sizeof(name.s));
	CHECK_INT((uint8_t)name.s[strlen(name.s) - 1], 0xa9); /* no half of a character */
}
