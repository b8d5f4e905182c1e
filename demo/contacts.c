/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contacts - the address book.
 *
 *   get NAME         -> ok NUMBER, or none
 *   import NAME N    -> ok: N contacts of NAME are on the disk
 *
 * A contact is durable once its line in contacts.wal is flushed to disk.  The
 * table in memory has a lock, which readers hold for a microsecond.  With the
 * fault `flush`, an import holds that lock while it waits for the disk, so that
 * every reader waits for the disk as well.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "request.h"

#define CONTACTS 1024
#define IMPORT_MAX 192
#define CARD_SIZE 16384 /* bytes of a contact in the file: name, number, small picture */

struct contact {
	char name[32];
	unsigned number;
};

struct book {
	pthread_mutex_t lock; /* of the table */
	struct contact table[CONTACTS];
	unsigned saved; /* contacts saved so far; new ones overwrite the oldest */

	pthread_mutex_t wal_lock; /* of the file */
	int wal;
	bool lock_across_flush; /* fault `flush` */
};

/* After this, the contact survives a power failure. */
static void flush_to_disk(struct book *book, const struct contact *contact)
{
	char card[CARD_SIZE];

	memset(card, '.', sizeof(card));
	snprintf(card, sizeof(card), "%s %u\n", contact->name, contact->number);
	if (write(book->wal, card, sizeof(card)) != sizeof(card) || fsync(book->wal))
		err(EXIT_FAILURE, "cannot write contacts.wal");
}

static void insert(struct book *book, const struct contact *contact)
{
	book->table[book->saved++ % CONTACTS] = *contact;
}

/* The right way: readers never wait for the disk. */
static void save_contact(struct book *book, const struct contact *contact)
{
	pthread_mutex_lock(&book->wal_lock);
	flush_to_disk(book, contact);
	pthread_mutex_unlock(&book->wal_lock);

	pthread_mutex_lock(&book->lock);
	insert(book, contact);
	pthread_mutex_unlock(&book->lock);
}

/* The fault: the table is locked from the first flush to the last. */
static void save_contacts_locked(struct book *book, const struct contact *contacts, unsigned count)
{
	pthread_mutex_lock(&book->lock);
	for (unsigned i = 0; i < count; i++) {
		flush_to_disk(book, &contacts[i]);
		insert(book, &contacts[i]);
	}
	pthread_mutex_unlock(&book->lock);
}

static void import(struct book *book, const char *name, unsigned count)
{
	struct contact contacts[IMPORT_MAX] = { 0 };

	if (count > IMPORT_MAX)
		count = IMPORT_MAX;
	for (unsigned i = 0; i < count; i++) {
		snprintf(contacts[i].name, sizeof(contacts[i].name), "%s", name);
		contacts[i].number = i;
	}
	if (book->lock_across_flush)
		save_contacts_locked(book, contacts, count);
	else
		for (unsigned i = 0; i < count; i++)
			save_contact(book, &contacts[i]);
}

static const struct contact *find(const struct book *book, const char *name)
{
	for (unsigned i = 0; i < CONTACTS; i++)
		if (!strcmp(book->table[i].name, name))
			return &book->table[i];
	return NULL;
}

static void reply_import(struct peer *peer, struct book *book, const char *name, unsigned count)
{
	struct request request;

	REQUEST_BEGIN(&request, peer, "import");
	import(book, name, count);
	peer_write(peer, "ok\n");
	request_end(&request);
}

static void reply_get(struct peer *peer, struct book *book, const char *name)
{
	const struct contact *found;
	struct contact copy;
	struct request request;

	REQUEST_BEGIN(&request, peer, "get");
	pthread_mutex_lock(&book->lock);
	found = find(book, name);
	if (found)
		copy = *found;
	pthread_mutex_unlock(&book->lock);
	if (found)
		peer_write(peer, "ok %u\n", copy.number);
	else
		peer_write(peer, "none\n");
	request_end(&request);
}

static void reply(struct peer *peer, void *service)
{
	char name[32];
	unsigned count;

	if (sscanf(peer->line, "import %31s %u", name, &count) == 2)
		reply_import(peer, service, name, count);
	else if (sscanf(peer->line, "get %31s", name) == 1)
		reply_get(peer, service, name);
	else
		peer_write(peer, "bad request\n");
}

int main(int argc, char **argv)
{
	static struct book book = { .lock = PTHREAD_MUTEX_INITIALIZER,
				    .wal_lock = PTHREAD_MUTEX_INITIALIZER };

	if (argc < 2)
		errx(2, "usage: contacts PORT_FILE [flush]");
	service_init("contacts");
	book.lock_across_flush = argc > 2 && !strcmp(argv[2], "flush");
	book.wal = open("contacts.wal", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (book.wal < 0)
		err(EXIT_FAILURE, "cannot open contacts.wal");
	serve(listen_on_free_port(argv[1]), "contacts", reply, &book);
}
