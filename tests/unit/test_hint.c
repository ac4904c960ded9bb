/* SPDX-License-Identifier: Apache-2.0 */
#include "base/auto.h"
#include "base/str.h"
#include "plan/refusal.h"
#include "run/hint.h"
#include "test.h"

#include <sys/resource.h>

/* ---- what is kept of a stream ---- */

TEST(the_last_bytes_are_kept_however_they_come) {
	unsigned seed = 7;
	static char all[3 * OUTPUT_TAIL_MAX];

	for (size_t i = 0; i < sizeof all; i++) {
		all[i] = (char)rand_r(&seed);
	}
	for (int round = 0; round < 2000; round++) {
		struct output_tail o = {0};
		size_t len = (size_t)rand_r(&seed) % sizeof all;
		size_t most = 1 + (size_t)rand_r(&seed) % (round % 2 ? 64 : sizeof all);
		for (size_t at = 0, n; at < len; at += n) {
			n = 1 + (size_t)rand_r(&seed) % most;
			n = n < len - at ? n : len - at;
			hint_record(&o, all + at, n);
		}
		size_t want = len < OUTPUT_TAIL_MAX ? len : OUTPUT_TAIL_MAX;
		CHECK_INT(o.len, want);
		CHECK(memcmp(o.text, all + len - want, want) == 0);
	}
}

/* ---- which rule ---- */

static struct mount view[] = {
	{.kind = MOUNT_BIND, .target = "/etc"},
	{.kind = MOUNT_DIR, .target = "/home"},
	{.kind = MOUNT_BIND, .target = "/home/me", .writable = true},
	{.kind = MOUNT_BIND, .target = "/home/me/work", .writable = true},
	{.kind = MOUNT_MASK_FILE, .target = "/home/me/work/.env"},
	{.kind = MOUNT_PIN, .target = "/home/me/work/kept"},
	{.kind = MOUNT_PIN, .target = "/home/me/work/pinned", .writable = true},
	{.kind = MOUNT_BIND, .target = "/srv/g/conf", .is_file = true, .writable = true},
	{.kind = MOUNT_PRIVATE, .target = "/tmp", .writable = true},
	{.kind = MOUNT_BIND, .target = "/usr"},
};

static const struct policy policy; /* built-in, as far as origins go */

static const struct plan plan = {
	.engine = ENGINE_NAMESPACES,
	.mounts = view,
	.nmounts = ARRAY_LEN(view),
	.home_at = "/home/me",
	.cwd = "/home/me/work",
	.own_net = true,
};

TEST(the_deepest_mount_decides_how_a_path_looks) {
	static const struct {
		const char *path;
		enum visibility sight;
	} rows[] = {
		{"/", VISIBILITY_NONE},
		{"/etc/passwd", VISIBILITY_READ},
		{"/etcetera", VISIBILITY_NONE},
		{"/home", VISIBILITY_NONE},
		{"/home/you/x", VISIBILITY_NONE},
		{"/home/me", VISIBILITY_PRIVATE},
		{"/home/me/.ssh/id", VISIBILITY_PRIVATE},
		{"/home/me/work/a", VISIBILITY_WRITE},
		{"/home/me/work/.env", VISIBILITY_DENIED},
		{"/home/me/work/.env.example", VISIBILITY_WRITE},
		{"/home/me/work/kept/x", VISIBILITY_READ},
		{"/home/me/work/pinned/x", VISIBILITY_WRITE},
		{"/tmp/x", VISIBILITY_WRITE},
		{"/var", VISIBILITY_NONE},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_INT(plan_visibility(&plan, rows[i].path), rows[i].sight);
	}
}

static struct advice advice_for(const struct plan *p, const char *text) {
	struct output_tail o = {0};
	const struct output_tail *const streams[] = {&o};
	struct advice got;

	hint_record(&o, text, strlen(text));
	hint_find(p, &policy, streams, 1, &got);
	return got;
}

TEST(a_new_file_beside_a_granted_one_needs_the_directory) {
	struct advice got = advice_for(
		&plan, "sed: couldn't open temporary file /srv/g/sedX: Read-only file system\n");

	REQUIRE(got.hint != NULL);
	CHECK_STR(got.hint->rule, "fs.write");
	CHECK_STR(got.path, "/srv/g/sedX");
	CHECK(strstr(hint_advice_text(&got), "only conf is writable") != NULL);
	CHECK(strstr(hint_advice_text(&got), "--write /srv/g") != NULL);
	got = advice_for(&plan, "touch: /srv/h: Read-only file system\n");
	REQUIRE(got.hint != NULL);
	CHECK(strstr(hint_advice_text(&got), "conf") == NULL);
}

static const struct {
	const char *text, *rule, *path; /* rule NULL: no hint */
} cases[] = {
	{"curl: (6) Could not resolve host: example.com\n", "net.mode", ""},
	{"Error: getaddrinfo EAI_AGAIN example.com\n", "net.mode", ""},
	{"connect: Connection refused", "net.mode", ""},
	{"sudo: The \"no new privileges\" flag is set\n", "privileges", ""},
	{"touch: cannot touch '/etc/x': Read-only file system\n", "fs.write", "/etc/x"},
	{"mkdir: cannot create directory \xe2\x80\x98/usr/x\xe2\x80\x99: Read-only file system\n",
	 "fs.write", "/usr/x"},
	{"/bin/sh: 1: cannot create /etc/x: Read-only file system\n", "fs.write", "/etc/x"},
	{"touch: cannot touch 'a': Read-only file system\n", "fs.write", ""},
	{"cp: '/tmp/a' to '/etc/../usr//b': Read-only file system", "fs.write", "/usr/b"},
	{"cat: /root/x: No such file or directory\n", "fs.read", "/root/x"},
	{"Error: ENOENT: no such file or directory, open '/srv/y'\n", "fs.read", "/srv/y"},
	{"/var/spool/cron: No such file or directory\n", "fs.read", "/var/spool/cron"},
	{"ls: /home/me/work/.env/x: No such file or directory\n", "fs.deny",
	 "/home/me/work/.env/x"},
	{"cat: /home/me/.ssh/id: No such file or directory\n", "fs.home", "/home/me/.ssh/id"},
	{"cat: .env: Permission denied\n", "fs.deny", "/home/me/work/.env"},
	{"cat: /home/me/work/.env: Permission denied\n", "fs.deny", "/home/me/work/.env"},
	{"chroot: cannot change root directory: Operation not permitted\n", "privileges", ""},
	/* the more telling line wins, wherever it stands */
	{"x: Operation not permitted\nping: Network is unreachable\n", "net.mode", ""},
	/* nothing of ours */
	{"", NULL, ""},
	{"cat: nofile: No such file or directory\n", NULL, ""},
	{"ls: cannot access '/usr/nofile': No such file or directory\n", NULL, ""},
	{"cat: /home/me/work/x: Permission denied\n", NULL, ""},
	{"/home/me/prog: a: No such file or directory\n", NULL, ""},
	{"3 tests failed\n", NULL, ""},
	/* what a terminal should not be sent is not repeated */
	{"cat: /root/\x1b[2J: No such file or directory\n", "fs.read", "/root"},
};

TEST(a_message_leads_to_its_rule) {
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct advice got = advice_for(&plan, cases[i].text);
		CHECK_STR(got.hint == NULL ? "none" : hint_advice_rule(&got),
			  cases[i].rule == NULL ? "none" : cases[i].rule);
		CHECK_STR(got.path, cases[i].path);
	}
}

TEST(a_run_with_the_hosts_network_gets_no_hint_about_it) {
	struct plan online = plan;

	online.own_net = false;
	CHECK(advice_for(&online, "curl: (6) Could not resolve host: x\n").hint == NULL);
}

TEST(a_run_behind_the_gate_hears_of_the_list_and_not_of_a_network_that_is_off) {
	struct plan gated = plan;

	gated.net.gate = true;
	gated.net.mode = NET_FILTERED;
	struct advice got = advice_for(&gated, "curl: (6) Could not resolve host: x\n");
	REQUIRE(got.hint != NULL);
	CHECK_STR(got.hint->rule, "net.allow");
	CHECK(strstr(hint_advice_text(&got), "--allow-host") != NULL);
	got = advice_for(&gated, "connect: Connection refused\n");
	REQUIRE(got.hint != NULL);
	CHECK(strstr(hint_advice_text(&got), "--host-port") != NULL);
	got = advice_for(&plan, "curl: (6) Could not resolve host: x\n");
	REQUIRE(got.hint != NULL);
	CHECK(strstr(hint_advice_text(&got), "net.mode none); allow one host: --allow-host") !=
	      NULL);
	got = advice_for(&plan, "npm error code EAI_AGAIN\nnpm error syscall getaddrinfo\n"
				"npm error reason: getaddrinfo EAI_AGAIN b.example\n");
	CHECK(strstr(got.text, "--allow-host b.example") != NULL);
	got = advice_for(&plan, "curl: (6) Could not resolve host: a.example\n");
	CHECK(strstr(hint_advice_text(&got), "--allow-host a.example;") != NULL);
	got = advice_for(&plan, "connect to 127.0.0.1:8080: Connection refused\n");
	CHECK(strstr(hint_advice_text(&got), "--host-port 8080") != NULL);
	got = advice_for(&plan, "Failed to connect to 127.9.8.7 port 8080: Connection refused\n");
	CHECK(str_starts(hint_advice_text(&got), "127.9.8.7 is the sandbox's own loopback"));
	CHECK(strstr(hint_advice_text(&got), "connect to 127.0.0.1:8080 with") != NULL);
	got = advice_for(&plan, "http://127.9.8.7:81/: Connection refused\n");
	CHECK(strstr(hint_advice_text(&got), "127.0.0.1:81 with --host-port 81;") != NULL);
}

TEST(every_cause_has_a_sentence_and_a_remedy_that_are_whole) {
	for (enum access want = ACCESS_READ; want <= ACCESS_WRITE; want++) {
		for (enum refusal_cause c = CAUSE_NONE + 1; c < CAUSE_COUNT; c++) {
			struct refusal_question q = {
				.plan = &plan, .policy = &policy, .path = "/a b/c's", .want = want};
			struct verdict v;
			refusal_say(&q, c, &v);
			CHECK(v.kind != ERR_NONE && v.cause == c && v.key != NULL);
			CHECK(str_starts(v.reason, "/a b/c's ") && v.remedy[0] != '\0');
			CHECK(strpbrk(v.reason, "{}") == NULL && strpbrk(v.remedy, "{}") == NULL);
		}
	}
}

TEST(a_remedy_is_quoted_for_a_shell) {
	struct refusal_question q = {.plan = &plan, .policy = &policy, .path = "/a b/c's"};
	struct verdict v;

	refusal_judge(&q, &v);
	CHECK_STR(v.remedy, "if it exists outside, grant it: --read '/a b/c'\\''s'");
}

TEST(an_option_names_one_path_and_no_pattern) {
	struct refusal_question q = {.plan = &plan, .policy = &policy, .path = "/a/*?[b]\\c"};
	struct verdict v;

	refusal_judge(&q, &v);
	CHECK_STR(v.option, "--read '/a/\\*\\?\\[b]\\\\c'");
	refusal_say(&q, CAUSE_PROTECT, &v);
	CHECK_STR(v.option, "--protect '!/a/\\*\\?\\[b]\\\\c'");
}

TEST(an_option_that_does_not_fit_is_left_out) {
	char path[sizeof((struct verdict *)NULL)->option + 10] = "/";
	struct refusal_question q = {.plan = &plan, .policy = &policy, .path = path};
	struct verdict v;

	memset(path + 1, 'a', sizeof path - 2);
	refusal_judge(&q, &v);
	CHECK_STR(v.option, "");
}

TEST(a_limit_is_named_with_its_value_and_the_option_that_raises_it) {
	struct plan limited = plan;

	CHECK(advice_for(&plan, "Too many open files\n").hint == NULL); /* it has none */
	limited.rlimits[limited.nrlimits++] = (struct rlimit_row){RLIMIT_NOFILE, 64};
	struct advice got = advice_for(&limited, "x: Too many open files\n");
	REQUIRE(got.hint != NULL);
	CHECK(strstr(hint_advice_text(&got),
		     "limit of 64 (built-in); to raise it: --open-files 128") != NULL);
}

TEST(a_path_that_is_too_long_is_not_cut) {
	char text[600] = "cat: /";

	memset(text + 6, 'a', 500);
	(void)snprintf(text + 506, sizeof text - 506, ": No such file or directory");
	CHECK(advice_for(&plan, text).hint == NULL);
}

TEST(every_row_can_be_reached_and_says_what_to_do) {
	for (size_t i = 0; i < hints_count; i++) {
		const struct hint *h = &hints[i];
		CHECK(strlen(h->phrase) > 3 && strlen(h->rule) > 0 && strlen(h->text) > 20);
		for (size_t j = 0; j < i; j++) {
			bool covers = strstr(h->phrase, hints[j].phrase) != NULL &&
				      hints[j].when <= HINT_LOOPBACK;
			if (covers) {
				printf("# \"%s\" is never reached behind \"%s\"\n", h->phrase,
				       hints[j].phrase);
			}
			CHECK(!covers);
		}
	}
}

TESTS_MAIN
