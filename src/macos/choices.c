/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the options of a run on macOS into a policy, by the rows that corral(1) has.
 *
 * Should:   read each value with the same checks as on Linux.
 * Must not: accept a key that this program does not enforce, or read a policy file.
 * Fails:    closed: nothing runs after a word that was not understood. */
#include "macos/choices.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/options.h"
#include "data/profiles.h"
#include "policy/value.h"

#include <string.h>

#define WHERE "usage"

/* The keys that work here.  net.mode filtered needs the gate, which runs on Linux only. */
static const enum key_id known[] = {
	KEY_MODE,
	KEY_WORKSPACE,
	KEY_ANY_WORKSPACE,
	KEY_CHDIR,
	KEY_LEVEL,
	KEY_MIN_LEVEL,
	KEY_REQUIRE,
	KEY_ALLOW_DEGRADED,
	KEY_FS_VIEW,
	KEY_FS_READ,
	KEY_FS_WRITE,
	KEY_FS_DENY,
	KEY_FS_PROTECT,
	KEY_FS_PROTECT_NAMES,
	KEY_FS_HOME,
	KEY_FS_TOOLCHAINS,
	KEY_NET_MODE,
	KEY_NET_HOST_PORTS,
	KEY_NET_PUBLISH,
	KEY_NET_SOCKETS,
	KEY_ENV_PASS,
	KEY_ENV_SET,
	KEY_ENV_ALLOW_DANGEROUS,
	KEY_COMMANDS,
	KEY_COMMANDS_DEFAULT,
	KEY_LIMITS_TIMEOUT,
	KEY_LIMITS_IDLE_TIMEOUT,
	KEY_LIMITS_GRACE,
	KEY_LIMITS_OUTPUT,
	KEY_LIMITS_MEMORY,
	KEY_LIMITS_PROCESSES,
	KEY_LIMITS_CPU_TIME,
	KEY_LIMITS_FILE_SIZE,
	KEY_LIMITS_OPEN_FILES,
};

static bool is_known(enum key_id key) {
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (known[i] == key) {
			return true;
		}
	}
	return false;
}

static int not_here(const char *word, struct err *e) {
	(void)err_set(e, ERR_USAGE, WHERE, "%s is not implemented on macOS", word);
	return err_fix(e, "docs/macos.md lists the keys that work here");
}

struct reader {
	struct arena *a;
	const struct host *h;
	struct policy *p;
};

static int take(const struct reader *r, const char *word, enum key_id key, const char *text,
		struct err *e) {
	const struct where at = {.a = r->a,
				 .origin = {.kind = ORIGIN_OPTION, .name = word},
				 .cwd = r->h->cwd,
				 .base = r->h->cwd,
				 .home = r->h->home};
	if (!is_known(key)) {
		return not_here(word, e);
	}
	return value_from_text(&at, &keys[key], text, &r->p->values[key], e);
}

/* KEY=VALUE of --set. */
static int take_set(const struct reader *r, const char *text, struct err *e) {
	const char *equals = strchr(text, '=');
	char *name =
		arena_strndup(r->a, text, equals == NULL ? strlen(text) : (size_t)(equals - text));
	if (name == NULL) {
		return err_memory(e, WHERE);
	}
	const struct key *k = key_by_name(name);
	if (k == NULL || equals == NULL) {
		return err_set(e, ERR_USAGE, WHERE, "--set needs KEY=VALUE: %s", text);
	}
	return take(r, "--set", (enum key_id)(k - keys), equals + 1, e);
}

static const struct option_row *row_of(const char *word) {
	bool lone = word[0] == '-' && word[1] != '-' && word[1] != '\0' && word[2] == '\0';
	for (size_t i = 0; i < options_count; i++) {
		const struct option_row *row = &options[i];
		bool named =
			row->name != NULL && str_starts(word, "--") && streq(word + 2, row->name);
		if ((named || (lone && row->letter == word[1])) && (row->verbs & FOR_RUN) != 0) {
			return row;
		}
	}
	return NULL;
}

/* Returns the number of words that it took; -1. */
static int take_option(const struct reader *r, char **words, struct choices *c, struct err *e) {
	const struct option_row *row = row_of(words[0]);
	if (streq(words[0], "--json") || streq(words[0], "--seatbelt")) {
		*(words[0][2] == 'j' ? &c->json : &c->profile) = true;
		return 1;
	}
	if (row == NULL || (row->id != OPTION_SETS_KEY && row->id != OPTION_SET)) {
		return not_here(words[0], e);
	}
	if (row->fixed == NULL && words[1] == NULL) {
		return err_set(e, ERR_USAGE, WHERE, "%s needs %s", words[0], row->argument);
	}
	const char *text = row->fixed != NULL ? row->fixed : words[1];
	int rc =
		row->id == OPTION_SET ? take_set(r, text, e) : take(r, words[0], row->key, text, e);
	return rc != 0 ? -1 : row->fixed != NULL ? 1 : 2;
}

/* As for a program: this one is called by agents. */
static int add_defaults(struct arena *a, const struct host *h, struct policy *p, struct err *e) {
	for (size_t i = 0; i < default_rows_count; i++) {
		const struct default_row *row = &default_rows[i];
		const struct where at = {.a = a,
					 .origin = {.kind = ORIGIN_BUILTIN},
					 .cwd = h->cwd,
					 .base = h->cwd,
					 .home = h->home};
		const char *text = row->tool_call != NULL ? row->tool_call : row->person;
		if (value_from_text(&at, &keys[row->key], text, &p->values[row->key], e) != 0) {
			return -1;
		}
	}
	p->values[KEY_WORKSPACE] =
		(struct value){.set = true, .str = h->cwd, .origin = {.kind = ORIGIN_BUILTIN}};
	return 0;
}

static int check(const struct policy *p, struct err *e) {
	int64_t net = policy_num(p, KEY_NET_MODE);
	if (net == NET_NONE || net == NET_FULL) {
		return 0;
	}
	(void)err_set(e, ERR_SETUP, WHERE, "net.mode %s needs the gate, which runs on Linux only",
		      keys[KEY_NET_MODE].choices[net]);
	return err_fix(e, "use --net none with --host-port PORT and a proxy of your own there");
}

int choices_read(struct arena *a, const struct host *h, char **words, struct choices *ret,
		 struct err *e) {
	const struct reader r = {a, h, &ret->policy};
	*ret = (struct choices){0};
	if (add_defaults(a, h, &ret->policy, e) != 0) {
		return -1;
	}
	while (words[0] != NULL && words[0][0] == '-' && !streq(words[0], "--")) {
		int n = take_option(&r, words, ret, e);
		if (n < 0) {
			return -1;
		}
		words += n;
	}
	words += words[0] != NULL && streq(words[0], "--");
	ret->argv = words;
	if (words[0] == NULL && !ret->profile) {
		return err_set(e, ERR_USAGE, WHERE, "run needs a command");
	}
	return check(&ret->policy, e);
}
