/* SPDX-License-Identifier: Apache-2.0 */
/* One document: given with --policy, found in a project, and set by the system.
 *
 * What must hold, whatever the document says:
 *   read back   what `policy show` prints gives the same policy (print.c);
 *   narrowing   as a project's file that nobody pinned, it is refused or gives a
 *               policy that allows nothing more than the one without it (P3);
 *   floor       as the system's file, no layer above goes beyond its floor (P4);
 *   the same    a second reading gives the same hash (P5). */
#include "policy.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"
#include "data/environment.h"
#include "policy/internal.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <jansson.h>
#include <sys/stat.h>

/* ---- a place on the disk ---- */

static struct {
	char root[64], workspace[96], home[96], given[96], printed[96], project[128], user[96];
} place;

/* What stands before the project's file: nothing, or a user who allows much. */
static const char generous[] = "net.mode = \"full\"\n"
			       "fs.view = \"host\"\n"
			       "fs.read = [\"/usr\"]\n"
			       "fs.write = [\"/tmp\"]\n"
			       "fs.deny = [\"/etc/shadow?\", \"/etc/passwd\"]\n"
			       "fs.protect = [\"/tmp/kept?\"]\n"
			       "require = [\"pid\"]\n"
			       "env.pass = [\"LANG\"]\n"
			       "env.set.KEPT = \"1\"\n"
			       "limits.memory = \"1G\"\n"
			       "limits.processes = \"none\"\n"
			       "limits.grace = \"10s\"\n";

static void write_file(const char *path, const void *text, size_t len) {
	auto_fd fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_all(fd, text, len) != 0) {
		perror(path);
		exit(1);
	}
}

static void place_done(void) {
	(void)unlink(place.given);
	(void)unlink(place.printed);
	(void)unlink(place.project);
	(void)unlink(place.user);
	(void)rmdir(place.workspace);
	(void)rmdir(place.home);
	(void)rmdir(place.root);
}

#define NAMED(member, name)                                                                        \
	(void)snprintf(place.member, sizeof place.member, "%s/%s", place.root, name)

static void place_init(const char *name) {
	static pid_t made;
	if (made == getpid()) {
		return;
	}
	memcpy(place.root, "/tmp/corral-fuzz-XXXXXX", sizeof "/tmp/corral-fuzz-XXXXXX");
	if (mkdtemp(place.root) == NULL) {
		perror(place.root);
		exit(1);
	}
	NAMED(workspace, "ws");
	NAMED(home, "home");
	NAMED(given, name);
	NAMED(printed, "printed.toml");
	NAMED(project, "ws/" PROJECT_FILE);
	NAMED(user, "user.toml");
	HOLDS(mkdir(place.workspace, 0700) == 0 && mkdir(place.home, 0700) == 0);
	write_file(place.user, generous, sizeof generous - 1);
	made = getpid();
	(void)atexit(place_done);
}

static int resolve(struct arena *a, const struct policy_inputs *more, struct policy *ret,
		   struct err *e) {
	struct policy_inputs in = *more;
	in.cwd = place.workspace;
	in.home = place.home;
	*e = (struct err){0};
	return policy_resolve(a, &in, ret, e);
}

/* ---- equality ---- */

static const struct item *item_named(const struct value *v, const char *str) {
	for (size_t i = 0; i < v->count; i++) {
		if (streq(v->items[i].str, str)) {
			return &v->items[i];
		}
	}
	return NULL;
}

/* Each item of a is in b, and is as firm there. */
static bool items_in(const struct value *a, const struct value *b) {
	for (size_t i = 0; i < a->count; i++) {
		const struct item *other = item_named(b, a->items[i].str);
		if (other == NULL || (other->optional && !a->items[i].optional)) {
			return false;
		}
	}
	return true;
}

static bool same_value(const struct value *a, const struct value *b) {
	bool strings =
		(a->str == NULL) == (b->str == NULL) && (a->str == NULL || streq(a->str, b->str));
	return strings && a->num == b->num && items_in(a, b) && items_in(b, a);
}

static void must_be_same(const struct policy *a, const struct policy *b) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (!same_value(&a->values[i], &b->values[i])) {
			property_broken(keys[i].name, 0, "the same value when it is read again");
		}
	}
	HOLDS(streq(a->sha256, b->sha256));
}

/* ---- read back ---- */

static void json_is_valid(const struct policy *p) {
	auto_buf text = {0};
	policy_print(p, true, &text);
	json_t *tree = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
	HOLDS(tree != NULL);
	json_decref(tree);
}

static void reads_back(struct arena *a, const struct policy *p) {
	auto_buf text = {0};
	struct policy again;
	struct err e;
	policy_print(p, false, &text);
	write_file(place.printed, text.data, text.len);
	const struct policy_inputs in = {.extra_file = place.printed};
	if (resolve(a, &in, &again, &e) != 0) {
		property_broken("policy_print", 0, e.what);
	}
	must_be_same(p, &again);
	json_is_valid(p);
}

static void as_given(struct arena *a) {
	struct policy p, again;
	struct err e;
	const struct policy_inputs in = {.extra_file = place.given};
	int first = resolve(a, &in, &p, &e), second = resolve(a, &in, &again, &e);
	HOLDS(first == second);
	if (first == 0) {
		must_be_same(&p, &again);
		reads_back(a, &p);
	}
}

/* ---- narrowing ---- */

/* What a key may become under a file that nobody vouches for.  Written from the
 * manual; a key without a row must not change at all. */
enum rule { UNCHANGED, NOT_MORE, NOT_LESS, MORE_ITEMS, ANYTHING };

static const enum rule rules[KEY_COUNT] = {
	[KEY_MODE] = NOT_MORE,
	[KEY_CHDIR] = ANYTHING,
	[KEY_MIN_LEVEL] = NOT_LESS,
	[KEY_REQUIRE] = MORE_ITEMS,
	[KEY_FS_VIEW] = NOT_MORE,
	[KEY_FS_DENY] = MORE_ITEMS,
	[KEY_FS_PROTECT] = MORE_ITEMS,
	[KEY_FS_HOME] = NOT_MORE,
	[KEY_FS_TOOLCHAINS] = NOT_MORE,
	[KEY_FS_COW] = NOT_LESS,
	[KEY_NET_MODE] = NOT_MORE,
	[KEY_ENV_SET] = ANYTHING,
	[KEY_COMMANDS_DEFAULT] = NOT_MORE,
	[KEY_LIMITS_TIMEOUT] = NOT_MORE,
	[KEY_LIMITS_IDLE_TIMEOUT] = NOT_MORE,
	[KEY_LIMITS_GRACE] = NOT_MORE,
	[KEY_LIMITS_OUTPUT] = NOT_MORE,
	[KEY_LIMITS_PROCESSES] = NOT_MORE,
	[KEY_LIMITS_OPEN_FILES] = NOT_MORE,
	[KEY_LIMITS_FILE_SIZE] = NOT_MORE,
	[KEY_LIMITS_CPU_TIME] = NOT_MORE,
	[KEY_LIMITS_MEMORY] = NOT_MORE,
	[KEY_LIMITS_CPUS] = NOT_MORE,
	[KEY_LIMITS_DISK] = NOT_MORE,
	[KEY_LIMITS_TMP_SIZE] = NOT_MORE,
};

static bool not_more(int64_t now, int64_t before) {
	return before == LIMIT_NONE || (now != LIMIT_NONE && now <= before);
}

static bool is_within(enum rule rule, const struct value *now, const struct value *before) {
	switch (rule) {
	case NOT_MORE:
		return not_more(now->num, before->num);
	case NOT_LESS:
		return now->num >= before->num;
	case MORE_ITEMS:
		return items_in(before, now);
	case ANYTHING:
		return true;
	default:
		return same_value(now, before);
	}
}

/* A variable that makes a program load code is none of a project's business. */
static void sets_nothing_dangerous(const struct policy *p) {
	const struct value *set = &p->values[KEY_ENV_SET];
	for (size_t i = 0; i < set->count; i++) {
		auto_free char *name = strndup(set->items[i].str, strcspn(set->items[i].str, "="));
		for (size_t k = 0; k < env_rows_count; k++) {
			bool bad = env_rows[k].class == ENV_DANGEROUS ||
				   env_rows[k].class == ENV_RESERVED;
			HOLDS(!bad || fnmatch(env_rows[k].pattern, name, 0) != 0);
		}
	}
}

static void as_project(struct arena *a, const char *user) {
	struct policy base, narrowed;
	struct err e;
	const struct policy_inputs in = {.user_file = user};
	(void)unlink(place.project);
	HOLDS(resolve(a, &in, &base, &e) == 0);
	HOLDS(link(place.given, place.project) == 0);
	int done = resolve(a, &in, &narrowed, &e);
	(void)unlink(place.project);
	if (done != 0) {
		return;
	}
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (!is_within(rules[i], &narrowed.values[i], &base.values[i])) {
			property_broken(keys[i].name, 0, "a project's file allows nothing more");
		}
	}
	sets_nothing_dangerous(&narrowed);
}

/* ---- floor ---- */

static const enum rule floors[KEY_COUNT] = {
	[KEY_FS_READ] = ANYTHING, [KEY_FS_WRITE] = ANYTHING, /* paths, below */
};

static bool within_one(const char *path, const struct value *v) {
	for (size_t i = 0; i < v->count; i++) {
		size_t n = strlen(v->items[i].str);
		if (streq(v->items[i].str, "/") ||
		    (strncmp(path, v->items[i].str, n) == 0 && strchr("/", path[n]) != NULL)) {
			return true;
		}
	}
	return false;
}

static void grants_stay_within(const struct policy *p, const struct policy *floor, enum key_id id) {
	const struct value *granted = &p->values[id], *bound = &floor->values[id];
	for (size_t i = 0; bound->set && i < granted->count; i++) {
		char real[4096], *known = realpath(granted->items[i].str, real);
		HOLDS(within_one(known == NULL ? granted->items[i].str : known, bound) ||
		      within_one(granted->items[i].str, bound));
	}
}

static void holds_floor(const struct policy *p, const struct policy *floor) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		enum rule rule = floors[i] != UNCHANGED ? floors[i] : rules[i];
		if (floor->values[i].set && !is_within(rule, &p->values[i], &floor->values[i])) {
			property_broken(keys[i].name, 0, "nothing goes beyond the floor");
		}
	}
	grants_stay_within(p, floor, KEY_FS_READ);
	grants_stay_within(p, floor, KEY_FS_WRITE);
}

static void as_system(struct arena *a, const struct doc *root) {
	struct policy layer = {0}, floor = {0}, p;
	struct err e = {0};
	const struct where w = {.a = a,
				.origin = {.kind = ORIGIN_SYSTEM, .name = place.given},
				.cwd = place.workspace,
				.base = place.workspace,
				.home = place.home};
	if (layer_from_doc(&w, root, &layer, &floor, &e) != 0) {
		return;
	}
	for (int n = 0; n < 4; n++) {
		const struct policy_inputs in = {
			.system_file = place.given,
			.user_file = (n & 1) != 0 ? place.user : NULL,
			.no_config = (n & 2) != 0,
		};
		if (resolve(a, &in, &p, &e) == 0) {
			holds_floor(&p, &floor);
		}
	}
}

/* ---- all of it ---- */

/* An error is about somebody else's text and goes to a terminal. */
static void message_is_plain(const struct err *e) {
	HOLDS(e->kind != ERR_NONE && e->what[0] != '\0');
	for (const char *p = e->what; *p != '\0'; p++) {
		HOLDS((unsigned char)*p >= 0x20 && *p != 0x7F);
	}
}

void policy_attack(parse_fn *parse, const char *name, const uint8_t *data, size_t size) {
	struct arena a;
	struct doc *root;
	struct err e = {0};
	arena_init(&a);
	place_init(name);
	if (parse(&a, place.given, (const char *)data, size, &root, &e) == 0) {
		write_file(place.given, data, size);
		as_given(&a);
		as_project(&a, NULL);
		as_project(&a, place.user);
		as_system(&a, root);
	} else {
		message_is_plain(&e);
	}
	arena_done(&a);
}
