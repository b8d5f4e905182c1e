/* SPDX-License-Identifier: Apache-2.0 */
#include "record/listeners.h"

#include <string.h>
#include <sys/socket.h>

#include "test.h"

TEST(a_listener_is_read_with_its_address)
{
	struct record_socket_state s = { 0 };
	static const uint8_t local[] = { 127, 0, 0, 1 };

	CHECK(listeners_parse("   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 "
			      "00000000     0        0 4711 1 0000 100 0 0 10 0",
			      AF_INET, &s));
	CHECK_INT(s.address.local_port, 8080);
	CHECK_INT(s.object, 4711);
	CHECK(memcmp(s.address.local, local, sizeof(local)) == 0);
}

TEST(a_listener_of_ipv6_is_read_with_its_address)
{
	struct record_socket_state s = { 0 };

	CHECK(listeners_parse("   1: 00000000000000000000000001000000:0050 "
			      "00000000000000000000000000000000:0000 0A 00000000:00000000 "
			      "00:00000000 00000000     0        0 12 1 0000 100 0 0 10 0",
			      AF_INET6, &s));
	CHECK_INT(s.address.local_port, 80);
	CHECK_INT(s.address.local[15], 1);
}

TEST(other_sockets_and_damaged_lines_are_no_listeners)
{
	struct record_socket_state s = { 0 };

	CHECK(!listeners_parse("   0: 0100007F:1F90 0100007F:0050 01 00000000:00000000 00:00000000 "
			       "00000000     0        0 4711 1",
			       AF_INET, &s));
	CHECK(!listeners_parse("   0: 0100007F:1F90 00000000:0000 0A", AF_INET, &s));
	CHECK(!listeners_parse("   0: 01:1F90 00000000:0000 0A 00000000:00000000 00:00000000 "
			       "00000000     0        0 4711 1",
			       AF_INET, &s));
	CHECK(!listeners_parse("", AF_INET, &s));
}
