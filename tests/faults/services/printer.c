// SPDX-License-Identifier: Apache-2.0
/* printer PORT - threads read requests and pass them to one worker, through a list and condition
 * variables. */
#include "http.h"

struct job {
	struct job *next;
	int done;
	pthread_cond_t finished;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pending = PTHREAD_COND_INITIALIZER;
static struct job *first, **last = &first;

static struct job *take_job(void)
{
	struct job *job;

	while (!first)
		pthread_cond_wait(&pending, &lock);
	job = first;
	first = job->next;
	if (!first)
		last = &first;
	return job;
}

static void *work(void *arg)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		struct job *job = take_job();

		pthread_mutex_unlock(&lock);
		spin_us(15000);
		pthread_mutex_lock(&lock);
		job->done = 1;
		pthread_cond_signal(&job->finished);
	}
	return arg;
}

static void handle(int fd, const char *path)
{
	struct job job = { .finished = PTHREAD_COND_INITIALIZER };

	pthread_mutex_lock(&lock);
	*last = &job;
	last = &job.next;
	pthread_cond_signal(&pending);
	while (!job.done)
		pthread_cond_wait(&job.finished, &lock);
	pthread_mutex_unlock(&lock);
	http_reply(fd, "ok\n");
}

int main(int argc, char **argv)
{
	pthread_t thread;

	pthread_create(&thread, NULL, work, NULL);
	http_serve(atoi(argv[1]), handle);
}
