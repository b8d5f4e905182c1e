/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/endpoint_url.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static void curl_freep(char **p)
{
	curl_free(*p);
}

static bool get_part(CURLU *handle, CURLUPart part, unsigned flags, char **ret)
{
	return curl_url_get(handle, part, ret, flags) == CURLUE_OK;
}

static bool read_parts(struct endpoint_url *url)
{
	_cleanup_(curl_freep) char *scheme = NULL, *host = NULL, *port = NULL, *path = NULL;
	CURLU *handle = url->handle;

	if (!get_part(handle, CURLUPART_SCHEME, 0, &scheme) ||
	    !get_part(handle, CURLUPART_HOST, 0, &host) ||
	    !get_part(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT, &port) ||
	    !get_part(handle, CURLUPART_PATH, 0, &path))
		return false;
	url->is_tls = strcmp(scheme, "https") == 0;
	if (!url->is_tls && strcmp(scheme, "http") != 0)
		return false;

	size_t len = strlen(host);
	bool is_v6 = host[0] == '[' && len > 2;

	url->host = must_printf("%.*s", (int)(is_v6 ? len - 2 : len), host + is_v6);
	url->port = strtoul(port, NULL, 10);
	url->has_path = strcmp(path, "/") != 0;
	return url->port != 0;
}

int endpoint_url_parse(const char *url, const char *name, struct endpoint_url *ret, struct err *err)
{
	struct endpoint_url parsed = { .handle = curl_url() };
	bool is_ok = parsed.handle && strncasecmp(url, "http", 4) == 0 && strstr(url, "://") &&
		     curl_url_set(parsed.handle, CURLUPART_URL, url, 0) == CURLUE_OK &&
		     read_parts(&parsed);

	if (is_ok) {
		*ret = parsed;
		return 0;
	}
	endpoint_url_done(&parsed);
	if (strchr(url, '@'))
		return err_set(err, -EINVAL, "%s is not a URL such as http://HOST:4318", name);
	return err_set(err, -EINVAL, "%s is '%s', not a URL such as http://HOST:4318", name, url);
}

void endpoint_url_done(struct endpoint_url *url)
{
	curl_url_cleanup(url->handle);
	free(url->host);
	*url = (struct endpoint_url){ 0 };
}

/* An address of either family; IPv4 is mapped into IPv6, so that both compare. */
static bool parse_address(const char *host, struct in6_addr *ret)
{
	_cleanup_(freep) char *mapped = must_printf("::ffff:%s", host);

	return inet_pton(AF_INET6, host, ret) == 1 || inet_pton(AF_INET6, mapped, ret) == 1;
}

static bool is_local_name(const char *host)
{
	size_t len = strlen(host), tail = strlen(".localhost");

	return strcasecmp(host, "localhost") == 0 ||
	       (len > tail && strcasecmp(host + len - tail, ".localhost") == 0);
}

static bool is_any(const struct in6_addr *a)
{
	return IN6_IS_ADDR_UNSPECIFIED(a) || (IN6_IS_ADDR_V4MAPPED(a) && a->s6_addr32[3] == 0);
}

static bool is_loopback(const struct in6_addr *a)
{
	return IN6_IS_ADDR_LOOPBACK(a) || (IN6_IS_ADDR_V4MAPPED(a) && a->s6_addr[12] == 127);
}

bool endpoint_url_is_loopback(const struct endpoint_url *url)
{
	struct in6_addr a;

	return is_local_name(url->host) || (parse_address(url->host, &a) && is_loopback(&a));
}

static bool interface_has(const struct ifaddrs *i, const struct in6_addr *address)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr own;
	const void *raw;

	if (!i->ifa_addr)
		return false;
	if (i->ifa_addr->sa_family == AF_INET)
		raw = &((const struct sockaddr_in *)i->ifa_addr)->sin_addr;
	else if (i->ifa_addr->sa_family == AF_INET6)
		raw = &((const struct sockaddr_in6 *)i->ifa_addr)->sin6_addr;
	else
		return false;
	return inet_ntop(i->ifa_addr->sa_family, raw, text, sizeof(text)) &&
	       parse_address(text, &own) && memcmp(&own, address, sizeof(own)) == 0;
}

static bool is_own_address(const struct in6_addr *address)
{
	struct ifaddrs *all = NULL;
	bool found = false;

	if (getifaddrs(&all) != 0)
		return false;
	for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next)
		found = interface_has(i, address);
	freeifaddrs(all);
	return found;
}

/* Whether the host is this one, for a socket that listens on all addresses. */
static bool is_this_host(const char *host)
{
	char own[256] = "";
	struct in6_addr a;

	if (parse_address(host, &a))
		return is_any(&a) || is_loopback(&a) || is_own_address(&a);
	gethostname(own, sizeof(own) - 1);
	return is_local_name(host) || strcasecmp(host, own) == 0;
}

/*
 * Names other than localhost and that of the host are not resolved: this could block, and the
 * answer can change.
 */
bool endpoint_url_reaches(const struct endpoint_url *url, const struct listen_address *listen)
{
	struct in6_addr ours, theirs;

	if (url->port != listen->port || !parse_address(listen->host, &ours))
		return false;
	if (is_any(&ours))
		return is_this_host(url->host);
	if (!parse_address(url->host, &theirs))
		return is_local_name(url->host) && is_loopback(&ours);
	/* a connection to 0.0.0.0 goes to 127.0.0.1 */
	return memcmp(&ours, &theirs, sizeof(ours)) == 0 || (is_any(&theirs) && is_loopback(&ours));
}

void endpoint_url_set_path(struct endpoint_url *url, const char *path, bool append)
{
	_cleanup_(curl_freep) char *old = NULL;
	_cleanup_(freep) char *whole = NULL;

	get_part(url->handle, CURLUPART_PATH, 0, &old);

	size_t len = append && old ? strlen(old) : 0;

	while (len && old[len - 1] == '/')
		len--;
	whole = must_printf("%.*s%s", (int)len, len ? old : "", path);
	if (curl_url_set(url->handle, CURLUPART_PATH, whole, 0) != CURLUE_OK)
		abort(); /* out of memory: both parts are valid */
}

char *endpoint_url_text(const struct endpoint_url *url)
{
	_cleanup_(curl_freep) char *text = NULL;

	if (!get_part(url->handle, CURLUPART_URL, 0, &text))
		abort(); /* out of memory */
	return must_strdup(text);
}

char *endpoint_url_name(const struct endpoint_url *url)
{
	bool is_v6 = strchr(url->host, ':');

	return must_printf("%s://%s%s%s:%u", url->is_tls ? "https" : "http", is_v6 ? "[" : "",
			   url->host, is_v6 ? "]" : "", url->port);
}
