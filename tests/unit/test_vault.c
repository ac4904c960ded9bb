/* SPDX-License-Identifier: Apache-2.0 */
/* The vault's file, its key, its directory, and who given which secret. */
#include "test.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/remove_tree.h"
#include "base/str.h"
#include "vault/format.h"
#include "vault/key.h"
#include "vault/select.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <sys/stat.h>

/* ---- a vault in memory ---- */

static void start(struct vault *v) {
	if (sodium_init() < 0) {
		abort();
	}
	*v = (struct vault){.lock = -1, .generation = 7};
	v->key.kind = VAULT_KEY_FILE;
	v->key.bytes = sodium_malloc(VAULT_KEY_BYTES);
	memset(v->key.bytes, 0x5a, VAULT_KEY_BYTES);
}

static void put(struct vault *v, const char *name, const char *agent, const char *value) {
	struct err e = {0};
	struct secret s = {.name = name,
			   .agent = agent,
			   .workspace = "",
			   .host = "",
			   .changed = 1234567890,
			   .value = (const unsigned char *)value,
			   .len = strlen(value)};
	CHECK(vault_put(v, &s, &e) == 0);
}

static int open_bytes(const unsigned char *file, size_t len, unsigned char key, struct err *e) {
	struct vault v;
	start(&v);
	v.key.bytes[0] = key;
	int rc = format_open(file, len, &v, e);
	vault_close(&v);
	return rc;
}

TEST(a_sealed_vault_opens_with_the_same_secrets) {
	struct vault v, w;
	struct err e = {0};
	auto_free unsigned char *file = NULL;
	size_t len = 0;
	start(&v);
	start(&w);
	put(&v, "B", "", "beta");
	put(&v, "A", "bot", "of bot");
	put(&v, "A", "", "");
	v.list[0].workspace = "/ws";
	v.list[0].host = "here";
	v.list[0].expose = EXPOSE_NEVER;
	REQUIRE(format_seal(&v, &file, &len, &e) == 0 && format_open(file, len, &w, &e) == 0);
	CHECK_INT(w.n, 3);
	CHECK_INT(w.generation, 7);
	const struct secret *a = vault_find(&w, "A", "");
	REQUIRE(a != NULL);
	CHECK_STR(a->workspace, "/ws");
	CHECK_STR(a->host, "here");
	CHECK_INT(a->expose, EXPOSE_NEVER);
	CHECK_INT(a->changed, 1234567890);
	CHECK_INT(a->len, 0);
	const struct secret *bot = vault_find(&w, "A", "bot");
	CHECK(bot != NULL && bot->len == 6 && memcmp(bot->value, "of bot", 6) == 0);
	vault_close(&v);
	vault_close(&w);
}

TEST(the_file_has_neither_names_nor_values_nor_their_length) {
	struct vault v;
	struct err e = {0};
	auto_free unsigned char *file = NULL, *other = NULL;
	size_t len = 0, longer = 0;
	start(&v);
	put(&v, "CANARY_NAME", "canary-agent", "canary value");
	REQUIRE(format_seal(&v, &file, &len, &e) == 0);
	CHECK(memmem(file, len, "CANARY_NAME", 11) == NULL);
	CHECK(memmem(file, len, "canary", 6) == NULL);
	put(&v, "SECOND", "", "one more, and a longer one than the first");
	REQUIRE(format_seal(&v, &other, &longer, &e) == 0);
	CHECK_INT(longer, len);
	CHECK(memcmp(file + 64, other + 64, 24) != 0); /* a new nonce */
	vault_close(&v);
}

TEST(V1_every_changed_byte_is_an_error) {
	struct vault v;
	struct err e = {0};
	auto_free unsigned char *file = NULL;
	size_t len = 0, opened = 0;
	start(&v);
	put(&v, "A", "", "value");
	REQUIRE(format_seal(&v, &file, &len, &e) == 0);
	CHECK(open_bytes(file, len, 0x5a, &e) == 0);
	for (size_t i = 0; i < len; i++) {
		for (unsigned bit = 1; bit < 256; bit <<= i < FORMAT_HEADER_BYTES ? 1 : 8) {
			file[i] ^= (unsigned char)bit;
			opened += open_bytes(file, len, 0x5a, &e) == 0;
			file[i] ^= (unsigned char)bit;
		}
	}
	CHECK_INT(opened, 0);
	CHECK(open_bytes(file, len, 0x5b, &e) != 0); /* another key */
	vault_close(&v);
}

TEST(V1_a_file_that_was_cut_or_continued_is_an_error) {
	struct vault v;
	struct err e = {0};
	auto_free unsigned char *file = NULL;
	size_t len = 0, opened = 0;
	start(&v);
	put(&v, "A", "", "value");
	REQUIRE(format_seal(&v, &file, &len, &e) == 0);
	for (size_t cut = 0; cut < len; cut++) {
		opened += open_bytes(file, cut, 0x5a, &e) == 0;
	}
	CHECK_INT(opened, 0);
	auto_free unsigned char *more = calloc(1, len + 1);
	REQUIRE(more != NULL);
	memcpy(more, file, len);
	CHECK(open_bytes(more, len + 1, 0x5a, &e) != 0);
	vault_close(&v);
}

/* ---- a vault in a directory ---- */

struct world {
	char root[64], dir[96], key[96], path[160];
	struct vault_place place;
};

static void world_init(struct world *w) {
	(void)snprintf(w->root, sizeof w->root, "/tmp/vault-test-XXXXXX");
	if (mkdtemp(w->root) == NULL) {
		abort();
	}
	(void)snprintf(w->dir, sizeof w->dir, "%s/state/vault", w->root);
	(void)snprintf(w->key, sizeof w->key, "%s/config/vault.key", w->root);
	w->place = (struct vault_place){.dir = w->dir, .key_file = w->key};
}

static void world_done(struct world *w) {
	auto_fd tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK(remove_tree(tmp, w->root + strlen("/tmp/")) == 0);
}

static const char *at(struct world *w, const char *name) {
	(void)snprintf(w->path, sizeof w->path, "%s/%s", w->root, name);
	return w->path;
}

static int store(struct world *w, const char *name, const char *value, struct err *e) {
	struct vault v;
	int rc = vault_open(&w->place, VAULT_WRITE, VAULT_KEY_ANY, NULL, &v, e);
	if (rc == 0) {
		put(&v, name, "", value);
		rc = vault_save(&v, false, e);
	}
	vault_close(&v);
	return rc;
}

/* The number of secrets, or -1 when the vault does not open. */
static int count(struct world *w, struct err *e) {
	struct vault v;
	*e = (struct err){0};
	int rc = vault_open(&w->place, VAULT_READ, VAULT_KEY_ANY, NULL, &v, e);
	int n = rc == 0 ? (int)v.n : -1;
	vault_close(&v);
	return n;
}

TEST(a_missing_vault_is_empty_and_reading_creates_nothing) {
	struct world w = {0};
	struct err e;
	world_init(&w);
	CHECK_INT(count(&w, &e), 0);
	CHECK(access(at(&w, "state"), F_OK) != 0 && access(at(&w, "config"), F_OK) != 0);
	world_done(&w);
}

TEST(the_first_secret_makes_a_key_file_without_a_prompt) {
	struct world w = {0};
	struct err e = {0};
	struct stat st;
	world_init(&w);
	CHECK_INT(store(&w, "A", "one", &e), 0);
	CHECK_INT(store(&w, "B", "two", &e), 0);
	CHECK_INT(count(&w, &e), 2);
	CHECK(stat(w.key, &st) == 0 && (st.st_mode & 07777) == 0600 && st.st_size == 32);
	CHECK(stat(at(&w, "state/vault/secrets"), &st) == 0 && (st.st_mode & 07777) == 0600);
	CHECK(stat(at(&w, "state/vault/secrets.old"), &st) == 0 && (st.st_mode & 07777) == 0600);
	CHECK(stat(w.dir, &st) == 0 && (st.st_mode & 07777) == 0700);
	world_done(&w);
}

TEST(V1_a_damaged_vault_is_an_error_that_names_the_previous_one) {
	struct world w = {0};
	struct err e = {0};
	world_init(&w);
	CHECK_INT(store(&w, "A", "one", &e), 0);
	CHECK_INT(store(&w, "B", "two", &e), 0);
	CHECK(truncate(at(&w, "state/vault/secrets"), 2000) == 0);
	CHECK_INT(count(&w, &e), -1);
	CHECK(strstr(e.what, "damaged") != NULL && strstr(e.fix, "secrets.old") != NULL);
	CHECK(store(&w, "C", "three", &e) != 0); /* and is not replaced by a new one */
	CHECK(truncate(at(&w, "state/vault/secrets"), 0) == 0);
	CHECK_INT(count(&w, &e), -1);
	char file[192];
	(void)snprintf(file, sizeof file, "%s", at(&w, "state/vault/secrets"));
	CHECK(unlink(file) == 0);
	CHECK_INT(count(&w, &e), -1); /* no save leaves secrets.old alone */
	CHECK(rename(at(&w, "state/vault/secrets.old"), file) == 0);
	CHECK_INT(count(&w, &e), 1);
	world_done(&w);
}

TEST(a_vault_without_its_key_is_an_error_and_gets_no_new_key) {
	struct world w = {0};
	struct err e = {0};
	world_init(&w);
	CHECK_INT(store(&w, "A", "one", &e), 0);
	CHECK(unlink(w.key) == 0);
	CHECK_INT(count(&w, &e), -1);
	CHECK(store(&w, "B", "two", &e) != 0);
	CHECK(access(w.key, F_OK) != 0);
	/* Another key of the right size. */
	auto_fd fd = open(w.key, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd_write_all(fd, "0123456789abcdef0123456789abcdef", 32) == 0);
	CHECK_INT(count(&w, &e), -1);
	CHECK(strstr(e.what, "is not the key of this vault") != NULL);
	world_done(&w);
}

TEST(files_that_others_can_read_or_write_are_refused) {
	static const struct {
		const char *name;
		mode_t mode, usual;
	} rows[] = {{"config/vault.key", 0640, 0600},
		    {"config/vault.key", 0604, 0600},
		    {"config", 0777, 0700},
		    {"state/vault", 0702, 0700},
		    {"state/vault/secrets", 0602, 0600},
		    {"state/vault/secrets", 0644, 0600},
		    {"state", 0707, 0700}};
	struct world w = {0};
	struct err e = {0};
	world_init(&w);
	CHECK_INT(store(&w, "A", "one", &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK(chmod(at(&w, rows[i].name), rows[i].mode) == 0);
		CHECK_INT(count(&w, &e), -1);
		CHECK_INT(e.kind, ERR_REFUSED);
		CHECK(strstr(e.fix, "chmod") != NULL);
		CHECK(chmod(at(&w, rows[i].name), rows[i].usual) == 0);
		CHECK_INT(count(&w, &e), 1);
	}
	char real[192];
	(void)snprintf(real, sizeof real, "%s", at(&w, "elsewhere"));
	CHECK(rename(w.key, real) == 0 && symlink(real, w.key) == 0);
	CHECK_INT(count(&w, &e), -1);
	world_done(&w);
}

/* ---- keys ---- */

static long known_words(void *arg, int fresh, char *out, size_t cap) {
	const char *const *words = arg;
	const char *word = words[fresh];
	if (word == NULL || strlen(word) > cap) {
		return -1;
	}
	memcpy(out, word, strlen(word));
	return (long)strlen(word);
}

static int rekey(struct world *w, enum vault_key_kind kind, const char *const words[2],
		 struct err *e) {
	struct passphrase_source ask = {.read = known_words, .arg = (void *)(uintptr_t)words};
	struct vault v;
	*e = (struct err){0};
	int rc = vault_open(&w->place, VAULT_WRITE, VAULT_KEY_ANY, &ask, &v, e);
	rc = rc == 0 ? vault_rekey(&v, kind, e) : rc;
	vault_close(&v);
	return rc;
}

static int opens(struct world *w, const char *word, struct err *e) {
	const char *const words[2] = {word, NULL};
	struct passphrase_source ask = {.read = known_words, .arg = (void *)(uintptr_t)words};
	struct vault v;
	*e = (struct err){0};
	int rc = vault_open(&w->place, VAULT_READ, VAULT_KEY_ANY, &ask, &v, e);
	int n = rc == 0 ? (int)v.n : -1;
	vault_close(&v);
	return n;
}

TEST(a_vault_changes_between_the_kinds_of_key) {
	static const char *const words[2] = {"first", "second"};
	struct world w = {0};
	struct err e = {0};
	world_init(&w);
	CHECK_INT(store(&w, "A", "one", &e), 0);
	CHECK_INT(rekey(&w, VAULT_KEY_FILE, words, &e), 0);
	CHECK_INT(count(&w, &e), 1);
	CHECK(access(at(&w, "state/vault/secrets.old"), F_OK) != 0); /* under the old key */
	CHECK_INT(rekey(&w, VAULT_KEY_PASSPHRASE, words, &e), 0);
	CHECK(access(w.key, F_OK) != 0);
	CHECK_INT(opens(&w, "second", &e), 1);
	CHECK_INT(opens(&w, "first", &e), -1);
	CHECK_STR(e.what, "wrong passphrase");
	CHECK_INT(opens(&w, NULL, &e), -1);
	CHECK(strstr(e.what, "needs its passphrase") != NULL);
	static const char *const back[2] = {"second", "third"};
	CHECK_INT(rekey(&w, VAULT_KEY_PASSPHRASE, back, &e), 0);
	CHECK_INT(opens(&w, "third", &e), 1);
	static const char *const third[2] = {"third", NULL};
	CHECK_INT(rekey(&w, VAULT_KEY_FILE, third, &e), 0);
	CHECK_INT(count(&w, &e), 1);
	world_done(&w);
}

TEST(a_key_of_the_keyring_opens_the_vault_until_it_is_gone) {
	static const char *const words[2] = {NULL, NULL};
	unsigned char id[VAULT_KEY_ID_BYTES];
	struct world w = {0};
	struct vault v;
	struct err e = {0};
	world_init(&w);
	CHECK_INT(store(&w, "A", "one", &e), 0);
	if (rekey(&w, VAULT_KEY_KEYRING, words, &e) != 0) {
		world_done(&w);
		SKIP("no keyring here: %.200s", e.what);
	}
	CHECK_INT(count(&w, &e), 1);
	CHECK(access(w.key, F_OK) != 0);
	REQUIRE(vault_open(&w.place, VAULT_READ, VAULT_KEY_ANY, NULL, &v, &e) == 0);
	memcpy(id, v.key.id, sizeof id);
	vault_close(&v);
	keyring_remove(id);
	CHECK_INT(count(&w, &e), -1);
	CHECK(strstr(e.what, "user keyring") != NULL);
	world_done(&w);
}

/* The file before a step of a rekey, put back after it: the rekey was killed there. */
static void copy(const char *from, const char *to) {
	struct buf b;
	buf_init(&b);
	CHECK(fd_read_file(from, 65536, &b) == 0);
	(void)unlink(to);
	auto_fd fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && fd_write_all(fd, b.data, b.len) == 0);
	buf_done(&b);
}

TEST(V2_a_rekey_that_was_killed_leaves_a_key_for_the_vault) {
	static const char *const words[2] = {NULL, NULL};
	char vault[192], old_vault[192], old_key[192], new_key[192], next_key[192];
	struct world w = {0};
	struct err e = {0};
	world_init(&w);
	(void)snprintf(vault, sizeof vault, "%s", at(&w, "state/vault/secrets"));
	(void)snprintf(old_vault, sizeof old_vault, "%s", at(&w, "kept.vault"));
	(void)snprintf(old_key, sizeof old_key, "%s", at(&w, "kept.key"));
	(void)snprintf(next_key, sizeof next_key, "%s", at(&w, "config/vault.key.new"));
	(void)snprintf(new_key, sizeof new_key, "%s", at(&w, "fresh.key"));
	CHECK_INT(store(&w, "A", "one", &e), 0);
	copy(vault, old_vault);
	copy(w.key, old_key);
	CHECK_INT(rekey(&w, VAULT_KEY_FILE, words, &e), 0);
	copy(w.key, new_key);

	/* Between the vault's rename and the key's. */
	copy(old_key, w.key);
	copy(new_key, next_key);
	CHECK_INT(count(&w, &e), 1);
	CHECK_INT(store(&w, "B", "two", &e), 0);
	CHECK(access(next_key, F_OK) != 0); /* the writer finished it */
	CHECK_INT(count(&w, &e), 2);
	CHECK_INT(rekey(&w, VAULT_KEY_FILE, words, &e), 0);
	CHECK_INT(count(&w, &e), 2);

	/* Before the vault's rename: the new key is of no vault. */
	copy(old_vault, vault);
	copy(old_key, w.key);
	copy(new_key, next_key);
	CHECK_INT(count(&w, &e), 1);
	CHECK_INT(store(&w, "B", "two", &e), 0);
	CHECK_INT(count(&w, &e), 2);
	CHECK_INT(rekey(&w, VAULT_KEY_FILE, words, &e), 0);
	CHECK_INT(count(&w, &e), 2);
	world_done(&w);
}

/* ---- names ---- */

TEST(names_of_secrets_are_names_of_harmless_variables) {
	static const char *const bad[] = {"", "1A", "A-B", "A B", "A=B", "a\n"};
	static const char *const harmful[] = {"LD_PRELOAD", "PATH", "HOME", "CORRAL_X", "BASH_ENV"};
	struct err e;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CHECK(secret_check_name(bad[i], &e) != 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(harmful); i++) {
		CHECK(secret_check_variable(harmful[i], &e) != 0);
	}
	CHECK(secret_check_name("_a1", &e) == 0);
	CHECK(secret_check_variable("GITHUB_TOKEN", &e) == 0);
	enum vault_expose expose;
	CHECK(vault_expose_parse("proxy", &expose, &e) != 0);
	CHECK(strstr(e.what, "not implemented") != NULL);
}

/* ---- who given what ---- */

struct select_row {
	const char *agent, *named;    /* one name, or NULL */
	const char *variable, *given; /* "VARIABLE=VALUE …", NULL: refused with */
	const char *why;
};

static const struct select_row select_rows[] = {
	{NULL, NULL, NULL, "", NULL},
	{NULL, "PLAIN", NULL, "PLAIN=p ", NULL},
	{NULL, "PLAIN", "OTHER", "OTHER=p ", NULL},
	{NULL, "BOTH", NULL, "BOTH=shared ", NULL},
	{"bot", NULL, NULL, "BOTH=bots OWN=o ", NULL},
	{"bot", "BOTH", NULL, "BOTH=bots OWN=o ", NULL},
	{"bot", "OWN", "MINE", "BOTH=bots MINE=o ", NULL},
	{"bot", "PLAIN", NULL, "BOTH=bots OWN=o PLAIN=p ", NULL},
	{"bot", "PLAIN", "OWN", NULL, "the same variable OWN"},
	{"other", NULL, NULL, "", NULL},
	{"other", "OWN", NULL, NULL, "belongs to another agent"},
	{NULL, "OWN", NULL, NULL, "belongs to an agent"},
	{NULL, "NOPE", NULL, NULL, "there is no secret NOPE"},
	{"bot", "SHUT", NULL, NULL, "expose = never"},
	{NULL, "THERE", NULL, NULL, "another workspace"},
	{NULL, "HERE", NULL, "HERE=h ", NULL},
	{NULL, "AWAY", NULL, NULL, "another host"},
};

static int by_variable(const void *left, const void *right) {
	return strcmp(((const struct selected *)left)->variable,
		      ((const struct selected *)right)->variable);
}

static void check_selected(const struct vault *v, const struct select_row *row) {
	struct select_wanted wanted = {row->named, row->variable};
	struct select_run run = {.agent = row->agent,
				 .workspace = "/ws/project",
				 .host = "this",
				 .wanted = &wanted,
				 .nwanted = row->named != NULL};
	auto_free struct selected *list = NULL;
	size_t n = 0;
	struct err e = {0};
	char text[256] = "";
	int rc = vault_select(v, &run, &list, &n, &e);
	if (row->given == NULL) {
		CHECK(rc != 0 && strstr(e.what, row->why) != NULL);
		return;
	}
	REQUIRE(rc == 0);
	qsort(list, n, sizeof *list, by_variable);
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(text);
		(void)snprintf(text + len, sizeof text - len, "%s=%.*s ", list[i].variable,
			       (int)list[i].secret->len, (const char *)list[i].secret->value);
	}
	CHECK_STR(text, row->given);
}

TEST(V4_a_run_gets_its_agents_secrets_and_those_that_it_names) {
	struct vault v;
	start(&v);
	put(&v, "PLAIN", "", "p");
	put(&v, "BOTH", "", "shared");
	put(&v, "BOTH", "bot", "bots");
	put(&v, "OWN", "bot", "o");
	put(&v, "SHUT", "bot", "s");
	put(&v, "THERE", "", "t");
	put(&v, "HERE", "", "h");
	put(&v, "AWAY", "", "a");
	for (size_t i = 0; i < v.n; i++) {
		struct secret *s = &v.list[i];
		s->expose = streq(s->name, "SHUT") ? EXPOSE_NEVER : EXPOSE_ENV;
		s->workspace = streq(s->name, "THERE") ? "/ws/proj" : "";
		s->workspace = streq(s->name, "HERE") ? "/ws" : s->workspace;
		s->host = streq(s->name, "AWAY") ? "that" : "";
	}
	for (size_t i = 0; i < ARRAY_LEN(select_rows); i++) {
		check_selected(&v, &select_rows[i]);
	}
	vault_close(&v);
}

TESTS_MAIN
