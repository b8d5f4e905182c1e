/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena - create the memory that a family of processes shares with the recorder.
 *
 * The arena is large, but only touched pages use memory.  To keep that true in programs
 * that lock all of their memory (mlockall), rings that are not needed yet are mapped
 * without access.  If the kernel refuses a memory file, the arena is anonymous memory
 * shared by the family: names can still be switched, but there is no recording.
 *
 * The descriptor is open only while the arena is mapped and registered with a recorder.
 * Registering never waits: a recorder that is too busy finds the mapping later.
 */
#include "agent/internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/names.h"
#include "event/span_socket.h"

enum { RINGS_AT_FIRST = 16 };

struct span_arena *agent_arena;

static bool make_accessible(struct span_arena *arena, uint32_t rings)
{
	size_t size = offsetof(struct span_arena, rings) + rings * sizeof(arena->rings[0]);

	return mprotect(arena, size, PROT_READ | PROT_WRITE) == 0;
}

bool arena_grow(void)
{
	uint32_t rings = agent_process.rings ? 2 * agent_process.rings : RINGS_AT_FIRST;

	if (rings > SPAN_RINGS || !make_accessible(agent_arena, rings))
		return false;
	agent_process.rings = rings;
	return true;
}

static int create_file(const char *name, size_t size)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && ftruncate(fd, (off_t)size) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The listener gets access to our memory: trust only users that have access anyway. */
static bool is_trusted(int socket)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

static bool send_file(int socket, int fd)
{
	char byte = 0;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(int));
	return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

/* Register with the recorder at an address; false if there is none. */
static bool register_at(const struct sockaddr_un *address, socklen_t size, int fd)
{
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (s < 0)
		return false;

	bool is_registered = connect(s, (const struct sockaddr *)address, size) == 0 &&
			     is_trusted(s) && send_file(s, fd);
	close(s);
	return is_registered;
}

/* Register with all recorders of a user; usually not even their directory exists. */
static bool register_with_user(unsigned int user, int fd)
{
	char directory[64];
	bool is_registered = false;

	span_socket_directory(user, directory);
	if (access(directory, X_OK) < 0)
		return false;
	for (int i = 0; i < SPAN_SOCKETS; i++) {
		struct sockaddr_un address;
		socklen_t size = span_socket_path(directory, i, &address);

		is_registered |= register_at(&address, size, fd);
	}
	return is_registered;
}

/* Tries abstract names only if there is no other recorder.  Whether a recorder accepted it. */
static bool register_arena(int fd)
{
	unsigned int user = geteuid();
	bool is_registered = register_with_user(0, fd);

	if (user)
		is_registered |= register_with_user(user, fd);
	for (int i = 0; i < SPAN_SOCKETS && !is_registered; i++) {
		struct sockaddr_un address;
		socklen_t size = span_socket_name(i, &address);

		is_registered |= register_at(&address, size, fd);
	}
	return is_registered;
}

static void initialise(struct span_arena *arena)
{
	madvise(arena, sizeof(*arena), MADV_DONTDUMP);
	memcpy(arena->magic, SPAN_ARENA_MAGIC, sizeof(arena->magic));
	arena->version = SPAN_ARENA_VERSION;
	names_off_from_environment(arena);
	/* write events from the start, for the recorder that is about to attach */
	arena->heartbeat = clock_now();
	arena->recording = SPAN_REGISTERED;
}

static struct span_arena *map_arena(int fd)
{
	int flags = MAP_SHARED | MAP_NORESERVE | (fd < 0 ? MAP_ANONYMOUS : 0);
	struct span_arena *arena = mmap(NULL, sizeof(*arena), PROT_NONE, flags, fd, 0);

	if (arena == MAP_FAILED)
		return NULL;
	munlock(arena, sizeof(*arena)); /* undo a mlockall() of the host program */
	if (!make_accessible(arena, 0)) {
		munmap(arena, sizeof(*arena));
		return NULL;
	}
	initialise(arena);
	return arena;
}

void arena_create(void)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int fd = create_file(SPAN_ARENA_NAME, sizeof(struct span_arena));
	struct span_arena *none = NULL, *arena = map_arena(fd);

	/* another thread may have been faster */
	if (arena && !__atomic_compare_exchange_n(&agent_arena, &none, arena, false,
						  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		munmap(arena, sizeof(*arena));
	else if (arena && (fd < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0 || !register_arena(fd)))
		__atomic_and_fetch(&arena->recording, ~SPAN_REGISTERED, __ATOMIC_RELAXED);
	if (fd >= 0)
		close(fd);
}
