/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that were kept apart: the walk over the two trees, and apply, killed at each of
 * its steps.
 */
#include "cow_world.h"
#include "base/rights.h"

TEST(every_kind_of_change_has_its_name) {
	struct world w;
	REQUIRE(open_world(&w));
	file(w.ws, "same", "s\n", 0644);
	file(w.ws, "text", "t\n", 0644);
	file(w.ws, "mode", "m\n", 0644);
	file(w.ws, "gone", "g\n", 0644);
	file(w.ws, "moved", "content of its own\n", 0644);
	file(w.ws, "turns", "x\n", 0644);
	folder(w.ws, "dir");
	file(w.ws, "dir/kept", "k\n", 0644);
	folder(w.ws, "old");
	file(w.ws, "old/a", "a\n", 0644);
	folder(w.ws, "fresh");
	file(w.ws, "fresh/1", "1\n", 0644);
	CHECK_INT(symlink("text", in(w.ws, "link").text), 0);
	REQUIRE(begin(&w));
	file(w.upper, "same", "s\n", 0644);
	file(w.upper, "text", "T\n", 0644);
	file(w.upper, "mode", "m\n", 0755);
	whiteout(&w, "gone");
	whiteout(&w, "moved");
	file(w.upper, "there", "content of its own\n", 0644);
	folder(w.upper, "turns");
	opaque(&w, "turns");
	folder(w.upper, "dir");
	file(w.upper, "dir/new", "n\n", 0644);
	whiteout(&w, "old");
	folder(w.upper, "fresh");
	opaque(&w, "fresh");
	file(w.upper, "fresh/2", "2\n", 0644);
	CHECK_INT(symlink("mode", in(w.upper, "link").text), 0);
	CHECK_INT(mkfifo(in(w.upper, "pipe").text, 0600), 0);
	CHECK_INT(finish_run(&w), 12);
	REQUIRE(look(&w));
	auto_free char *got = told(&w);
	CHECK_STR(got, "added dir/new, deleted fresh/1, added fresh/2, deleted gone, changed link, "
		       "mode mode, deleted old, deleted old/a, added pipe, changed text, "
		       "renamed there<moved, type turns");
	close_world(&w);
}

TEST(a_run_that_changed_nothing_leaves_no_directory) {
	struct world w;
	REQUIRE(open_world(&w));
	file(w.ws, "a", "a\n", 0644);
	folder(w.ws, "dir");
	REQUIRE(begin(&w));
	file(w.upper, "a", "a\n", 0644); /* opened for writing, and left as it was */
	folder(w.upper, "dir");
	whiteout(&w, "made-and-removed");
	CHECK_INT(finish_run(&w), 0);
	CHECK(access(in(w.state, "cow/" ID).text, F_OK) != 0);
	close_world(&w);
}

TEST(what_the_host_did_meanwhile_is_a_conflict) {
	static const char *const names[] = {"changed", "deleted", "replaced", "touched", "calm"};
	struct world w;
	REQUIRE(open_world(&w));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		file(w.ws, names[i], "before\n", 0644);
	}
	folder(w.ws, "tree");
	REQUIRE(begin(&w));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		file(w.upper, names[i], "inside\n", 0644);
	}
	file(w.upper, "both", "inside\n", 0644);
	whiteout(&w, "tree");
	file(w.ws, "touched", "during\n", 0644);
	CHECK_INT(finish_run(&w), 7);
	file(w.ws, "changed", "outside\n", 0644);
	file(w.ws, "both", "outside\n", 0644);
	file(w.ws, "tree/late", "outside\n", 0644);
	CHECK_INT(unlink(in(w.ws, "deleted").text), 0);
	file(w.ws, "draft", "before\n", 0644);
	CHECK_INT(rename(in(w.ws, "draft").text, in(w.ws, "replaced").text), 0);
	REQUIRE(look(&w));
	auto_free char *got = told(&w);
	CHECK_STR(got, "!changed both, changed calm, !changed changed, !added deleted, "
		       "!changed replaced, !changed touched, deleted tree, !deleted tree/late");

	struct cow_apply all = {0};
	struct cow_applied done;
	auto_free char *before = tree_of(w.ws);
	CHECK_INT(cow_apply(&w.cow, &all, &done, &w.e), -1);
	CHECK_INT(w.e.kind, ERR_REFUSED);
	auto_free char *after = tree_of(w.ws);
	CHECK_STR(after, before); /* nothing is touched when one is refused */

	const char *const calm[] = {"calm"};
	all = (struct cow_apply){.paths = calm, .npaths = 1};
	REQUIRE(look(&w));
	CHECK_INT(cow_apply(&w.cow, &all, &done, &w.e), 0);
	CHECK_INT(done.n, 1);
	CHECK_INT(done.left, 7);
	/* What was applied is the host's affair from here on. */
	file(w.ws, "calm", "edited\n", 0644);
	REQUIRE(look(&w));
	CHECK_INT(w.changes.n, 7);

	all = (struct cow_apply){.force = true};
	CHECK_INT(cow_apply(&w.cow, &all, &done, &w.e), 0);
	CHECK_INT(done.left, 0);
	auto_free char *forced = tree_of(w.ws);
	CHECK(strstr(forced, "/both 100644 inside") != NULL);
	CHECK(strstr(forced, "/calm 100644 edited") != NULL);
	CHECK(strstr(forced, "/tree") == NULL);
	CHECK(access(in(w.state, "cow/" ID).text, F_OK) != 0);
	close_world(&w);
}

/* Everything that takes more than one system call is in here. */
static bool furnish(struct world *w) {
	if (!open_world(w)) {
		return false;
	}
	file(w->ws, "text", "old\n", 0644);
	file(w->ws, "moved", "content of its own\n", 0640);
	file(w->ws, "to-dir", "x\n", 0644);
	folder(w->ws, "to-file");
	file(w->ws, "to-file/a", "a\n", 0644);
	folder(w->ws, "gone");
	folder(w->ws, "gone/deep");
	file(w->ws, "gone/deep/file", "f\n", 0644);
	folder(w->ws, "fresh");
	file(w->ws, "fresh/1", "1\n", 0644);
	folder(w->ws, "opened");
	CHECK_INT(chmod(in(w->ws, "opened").text, 0), 0);
	CHECK_INT(symlink("text", in(w->ws, "link").text), 0);
	if (!begin(w)) {
		return false;
	}
	file(w->upper, "text", "new\n", 0755);
	whiteout(w, "moved");
	folder(w->upper, "into");
	file(w->upper, "into/moved", "content of its own\n", 0640);
	folder(w->upper, "to-dir");
	opaque(w, "to-dir");
	file(w->upper, "to-dir/new", "n\n", 0644);
	file(w->upper, "to-file", "flat\n", 0644);
	whiteout(w, "gone");
	folder(w->upper, "fresh");
	opaque(w, "fresh");
	file(w->upper, "fresh/2", "2\n", 04755);
	CHECK_INT(chmod(in(w->upper, "fresh/2").text, 06755), 0);
	folder(w->upper, "closed");
	file(w->upper, "closed/in", "in\n", 0400);
	CHECK_INT(chmod(in(w->upper, "closed").text, 0555), 0);
	folder(w->upper, "sealed");
	folder(w->upper, "sealed/too");
	file(w->upper, "sealed/too/in", "in\n", 0400);
	CHECK_INT(chmod(in(w->upper, "sealed/too").text, 0), 0);
	CHECK_INT(chmod(in(w->upper, "sealed").text, 0), 0);
	folder(w->upper, "opened");
	file(w->upper, "opened/new", "new\n", 0644);
	CHECK_INT(symlink("/nowhere", in(w->upper, "link").text), 0);
	return finish_run(w) > 0;
}

static int steps_left;

static void count_step(void *arg) {
	(void)arg;
	if (steps_left-- == 0) {
		_exit(9);
	}
}

/* Applies in a process of its own, which dies at its n-th step; true when it lived. */
static bool apply_until(struct world *w, int n) {
	pid_t pid = fork();
	if (pid == 0) {
		struct cow_apply how = {.step = count_step};
		struct cow_applied done;
		struct rights rights;
		struct cow c;
		steps_left = n;
		/* A mode of 000 means something to root then. */
		_exit(rights_drop(&rights, &w->e) == 0 &&
				      cow_open(&w->arena, w->state, ID, &c, &w->e) == 0 &&
				      cow_apply(&c, &how, &done, &w->e) == 0
			      ? 0
			      : 1);
	}
	int status = 0;
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9);
	return WEXITSTATUS(status) == 0;
}

TEST(an_apply_killed_at_any_step_is_finished_by_the_next) {
	struct world w;
	REQUIRE(furnish(&w));
	REQUIRE(apply_until(&w, -1));
	auto_free char *wanted = tree_of(w.ws);
	CHECK(strstr(wanted, "/fresh/2 100755 2") != NULL); /* W5 */
	CHECK(strstr(wanted, "/closed 40555") != NULL);
	CHECK(strstr(wanted, "/sealed 40000") != NULL);
	/* Only root can look into a directory of mode 000. */
	CHECK(geteuid() != 0 || strstr(wanted, "/sealed/too 40000") != NULL);
	CHECK(strstr(wanted, "/opened 40755") != NULL && strstr(wanted, "/opened/new") != NULL);
	CHECK(strstr(wanted, "/link 120777 /nowhere") != NULL);
	CHECK(strstr(wanted, ".corral") == NULL && strstr(wanted, "/gone") == NULL);
	close_world(&w);

	bool lived = false;
	int n = 0;
	for (; !lived; n++) {
		REQUIRE(n < 500);
		REQUIRE(furnish(&w));
		lived = apply_until(&w, n);
		if (!lived) {
			CHECK(apply_until(&w, -1));
		}
		auto_free char *got = tree_of(w.ws);
		CHECK_STR(got, wanted);
		CHECK(access(in(w.state, "cow/" ID).text, F_OK) != 0);
		close_world(&w);
		REQUIRE(!test_failed);
	}
	CHECK(n > 20);
}

static bool guards(void *arg, const char *path) {
	(void)arg;
	return streq(path, ".git/hooks");
}

TEST(a_protected_name_is_applied_when_it_is_named) {
	struct world w;
	struct cow_applied done;
	const char *const parent[] = {".git"}, *const itself[] = {".git/hooks"};
	REQUIRE(open_world(&w));
	folder(w.ws, ".git");
	REQUIRE(begin(&w));
	folder(w.upper, ".git");
	file(w.upper, ".git/hooks", "#!\n", 0755);
	CHECK_INT(finish_run(&w), 1);
	struct cow_apply how = {.is_protected = guards};
	REQUIRE(look(&w));
	CHECK_INT(cow_apply(&w.cow, &how, &done, &w.e), -1);
	CHECK(strstr(w.e.what, "the policy protects it") != NULL);
	how = (struct cow_apply){.is_protected = guards, .paths = parent, .npaths = 1};
	CHECK_INT(cow_apply(&w.cow, &how, &done, &w.e), -1);
	how.paths = itself;
	CHECK_INT(cow_apply(&w.cow, &how, &done, &w.e), 0);
	CHECK(access(in(w.ws, ".git/hooks").text, F_OK) == 0);
	close_world(&w);
}

TEST(no_link_leads_apply_out_of_the_workspace) {
	struct world w;
	struct cow_applied done;
	struct cow_apply how = {.force = true};
	REQUIRE(open_world(&w));
	folder(w.dir, "outside");
	folder(w.ws, "dir");
	REQUIRE(begin(&w));
	folder(w.upper, "dir");
	file(w.upper, "dir/new", "n\n", 0644);
	CHECK_INT(finish_run(&w), 1);
	CHECK_INT(rmdir(in(w.ws, "dir").text), 0);
	CHECK_INT(symlink("../outside", in(w.ws, "dir").text), 0);
	REQUIRE(look(&w));
	CHECK_INT(cow_apply(&w.cow, &how, &done, &w.e), 0);
	CHECK(access(in(w.dir, "outside/new").text, F_OK) != 0);
	CHECK(access(in(w.ws, "dir/new").text, F_OK) == 0); /* forced: the link gave way */
	close_world(&w);
}

TEST(one_at_a_time) {
	struct world w;
	struct cow second;
	REQUIRE(open_world(&w));
	REQUIRE(begin(&w));
	file(w.upper, "new", "n\n", 0644);
	/* The run holds it. */
	CHECK_INT(cow_open(&w.arena, w.state, ID, &second, &w.e), -1);
	CHECK_INT(w.e.kind, ERR_REFUSED);
	cow_close(&second);
	CHECK_INT(finish_run(&w), 1);
	REQUIRE(look(&w));
	CHECK_INT(cow_open(&w.arena, w.state, ID, &second, &w.e), -1);
	CHECK_INT(w.e.kind, ERR_REFUSED);
	cow_close(&second);
	CHECK_INT(cow_open(&w.arena, w.state, "../ws", &second, &w.e), -1);
	CHECK_INT(w.e.kind, ERR_USAGE);
	cow_close(&second);
	close_world(&w);
}

/* Ten thousand directories in each other, and links that lead out. */
TEST(discard_takes_any_depth_and_follows_nothing) {
	struct world w;
	REQUIRE(open_world(&w));
	file(w.ws, "mine", "m\n", 0644);
	REQUIRE(begin(&w));
	CHECK_INT(symlink(w.ws, in(w.upper, "out").text), 0);
	int dir = open(w.upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 10000 && dir >= 0; i++) {
		CHECK_INT(mkdirat(dir, "d", 0755), 0);
		int next = openat(dir, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(dir);
		dir = next;
	}
	CHECK(dir >= 0);
	close(dir);
	CHECK(finish_run(&w) > 100);
	REQUIRE(look(&w));
	bool told_so = false;
	for (size_t i = 0; i < w.changes.n; i++) {
		told_so = told_so || w.changes.items[i].cannot != NULL;
	}
	CHECK(told_so);
	CHECK_INT(cow_remove(&w.cow, &w.e), 0);
	CHECK(access(in(w.state, "cow/" ID).text, F_OK) != 0);
	CHECK(access(in(w.ws, "mine").text, F_OK) == 0);
	close_world(&w);
}

TEST(what_its_owner_cannot_enter_is_seen_all_the_same) {
	struct world w;
	struct cow_apply how = {0};
	struct cow_applied done;
	struct rights rights;
	struct stat st;
	REQUIRE(open_world(&w));
	REQUIRE(rights_drop(&rights, &w.e) == 0);
	REQUIRE(begin(&w));
	folder(w.upper, "closed");
	folder(w.upper, "closed/too");
	file(w.upper, "closed/too/file", "f\n", 0);
	CHECK_INT(chmod(in(w.upper, "closed/too").text, 0), 0);
	CHECK_INT(chmod(in(w.upper, "closed").text, 0), 0);
	folder(w.upper, "listed"); /* its names can be read, and nothing else of them */
	folder(w.upper, "listed/too");
	file(w.upper, "listed/too/file", "f\n", 0644);
	CHECK_INT(chmod(in(w.upper, "listed").text, 0644), 0);
	CHECK_INT(finish_run(&w), 6);
	REQUIRE(look(&w));
	CHECK_INT(w.changes.items[0].is.mode & 0777, 0);
	CHECK_INT(cow_apply(&w.cow, &how, &done, &w.e), 0);
	CHECK(stat(in(w.ws, "closed").text, &st) == 0 && (st.st_mode & 0777) == 0);
	CHECK(stat(in(w.ws, "listed").text, &st) == 0 && (st.st_mode & 0777) == 0644);
	CHECK_INT(chmod(in(w.ws, "listed").text, 0755), 0);
	CHECK(access(in(w.ws, "listed/too/file").text, F_OK) == 0);
	CHECK_INT(done.left, 0);
	CHECK(access(in(w.state, "cow/" ID).text, F_OK) != 0);
	rights_restore(&rights);
	close_world(&w);
}

TESTS_MAIN
