/* SPDX-License-Identifier: Apache-2.0 */
/* The vault's directory: opened, locked, read, replaced.
 *
 * Should:   replace the file atomically, and keep the previous one as secrets.old (V2).
 * Must not: take a missing file for an empty vault if secrets.old exists: no save leaves that.
 * Fails:    closed: a file that cannot be read is an error, never an empty vault (V1). */
#include "vault/vault.h"

#include "base/auto.h"
#include "base/dirs.h"
#include "base/path.h"
#include "vault/format.h"
#include "vault/key.h"
#include "vault/private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define WHERE "vault"

#define FILE_NAME "secrets"
#define OLD_NAME "secrets.old"
#define NEW_NAME "secrets.new"
#define LOCK_NAME "lock"

#define LOCK_WAIT_MS 60000
#define LOCK_PAUSE_MS 5

/* A rekey replaces vault and key one after the other: a reader between the two tries again. */
#define TRIES 10

struct name {
	char path[PATH_MAX];
};

static int name_of(const struct vault *v, const char *file, struct name *ret, struct err *e) {
	int n = snprintf(ret->path, sizeof ret->path, "%s/%s", v->place.dir, file);
	return n > 0 && (size_t)n < sizeof ret->path
		       ? 0
		       : err_set(e, ERR_SETUP, WHERE, "the path of the vault is too long");
}

/* ---- opening ---- */

static int make_dir(const struct vault *v, struct err *e) {
	char failed[PATH_MAX];
	return dirs_make(v->place.dir, failed) == 0
		       ? 0
		       : err_sys_at(e, WHERE, "cannot create the directory", failed);
}

/* The vault's directory and the one above it; 1: there is none. */
static int check_dirs(const struct vault *v, struct err *e) {
	char above[PATH_MAX];
	struct stat st;
	if (stat(v->place.dir, &st) != 0 && errno == ENOENT) {
		return 1;
	}
	if (path_parent(v->place.dir, above) && private_check_dir(above, e) != 0) {
		return -1;
	}
	return private_check_dir(v->place.dir, e);
}

/* A writer holds the lock for milliseconds, or as long as its user types a passphrase. */
static int wait_for_lock(int fd) {
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000L};
	for (int tries = 0; tries < LOCK_WAIT_MS / LOCK_PAUSE_MS; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			return 0;
		}
		if (errno != EWOULDBLOCK && errno != EINTR) {
			return -1;
		}
		(void)nanosleep(&pause, NULL); /* a signal only makes it shorter */
	}
	errno = ETIMEDOUT;
	return -1;
}

static int take_lock(struct vault *v, struct err *e) {
	struct name lock = {""};
	if (name_of(v, LOCK_NAME, &lock, e) != 0) {
		return -1;
	}
	auto_fd fd = open(lock.path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		return err_sys_at(e, WHERE, "cannot open", lock.path);
	}
	int rc = wait_for_lock(fd);
	if (rc != 0 && errno == ETIMEDOUT) {
		(void)err_set(e, ERR_SETUP, WHERE,
			      "another process has been changing the vault for a minute");
		return err_fix(e, "finish or end it; it may be waiting for a passphrase: fuser %s",
			       lock.path);
	}
	if (rc != 0) {
		return err_sys_at(e, WHERE, "cannot lock", lock.path);
	}
	v->lock = take_fd(&fd);
	return 0;
}

/* The whole file; *ret is NULL where there is none. */
static int read_file(struct vault *v, unsigned char **ret, size_t *ret_len, struct err *e) {
	struct name file = {""}, old = {""};
	struct stat st;
	if (name_of(v, FILE_NAME, &file, e) != 0 || name_of(v, OLD_NAME, &old, e) != 0) {
		return -1;
	}
	auto_fd fd = private_open(file.path, "cannot open the vault", e);
	if (fd < 0 && e->sys == ENOENT && lstat(old.path, &st) != 0) {
		*e = (struct err){0};
		*ret = NULL;
		return 0;
	}
	if (fd < 0) {
		return e->sys == ENOENT ? err_fix(e, "restore the previous state: mv %s %s",
						  old.path, file.path)
					: -1;
	}
	if (fstat(fd, &st) != 0 || (uint64_t)st.st_size > VAULT_FILE_MAX) {
		return err_set(e, ERR_SETUP, WHERE, "the vault is damaged: it is too large");
	}
	auto_free unsigned char *bytes = malloc((size_t)st.st_size + 1);
	long len = bytes == NULL ? 0 : private_read(fd, bytes, (size_t)st.st_size + 1);
	if (bytes == NULL || len < 0) {
		return bytes == NULL ? err_memory(e, WHERE)
				     : err_sys_at(e, WHERE, "cannot read the vault", file.path);
	}
	*ret = take_ptr(bytes);
	*ret_len = (size_t)len;
	return 0;
}

static int name_remedy(const struct vault *v, struct err *e) {
	struct name file = {""}, old = {""};
	struct err unused = {0};
	struct stat st;
	if (e->fix[0] != '\0' || name_of(v, FILE_NAME, &file, &unused) != 0 ||
	    name_of(v, OLD_NAME, &old, &unused) != 0) {
		return -1;
	}
	if (stat(old.path, &st) == 0) {
		return err_fix(e, "the previous state was kept; to go back to it: mv %s %s",
			       old.path, file.path);
	}
	return err_fix(e, "restore %s from a backup", file.path);
}

static int open_file(struct vault *v, const unsigned char *file, size_t len, struct err *e) {
	struct format_header h;
	if (format_read_header(file, len, &h, e) != 0) {
		return name_remedy(v, e);
	}
	v->key = h.key;
	enum key_found found = key_find(v, &v->key, e);
	if (found != KEY_FOUND) {
		return found;
	}
	return format_open(file, len, v, e) == 0 ? 0 : name_remedy(v, e);
}

static int read_vault(struct vault *v, struct err *e) {
	int rc = KEY_OTHER;
	for (int tries = 0; rc == KEY_OTHER && tries < TRIES; tries++) {
		auto_free unsigned char *file = NULL;
		size_t len = 0;
		*e = (struct err){0};
		key_done(&v->key);
		if (read_file(v, &file, &len, e) != 0) {
			return -1;
		}
		v->exists = file != NULL;
		rc = file == NULL ? 0 : open_file(v, file, len, e);
	}
	return rc == 0 ? 0 : -1;
}

static int check_kind(const struct vault *v, enum vault_key_kind kind, struct err *e) {
	if (kind == VAULT_KEY_ANY || !v->exists || v->key.kind == kind) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, WHERE, "the vault has a key of kind %s, not %s",
		      vault_key_kind_names[v->key.kind], vault_key_kind_names[kind]);
	return err_fix(e, "change it: corral secret rekey --key %s", vault_key_kind_names[kind]);
}

int vault_open(const struct vault_place *place, enum vault_use use, enum vault_key_kind kind,
	       const struct passphrase_source *ask, struct vault *ret, struct err *e) {
	*ret = (struct vault){.place = *place, .lock = -1};
	if (ask != NULL) {
		ret->ask = *ask;
	}
	if (sodium_init() < 0) {
		return err_set(e, ERR_SETUP, WHERE, "libsodium has no source of random numbers");
	}
	if (use == VAULT_WRITE && make_dir(ret, e) != 0) {
		return -1;
	}
	int dirs = check_dirs(ret, e);
	if (dirs != 0) {
		return dirs < 0 ? -1 : 0; /* no directory: empty */
	}
	if ((use == VAULT_WRITE && take_lock(ret, e) != 0) || read_vault(ret, e) != 0 ||
	    check_kind(ret, kind, e) != 0) {
		return -1;
	}
	/* A rekey was killed before its last step; the next one would overwrite that key. */
	if (use == VAULT_WRITE && key_settle(ret, &ret->key, e) != 0) {
		return -1;
	}
	if (!ret->exists) {
		ret->key.kind = kind == VAULT_KEY_ANY ? VAULT_KEY_FILE : kind;
	}
	return 0;
}

void vault_close(struct vault *v) {
	key_done(&v->key);
	sodium_free(v->plain);
	free(v->list);
	v->plain = NULL;
	v->list = NULL;
	v->n = v->cap = 0;
	drop_fd(&v->lock);
}

/* ---- saving ---- */

/* A hard link and not a rename: the vault has its name at every moment (V2). */
static int keep_old(const struct name *file, const struct name *old, struct err *e) {
	if (unlink(old->path) != 0 && errno != ENOENT) {
		return err_sys_at(e, WHERE, "cannot remove", old->path);
	}
	return link(file->path, old->path) == 0 || errno == ENOENT
		       ? 0
		       : err_sys_at(e, WHERE, "cannot keep the previous state as", old->path);
}

static int replace(const struct vault *v, const unsigned char *bytes, size_t len, bool forget,
		   struct err *e) {
	struct name file = {""}, old = {""}, next = {""};
	if (name_of(v, FILE_NAME, &file, e) != 0 || name_of(v, OLD_NAME, &old, e) != 0 ||
	    name_of(v, NEW_NAME, &next, e) != 0 || private_write(next.path, bytes, len, e) != 0 ||
	    (!forget && keep_old(&file, &old, e) != 0)) {
		return -1;
	}
	if (rename(next.path, file.path) != 0) {
		return err_sys_at(e, WHERE, "cannot replace", file.path);
	}
	if (forget && unlink(old.path) != 0 && errno != ENOENT) {
		return err_sys_at(e, WHERE, "cannot remove", old.path);
	}
	return private_sync_dir(v->place.dir, e);
}

static int save_with_key(struct vault *v, bool forget, struct err *e) {
	auto_free unsigned char *bytes = NULL;
	size_t len = 0;
	v->generation++;
	if (format_seal(v, &bytes, &len, e) != 0 || replace(v, bytes, len, forget, e) != 0) {
		return -1;
	}
	v->exists = true;
	return 0;
}

int vault_save(struct vault *v, bool forget, struct err *e) {
	/* A first key gets its name before the vault: no vault exists that needs another one. */
	if (v->key.bytes == NULL &&
	    (key_make(v, v->key.kind, &v->key, e) != 0 || key_settle(v, &v->key, e) != 0)) {
		return -1;
	}
	return save_with_key(v, forget, e);
}

int vault_rekey(struct vault *v, enum vault_key_kind kind, struct err *e) {
	struct vault_key old = v->key, fresh;
	if (!v->exists) {
		return err_set(e, ERR_USAGE, WHERE, "there is no vault yet");
	}
	if (key_make(v, kind, &fresh, e) != 0) {
		return -1;
	}
	v->key = fresh;
	int rc = save_with_key(v, true, e) != 0 || key_settle(v, &v->key, e) != 0
			 ? -1
			 : key_retire(v, &old, &v->key, e);
	key_done(&old);
	return rc;
}
