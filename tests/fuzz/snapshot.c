/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of hosts.
 *
 * A file that is refused has a reason.  One that is accepted answers every question, or names the
 * path that it has no answer for; the same question has the same answer; and what is written of it
 * is read again, and is written the same way: nothing is replaced twice. */
#include "plan/snapshot.h"

#include "fuzz.h"

#include <limits.h>

#define ROUNDS 2

static void count(void *arg, const char *name) {
	size_t *n = arg;
	HOLDS(name[0] != '\0' && strchr(name, '/') == NULL);
	++*n;
}

static void ask(struct snapshot *s, const char *path) {
	const struct host_fs *fs = &s->host.fs;
	char real[PATH_MAX], again[PATH_MAX];
	size_t names = 0;
	struct buf text = {0};

	struct look seen = fs->look(fs->ctx, path);
	bool there = fs->resolve(fs->ctx, path, real, sizeof real);
	HOLDS(seen.kind == LOOK_LINK || seen.kind == LOOK_NOTHING || there);
	if (there) {
		HOLDS(real[0] == '/' && fs->look(fs->ctx, real).kind != LOOK_NOTHING);
		HOLDS(fs->look(fs->ctx, real).kind != LOOK_LINK);
		HOLDS(fs->resolve(fs->ctx, real, again, sizeof again) && strcmp(real, again) == 0);
	}
	HOLDS(fs->readlink(fs->ctx, path, real, sizeof real) ? seen.kind == LOOK_LINK : true);
	HOLDS(!fs->read(fs->ctx, path, 16, &text) || (seen.kind == LOOK_FILE && text.len <= 16));
	HOLDS(!fs->list(fs->ctx, path, count, &names) || there);
	(void)fs->folds(fs->ctx, path);
	buf_done(&text);
}

/* Every variable counts as read: the value is written. */
static void use_variables(struct snapshot *s) {
	size_t n = 0;
	while (s->host.environ[n] != NULL) {
		n++;
	}
	s->host.environ_used = arena_array(s->a, n + 1, 1);
	HOLDS(s->host.environ_used != NULL);
	memset(s->host.environ_used, VARIABLE_READ, n);
}

static void write_again(struct snapshot *s) {
	struct buf out[ROUNDS] = {{0}};
	for (int i = 0; i < ROUNDS; i++) {
		struct snapshot next;
		struct err e = {0};
		use_variables(s);
		snapshot_write(s, &out[i]);
		HOLDS(!buf_failed(&out[i]));
		HOLDS(snapshot_read(&next, s->a, "again", &out[i], &e) == 0);
		*s = next;
		s->host.fs.ctx = s;
	}
	HOLDS(out[0].len == out[1].len && memcmp(out[0].data, out[1].data, out[0].len) == 0);
	buf_done(&out[0]);
	buf_done(&out[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct buf text = {0};
	struct snapshot s;
	struct arena a;
	struct err e = {0};

	arena_init(&a);
	buf_add(&text, data, size < 65536 ? size : 65536);
	if (snapshot_read(&s, &a, "host.json", &text, &e) != 0) {
		HOLDS(e.kind == ERR_USAGE && e.what[0] != '\0');
	} else {
		for (size_t i = 0; i < s.nentries; i++) {
			ask(&s, s.entries[i].path);
		}
		ask(&s, "/some/other/path");
		HOLDS((snapshot_check(&s, &e) == 0) == (s.unknown[0] == '\0'));
		write_again(&s);
	}
	buf_done(&text);
	arena_done(&a);
	return 0;
}
