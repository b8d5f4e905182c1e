// SPDX-License-Identifier: Apache-2.0
/*
 * chain PORT JOURNAL - requests take the lock of a cache; a thread that refreshes it takes the lock
 * of the journal meanwhile, which a third thread flushes to disk.
 */
#include <fcntl.h>
#include "http.h"

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *journal;

static void *flush_journal(void *arg)
{
	static char data[48 << 20];
	int fd = open(journal, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	for (;;) {
		sleep_ms(250);
		pthread_mutex_lock(&journal_lock);
		if (pwrite(fd, data, sizeof(data), 0) < 0 || fsync(fd) < 0)
			http_die("journal");
		pthread_mutex_unlock(&journal_lock);
	}
	return arg;
}

static void *refresh_cache(void *arg)
{
	for (;;) {
		sleep_ms(20);
		pthread_mutex_lock(&cache_lock);
		pthread_mutex_lock(&journal_lock);
		spin_us(100);
		pthread_mutex_unlock(&journal_lock);
		pthread_mutex_unlock(&cache_lock);
	}
	return arg;
}

static void handle(int fd, const char *path)
{
	pthread_mutex_lock(&cache_lock);
	spin_us(100);
	pthread_mutex_unlock(&cache_lock);
	http_reply(fd, "ok\n");
}

int main(int argc, char **argv)
{
	pthread_t thread;

	journal = argv[2];
	pthread_create(&thread, NULL, flush_journal, NULL);
	pthread_create(&thread, NULL, refresh_cache, NULL);
	http_serve(atoi(argv[1]), handle);
}
