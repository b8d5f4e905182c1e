// SPDX-License-Identifier: Apache-2.0
/* A shop with a stock that a mutex protects; a thread refreshes it from a slow source. */
#include "http.h"

static pthread_mutex_t stock_lock = PTHREAD_MUTEX_INITIALIZER;
static long stock;

static void *refresh_stock(void *arg)
{
	for (;;) {
		sleep_ms(250);
		pthread_mutex_lock(&stock_lock);
		sleep_ms(60); /* the source */
		stock = 100;
		pthread_mutex_unlock(&stock_lock);
	}
	return arg;
}

static void handle(int fd, const char *path)
{
	pthread_mutex_lock(&stock_lock);
	spin_us(300);
	stock--;
	pthread_mutex_unlock(&stock_lock);
	http_reply(fd, "ok\n");
}

int main(int argc, char **argv)
{
	pthread_t thread;

	pthread_create(&thread, NULL, refresh_stock, NULL);
	http_serve(atoi(argv[1]), handle);
}
