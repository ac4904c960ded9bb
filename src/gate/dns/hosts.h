/* SPDX-License-Identifier: Apache-2.0 */
/* The host's /etc/hosts as a hash table. */
#ifndef CORRAL_GATE_DNS_HOSTS_H
#define CORRAL_GATE_DNS_HOSTS_H

#include "net/dns.h"

/* Files that block advertisers have tens of thousands of lines; unused pages are never touched.
 * Names beyond either bound are left to the name servers. */
#define HOSTS_NAMES 65536
#define HOSTS_TEXT ((size_t)2 * 1024 * 1024)
#define HOSTS_BUCKETS 4096

#define HOSTS_TTL 60 /* seconds, in answers; the file changes rarely */

struct hosts_entry {
	struct ip ip;
	uint32_t name; /* offset in text */
	uint32_t next; /* 1 + index of the next in this bucket; 0: none */
};

struct hosts {
	size_t count, used;
	uint32_t first[HOSTS_BUCKETS], last[HOSTS_BUCKETS]; /* 1 + index */
	struct hosts_entry entries[HOSTS_NAMES];
	char text[HOSTS_TEXT];
};

/* Into zeroed memory.  Skips malformed lines (an address with a zone, an invalid name), as libc
 * does. */
void hosts_read(struct hosts *h, const char *file);

/* Empties the table for another hosts_read(). */
void hosts_forget(struct hosts *h);

/* All addresses of a name, in the order of the file; 127.0.0.1 and ::1 for "localhost" and
 * "*.localhost" without a line.  False: the file does not have this name. */
bool hosts_find(const struct hosts *h, const char *name, struct dns_answer *ret_v4,
		struct dns_answer *ret_v6);

/* The next name of this address after *at, which begins with 0; NULL at the end. */
const char *hosts_name(const struct hosts *h, const struct ip *ip, size_t *at);

#endif
