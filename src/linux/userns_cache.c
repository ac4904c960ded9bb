/* SPDX-License-Identifier: Apache-2.0 */
/* Caches in Corral's state that the set-up of namespaces fails on this host.
 *
 * Should:   key the entry by a hash of everything that may be the cause.
 * Must not: cache a success.
 * Fails:    open: without an entry the run tries namespaces first, and falls back. */
#include "backend/userns_cache.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/str.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_NAME "namespaces"
#define KEY_LEN 16

/* The character after the key's line: the host refuses this mechanism. */
#define NO_NAMESPACES 'n'
#define NO_PROC 'p'

/* The largest file is /proc/self/status. */
#define FACT_MAX ((size_t)8192)

/* Longer than any reason. */
#define TEXT_MAX ((size_t)1024)

/* One file a possible cause; a missing file is part of the key too. */
static const char *const causes[] = {
	"/proc/sys/kernel/random/boot_id",
	"/proc/sys/kernel/unprivileged_userns_clone",
	"/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
	"/proc/sys/user/max_user_namespaces",
	"/proc/self/attr/current",
};

/* Files that differ between containers. */
static const char *const surroundings[] = {
	"/proc/self/ns/user",
	"/proc/self/ns/mnt",
	"/proc/self/ns/pid",
};

/* Lines of /proc/self/status: privileges that a parent may have dropped. */
static const char *const lines[] = {"CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp"};

/* Adds one fact and a separator.  FNV is enough: only the user can write the file. */
static uint64_t mix(uint64_t hash, const char *data, size_t len) {
	return hash_fnv64(hash_fnv64(hash, data, len), "\xff", 1);
}

static uint64_t mix_file(uint64_t hash, const char *path) {
	struct buf text;
	buf_init(&text);
	bool read = fd_read_file(path, FACT_MAX, &text) == 0 && text.data != NULL;
	hash = mix(hash, read ? text.data : "", read ? text.len : 0);
	buf_done(&text);
	return hash;
}

static uint64_t mix_status(uint64_t hash) {
	struct buf text;
	buf_init(&text);
	const char *line =
		fd_read_file("/proc/self/status", FACT_MAX, &text) == 0 ? text.data : NULL;
	while (line != NULL && *line != '\0') {
		size_t len = strcspn(line, "\n");
		for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
			if (str_starts(line, lines[i])) {
				hash = mix(hash, line, len);
			}
		}
		line += len + (line[len] == '\n');
	}
	buf_done(&text);
	return hash;
}

static void make_key(const struct host *h, char key[KEY_LEN + 1]) {
	uint64_t hash = HASH_FNV64;
	hash = mix(hash, (const char *)&h->uid, sizeof h->uid);
	for (size_t i = 0; i < ARRAY_LEN(causes); i++) {
		hash = mix_file(hash, causes[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(surroundings); i++) {
		char name[64];
		ssize_t n = readlink(surroundings[i], name, sizeof name);
		hash = mix(hash, name, n < 0 ? 0 : (size_t)n);
	}
	(void)snprintf(key, KEY_LEN + 1, "%016llx", (unsigned long long)mix_status(hash));
}

static bool file_path(const struct host *h, const char *suffix, char out[PATH_MAX]) {
	if (h->state_dir == NULL) {
		return false;
	}
	int n = snprintf(out, PATH_MAX, "%s/" FILE_NAME "%s", h->state_dir, suffix);
	return n > 0 && n < PATH_MAX;
}

const char *userns_cache_find(struct arena *a, const struct host *h, bool *ret_proc) {
	char path[PATH_MAX];
	struct buf text;
	const char *why = NULL;

	buf_init(&text);
	if (file_path(h, "", path) && fd_read_file(path, TEXT_MAX, &text) == 0 &&
	    text.len > KEY_LEN + 2) {
		char key[KEY_LEN + 1];
		make_key(h, key);
		if (strncmp(text.data, key, KEY_LEN) == 0 && text.data[KEY_LEN] == '\n') {
			why = arena_strdup(a, text.data + KEY_LEN + 2);
			*ret_proc = text.data[KEY_LEN + 1] == NO_PROC;
		}
	}
	buf_done(&text);
	return why;
}

void userns_cache_keep(const struct host *h, bool proc, const char *why) {
	char path[PATH_MAX], draft[PATH_MAX], key[KEY_LEN + 2], own[24];
	(void)snprintf(own, sizeof own, ".%d", (int)gettid());
	if (!file_path(h, "", path) || !file_path(h, own, draft)) {
		return;
	}
	auto_fd fd = open(draft, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		return; /* no state directory yet, or not writable */
	}
	make_key(h, key);
	key[KEY_LEN] = '\n';
	key[KEY_LEN + 1] = proc ? NO_PROC : NO_NAMESPACES;
	bool kept = fd_write_all(fd, key, KEY_LEN + 2) == 0 &&
		    fd_write_all(fd, why, strnlen(why, TEXT_MAX - KEY_LEN - 3)) == 0 &&
		    rename(draft, path) == 0;
	if (!kept) {
		(void)unlink(draft); /* nothing is cached then */
	}
}

void userns_cache_drop(const struct host *h) {
	char path[PATH_MAX];
	if (file_path(h, "", path)) {
		(void)unlink(path); /* mostly it does not exist */
	}
}
