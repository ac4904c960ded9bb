/* SPDX-License-Identifier: Apache-2.0 */
/* What denials and protections become in a plan. */
#include "plan_world.h"
#include "base/path.h"

/* ---- deny and protect ---- */

TEST(a_deny_hides_wherever_the_file_is_shown) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/.env", 'f', NULL);
	node(&w, "/home/ann/work/app/deep/er/key", 'f', NULL);
	node(&w, "/mnt/set/raw/x", 'f', NULL);
	node(&w, "/home/ann/set", 'l', "/mnt/set");
	add_item(&w, KEY_FS_READ, "/home/ann/set");
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/.env");
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/deep/er/key");
	add_item(&w, KEY_FS_DENY, "/home/ann/set/raw");
	add_item(&w, KEY_FS_DENY, "/usr/lib");
	add_item(&w, KEY_FS_DENY, "/home/bob");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(kind_is(&w, "/home/ann/work/app/.env", MOUNT_MASK_FILE));
	CHECK(kind_is(&w, "/home/ann/work/app/deep", MOUNT_PIN) &&
	      kind_is(&w, "/home/ann/work/app/deep/er", MOUNT_PIN));
	CHECK(masked(&w, "/mnt/set/raw/x") && masked(&w, "/home/ann/set/raw/x"));
	CHECK(kind_is(&w, "/usr/lib", MOUNT_MASK_DIR));
	CHECK(has_note(&w, "the path is not mounted: /home/bob"));
	world_done(&w);
}

/* A pattern is about the host's paths: what it names is held wherever a part of its ground is
 * seen, also when the grant begins beneath the pattern's own directory. */
TEST(a_pattern_holds_where_a_tree_beneath_it_is_seen_elsewhere) {
	static const struct {
		const char *pattern;
		enum visibility key, note; /* of /srv/p/in/key and /srv/p/in/sub/note */
	} rows[] = {
		{"/srv/p/**", VISIBILITY_DENIED, VISIBILITY_DENIED},
		{"/srv/*/in", VISIBILITY_DENIED, VISIBILITY_DENIED},
		{"/*/p/in/key", VISIBILITY_DENIED, VISIBILITY_READ},
		{"/srv/**/key", VISIBILITY_DENIED, VISIBILITY_READ},
		{"/srv/**/in/**/note", VISIBILITY_READ, VISIBILITY_DENIED},
		{"/srv/p/*/*/note", VISIBILITY_READ, VISIBILITY_DENIED},
		{"/srv/*/out/**", VISIBILITY_READ, VISIBILITY_READ},
		{"/srv/p/*", VISIBILITY_DENIED, VISIBILITY_DENIED},
		{"/srv/*/key", VISIBILITY_READ, VISIBILITY_READ},
	};
	static const char *const places[] = {"/srv/p/in", "/agent", "/home/ann/lnk"};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		char path[64];
		world_init(&w);
		node(&w, "/srv/p/in/key", 'f', NULL);
		node(&w, "/srv/p/in/sub/note", 'f', NULL);
		node(&w, "/home/ann/lnk", 'l', "/srv/p/in");
		set_str(&w, KEY_FS_AGENT, "/srv/p/in");
		add_item(&w, KEY_FS_READ, "/home/ann/lnk");
		add_pattern(&w, KEY_FS_DENY, rows[i].pattern);
		REQUIRE(build(&w) == 0);
		for (size_t n = 0; n < ARRAY_LEN(places); n++) {
			(void)snprintf(path, sizeof path, "%s/key", places[n]);
			CHECK_INT(plan_visibility(&w.plan, path), rows[i].key);
			(void)snprintf(path, sizeof path, "%s/sub/note", places[n]);
			CHECK_INT(plan_visibility(&w.plan, path), rows[i].note);
		}
		world_done(&w);
	}
}

TEST(an_exception_goes_with_its_pattern_to_another_place) {
	struct world w;
	world_init(&w);
	node(&w, "/srv/p/in/key", 'f', NULL);
	node(&w, "/srv/p/in/open/key", 'f', NULL);
	set_str(&w, KEY_FS_AGENT, "/srv/p/in");
	add_pattern(&w, KEY_FS_DENY, "/srv/p/**");
	add_pattern(&w, KEY_FS_DENY, "/srv/p/*/open/**")->except = true;
	REQUIRE(build(&w) == 0);
	CHECK_INT(plan_visibility(&w.plan, "/agent/key"), VISIBILITY_DENIED);
	CHECK_INT(plan_visibility(&w.plan, "/agent/open/key"), VISIBILITY_READ);
	world_done(&w);
}

TEST(a_moved_workspace_keeps_what_a_pattern_above_it_protects) {
	struct world w;
	world_init(&w);
	set_str(&w, KEY_FS_WORKSPACE_AT, "/w");
	add_pattern(&w, KEY_FS_PROTECT, "/home/*/work/**/*.lock");
	REQUIRE(build(&w) == 0);
	CHECK_INT(plan_visibility(&w.plan, "/w/a/x.lock"), VISIBILITY_READ);
	CHECK_INT(plan_visibility(&w.plan, "/w/a/x"), VISIBILITY_WRITE);
	world_done(&w);
}

static size_t nresolves;
static bool (*real_resolve)(void *, const char *, char *, size_t);

static bool counted_resolve(void *ctx, const char *path, char *out, size_t cap) {
	nresolves++;
	return real_resolve(ctx, path, out, cap);
}

/* A project's file may name thousands of them, and no time-out counts yet. */
TEST(a_rule_about_a_deep_path_that_is_missing_costs_few_looks) {
	static const enum key_id lists[] = {KEY_FS_DENY, KEY_FS_PROTECT};
	char path[1200] = "/home/ann/work/app";
	for (size_t at = strlen(path); at + 2 < sizeof path; at += 2) {
		memcpy(path + at, "/x", 3);
	}
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		struct world w;
		world_init(&w);
		REQUIRE(build(&w) == 0);
		real_resolve = w.h.fs.resolve;
		w.h.fs.resolve = counted_resolve;
		nresolves = 0;
		REQUIRE(build(&w) == 0);
		size_t without = nresolves;
		add_item(&w, lists[i], path)->optional = true;
		nresolves = 0;
		REQUIRE(build(&w) == 0);
		CHECK(nresolves < without + 100);
		CHECK(plan_visibility(&w.plan, path) ==
		      (lists[i] == KEY_FS_DENY ? VISIBILITY_DENIED : VISIBILITY_READ));
		world_done(&w);
	}
}

TEST(a_deny_beneath_a_private_window_has_nothing_to_hide) {
	struct world w;
	world_init(&w);
	set_num(&w, KEY_FS_VIEW, VIEW_HOST);
	add_item(&w, KEY_FS_DENY, "/var/tmp/x");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(mount_at(&w, "/var/tmp/x") == NULL);
	CHECK(has_note(&w, "the path is not mounted: /var/tmp/x"));
	world_done(&w);
}

/* A container's image may have a directory where the sandbox would create a symlink. */
TEST(a_deny_hides_what_a_tree_shows_instead_of_a_created_link) {
	struct world w;
	world_init(&w);
	node(&w, "/var/run/secrets/token", 'f', NULL);
	set_num(&w, KEY_FS_VIEW, VIEW_HOST);
	add_item(&w, KEY_FS_DENY, "/var/run/secrets");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(kind_is(&w, "/var/run/secrets", MOUNT_MASK_DIR));
	CHECK(plan_visibility(&w.plan, "/var/run/secrets/token") == VISIBILITY_DENIED);
	world_done(&w);
}

TEST(a_more_specific_grant_reopens_a_deny) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/a/b/c/d", 'f', NULL);
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/a");
	add_item(&w, KEY_FS_READ, "/home/ann/work/app/a/b");
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/a/b/c");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(kind_is(&w, "/home/ann/work/app/a", MOUNT_MASK_DIR));
	CHECK(kind_is(&w, "/home/ann/work/app/a/b", MOUNT_BIND) &&
	      mount_at(&w, "/home/ann/work/app/a/b")->create);
	CHECK(kind_is(&w, "/home/ann/work/app/a/b/c", MOUNT_MASK_DIR));
	world_done(&w);
}

TEST(a_deny_of_the_workspace_is_a_contradiction) {
	static const char *const paths[] = {"/home/ann/work/app", "/home/ann/work", "/home"};
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct world w;
		world_init(&w);
		add_item(&w, KEY_FS_DENY, paths[i]);
		CHECK_INT(build(&w), -1);
		CHECK_INT(w.e.kind, ERR_USAGE);
		CHECK(strstr(w.e.what, "--rule") != NULL && strstr(w.e.what, "--test") != NULL);
		world_done(&w);
	}
}

TEST(a_deny_behind_a_closed_directory_hides_the_directory) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/shut", 'd', NULL);
	w.fs.nodes[w.fs.n - 1].closed = true;
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/shut/secret")->optional = true;
	REQUIRE(build(&w) == 0);
	CHECK(kind_is(&w, "/home/ann/work/app/shut", MOUNT_MASK_DIR));
	world_done(&w);
}

TEST(a_deny_takes_toolchains_and_system_trees_with_it) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/.cargo/bin/cargo", 'f', NULL);
	node(&w, "/sys/devices/system/node/x", 'f', NULL);
	add_item(&w, KEY_FS_DENY, "/home/ann/.cargo");
	add_item(&w, KEY_FS_DENY, "/sys/devices");
	REQUIRE(build(&w) == 0);
	CHECK(mount_at(&w, "/home/ann/.cargo/bin") == NULL);
	CHECK(seen_at(&w, "/sys/devices/system") == NULL);
	world_done(&w);
}

TEST(a_denied_file_with_another_name_is_refused_until_both_are_named) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/key", 'f', "linked");
	node(&w, "/home/ann/work/app/other", 'f', "linked");
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/key");
	CHECK_INT(build(&w), -1);
	CHECK_INT(w.e.kind, ERR_REFUSED);
	CHECK(strstr(w.e.what, "2 hard links") != NULL);
	/* The same name once more, by anybody and however it is spelt, is one name. */
	node(&w, "/home/ann/work/app/link", 'l', ".");
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/key")->bound = true;
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/link/key")->bound = true;
	CHECK_INT(build(&w), -1);
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/other");
	CHECK_INT(build(&w), 0);
	world_done(&w);
}

TEST(an_exception_of_an_untrusted_file_leaves_a_denied_path_its_mount) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/key", 'f', NULL);
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/key");
	struct item *except = add_pattern(&w, KEY_FS_DENY, "**/nothing");
	except->except = except->bound = true;
	REQUIRE(build(&w) == 0);
	CHECK(masked(&w, "/home/ann/work/app/key"));
	CHECK(!w.plan.rules.hides);
	except->bound = false;
	REQUIRE(build(&w) == 0);
	CHECK(!masked(&w, "/home/ann/work/app/key"));
	world_done(&w);
}

TEST(protect_is_read_only_even_over_a_more_specific_write) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/.git/hooks/x", 'f', NULL);
	node(&w, "/home/ann/work/app/.git/objects/y", 'f', NULL);
	node(&w, "/home/ann/work/app/.envrc", 'l', "conf/envrc");
	node(&w, "/home/ann/work/app/conf/envrc", 'f', NULL);
	add_item(&w, KEY_FS_PROTECT, "/home/ann/work/app/.git");
	add_item(&w, KEY_FS_WRITE, "/home/ann/work/app/.git/objects");
	add_item(&w, KEY_FS_PROTECT, "/home/ann/work/app/.envrc");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(!seen_at(&w, "/home/ann/work/app/.git/hooks/x")->writable);
	CHECK(!seen_at(&w, "/home/ann/work/app/.git/objects/y")->writable);
	CHECK(kind_is(&w, "/home/ann/work/app/conf/envrc", MOUNT_BIND));
	CHECK(kind_is(&w, "/home/ann/work/app/conf", MOUNT_PIN));
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/.envrc"), VISIBILITY_READ);
	CHECK(!has_note(&w, "the symlink itself can be replaced"));
	w.h.notify = false;
	REQUIRE(build(&w) == 0);
	CHECK(has_note(&w, "the symlink itself can be replaced"));
	world_done(&w);
}

/* ---- links ---- */

static struct item *add_set(struct world *w, enum key_id id, const char *name) {
	struct item *it = add_item(w, id, name);
	it->kind = ITEM_SET;
	return it;
}

TEST(a_name_of_a_set_that_is_a_link_holds_for_its_end) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/.claude", 'l', "conf/claude");
	node(&w, "/home/ann/work/app/conf/claude/x", 'f', NULL);
	node(&w, "/home/ann/work/app/.cursorrules", 'l', "notes");
	node(&w, "/home/ann/work/app/notes", 'f', NULL);
	node(&w, "/home/ann/work/app/.cargo", 'l', "hop");
	node(&w, "/home/ann/work/app/hop", 'l', "conf");
	node(&w, "/home/ann/work/app/.opencode", 'l', ".");
	node(&w, "/home/ann/work/app/.env", 'l', "later");
	add_set(&w, KEY_FS_PROTECT, "agents");
	add_set(&w, KEY_FS_PROTECT, "packages");
	add_pattern(&w, KEY_FS_PROTECT, ".cursorrules")->except = true;
	add_set(&w, KEY_FS_DENY, "sensitive");
	REQUIRE(build(&w) == 0);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/conf/claude/new"), VISIBILITY_READ);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/conf/config.toml"), VISIBILITY_READ);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/conf/other"), VISIBILITY_WRITE);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/.cargo"), VISIBILITY_READ);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/hop"), VISIBILITY_READ);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/later"), VISIBILITY_DENIED);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/notes"),
		  VISIBILITY_WRITE); /* excepted */
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/src"), VISIBILITY_WRITE);
	world_done(&w);
}

TEST(a_link_on_the_way_of_a_rule_stays) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/l", 'l', "m");
	node(&w, "/home/ann/work/app/m", 'l', "d");
	node(&w, "/home/ann/work/app/d/conf", 'f', NULL);
	node(&w, "/home/ann/work/app/p", 'l', "d");
	add_item(&w, KEY_FS_PROTECT, "/home/ann/work/app/l/conf");
	add_pattern(&w, KEY_FS_PROTECT, "/home/ann/work/app/p/*.rc");
	REQUIRE(build(&w) == 0);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/l"), VISIBILITY_READ);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/m"), VISIBILITY_READ);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/p"), VISIBILITY_READ);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/d/a.rc"), VISIBILITY_READ);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/d/other"), VISIBILITY_WRITE);
	world_done(&w);
}

TEST(a_new_link_does_not_lead_away_from_a_rule) {
	static const struct {
		const char *link, *words;
		bool astray;
	} rows[] = {
		{".cargo", "d", true},
		{".cargo", "/usr/lib", true},
		{".agent", "d", true},
		{"src/a", "b", false},
		{"src/a", "./b/", false},
		{"src/a", "../src/b", false},
		{"src/a", "../lib", true},
		{"src/a", "b/../c", true}, /* b may become a link */
		{"src/a", "/home/ann/work/app/src/b/c", false},
		{"src/a", "/../home/ann/work/app/src/b", true},
		{"src/a", "/usr/lib", false},
		{"src", "lib", true},
		{"lib", "src", false},
		{"x/y", "../../../../../..", false},
		{".yarn", "d", false}, /* excepted */
		{".mvn", "d", false},
	};
	struct world w;
	world_init(&w);
	add_set(&w, KEY_FS_PROTECT, "packages");
	add_item(&w, KEY_FS_PROTECT, "/home/ann/work/app/.agent/settings.json");
	add_pattern(&w, KEY_FS_PROTECT, "/home/ann/work/app/src/**/*.rc");
	add_pattern(&w, KEY_FS_PROTECT, "*.key");
	add_pattern(&w, KEY_FS_PROTECT, "/home/ann/work/app/.yarn")->except = true;
	add_pattern(&w, KEY_FS_PROTECT, "/home/ann/work/app/.mvn")->except = true;
	REQUIRE(build(&w) == 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char link[128];
		(void)snprintf(link, sizeof link, "/home/ann/work/app/%s", rows[i].link);
		if (rules_lead_astray(&w.plan.rules, link, rows[i].words) != rows[i].astray) {
			printf("# %s -> %s\n", rows[i].link, rows[i].words);
			CHECK(false);
		}
	}
	world_done(&w);
}

/* ---- symlinks in a repository ---- */

TEST(a_name_above_a_protected_one_takes_not_any_entry) {
	struct world w;
	world_init(&w);
	add_pattern(&w, KEY_FS_PROTECT, "/home/ann/work/app/conf/*/x");
	REQUIRE(build(&w) == 0);
	const struct rules *r = &w.plan.rules;
	CHECK(rules_lead_alike(r, "/home/ann/work/app/a", "/home/ann/work/app/b"));
	CHECK(rules_lead_alike(r, "/home/ann/work/app/conf/a", "/home/ann/work/app/b"));
	CHECK(rules_lead_alike(r, "/home/ann/work/app/conf/a", "/home/ann/work/app/conf/b"));
	CHECK(!rules_lead_alike(r, "/home/ann/work/app/a", "/home/ann/work/app/conf/b"));
	CHECK(!rules_lead_alike(r, "/home/ann/work/app/a", "/home/ann/work/app/conf"));
	world_done(&w);
}

TEST(a_symlink_in_a_repository_stays_in_it) {
	static const struct {
		const char *link, *words;
		bool out;
	} rows[] = {
		{".git/logs/HEAD", "/home/ann/.profile", true},
		{".git/logs/HEAD", "/home/ann/work/app/.git", false},
		{".git/logs/HEAD", "/home/ann/work/app/.git/x", false},
		{".git/logs/HEAD", "/home/ann/work/app/.gitx", true},
		{".git/logs/HEAD", "/home/ann/work/app/.git/../x", true},
		{".git/logs/HEAD", "../HEAD", false},
		{".git/logs/HEAD", "..", false},
		{".git/logs/HEAD", "../..", true},
		{".git/logs/HEAD", "../../.git/HEAD", false},
		{".git/logs/HEAD", "refs/../x", true},
		{".git/HEAD", "refs/heads/main", false},
		{".git/HEAD", "../x", true},
		{".GIT/HEAD", "../x", true},
		{"a/b/.git/HEAD", "../x", true},
		{"a/b/.git/c/.git/HEAD", "../../x", false}, /* in the outer one */
		{"a/b/.git/c/.git/HEAD", "../../../x", true},
		{".git", "store", false}, /* preexisting.c */
		{"x", "/home/ann/.profile", false},
		{"free/.git/HEAD", "../x", false}, /* excepted */
	};
	struct world w;
	world_init(&w);
	add_set(&w, KEY_FS_PROTECT, "git");
	add_pattern(&w, KEY_FS_PROTECT, "/home/ann/work/app/free/**")->except = true;
	REQUIRE(build(&w) == 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char link[128];
		(void)snprintf(link, sizeof link, "/home/ann/work/app/%s", rows[i].link);
		if (rules_lead_out(&w.plan.rules, link, rows[i].words) != rows[i].out) {
			printf("# %s -> %s\n", rows[i].link, rows[i].words);
			CHECK(false);
		}
	}
	const struct rules *r = &w.plan.rules;
	CHECK(rules_move_out(r, "/home/ann/work/app/d", "/home/ann/work/app/.git/d"));
	CHECK(rules_move_out(r, "/home/ann/work/app/.git/a/d", "/home/ann/work/app/.git/d"));
	CHECK(rules_move_out(r, "/home/ann/work/app/a/.git/d", "/home/ann/work/app/b/.git/d"));
	CHECK(!rules_move_out(r, "/home/ann/work/app/.git/a/d", "/home/ann/work/app/.git/b/d"));
	CHECK(!rules_move_out(r, "/home/ann/work/app/.git/d", "/home/ann/work/app/d"));
	CHECK(!rules_move_out(r, "/home/ann/work/app/d", "/home/ann/work/app/.git"));
	world_done(&w);
}

/* ---- who sees what ---- */

/* Rules are judged by the name when a file is changed: they say what the mounts say. */
TEST(a_grant_that_reopens_a_deny_is_open_to_changes) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/vault/open/file", 'f', NULL);
	node(&w, "/home/ann/work/app/vault/open/key", 'f', NULL);
	node(&w, "/home/ann/work/app/vault/one", 'f', NULL);
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/vault");
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/vault/open/key");
	add_item(&w, KEY_FS_WRITE, "/home/ann/work/app/vault/open");
	add_item(&w, KEY_FS_READ, "/home/ann/work/app/vault/one");
	REQUIRE(build(&w) == 0);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/vault"), VISIBILITY_DENIED);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/vault/new"), VISIBILITY_DENIED);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/vault/open"), VISIBILITY_WRITE);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/vault/open/new"), VISIBILITY_WRITE);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/vault/open/key"), VISIBILITY_DENIED);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/vault/open2"), VISIBILITY_DENIED);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/vault/one"), VISIBILITY_READ);
	world_done(&w);
}

/* What lies in a denied directory and a grant reopens. */
static void deny_and_reopen(struct world *w, enum origin_kind kind) {
	world_init(w);
	node(w, "/home/ann/work/app/vault/open/x", 'f', NULL);
	add_pattern(w, KEY_FS_DENY, "**/vault")->origin.kind = kind;
	add_pattern(w, KEY_FS_DENY, "**/*.key")->origin.kind = kind;
	add_item(w, KEY_FS_DENY, "/home/ann/work/app/vault/later");
	add_item(w, KEY_FS_WRITE, "/home/ann/work/app/vault/open");
}

/* A tree that is granted by name is judged from its own root; a grant in what the floor
 * denies is refused. */
TEST(a_grant_does_not_lead_away_from_a_pattern_of_the_floor) {
	struct world w;
	deny_and_reopen(&w, ORIGIN_OPTION);
	REQUIRE(build(&w) == 0);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/vault/y"), VISIBILITY_DENIED);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/vault/open/x"), VISIBILITY_WRITE);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/vault/open/x.key"),
		  VISIBILITY_DENIED);
	world_done(&w);
	deny_and_reopen(&w, ORIGIN_FLOOR);
	CHECK(build(&w) != 0);
	CHECK_INT(w.e.kind, ERR_REFUSED);
	world_done(&w);
}

TEST(an_exception_of_an_untrusted_file_undoes_its_own_rules_alone) {
	struct world w;
	world_init(&w);
	add_pattern(&w, KEY_FS_DENY, "**/*.key");
	add_pattern(&w, KEY_FS_DENY, "**/*.pem")->bound = true;
	struct item *except = add_pattern(&w, KEY_FS_DENY, "**/a.*");
	except->bound = except->except = true;
	REQUIRE(build(&w) == 0);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/a.key"), VISIBILITY_DENIED);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/a.pem"), VISIBILITY_WRITE);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/b.pem"), VISIBILITY_DENIED);
	world_done(&w);
}

TEST(the_rule_behind_a_sight_is_named) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/secret", 'f', NULL);
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/secret");
	add_item(&w, KEY_FS_PROTECT, "/home/ann/work/app/later");
	REQUIRE(build(&w) == 0);
	struct visibility_rule rule = plan_rule_of(&w.plan, "/home/ann/work/app/secret");
	CHECK_STR(rule.note, "fs.deny");
	CHECK_STR(rule.origin->name, "--rule");
	rule = plan_rule_of(&w.plan, "/home/ann/work/app/later/x");
	CHECK_STR(rule.note, "fs.protect");
	CHECK_STR(rule.written, "/home/ann/work/app/later");
	CHECK_STR(plan_rule_of(&w.plan, "/home/ann/work/app/src").note, "workspace");
	CHECK_STR(plan_rule_of(&w.plan, "/usr/bin/sh").note, "system");
	CHECK(plan_rule_of(&w.plan, "/srv/x").note == NULL);
	world_done(&w);
}

/* By the deepest tree; a mask above it hides the file, and does not change its path. */
TEST(a_path_inside_has_the_path_of_its_tree_on_the_host) {
	struct mount mounts[] = {
		{.kind = MOUNT_BIND, .source = "/usr", .target = "/usr"},
		{.kind = MOUNT_PRIVATE, .target = "/tmp"},
		{.kind = MOUNT_BIND, .source = "/home/u/p", .target = "/ws"},
		{.kind = MOUNT_COW, .source = "/srv/data", .target = "/ws/data"},
		{.kind = MOUNT_MASK_FILE, .target = "/ws/.env"},
		{.kind = MOUNT_BIND, .source = "/", .target = "/host"},
	};
	const struct plan plan = {.mounts = mounts, .nmounts = ARRAY_LEN(mounts)};
	static const struct {
		const char *inside, *host;
	} rows[] = {
		{"/usr/bin/cc", "/usr/bin/cc"},
		{"/ws", "/home/u/p"},
		{"/ws/.env", "/home/u/p/.env"},
		{"/ws/data/x", "/srv/data/x"},
		{"/host/etc", "/etc"},
		{"/host", "/"},
		{"/tmp/x", NULL},
		{"/etc", NULL},
		{"/wsx", NULL},
	};
	char host[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool found = plan_host_path(&plan, rows[i].inside, host);
		CHECK_STR(found ? host : "none", rows[i].host == NULL ? "none" : rows[i].host);
	}
	CHECK(plan_mount_over(&plan, "/ws/.env") == &mounts[4]);
	CHECK(plan_mount_over(&plan, "/etc") == NULL);
}

TESTS_MAIN
