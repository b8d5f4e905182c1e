// SPDX-License-Identifier: Apache-2.0
/* Pages behind a read-write lock: reports read them for long, edits change one. */
#include "http.h"

static pthread_rwlock_t pages_lock = PTHREAD_RWLOCK_INITIALIZER;
static long revision;

static void report(void)
{
	pthread_rwlock_rdlock(&pages_lock);
	sleep_ms(40); /* each page is sent to a printer */
	pthread_rwlock_unlock(&pages_lock);
}

static void edit(void)
{
	pthread_rwlock_wrlock(&pages_lock);
	spin_us(200);
	revision++;
	pthread_rwlock_unlock(&pages_lock);
}

static void handle(int fd, const char *path)
{
	if (strcmp(path, "/report") == 0)
		report();
	else
		edit();
	http_reply(fd, "ok\n");
}

int main(int argc, char **argv)
{
	http_serve(atoi(argv[1]), handle);
}
