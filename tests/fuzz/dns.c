/* SPDX-License-Identifier: Apache-2.0 */
/* DNS messages of programs and servers, and the host's files about names.
 *
 * The first byte chooses: a question, an answer to our question for a.test (A or AAAA), or the
 * two files, with a NUL between them.  What is read stays within its bounds and is made of
 * names; what is written back is an answer, and says the same when it is read again. */
#include "net/dns.h"
#include "gate/dns/hosts.h"
#include "gate/dns/resolv_conf.h"

#include "base/auto.h"
#include "fuzz.h"

static bool is_name(const char *s) {
	size_t len = strlen(s), label = 0;
	for (size_t i = 0; i < len; i++) {
		bool letter = strchr("abcdefghijklmnopqrstuvwxyz0123456789-_", s[i]) != NULL;
		if (!letter && (s[i] != '.' || label == 0)) {
			return false;
		}
		label = letter ? label + 1 : 0;
		if (label > 63) {
			return false;
		}
	}
	return len > 0 && len <= HOSTNAME_MAX && label > 0;
}

static void check_answer(const struct dns_answer *a, int type) {
	HOLDS(a->nchain <= DNS_CHAIN && a->nips <= DNS_ADDRESSES);
	HOLDS(a->code >= 0 && a->code < 16);
	HOLDS(a->code == DNS_NOERROR || a->nips == 0);
	HOLDS(a->code == DNS_NOERROR || a->code == DNS_NXDOMAIN || a->nchain == 0);
	HOLDS(a->nchain + a->nips > 0 || a->ttl == 0);
	HOLDS(a->ttl <= INT32_MAX);
	for (size_t i = 0; i < a->nchain; i++) {
		HOLDS(is_name(a->chain[i]));
	}
	for (size_t i = 0; i < a->nips; i++) {
		HOLDS(ip_is4(&a->ips[i]) == (type == DNS_A));
	}
}

static void check_same(const struct dns_answer *a, const struct dns_answer *b) {
	HOLDS(a->code == b->code && a->ttl == b->ttl);
	HOLDS(a->nchain == b->nchain && a->nips == b->nips);
	for (size_t i = 0; i < a->nchain; i++) {
		HOLDS(strcmp(a->chain[i], b->chain[i]) == 0);
	}
	HOLDS(memcmp(a->ips, b->ips, a->nips * sizeof a->ips[0]) == 0);
}

/* Whom it is told hears what we know, or that it was cut. */
static void check_retold(const struct dns_question *q, const struct dns_answer *a, size_t cap) {
	uint8_t out[DNS_MAX];
	struct dns_request asked = {.name = q->host.name, .type = q->type, .id = q->id};
	struct dns_answer again;
	bool cut = false;
	size_t len = dns_write_answer(q, a, out, cap);
	HOLDS(len >= 12 + q->nraw && len <= cap);
	HOLDS(dns_read_answer(out, len, &asked, &again, &cut));
	HOLDS(!cut || cap < DNS_UDP_MAX * 4);
	if (!cut) {
		check_same(a, &again);
	}
}

static void fuzz_question(const uint8_t *data, size_t size) {
	struct dns_question q;
	int code = DNS_NOERROR;
	uint8_t out[DNS_UDP_MAX];
	bool good = dns_read_question(data, size, &q, &code);
	HOLDS(good || code != DNS_NOERROR);
	HOLDS(code != DNS_NO_ANSWER || size < 12 || (data[2] & 0x80) != 0);
	HOLDS(q.size >= 512 && q.size <= DNS_UDP_MAX && q.nraw <= sizeof q.raw);
	HOLDS(!good || (q.nraw > 4 && q.class_ == 1));
	HOLDS(q.host.kind != HOST_IP);
	HOLDS(q.host.kind != HOST_NAME || is_name(q.host.name));
	struct dns_answer a = {.code = good ? DNS_NXDOMAIN : code};
	if (code == DNS_NO_ANSWER) {
		return;
	}
	size_t len = dns_write_answer(&q, &a, out, q.size);
	HOLDS(len == 12 + q.nraw + (q.edns ? 11 : 0) && (out[2] & 0x80) != 0);
	if (good && q.host.kind == HOST_NAME && (q.type == DNS_A || q.type == DNS_AAAA)) {
		a = (struct dns_answer){.ttl = 7, .chain = {"b.test"}, .nchain = 1};
		check_retold(&q, &a, q.size);
	}
}

static void fuzz_answer(const uint8_t *data, size_t size, int type) {
	struct dns_request asked = {.name = "a.test", .type = type, .id = 0x6162};
	struct dns_answer a;
	struct dns_question q;
	bool cut = false;
	uint8_t query[512];
	int code = 0;
	if (!dns_read_answer(data, size, &asked, &a, &cut)) {
		return;
	}
	HOLDS(size >= 12 && data[0] == 0x61 && data[1] == 0x62);
	check_answer(&a, type);
	HOLDS(!cut || a.nchain + a.nips == 0);
	size_t len = dns_write_query(&asked, query, sizeof query);
	HOLDS(dns_read_question(query, len, &q, &code));
	if (a.code == DNS_NOERROR || a.code == DNS_NXDOMAIN) {
		check_retold(&q, &a, DNS_MAX);
		check_retold(&q, &a, 512);
	}
}

static void fuzz_files(struct input *in) {
	static struct hosts hosts;
	struct resolv_conf servers;
	struct dns_answer v4, v6;
	auto_free char *conf = input_until(in, '\0'), *file = input_rest(in);
	resolv_conf_read(&servers, conf == NULL ? "" : conf, 2000);
	HOLDS(servers.count >= 1 && servers.count <= RESOLV_CONF_MAX);
	HOLDS(servers.timeout_ms >= 1000 && servers.timeout_ms <= 30000);
	HOLDS(servers.attempts >= 1 && servers.attempts <= 5);
	hosts.count = hosts.used = 0;
	memset(hosts.first, 0, sizeof hosts.first);
	hosts_read(&hosts, file);
	HOLDS(hosts.count <= HOSTS_NAMES && hosts.used <= HOSTS_TEXT);
	for (size_t i = 0; i < hosts.count; i++) {
		const char *name = hosts.text + hosts.entries[i].name;
		HOLDS(is_name(name));
		HOLDS(hosts_find(&hosts, name, &v4, &v6) && v4.nips + v6.nips > 0);
		size_t at = i;
		HOLDS(hosts_name(&hosts, &hosts.entries[i].ip, &at) == name);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	switch (input_byte(&in) % 4) {
	case 0:
		fuzz_question(in.at, in.left);
		break;
	case 1:
		fuzz_answer(in.at, in.left, DNS_A);
		break;
	case 2:
		fuzz_answer(in.at, in.left, DNS_AAAA);
		break;
	default:
		fuzz_files(&in);
	}
	return 0;
}
