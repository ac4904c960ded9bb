/* SPDX-License-Identifier: Apache-2.0 */
/* What pid 1 writes down, and what the supervisor makes of it, whatever stands there. */
#include "test.h"

#include "base/auto.h"
#include "base/str.h"
#include "backend/journal.h"
#include "run/created.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct journal *new_journal(void) {
	struct journal *j = NULL;
	struct err e = {0};
	return journal_new(&j, &e) == 0 ? j : NULL;
}

static size_t count(const struct journal *j) {
	struct journal_entry entry;
	size_t n = 0, at = 0;
	while (journal_next(j, &at, &entry)) {
		n++;
	}
	return n;
}

static bool holds(const struct journal *j, enum lasting kind, const char *path) {
	struct journal_entry entry;
	for (size_t at = 0; journal_next(j, &at, &entry);) {
		if (entry.kind == kind && streq(entry.path, path)) {
			return true;
		}
	}
	return false;
}

TEST(a_record_is_kept_once_for_each_kind) {
	struct journal *j = new_journal();
	REQUIRE(j != NULL);
	for (int i = 0; i < 3; i++) {
		for (int kind = 0; kind < LASTING_COUNT; kind++) {
			journal_add(j, (enum lasting)kind, "/ws/a");
		}
		journal_add(j, LASTING_SETUID, "/ws/b");
	}
	CHECK_INT((int)count(j), LASTING_COUNT + 1);
	CHECK(holds(j, LASTING_SETUID, "/ws/a") && holds(j, LASTING_FIFO, "/ws/a"));
	CHECK(holds(j, LASTING_SETUID, "/ws/b") && !holds(j, LASTING_FIFO, "/ws/b"));
	CHECK_INT((int)journal_lost(j), 0);
	journal_free(j);
}

TEST(the_first_link_that_was_refused_is_kept) {
	struct journal *j = new_journal();
	enum link_refusal why = LINK_DENIED;
	char longer[1024];
	REQUIRE(j != NULL);
	CHECK(journal_refused_link(j, &why) == NULL && journal_refused_link(NULL, &why) == NULL);
	journal_refuse_link(NULL, LINK_UNKNOWN, "/a");
	journal_refuse_link(j, LINK_UNKNOWN, "/ws/first");
	journal_refuse_link(j, LINK_DENIED, "/ws/second");
	REQUIRE(journal_refused_link(j, &why) != NULL);
	CHECK_STR(journal_refused_link(j, &why), "/ws/first");
	CHECK_INT(why, LINK_UNKNOWN);
	journal_free(j);

	j = new_journal();
	REQUIRE(j != NULL);
	memset(longer, 'a', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	journal_refuse_link(j, LINK_DENIED, longer);
	REQUIRE(journal_refused_link(j, &why) != NULL);
	CHECK_STR(journal_refused_link(j, &why), "");
	journal_free(j);
}

TEST(without_a_journal_nothing_is_written_and_nothing_read) {
	struct journal_entry entry;
	size_t at = 0;
	journal_add(NULL, LASTING_HOOK, "/a");
	journal_move(NULL, "/a", "/b");
	CHECK(!journal_next(NULL, &at, &entry));
	CHECK_INT((int)journal_lost(NULL), 0);
	journal_free(NULL);
}

TEST(a_thousand_programs_do_not_hide_one_hook) {
	struct journal *j = new_journal();
	char path[64];
	REQUIRE(j != NULL);
	for (int i = 0; i < 20000; i++) {
		(void)snprintf(path, sizeof path, "/ws/build/some/directory/program-%d", i);
		journal_add(j, LASTING_EXECUTABLE, path);
	}
	size_t kept = count(j);
	CHECK(kept > 1000);
	CHECK_INT((int)(journal_lost(j) + kept), 20000);
	journal_add(j, LASTING_HOOK, "/ws/.git/hooks/pre-commit");
	CHECK(holds(j, LASTING_HOOK, "/ws/.git/hooks/pre-commit"));
	for (int i = 0; i < 20000; i++) {
		(void)snprintf(path, sizeof path, "/ws/%d/.git/hooks/pre-commit", i);
		journal_add(j, LASTING_HOOK, path);
	}
	CHECK_INT((int)(journal_lost(j) + count(j)), 40001);
	journal_free(j);
}

TEST(short_paths_fill_the_table_and_not_more) {
	struct journal *j = new_journal();
	char path[16];
	REQUIRE(j != NULL);
	for (int i = 0; i < 9000; i++) {
		(void)snprintf(path, sizeof path, "/%x", i);
		journal_add(j, LASTING_HOOK, path);
	}
	CHECK_INT((int)count(j), 4095);
	CHECK_INT((int)journal_lost(j), 9000 - 4095);
	journal_free(j);
}

TEST(a_directory_that_moves_takes_its_records_along) {
	struct journal *j = new_journal();
	REQUIRE(j != NULL);
	journal_add(j, LASTING_EXECUTABLE, "/ws/a/tool");
	journal_add(j, LASTING_HOOK, "/ws/a/.git/hooks/x");
	journal_add(j, LASTING_EXECUTABLE, "/ws/ab/tool");
	journal_move(j, "/ws/a", "/ws/new/b");
	CHECK(holds(j, LASTING_EXECUTABLE, "/ws/new/b/tool"));
	CHECK(holds(j, LASTING_HOOK, "/ws/new/b/.git/hooks/x"));
	CHECK_INT((int)count(j), 5);
	journal_move(j, "/ws/new", "/ws/new/b/deeper"); /* no such move exists: it ends, too */
	CHECK(count(j) < 10);
	journal_free(j);
}

/* The length is moved last: what is read is a number of whole records. */
TEST(a_writer_that_is_killed_leaves_whole_records) {
	for (int round = 0; round < 20; round++) {
		struct journal *j = new_journal();
		REQUIRE(j != NULL);
		pid_t writer = fork();
		if (writer == 0) {
			char path[512];
			for (int i = 0;; i = (i + 1) % 1000) {
				(void)snprintf(path, sizeof path, "/%0*d", 1 + i % 300, i);
				journal_add(j, (enum lasting)(i % LASTING_COUNT), path);
			}
		}
		(void)usleep((useconds_t)round * 100);
		(void)kill(writer, SIGKILL);
		(void)waitpid(writer, NULL, 0);
		struct journal_entry entry;
		for (size_t at = 0; journal_next(j, &at, &entry);) {
			CHECK(entry.path[0] == '/' && entry.kind < LASTING_COUNT);
			CHECK(strspn(entry.path + 1, "0123456789") == strlen(entry.path + 1));
		}
		journal_free(j);
	}
}

/* Nobody but pid 1 has the mapping; the reader does not depend on that. */
TEST(whatever_stands_in_the_journal_is_read_within_its_bounds) {
	for (unsigned round = 0; round < 200; round++) {
		struct journal *j = new_journal();
		REQUIRE(j != NULL);
		journal_add(j, LASTING_HOOK, "/ws/one");
		journal_add(j, LASTING_SETUID, "/ws/two");
		unsigned char *bytes = (unsigned char *)j;
		unsigned seed = round * 2654435761U;
		for (size_t i = 0; i < (round % 2 == 0 ? 4 : sizeof *j); i++) {
			seed = seed * 1103515245U + 12345U;
			bytes[i] = (unsigned char)(seed >> 16);
		}
		struct journal_entry entry;
		for (size_t at = 0; journal_next(j, &at, &entry);) {
			CHECK((size_t)(entry.path - (const char *)j) + strlen(entry.path) <
			      sizeof *j);
		}
		struct journal_refusal r;
		for (size_t at = 0; journal_next_refusal(j, &at, &r);) {
			CHECK((size_t)(r.resolved[1] - (const char *)j) + strlen(r.resolved[1]) <
			      sizeof *j);
		}
		journal_free(j);
	}
}

/* ---- refused calls ---- */

static struct journal_refusal refusal(enum denial_op op, int error, const char *path) {
	return (struct journal_refusal){.op = op, .error = error, .named = {path}};
}

TEST(equal_refusals_are_one_with_a_count) {
	struct journal *j = new_journal();
	struct journal_refusal one = refusal(DENIAL_MKDIR, EROFS, "/etc/d"), got;
	const struct journal_refusal two = {.op = DENIAL_RENAME,
					    .error = EBUSY,
					    .named = {"/ws/a", "/ws/b"},
					    .resolved = {"/ws/r", "/ws/s"}};
	size_t at = 0;

	REQUIRE(j != NULL);
	journal_refuse(NULL, &one);
	for (int i = 0; i < 3; i++) {
		journal_refuse(j, &one);
	}
	journal_refuse(j, &two);
	one.error = EACCES;
	journal_refuse(j, &one);
	REQUIRE(journal_next_refusal(j, &at, &got));
	CHECK(got.op == DENIAL_MKDIR && got.error == EROFS && got.count == 3);
	CHECK_STR(got.named[0], "/etc/d");
	CHECK_STR(got.named[1], "");
	REQUIRE(journal_next_refusal(j, &at, &got));
	CHECK(got.op == DENIAL_RENAME && got.count == 1);
	CHECK_STR(got.named[1], "/ws/b");
	CHECK_STR(got.resolved[0], "/ws/r");
	CHECK_STR(got.resolved[1], "/ws/s");
	REQUIRE(journal_next_refusal(j, &at, &got));
	CHECK(got.error == EACCES && got.count == 1);
	CHECK(!journal_next_refusal(j, &at, &got) && !journal_next_refusal(NULL, &at, &got));
	CHECK_INT((int)journal_refusals_lost(j), 0);
	CHECK_INT((int)count(j), 0); /* the other log is untouched */
	journal_free(j);
}

TEST(refusals_of_two_commands_of_a_session_are_two_records) {
	struct journal *j = new_journal();
	struct journal_refusal one = refusal(DENIAL_MKDIR, EROFS, "/etc/d"), got;
	size_t at = 0;

	REQUIRE(j != NULL);
	journal_add(j, LASTING_EXECUTABLE, "/ws/tool");
	one.exec = 1;
	journal_refuse(j, &one);
	struct journal_part part = journal_part_from(j, 2);
	one.exec = 2;
	journal_refuse(j, &one);
	journal_refuse(j, &one);
	REQUIRE(journal_next_refusal(j, &at, &got));
	CHECK(got.exec == 1 && got.count == 1);
	CHECK_INT((int)part.refused_from, (int)at); /* the next one is the command's */
	CHECK(part.created_from > 0 && part.exec == 2);
	REQUIRE(journal_next_refusal(j, &at, &got));
	CHECK(got.exec == 2 && got.count == 2);
	journal_free(j);
}

TEST(a_flood_of_refusals_is_counted_and_hides_no_created_file) {
	struct journal *j = new_journal();
	struct journal_refusal got;
	char path[64];
	size_t at = 0, kept = 0;

	REQUIRE(j != NULL);
	for (int i = 0; i < 20000; i++) {
		(void)snprintf(path, sizeof path, "/etc/some/longer/directory/file-%d", i);
		const struct journal_refusal r = refusal(DENIAL_CREATE, EROFS, path);
		journal_refuse(j, &r);
	}
	while (journal_next_refusal(j, &at, &got)) {
		kept++;
	}
	CHECK(kept > 1000);
	CHECK_INT((int)(journal_refusals_lost(j) + kept), 20000);
	journal_add(j, LASTING_HOOK, "/ws/.git/hooks/pre-commit");
	CHECK(holds(j, LASTING_HOOK, "/ws/.git/hooks/pre-commit"));
	journal_free(j);
}

TEST(a_path_that_is_too_long_is_counted) {
	struct journal *j = new_journal();
	char longer[PATH_MAX + 8];

	REQUIRE(j != NULL);
	memset(longer, 'a', sizeof longer - 1);
	longer[0] = '/';
	longer[sizeof longer - 1] = '\0';
	const struct journal_refusal r = refusal(DENIAL_CREATE, EROFS, longer);
	journal_refuse(j, &r);
	CHECK_INT((int)journal_refusals_lost(j), 1);
	journal_free(j);
}

/* ---- what becomes of it ---- */

struct place {
	char dir[64];
	struct mount mounts[2];
	struct plan plan;
};

static void make(const struct place *p, const char *name, mode_t mode) {
	char path[160];
	(void)snprintf(path, sizeof path, "%s/%s", p->dir, name);
	FILE *file = fopen(path, "w");
	if (file != NULL) {
		(void)fclose(file);
		(void)chmod(path, mode);
	}
}

static void place_init(struct place *p) {
	*p = (struct place){.dir = "/tmp/journal-test-XXXXXX"};
	if (mkdtemp(p->dir) == NULL) {
		abort();
	}
	p->mounts[0] = (struct mount){.kind = MOUNT_PRIVATE, .target = "/tmp", .writable = true};
	p->mounts[1] = (struct mount){
		.kind = MOUNT_BIND, .target = "/ws", .source = p->dir, .writable = true};
	p->plan = (struct plan){.mounts = p->mounts, .nmounts = 2, .home_at = "/home"};
}

static void place_done(const struct place *p, const char *const *names) {
	char path[160];
	for (; *names != NULL; names++) {
		(void)snprintf(path, sizeof path, "%s/%s", p->dir, *names);
		(void)remove(path);
	}
	CHECK_INT(rmdir(p->dir), 0);
}

TEST(what_is_gone_or_something_else_by_now_is_left_out) {
	static const char *const made[] = {"tool", "plain", "link", "real/in", "real", "way", NULL};
	struct place p;
	struct created c;
	char path[160];
	place_init(&p);
	struct journal *j = new_journal();
	REQUIRE(j != NULL);
	make(&p, "tool", 0755);
	make(&p, "plain", 0644);
	(void)snprintf(path, sizeof path, "%s/real", p.dir);
	CHECK_INT(mkdir(path, 0755), 0);
	make(&p, "real/in", 0755);
	(void)snprintf(path, sizeof path, "%s/way", p.dir);
	CHECK_INT(symlink("real", path), 0);
	(void)snprintf(path, sizeof path, "%s/link", p.dir);
	CHECK_INT(symlink("/nowhere", path), 0);

	journal_add(j, LASTING_EXECUTABLE, "/ws/tool");
	journal_add(j, LASTING_EXECUTABLE, "/ws/plain");  /* no longer one */
	journal_add(j, LASTING_EXECUTABLE, "/ws/gone");   /* removed */
	journal_add(j, LASTING_EXECUTABLE, "/ws/way/in"); /* a link is on the way by now */
	journal_add(j, LASTING_EXECUTABLE, "/tmp/tool");  /* the run's own */
	journal_add(j, LASTING_EXECUTABLE, "/etc/passwd");
	journal_add(j, LASTING_FIFO, "/ws/tool");
	journal_add(j, LASTING_SYMLINK, "/ws/link");
	journal_add(j, LASTING_STARTUP, "/ws/plain");
	journal_add(j, LASTING_HOOK, "/ws/plain");
	created_read(&p.plan, &(struct journal_part){.journal = j}, &c);
	CHECK(c.recorded);
	REQUIRE(c.count == 3);
	CHECK_INT(c.items[0].kind, LASTING_HOOK); /* the gravest of its kinds, and first */
	CHECK(str_starts(c.items[0].path, p.dir) && strstr(c.items[0].path, "/plain") != NULL);
	CHECK_INT(c.items[1].kind, LASTING_EXECUTABLE);
	CHECK_INT(c.items[2].kind, LASTING_SYMLINK);
	created_done(&c);
	created_read(&p.plan, &(struct journal_part){0}, &c);
	CHECK(!c.recorded && c.count == 0 && c.more == 0);
	created_done(&c);
	journal_free(j);
	place_done(&p, made);
}

TEST(a_long_list_is_cut_and_the_rest_counted) {
	struct place p;
	struct created c;
	char name[16], path[32];
	place_init(&p);
	struct journal *j = new_journal();
	REQUIRE(j != NULL);
	for (int i = 0; i < CREATED_MAX + 7; i++) {
		(void)snprintf(name, sizeof name, "t%d", i);
		(void)snprintf(path, sizeof path, "/ws/t%d", i);
		make(&p, name, 0755);
		journal_add(j, LASTING_EXECUTABLE, path);
	}
	created_read(&p.plan, &(struct journal_part){.journal = j}, &c);
	CHECK_INT((int)c.count, CREATED_MAX);
	CHECK_INT((int)c.more, 7);
	created_done(&c);
	journal_free(j);
	for (int i = 0; i < CREATED_MAX + 7; i++) {
		(void)snprintf(path, sizeof path, "t%d", i);
		char full[160];
		(void)snprintf(full, sizeof full, "%s/%s", p.dir, path);
		(void)unlink(full);
	}
	CHECK_INT(rmdir(p.dir), 0);
}

/* ---- names ---- */

TEST(names_that_somebody_obeys_are_found_and_others_are_not) {
	static const struct {
		const char *path;
		int kind; /* -1: none */
	} rows[] = {
		{"/ws/.git", LASTING_REPOSITORY},
		{"/ws/a/.git", LASTING_REPOSITORY},
		{"/ws/.gitignore", -1},
		{"/ws/.git/hooks/pre-commit", LASTING_HOOK},
		{"/ws/.git/hooks/pre-commit.sample", -1},
		{"/ws/bare.git/hooks/post-receive", LASTING_HOOK},
		{"/ws/.git/modules/x/hooks/pre-push", LASTING_HOOK},
		{"/ws/src/hooks/useState.ts", -1},
		{"/ws/.husky/pre-commit", LASTING_HOOK},
		{"/ws/sub/.envrc", LASTING_STARTUP},
		{"/ws/x.desktop", LASTING_STARTUP},
		{"/ws/.desktop", -1}, /* no name before the ending */
		{"/ws/user.service.ts", -1},
		{"/ws/Makefile", -1},
		{"/", -1},
		{"/.git", LASTING_REPOSITORY},
		{"", -1},
		{"hooks", -1},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct lasting_row *row = lasting_find(rows[i].path);
		CHECK_INT(row == NULL ? -1 : (int)row->kind, rows[i].kind);
	}
	for (size_t i = 0; i < lasting_rows_count; i++) {
		CHECK(lasting_rows[i].reason != NULL);
		CHECK(lasting_rows[i].dir != NULL || lasting_rows[i].name != NULL);
	}
	for (int kind = 0; kind < LASTING_COUNT; kind++) {
		CHECK(lasting_name((enum lasting)kind) != NULL);
	}
}

TESTS_MAIN
