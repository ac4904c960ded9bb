/* SPDX-License-Identifier: Apache-2.0 */
/* The list of pinned project files, damaged or written by somebody else.
 *
 * An input is the list.  A file is trusted when one whole line is its hash, a
 * space and its path, and never otherwise; pinning adds that line, keeps the
 * lines of other files and drops the old ones of this. */
#include "policy/trust.c"

#include "fuzz.h"

#include <sys/mman.h>

static const char path[] = "/ws/" PROJECT_FILE;
static const char hash[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/* How many lines of the text are exactly this one. */
static size_t lines_like(const char *text, size_t len, const char *line) {
	size_t n = 0;
	for (const char *at = text, *end = text + len; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop == NULL ? end : stop;
		n += (size_t)(stop - at) == strlen(line) &&
		     memcmp(at, line, (size_t)(stop - at)) == 0;
		at = stop + 1;
	}
	return n;
}

static bool looked_up(const void *text, size_t len) {
	struct err e = {0};
	bool trusted = false;
	char name[64];
	auto_fd fd = memfd_create("trusted", MFD_CLOEXEC);
	HOLDS(fd >= 0 && fchmod(fd, 0600) == 0 && fd_write_all(fd, text, len) == 0);
	(void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	HOLDS(trust_lookup(name, path, hash, &trusted, &e) == 0);
	return trusted;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	char line[sizeof hash + sizeof path];
	struct err e = {0};
	auto_buf old = {0}, list = {0};

	(void)snprintf(line, sizeof line, "%s %s", hash, path);
	buf_add(&old, data, size);
	HOLDS(looked_up(data, size) == (lines_like((const char *)data, size, line) > 0));
	HOLDS(list_with(&old, path, hash, &list, &e) == 0);
	HOLDS(lines_like(list.data, list.len, line) == 1 && looked_up(list.data, list.len));
	/* Another hash of the same path is gone; another path stays as often as it was. */
	line[0] = 'f';
	HOLDS(lines_like(list.data, list.len, line) == 0);
	line[sizeof hash + 1] = 'W';
	HOLDS(lines_like(list.data, list.len, line) == lines_like((const char *)data, size, line));
	return 0;
}
