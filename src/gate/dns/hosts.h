/* The host's hosts file as a table. */
#ifndef CORRAL_GATE_DNS_HOSTS_H
#define CORRAL_GATE_DNS_HOSTS_H

#include "net/dns.h"

/* Files that block advertisers have tens of thousands of lines; memory that is not filled is
 * never touched.  What is beyond either bound is not known here, and asked of the servers. */
#define HOSTS_NAMES 65536
#define HOSTS_TEXT ((size_t)2 * 1024 * 1024)
#define HOSTS_BUCKETS 4096

#define HOSTS_TTL 60 /* seconds; the table changes rarely, an asker's patience may end */

struct hosts_entry {
	struct ip ip;
	uint32_t name; /* where it stands in text */
	uint32_t next; /* 1 + index of the next in this bucket; 0: none */
};

struct hosts {
	size_t count, used;
	uint32_t first[HOSTS_BUCKETS], last[HOSTS_BUCKETS]; /* 1 + index */
	struct hosts_entry entries[HOSTS_NAMES];
	char text[HOSTS_TEXT];
};

/* Into zeroed memory.  Lines that are none (an address with a zone, a name that is not one) are
 * passed over, as everybody does. */
void hosts_read(struct hosts *h, const char *file);

/* As new; read again, it may be another file. */
void hosts_forget(struct hosts *h);

/* All addresses of a name, in the order of the file; and of "localhost" and what is beneath it
 * when the file has no line for it.  False: it says nothing of this name. */
bool hosts_find(const struct hosts *h, const char *name, struct dns_answer *ret_v4,
		struct dns_answer *ret_v6);

/* The next name of this address after *at, which begins with 0; NULL at the end. */
const char *hosts_name(const struct hosts *h, const struct ip *ip, size_t *at);

#endif
