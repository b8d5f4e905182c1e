/* SPDX-License-Identifier: Apache-2.0 */
#include "record/arguments.h"

#include "test.h"

/* Arguments separated by | instead of NUL. */
struct command_line {
	const char *words, *want;
};

static void check(const struct command_line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_(freep) char *words = must_strdup(lines[i].words);
		size_t len = strlen(words) + 1;

		for (size_t k = 0; k < len; k++)
			if (words[k] == '|')
				words[k] = '\0';

		_cleanup_(freep) char *got = arguments_mask(words, len);

		CHECK_STR(got, lines[i].want);
	}
}

#define CHECK_LINES(...) \
	do { \
		const struct command_line lines_[] = { __VA_ARGS__ }; \
		check(lines_, ARRAY_LEN(lines_)); \
	} while (0)

TEST(values_of_secret_options_are_masked)
{
	CHECK_LINES({ "app|--password=hunter2|-v", "app --password=*** -v" },
		    { "app|--password|hunter2|-v", "app --password *** -v" },
		    { "app|--password=a,b&c;d=e f", "app --password=***" },
		    { "app|--db-password=x|--port=5432", "app --db-password=*** --port=5432" },
		    { "app|--dbPasswd|x", "app --dbPasswd ***" },
		    { "app|--token=abc", "app --token=***" },
		    { "app|-token|abc", "app -token ***" },
		    { "app|--auth-token|abc", "app --auth-token ***" },
		    { "app|--authtoken=abc", "app --authtoken=***" },
		    { "app|--client-secret=abc", "app --client-secret=***" },
		    { "app|--apikey=abc|--api-key|d", "app --apikey=*** --api-key ***" },
		    { "app|--api_key=abc|--apiKey=d", "app --api_key=*** --apiKey=***" },
		    { "app|--key=abc", "app --key=***" },
		    { "app|--access-key=abc", "app --access-key=***" },
		    { "app|--secret=/ab+cdef0123==", "app --secret=***" },
		    { "app|--passphrase|two words", "app --passphrase ***" },
		    { "java|-Dspring.datasource.password=x|-jar|a.jar",
		      "java -Dspring.datasource.password=*** -jar a.jar" },
		    { "java|-Djavax.net.ssl.keyStorePassword=x",
		      "java -Djavax.net.ssl.keyStorePassword=***" },
		    { "app|--auth=me:pw", "app --auth=me:***" },
		    { "openssl|rsa|-passin|pass:x", "openssl rsa -passin pass:***" }, );
}

TEST(secret_variables_are_masked)
{
	CHECK_LINES({ "env|PGPASSWORD=x|psql|-h|db", "env PGPASSWORD=*** psql -h db" },
		    { "env|MYSQL_PWD=x|MODE=a", "env MYSQL_PWD=*** MODE=a" },
		    { "env|AWS_SECRET_ACCESS_KEY=a/b+c|AWS_ACCESS_KEY_ID=AK|AWS_SESSION_TOKEN=t",
		      "env AWS_SECRET_ACCESS_KEY=*** AWS_ACCESS_KEY_ID=*** AWS_SESSION_TOKEN=***" },
		    { "docker|run|-e|DB_PASSWORD=x|img", "docker run -e DB_PASSWORD=*** img" },
		    { "env|AWS_REGION=eu-west-1", "env AWS_REGION=eu-west-1" }, );
}

TEST(short_options_of_known_programs_are_masked)
{
	CHECK_LINES({ "mysql|-uroot|-phunter|-h|db", "mysql -uroot -p*** -h db" },
		    { "/usr/bin/mysqldump|-p12345|shop", "/usr/bin/mysqldump -p*** shop" },
		    { "sshpass|-p|x y|ssh|-p|22|host", "sshpass -p *** ssh -p *** host" },
		    { "redis-cli|-a|x|ping", "redis-cli -a *** ping" },
		    { "ldapsearch|-w|x|-b|dc=a", "ldapsearch -w *** -b dc=a" },
		    { "curl|-u|me:pw|https://h/", "curl -u me:*** https://h/" },
		    { "curl|--user|me:pw", "curl --user me:***" },
		    { "tool|-pS3cret", "tool -p***" }, );
}

TEST(passwords_in_addresses_are_masked)
{
	CHECK_LINES(
		{ "app|postgres://me:pw@db:5432/shop?ssl=1",
		  "app postgres://me:***@db:5432/shop?ssl=1" },
		{ "app|--url=amqp://me:p@w@h/", "app --url=amqp://me:***@h/" },
		{ "app|redis://:pw@h:6379/0", "app redis://:***@h:6379/0" },
		{ "app|postgres://me:p/w@h/db", "app postgres://me:***@h/db" },
		{ "app|me:pw@tcp(db:3306)/shop", "app me:***@tcp(db:3306)/shop" },
		{ "git|clone|https://abcdefghij0123456789@host/r.git",
		  "git clone https://***@host/r.git" },
		{ "curl|https://h/x?user=a&token=b&n=1", "curl https://h/x?user=a&token=***&n=1" },
		{ "app|jdbc:mysql://h/db?user=a&password=b",
		  "app jdbc:mysql://h/db?user=a&password=***" },
		{ "app|Server=h;Password=a,b;Timeout=3", "app Server=h;Password=***;Timeout=3" },
		{ "app|-o|user=a,password=b,ro", "app -o user=a,password=***,ro" }, );
}

TEST(headers_and_json_are_masked)
{
	CHECK_LINES({ "curl|-H|Authorization: Bearer abc.def|http://h",
		      "curl -H Authorization: *** http://h" },
		    { "curl|-H|X-Api-Key: abc", "curl -H X-Api-Key: ***" },
		    { "curl|-H|X-Api-Key:abc", "curl -H X-Api-Key:***" },
		    { "curl|-H|Cookie: a=b; c=d", "curl -H Cookie: ***" },
		    { "curl|-d|{\"user\":\"a\",\"password\":\"b\"}",
		      "curl -d {\"user\":\"a\",\"password\":\"***\"}" },
		    { "curl|-d|{\"password\": \"b c\", \"n\": 1}",
		      "curl -d {\"password\": \"***\", \"n\": 1}" },
		    { "curl|-d|user=a&password=b", "curl -d user=a&password=***" }, );
}

TEST(scripts_of_a_shell_are_masked)
{
	CHECK_LINES({ "sh|-c|mysql -psecret -h db && echo done",
		      "sh -c mysql -p*** -h db && echo done" },
		    { "sh|-c|app --password 'a b' --port 80",
		      "sh -c app --password '***' --port 80" },
		    { "sh|-c|app --password='a b' x", "sh -c app --password='***' x" },
		    { "sh|-c|curl -H \"Authorization: Bearer abc\" http://h/x",
		      "sh -c curl -H \"Authorization: ***\" http://h/x" },
		    { "sh|-c|export TOKEN=abc; ./run --token|arg",
		      "sh -c export TOKEN=*** ./run --token arg" }, );
}

TEST(known_token_prefixes_are_masked)
{
	CHECK_LINES({ "app|ghp_0123456789abcdefghij", "app ***" },
		    { "app|--id=AKIA0123456789ABCDEF", "app --id=***" },
		    { "app|eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig", "app ***" },
		    { "app|eyJ", "app eyJ" }, );
}

/* Values that identify a process, or that are related to a secret but harmless. */
TEST(paths_ports_and_names_are_kept)
{
	static const char *const kept[] = {
		"nginx: worker process",
		"python3 /opt/token-service/reset_password.py --port=8080 -p 8080",
		"ssh -p22 -i /etc/ssh/id_rsa git@host:repo.git",
		"docker run -p8080:80/tcp -v secret:/run/secret nginx:1.25@sha256:0123",
		"docker run -p 80:80 --user 1000:1000 registry:5000/team/img:tag",
		"gcc -pthread -print-search-dirs -O2",
		"app --password-file=/run/pw --token-file /run/t --tls-key=/etc/k.pem",
		"app --private-key=/etc/ssl/key.pem --key ./key.pem --secret=~/s",
		"app --max-tokens=4096 --tokenizer=bpe --keyspace=shop --sort-key=name",
		"app --password-stdin --no-password --ask-password",
		"app --secret-name=shop --token-ttl=3600 --public-key=abc --key-type rsa",
		"app --password --verbose",
		"x264 --pass=2 --pass 1 in.y4m",
		"node --inspect=127.0.0.1:9229 /srv/app.js",
		"app http://host:8080/@scope/pkg https://host/path?page=2",
		"app ssh://git@host/repo me@example.org",
		"kubelet --token-auth-file=/x --authorization-mode=Webhook",
		"postgres: shop shop 10.0.0.7(41234) idle in transaction",
		"app -pidfile /run/app.pid -port 80 -project shop",
		"vault-secrets:8200 token-service:8080",
		"don't stop",
	};

	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		_cleanup_(freep) char *words = must_strdup(kept[i]);
		size_t len = strlen(words) + 1;

		for (size_t k = 0; i > 0 && k < len;
		     k++) /* the first argument contains the blanks itself */
			if (words[k] == ' ')
				words[k] = '\0';

		_cleanup_(freep) char *got = arguments_mask(words, len);

		CHECK_STR(got, kept[i]);
	}
}

TEST(only_the_program_is_kept_on_request)
{
	_cleanup_(freep) char *plain = arguments_program("/bin/a b\0--x=y", 14);
	_cleanup_(freep) char *title = arguments_program("postgres: me shop", 18);
	_cleanup_(freep) char *none = arguments_program("", 0);

	CHECK_STR(plain, "/bin/a");
	CHECK_STR(title, "postgres:");
	CHECK_STR(none, "");
}

/* Random bytes; each can become a mask, which is the largest output. */
TEST(any_bytes_are_accepted)
{
	unsigned int seed = 1;

	for (int round = 0; round < 20000; round++) {
		char words[64];
		size_t len = round % sizeof(words);
		static const char some[] = "-p=: \"'\0@/&;,?{key=apass:token";

		for (size_t i = 0; i < len; i++) {
			seed = seed * 1103515245 + 12345;
			words[i] = some[(seed >> 16) % sizeof(some)];
		}

		_cleanup_(freep) char *got = arguments_mask(words, len);

		CHECK(strlen(got) <= 3 * len);
	}
}
