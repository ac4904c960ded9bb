/* SPDX-License-Identifier: Apache-2.0 */
/* DNS through the product's eyes, for tests that are written in Python.
 *
 *     dns_dump answers          stdin: "NAME TYPE ID LENGTH\n" and so many bytes, again and again;
 *                               a line of JSON for each
 *     dns_dump questions        the same with "LENGTH\n"; the message that is answered is in it, as
 * hex dns_dump ask CONF HOSTS NAME… resolves all names at once with these two files, and a second
 * time one second after the last answer when AGAIN is set; a line each, and at the end what is left
 * open */
#include "base/auto.h"
#include "base/fd.h"
#include "gate/dns/resolver.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static void print_answer(const struct dns_answer *a) {
	char text[IP_TEXT];
	printf("{\"code\": %d, \"ttl\": %u, \"chain\": [", a->code, a->ttl);
	for (size_t i = 0; i < a->nchain; i++) {
		printf("%s\"%s\"", i == 0 ? "" : ", ", a->chain[i]);
	}
	printf("], \"ips\": [");
	for (size_t i = 0; i < a->nips; i++) {
		(void)ip_text(&a->ips[i], text);
		printf("%s\"%s\"", i == 0 ? "" : ", ", text);
	}
	printf("]}");
}

/* In memory of its own size, so that a read behind the end is seen. */
static uint8_t *read_bytes(size_t len) {
	uint8_t *data = malloc(len + (len == 0));
	if (data == NULL || fread(data, 1, len, stdin) != len) {
		exit(2);
	}
	return data;
}

static int answers(void) {
	char name[300];
	int type = 0;
	unsigned id = 0;
	size_t len = 0;
	while (scanf("%299s %d %u %zu", name, &type, &id, &len) == 4 && getchar() == '\n') {
		auto_free uint8_t *data = read_bytes(len);
		struct dns_request asked = {.name = name, .type = type, .id = (uint16_t)id};
		struct dns_answer a = {0};
		bool cut = false;
		if (!dns_read_answer(data, len, &asked, &a, &cut)) {
			printf("null\n");
			continue;
		}
		printf("{\"cut\": %s, \"answer\": ", cut ? "true" : "false");
		print_answer(&a);
		printf("}\n");
	}
	return 0;
}

static void print_question(const struct dns_question *q, int code) {
	struct dns_answer a = {.code = code < 0 ? 0 : code};
	uint8_t out[DNS_UDP_MAX];
	size_t len = code == DNS_NO_ANSWER ? 0 : dns_write_answer(q, &a, out, q->size);
	printf("{\"code\": %d, \"id\": %d, \"type\": %d, \"edns\": %d, \"size\": %d, \"name\": "
	       "\"%s\", "
	       "\"out\": \"",
	       code, q->id, q->type, q->edns, q->size,
	       q->host.kind == HOST_NAME ? q->host.name : "");
	for (size_t i = 0; i < len; i++) {
		printf("%02x", out[i]);
	}
	printf("\"}\n");
}

static int questions(void) {
	size_t len = 0;
	while (scanf("%zu", &len) == 1 && getchar() == '\n') {
		auto_free uint8_t *data = read_bytes(len);
		struct dns_question q;
		int code = DNS_NOERROR;
		(void)dns_read_question(data, len, &q, &code);
		print_question(&q, code);
	}
	return 0;
}

/* ---- asking ---- */

#define NAMES_MAX 2048

static struct asker {
	struct resolver_wait wait;
	const char *name;
	int calls;
} askers[NAMES_MAX];

static struct {
	struct loop loop;
	struct loop_alarm again;
	struct resolver *resolver;
	size_t count, open;
	bool twice;
	int64_t begin;
} world;

static void told(struct resolver_wait *w, const struct resolved *found) {
	struct asker *a = (struct asker *)(void *)w;
	printf("{\"name\": \"%s\", \"ms\": %lld, \"calls\": %d, \"code\": %d, \"v4\": ", a->name,
	       (long long)(world.loop.now - world.begin), ++a->calls, found->code);
	print_answer(&found->v4);
	printf(", \"v6\": ");
	print_answer(&found->v6);
	printf("}\n");
	if (--world.open == 0) {
		if (world.twice) {
			world.twice = false;
			(void)loop_alarm_set(&world.loop, &world.again, 1000);
		} else {
			world.loop.over = true;
		}
	}
}

static void ask_all(struct loop_alarm *a) {
	(void)a;
	world.open = world.count;
	world.begin = world.loop.now;
	for (size_t i = 0; i < world.count; i++) {
		askers[i].calls = 0;
		askers[i].wait.found = told;
		resolver_lookup(world.resolver, askers[i].name, &askers[i].wait);
	}
}

static size_t open_descriptors(void) {
	size_t n = 0;
	DIR *dir = opendir("/proc/self/fd");
	while (dir != NULL && readdir(dir) != NULL) {
		n++;
	}
	if (dir != NULL) {
		(void)closedir(dir);
	}
	return n;
}

static int ask(int argc, char **argv) {
	struct buf conf, hosts;
	buf_init(&conf);
	buf_init(&hosts);
	void *place = mmap(NULL, resolver_size(), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc < 3 || argc - 2 > NAMES_MAX || place == MAP_FAILED ||
	    loop_init(&world.loop) != 0 || fd_read_file(argv[0], 1 << 24, &conf) != 0 ||
	    fd_read_file(argv[1], 1 << 24, &hosts) != 0) {
		return 2;
	}
	world.resolver = place;
	world.count = (size_t)argc - 2;
	world.twice = getenv("AGAIN") != NULL;
	world.again.ring = ask_all;
	resolver_init(world.resolver, &world.loop, conf.data, hosts.data);
	size_t before = open_descriptors();
	for (size_t i = 0; i < world.count; i++) {
		askers[i].name = argv[i + 2];
	}
	ask_all(NULL);
	loop_run(&world.loop);
	printf("{\"leaked\": %d, \"alarms\": %zu}\n", (int)open_descriptors() - (int)before,
	       world.loop.nalarms);
	buf_done(&conf);
	buf_done(&hosts);
	return 0;
}

int main(int argc, char **argv) {
	if (argc == 2 && strcmp(argv[1], "answers") == 0) {
		return answers();
	}
	if (argc == 2 && strcmp(argv[1], "questions") == 0) {
		return questions();
	}
	return argc > 2 && strcmp(argv[1], "ask") == 0 ? ask(argc - 2, argv + 2) : 2;
}
