/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of the host's /etc/hosts, and look-up by name and by address.
 *
 * Should:   return every address of a name, of both families.
 * Must not: allocate; trust the length of a line or the number of lines.
 * Fails:    closed: a name that is not in the table goes to the name servers, and their answer is
 *           judged. */
#include "gate/dns/hosts.h"

#include "base/hash.h"
#include "gate/dns/lines.h"

#include <string.h>

static uint32_t bucket_of(const char *name) {
	return hash_fnv32(HASH_FNV32, name, strlen(name)) % HOSTS_BUCKETS;
}

static void add(struct hosts *h, const struct ip *ip, const char *name) {
	size_t len = strlen(name) + 1;
	if (h->count == HOSTS_NAMES || len > HOSTS_TEXT - h->used) {
		return;
	}
	struct hosts_entry *entry = &h->entries[h->count];
	uint32_t bucket = bucket_of(name), place = (uint32_t)++h->count;
	*entry = (struct hosts_entry){.ip = *ip, .name = (uint32_t)h->used};
	memcpy(h->text + h->used, name, len);
	h->used += len;
	if (h->first[bucket] == 0) {
		h->first[bucket] = place;
	} else {
		h->entries[h->last[bucket] - 1].next = place;
	}
	h->last[bucket] = place;
}

static void read_line(struct hosts *h, struct line line) {
	struct word word;
	struct ip ip;
	struct hostname host;
	if (!line_word(&line, &word) || !ip_parse(word.at, word.len, &ip)) {
		return;
	}
	while (line_word(&line, &word)) {
		if (hostname_parse(word.at, word.len, &host) == HOST_NAME) {
			add(h, &ip, host.name);
		}
	}
}

void hosts_read(struct hosts *h, const char *file) {
	struct line line;
	while (lines_next(&file, "#", &line)) {
		read_line(h, line);
	}
}

/* Entries beyond count are never read. */
void hosts_forget(struct hosts *h) {
	h->count = h->used = 0;
	memset(h->first, 0, sizeof h->first);
	memset(h->last, 0, sizeof h->last);
}

static void add_address(const struct ip *ip, struct dns_answer *v4, struct dns_answer *v6) {
	struct dns_answer *a = ip_is4(ip) ? v4 : v6;
	for (size_t i = 0; i < a->nips; i++) {
		if (ip_same(&a->ips[i], ip)) {
			return;
		}
	}
	if (a->nips < DNS_ADDRESSES) {
		a->ips[a->nips++] = *ip;
	}
}

static bool is_localhost(const char *name) {
	static const char last[] = "localhost";
	size_t len = strlen(name), end = sizeof last - 1;
	return len >= end && strcmp(name + len - end, last) == 0 &&
	       (len == end || name[len - end - 1] == '.');
}

bool hosts_find(const struct hosts *h, const char *name, struct dns_answer *ret_v4,
		struct dns_answer *ret_v6) {
	const struct ip four = {{[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
	const struct ip six = {{[15] = 1}};
	memset(ret_v4, 0, sizeof *ret_v4);
	memset(ret_v6, 0, sizeof *ret_v6);
	ret_v4->ttl = ret_v6->ttl = HOSTS_TTL;
	for (uint32_t at = h->first[bucket_of(name)]; at != 0; at = h->entries[at - 1].next) {
		if (strcmp(h->text + h->entries[at - 1].name, name) == 0) {
			add_address(&h->entries[at - 1].ip, ret_v4, ret_v6);
		}
	}
	if (ret_v4->nips + ret_v6->nips == 0 && is_localhost(name)) {
		add_address(&four, ret_v4, ret_v6);
		add_address(&six, ret_v4, ret_v6);
	}
	return ret_v4->nips + ret_v6->nips > 0;
}

const char *hosts_name(const struct hosts *h, const struct ip *ip, size_t *at) {
	while (*at < h->count) {
		const struct hosts_entry *entry = &h->entries[(*at)++];
		if (ip_same(&entry->ip, ip)) {
			return h->text + entry->name;
		}
	}
	return NULL;
}
