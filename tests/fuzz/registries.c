/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of package managers and the addresses in them.
 *
 * The first byte chooses the format.  Each word that is found lies in the text or is made
 * of it; an address has a host by the one grammar, which reads back as itself, and a port. */
#include "plan/net/url_host.h"
#include "plan/net/registry_files.h"

#include "base/arena.h"
#include "base/auto.h"
#include "fuzz.h"

static void check_address(const struct url_host *a) {
	struct hostname again;
	char text[IP_TEXT];

	if (a->kind != URL_HOST_HOST) {
		HOLDS(a->kind == URL_HOST_NONE || a->host.why != NULL);
		return;
	}
	HOLDS(a->port != 0);
	if (a->host.kind == HOST_NAME) {
		HOLDS(hostname_parse(a->host.name, strlen(a->host.name), &again) == HOST_NAME);
		HOLDS(strcmp(again.name, a->host.name) == 0);
	} else {
		size_t len = ip_text(&a->host.ip, text);
		HOLDS(hostname_parse(text, len, &again) == HOST_IP);
	}
}

static void found(void *arg, const char *word, size_t len) {
	struct url_host a;
	size_t *left = arg;

	HOLDS(len > 0 && len <= *left + sizeof "https://");
	(void)url_host_of_url(word, len, &a);
	check_address(&a);
	(void)url_host_of_remote(word, len, &a);
	check_address(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	auto_free char *text = input_rest(&in);
	struct arena a;
	size_t len = strlen(text);

	if (len == 0) {
		return 0;
	}
	arena_init(&a);
	struct registry_reader r = {.a = &a, .found = found, .arg = &len};
	registry_read(&r, (enum registry_format)((unsigned char)text[0] % REGISTRY_FORMAT_COUNT),
		      text + 1);
	struct url_host address;
	(void)url_host_of_remote(text + 1, len - 1, &address);
	check_address(&address);
	arena_done(&a);
	return 0;
}
