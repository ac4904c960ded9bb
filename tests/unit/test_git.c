/* SPDX-License-Identifier: Apache-2.0 */
/* What git would use for a tree, on hosts that are a table of paths. */
#include "plan_world.h"
#include "base/path.h"

#include "plan/internal.h"

#define WS "/home/ann/work/app"
#define MAIN "/home/ann/main"

static struct item *add_set(struct world *w) {
	struct item *it = add_item(w, KEY_FS_PROTECT, "git");
	it->kind = ITEM_SET;
	return it;
}

/* As everybody has it who says nothing. */
static void git_world(struct world *w) {
	world_init(w);
	(void)add_set(w);
}

static void repository(struct world *w, const char *dir, const char *config) {
	node(w, arena_printf(&w->a, "%s/HEAD", dir), 'f', "ref: refs/heads/main\n");
	node(w, arena_printf(&w->a, "%s/config", dir), 'f', config);
	node(w, arena_printf(&w->a, "%s/hooks/pre-commit", dir), 'f', NULL);
	node(w, arena_printf(&w->a, "%s/objects/x", dir), 'f', NULL);
	node(w, arena_printf(&w->a, "%s/refs/x", dir), 'f', NULL);
}

/* The workspace is a linked work tree of MAIN. */
static void linked(struct world *w, const char *back) {
	repository(w, MAIN "/.git", "[core]\n");
	node(w, WS "/.git", 'f', "gitdir: " MAIN "/.git/worktrees/app\n");
	node(w, MAIN "/.git/worktrees/app/gitdir", 'f', back);
	node(w, MAIN "/.git/worktrees/app/commondir", 'f', "../..\n");
	node(w, MAIN "/.git/worktrees/app/HEAD", 'f', "ref: refs/heads/app\n");
}

/* The host's own file, and not one of the private home. */
static bool writable(const struct world *w, const char *path) {
	const struct mount *m = seen_at(w, path);
	return m != NULL && m->kind == MOUNT_BIND && m->writable && path_within(path, m->source);
}

static bool kept(const struct world *w, const char *path) {
	const struct mount *m = mount_at(w, path);
	return m != NULL && !writable(w, path) && !masked(w, path);
}

/* ---- a repository in the workspace ---- */

TEST(hooks_and_configuration_are_kept_and_the_rest_is_writable) {
	struct world w;
	git_world(&w);
	repository(&w, WS "/.git", "[core]\n\tbare = false\n");
	node(&w, WS "/.git/config.worktree", 'f', "");
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/.git/hooks") && kept(&w, WS "/.git/config"));
	CHECK(kept(&w, WS "/.git/config.worktree"));
	CHECK(kind_is(&w, WS "/.git", MOUNT_PIN));
	CHECK(writable(&w, WS "/.git/index") && writable(&w, WS "/.git/objects/x"));
	CHECK(writable(&w, WS "/src/main.c"));
	check_shape(&w);
	world_done(&w);
}

TEST(without_namespaces_the_same_holds) {
	struct world w;
	git_world(&w);
	w.h.userns = false;
	w.h.notify = w.h.sockets = true;
	w.h.run_dir = "/tmp/run";
	repository(&w, WS "/.git", "[remote \"o\"]\nurl = https://u:p@h/\n");
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/.git/hooks"));
	CHECK(kind_is(&w, WS "/.git/config", MOUNT_TEXT));
	CHECK(str_starts(mount_at(&w, WS "/.git/config")->source, "/tmp/run/"));
	CHECK_INT(plan_visibility(&w.plan, WS "/.git/config"), VISIBILITY_READ);
	world_done(&w);
}

TEST(a_repository_that_lost_its_head_is_kept_all_the_same) {
	struct world w;
	git_world(&w);
	node(&w, WS "/.git/config", 'f', "");
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/.git/config"));
	world_done(&w);
}

TEST(a_bare_repository_and_those_of_a_directory_of_projects_are_kept) {
	struct world w;
	git_world(&w);
	repository(&w, WS, "");
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/hooks") && kept(&w, WS "/config") && writable(&w, WS "/refs/x"));
	world_done(&w);

	git_world(&w);
	repository(&w, WS "/one/.git", "");
	repository(&w, "/home/ann/two/.git", "");
	node(&w, WS "/two", 'l', "../../two");
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/one/.git/hooks") && kind_is(&w, WS "/one", MOUNT_PIN));
	world_done(&w);
}

TEST(a_git_directory_that_cannot_be_read_is_read_only_as_a_whole) {
	struct world w;
	git_world(&w);
	node(&w, WS "/.git", 'f', "gitdir: a\nb\n");
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/.git") && has_note(&w, "cannot read it as git does"));
	world_done(&w);

	git_world(&w);
	node(&w, WS "/.git", 'f', "gitdir: sub/../x");
	node(&w, WS "/x/HEAD", 'f', "");
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/.git") && has_note(&w, "cannot read it as git does"));
	world_done(&w);

	git_world(&w);
	node(&w, WS "/.git/HEAD", 'f', "");
	node(&w, WS "/.git/commondir", 'f', "nowhere");
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/.git") && !writable(&w, WS "/.git/HEAD"));
	world_done(&w);
}

TEST(an_exception_lifts_it_and_a_grant_for_reading_shows_credentials) {
	struct world w;
	git_world(&w);
	repository(&w, WS "/.git", "[remote \"o\"]\nurl = https://u:p@h/\n");
	struct item *it = add_item(&w, KEY_FS_PROTECT, ".git/config");
	it->kind = ITEM_PATTERN;
	it->except = true;
	CHECK_INT(build(&w), 0);
	CHECK(writable(&w, WS "/.git/config") && kept(&w, WS "/.git/hooks"));
	CHECK_INT(plan_visibility(&w.plan, WS "/.git/config"), VISIBILITY_WRITE);
	world_done(&w);

	git_world(&w);
	repository(&w, WS "/.git", "[core]\n");
	add_set(&w)->except = true;
	CHECK_INT(build(&w), 0);
	CHECK(writable(&w, WS "/.git/config") && writable(&w, WS "/.git/hooks"));
	world_done(&w);

	/* An untrusted file takes back nothing but its own (P3). */
	git_world(&w);
	repository(&w, WS "/.git", "[core]\n");
	it = add_set(&w);
	it->except = it->bound = true;
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/.git/config") && kept(&w, WS "/.git/hooks"));
	world_done(&w);

	git_world(&w);
	repository(&w, WS "/.git", "[remote \"o\"]\nurl = https://u:p@h/\n");
	add_item(&w, KEY_FS_READ, WS "/.git/config");
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/.git/config") && kind_is(&w, WS "/.git/config", MOUNT_BIND));
	world_done(&w);
}

/* ---- the configuration ---- */

TEST(a_credential_in_the_configuration_is_not_seen) {
	struct world w;
	git_world(&w);
	repository(&w, WS "/.git", "[remote \"o\"]\n\turl = https://u:p@h/x\n");
	/* A rule that protects the file must not show it as it is (P3). */
	add_item(&w, KEY_FS_PROTECT, WS "/.git/config");
	CHECK_INT(build(&w), 0);
	REQUIRE(kind_is(&w, WS "/.git/config", MOUNT_TEXT));
	CHECK_STR(mount_at(&w, WS "/.git/config")->text,
		  "[remote \"o\"]\n\turl = \"https://h/x\"\n");
	CHECK(has_note(&w, "contains a credential"));
	CHECK_INT(plan_visibility(&w.plan, WS "/.git/config"), VISIBILITY_READ);
	auto_free char *said = explained(&w, true);
	CHECK(strstr(said, "u:p") == NULL && strstr(said, "\"copy\"") != NULL);
	check_shape(&w);
	world_done(&w);
}

TEST(it_is_not_seen_in_a_tree_that_is_only_read_either) {
	struct world w;
	git_world(&w);
	set_num(&w, KEY_MODE, MODE_READ_ONLY);
	repository(&w, WS "/.git", "[remote \"o\"]\nurl = https://u:p@h/x\n");
	repository(&w, MAIN "/.git", "[http]\nextraheader = x\n");
	add_item(&w, KEY_FS_READ, MAIN);
	CHECK_INT(build(&w), 0);
	CHECK(kind_is(&w, WS "/.git/config", MOUNT_TEXT));
	/* What replaces it has not been cleaned: it is hidden. */
	CHECK(!mount_at(&w, WS "/.git/config")->steady);
	CHECK(kind_is(&w, MAIN "/.git/config", MOUNT_TEXT));
	world_done(&w);
}

TEST(a_configuration_that_git_cannot_read_is_hidden_when_it_seems_to_hold_one) {
	struct world w;
	git_world(&w);
	repository(&w, WS "/.git", "[remote \"o\nurl = https://u:p@h/x\n");
	CHECK_INT(build(&w), 0);
	CHECK(masked(&w, WS "/.git/config"));
	world_done(&w);
}

TEST(hooks_elsewhere_and_included_files_are_kept_within_the_workspace) {
	struct world w;
	git_world(&w);
	repository(&w, WS "/.git",
		   "[core]\n\thooksPath = .husky/_\n[include]\n\tpath = ../team.conf\n"
		   "[includeIf \"gitdir:/\"]\n\tpath = /etc/hosts\n");
	node(&w, WS "/.husky/_/pre-commit", 'f', NULL);
	node(&w, WS "/team.conf", 'f', "[include]\npath = more.conf\n[x]\ntoken = abc\n");
	node(&w, WS "/more.conf", 'f', "[core]\nhooksPath = " WS "/scripts\n");
	node(&w, WS "/scripts/post-merge", 'f', NULL);
	CHECK_INT(build(&w), 0);
	CHECK(kind_is(&w, WS "/team.conf", MOUNT_TEXT) && kept(&w, WS "/more.conf"));
	CHECK(kept(&w, WS "/scripts")); /* the last one counts, as git has it */
	CHECK(writable(&w, WS "/.husky/pre-commit"));
	world_done(&w);

	git_world(&w);
	repository(&w, WS "/.git", "[core]\nhooksPath = .husky/_\n");
	node(&w, WS "/.husky/_/pre-commit", 'f', NULL);
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/.husky/_") && writable(&w, WS "/.husky/pre-commit"));
	world_done(&w);

	git_world(&w);
	repository(&w, WS "/.git", "[core]\nhooksPath = .\n");
	CHECK_INT(build(&w), 0);
	CHECK(writable(&w, WS "/src/main.c") && has_note(&w, "are not protected"));
	world_done(&w);
}

TEST(hooks_that_the_callers_settings_name_are_kept_where_the_repository_names_none) {
	static const char text[] = "[core]\n\thooksPath = .hooks\n[include]\n\tpath = " WS
				   "/more\n[includeIf \"gitdir:/\"]\n\tpath = ~bob/x\n";
	struct world w;
	git_world(&w);
	repository(&w, WS "/.git", "");
	node(&w, WS "/.hooks/pre-commit", 'f', NULL);
	node(&w, WS "/more", 'f', "");
	git_obeyed_read(&w.h.git_obeyed, &w.a, w.h.home, "/home/a/.gitconfig", text);
	git_obeyed_read(&w.h.git_obeyed, &w.a, w.h.home, "/home/a/.gitconfig", text);
	CHECK_INT((int)w.h.git_obeyed.nhooks, 1);
	CHECK_INT((int)w.h.git_obeyed.nfiles, 1);
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/.hooks") && kept(&w, WS "/more"));
	world_done(&w);

	git_world(&w);
	repository(&w, WS "/.git", "[core]\nhooksPath = own\n");
	node(&w, WS "/.hooks/pre-commit", 'f', NULL);
	node(&w, WS "/own/pre-commit", 'f', NULL);
	git_obeyed_read(&w.h.git_obeyed, &w.a, w.h.home, "/home/a/.gitconfig", text);
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/own") && writable(&w, WS "/.hooks/pre-commit"));
	world_done(&w);
}

TEST(settings_of_the_callers_that_lie_in_the_workspace_are_kept) {
	struct world w;
	git_world(&w);
	repository(&w, WS "/.git", "[include]\n\tpath = /home/ann/.more\n");
	node(&w, WS "/dot/gitconfig", 'f', "");
	node(&w, WS "/dot/hooks/pre-commit", 'f', NULL);
	node(&w, WS "/here", 'f', "");
	node(&w, WS "/.named/pre-commit", 'f', NULL);
	node(&w, "/home/ann/.gitconfig", 'l', "work/app/dot/gitconfig");
	node(&w, "/home/ann/.hooks", 'l', "work/app/dot/hooks");
	node(&w, "/home/ann/.more", 'f', "[core]\n\thooksPath = .named\n");
	git_obeyed_add(&w.h.git_obeyed, "/home/ann/.gitconfig");
	git_obeyed_add(&w.h.git_obeyed, WS "/here");
	w.h.git_obeyed.linked[0] = true;
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/dot/gitconfig") && kept(&w, WS "/here") && kept(&w, WS "/.named"));
	CHECK(writable(&w, WS "/dot/hooks/pre-commit"));
	world_done(&w);

	git_world(&w);
	repository(&w, WS "/.git", "[core]\n\thooksPath = /home/ann/.hooks\n");
	node(&w, WS "/dot/hooks/pre-commit", 'f', NULL);
	node(&w, "/home/ann/.hooks", 'l', "work/app/dot/hooks");
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/dot/hooks") && writable(&w, WS "/src/main.c"));
	world_done(&w);
}

TEST(links_in_the_middle_of_the_way_to_hooks_are_kept) {
	struct world w;
	git_world(&w);
	repository(&w, WS "/.git", "[core]\n\thooksPath = way\n");
	node(&w, WS "/h/i/hooks/pre-commit", 'f', NULL);
	node(&w, WS "/h/j", 'l', "./k");
	node(&w, WS "/h/k", 'l', "../h/i");
	node(&w, WS "/way", 'l', "h//j/../i/hooks");
	node(&w, WS "/ring", 'l', "ring/ring");
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/h/i/hooks"));
	CHECK(rules_judge(&w.plan.rules, WS "/way").protect != NULL);
	CHECK(rules_judge(&w.plan.rules, WS "/h/j").protect != NULL);
	CHECK(rules_judge(&w.plan.rules, WS "/h/k").protect != NULL);
	CHECK(rules_judge(&w.plan.rules, WS "/h/other").protect == NULL);
	world_done(&w);

	git_world(&w);
	repository(&w, WS "/.git", "[core]\n\thooksPath = ring\n");
	node(&w, WS "/ring", 'l', "ring/ring");
	CHECK_INT(build(&w), 0);
	world_done(&w);
}

/* ---- work trees and submodules ---- */

TEST(a_linked_work_tree_reaches_its_repository_when_both_say_so) {
	struct world w;
	git_world(&w);
	linked(&w, WS "/.git\n");
	CHECK_INT(build(&w), 0);
	CHECK(writable(&w, MAIN "/.git/objects/x") && writable(&w, MAIN "/.git/packed-refs"));
	CHECK(kept(&w, MAIN "/.git/hooks") && kept(&w, MAIN "/.git/config"));
	CHECK(kept(&w, MAIN "/.git/worktrees/app/gitdir") && kept(&w, WS "/.git"));
	CHECK(kept(&w, MAIN "/.git/worktrees/app/commondir"));
	CHECK(writable(&w, MAIN "/.git/worktrees/app/index"));
	CHECK(!writable(&w, MAIN "/src/x.c"));
	CHECK(has_note(&w, "is the repository of"));
	check_shape(&w);
	world_done(&w);
}

static void is_not_shown(struct world *w, const char *why) {
	CHECK_INT(build(w), 0);
	CHECK(!writable(w, MAIN "/.git/objects/x") && kept(w, WS "/.git"));
	CHECK(has_note(w, why));
	world_done(w);
}

TEST(a_planted_git_file_opens_no_other_repository) {
	struct world w;
	git_world(&w);
	linked(&w, "/home/ann/work/other/.git\n");
	is_not_shown(&w, "do not name this tree");

	/* The planted directory agrees, but the common one knows nothing of it. */
	git_world(&w);
	repository(&w, MAIN "/.git", "[core]\n");
	node(&w, WS "/.git", 'f', "gitdir: evil/worktrees/x\n");
	node(&w, WS "/evil/worktrees/x/gitdir", 'f', WS "/.git\n");
	node(&w, WS "/evil/worktrees/x/commondir", 'f', MAIN "/.git\n");
	is_not_shown(&w, "do not name this tree");

	git_world(&w);
	repository(&w, MAIN "/.git", "[core]\n\tworktree = ../\n");
	node(&w, WS "/.git", 'f', "gitdir: " MAIN "/.git\n");
	is_not_shown(&w, "do not name this tree");

	/* A link is the workspace's word as well. */
	git_world(&w);
	repository(&w, MAIN "/.git", "[core]\n");
	node(&w, WS "/.git", 'l', MAIN "/.git");
	CHECK_INT(build(&w), 0);
	CHECK(!writable(&w, MAIN "/.git/objects/x"));
	world_done(&w);
}

TEST(a_submodule_as_workspace_reaches_its_repository) {
	struct world w;
	git_world(&w);
	repository(&w, "/home/ann/work/.git/modules/app", "[core]\n\tworktree = ../../../app\n");
	node(&w, WS "/.git", 'f', "gitdir: ../.git/modules/app\n");
	CHECK_INT(build(&w), 0);
	CHECK(writable(&w, "/home/ann/work/.git/modules/app/objects/x"));
	CHECK(kept(&w, "/home/ann/work/.git/modules/app/hooks"));
	CHECK(!writable(&w, "/home/ann/work/.git/index"));
	world_done(&w);
}

TEST(submodules_and_linked_trees_within_the_workspace_are_kept) {
	struct world w;
	git_world(&w);
	repository(&w, WS "/.git", "[core]\n\thooksPath = .githooks\n");
	repository(&w, WS "/.git/modules/libs/a", "[core]\n\tworktree = ../../../../libs/a\n");
	repository(&w, WS "/.git/modules/libs/a/modules/b", "[x]\ntoken = abc\n");
	node(&w, WS "/libs/a/.git", 'f', "gitdir: ../../.git/modules/libs/a\n");
	node(&w, WS "/.git/worktrees/t/gitdir", 'f', WS "/tree/.git\n");
	node(&w, WS "/.git/worktrees/t/commondir", 'f', "../..\n");
	node(&w, WS "/tree/.git", 'f', "gitdir: " WS "/.git/worktrees/t\n");
	node(&w, WS "/tree/.githooks/x", 'f', NULL);
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/.git/modules/libs/a/hooks") && kept(&w, WS "/libs/a/.git"));
	CHECK(kept(&w, WS "/.git/modules/libs/a/modules/b/hooks"));
	CHECK(kind_is(&w, WS "/.git/modules/libs/a/modules/b/config", MOUNT_TEXT));
	CHECK(writable(&w, WS "/.git/modules/libs/a/objects/x"));
	CHECK(kept(&w, WS "/.git/worktrees/t/gitdir") && kept(&w, WS "/tree/.git"));
	CHECK(kept(&w, WS "/tree/.githooks"));
	check_shape(&w);
	world_done(&w);
}

static bool may_be_made(const struct world *w, const char *path) {
	return writable(w, path) && rules_judge(&w->plan.rules, path).protect == NULL;
}

TEST(without_submodules_none_is_begun) {
	struct world w;
	git_world(&w);
	repository(&w, WS "/.git", "[core]\n");
	CHECK_INT(build(&w), 0);
	CHECK(!may_be_made(&w, WS "/.git/modules") && !may_be_made(&w, WS "/.git/modules/new"));
	CHECK(mount_at(&w, WS "/.git/modules") == NULL);
	struct item *it = add_item(&w, KEY_FS_PROTECT, WS "/.gitmodules");
	it->except = true;
	CHECK_INT(build(&w), 0);
	CHECK(!may_be_made(&w, WS "/.git/modules/new")); /* it would end at the configuration */
	it = add_item(&w, KEY_FS_PROTECT, WS "/.git/config");
	it->except = true;
	CHECK_INT(build(&w), 0);
	CHECK(may_be_made(&w, WS "/.git/modules/new"));
	world_done(&w);
}

TEST(a_submodule_that_is_listed_may_be_fetched_and_no_other_is_begun) {
	struct world w;
	git_world(&w);
	repository(&w, WS "/.git", "[core]\n");
	node(&w, WS "/.gitmodules", 'f',
	     "[submodule \"a\"]\n\tpath = a\n\turl = https://a.example/a\n"
	     "[submodule \"b/c*\"]\n\tpath = b\n[submodule \"../d\"]\n\tpath = d\n");
	repository(&w, WS "/.git/modules/old", "[core]\n");
	CHECK_INT(build(&w), 0);
	CHECK(may_be_made(&w, WS "/.git/modules") && may_be_made(&w, WS "/.git/modules/a"));
	CHECK(may_be_made(&w, WS "/.git/modules/a/HEAD"));
	CHECK(may_be_made(&w, WS "/.git/modules/b") && may_be_made(&w, WS "/.git/modules/b/c*"));
	CHECK(may_be_made(&w, WS "/.git/modules/old/x"));
	CHECK(!may_be_made(&w, WS "/.git/modules/new") && !may_be_made(&w, WS "/.git/modules/c"));
	CHECK(!may_be_made(&w, WS "/.git/modules/new/HEAD"));
	/* The exceptions are of another group than what is kept of each. */
	CHECK(!may_be_made(&w, WS "/.git/modules/old/config"));
	CHECK(!may_be_made(&w, WS "/.git/modules/old/hooks/x"));
	CHECK(!may_be_made(&w, WS "/.git/hooks/x") && !may_be_made(&w, WS "/.git/config"));
	world_done(&w);
}

TEST(more_submodules_than_can_be_kept_one_by_one_are_kept_as_a_whole) {
	struct world w;
	git_world(&w);
	repository(&w, WS "/.git", "[core]\n");
	for (int i = 0; i < 18; i++) {
		/* too deep for a name */
		const char *dir = i == 0 ? WS "/.git/modules" : w.fs.nodes[w.fs.n - 1].path;
		node(&w, arena_printf(&w.a, "%s/d", dir), 'd', NULL);
	}
	CHECK_INT(build(&w), 0);
	CHECK(kept(&w, WS "/.git/modules") && has_note(&w, "read-only as a whole"));
	world_done(&w);
}

TEST(a_repository_is_kept_until_configuration_and_hooks_are_both_excepted) {
	static const char *const names[] = {"**/config", "**/hooks"};
	struct world w;
	git_world(&w);
	CHECK_INT(build(&w), 0);
	CHECK(rules_keep_repository(&w.plan.rules, WS "/a/.git"));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct item *it = add_item(&w, KEY_FS_PROTECT, names[i]);
		it->kind = ITEM_PATTERN;
		it->except = true;
		CHECK_INT(build(&w), 0);
		CHECK_INT(rules_keep_repository(&w.plan.rules, WS "/a/.git"), i == 0);
	}
	CHECK(rules_judge(&w.plan.rules, WS "/a/.git/config").protect == NULL);
	world_done(&w);
}

/* ---- what does not exist yet ---- */

TEST(what_is_missing_or_a_link_is_kept_by_a_rule) {
	static const char *const names[] = {
		WS "/.git/hooks",
		WS "/.git/commondir",
		WS "/.husky/_",
		WS "/.git/config.worktree",
		WS "/own",
		WS "/.git/worktrees/t/commondir",
		/* and what is there, because the host may replace it */
		WS "/.git/config",
		WS "/.git/worktrees/t/gitdir",
	};
	struct world w;
	git_world(&w);
	node(&w, WS "/.git/HEAD", 'f', "");
	node(&w, WS "/.git/config", 'f', "[core]\nhooksPath = .husky/_\n");
	node(&w, WS "/.git/config.worktree", 'l', "../own");
	node(&w, WS "/.git/worktrees/t/gitdir", 'f', "/home/ann/elsewhere/.git\n");
	CHECK_INT(build(&w), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CHECK(rules_judge(&w.plan.rules, names[i]).protect != NULL);
	}
	CHECK(rules_judge(&w.plan.rules, WS "/.git/index").protect == NULL);
	/* By its name; the broker lets the run write what it made itself. */
	CHECK(rules_judge(&w.plan.rules, WS "/.git/worktrees/new/gitdir").protect != NULL);
	world_done(&w);
}

TESTS_MAIN
