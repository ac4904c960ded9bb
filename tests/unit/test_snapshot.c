/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of hosts that are tables: recorded, written, read back, planned for. */
#include "plan_world.h"

#include "plan/snapshot.h"

#include <errno.h>

/* ---- secrets ---- */

TEST(secret_values_are_replaced_and_the_rest_stays) {
	static const struct {
		const char *before, *after;
	} rows[] = {
		{"[remote \"origin\"]\n\turl = https://ann:s3cret@example.com:8443/ann/app.git\n",
		 "[remote \"origin\"]\n\turl = https://xxx:x1xxxx@example.com:8443/xxx/xxx.xxx\n"},
		{"[url \"https://s3cret@example.com/\"]\n\tinsteadOf = git@example.com:me/x\n",
		 "[url \"https://x1xxxx@example.com/\"]\n\tinsteadOf = xxx@example.com:xx/x\n"},
		{"[http]\n\textraHeader = Authorization: Basic c2VjcmV0\n",
		 "[http]\n\textraHeader = xxxxxxxxxxxxx: xxxxx x1xxxxx1\n"},
		{"[core]\n\tworktree = ../app\n\tbare = false\n\teditor = vi\n",
		 "[core]\n\tworktree = ../app\n\tbare = false\n\teditor = xx\n"},
		{"//npm.example.com/:_authToken=s3cret\n@a:registry=https://npm.example.com/a/\n",
		 "//npm.example.com/:_authToken=x1xxxx\n@a:registry=https://npm.example.com/x/\n"},
		{"registry \"https://npm.example.com/s3cret\"\n_auth \"s3cret\"\n",
		 "registry \"https://npm.example.com/x1xxxx\"\n_auth \"x1xxxx\"\n"},
		{"[global]\nextra-index-url =\n    https://u:p/w@pypi.example.com/simple\n    "
		 "s3cret a\n",
		 "[global]\nextra-index-url =\n    https://x:x/x@pypi.example.com/xxxxxx\n    "
		 "x1xxxx x\n"},
		{"npmAuthToken: \"s3cret\"\nnpmRegistryServer: 'https://${HOST}/${T}/x'\n",
		 "npmAuthToken: \"x1xxxx\"\nnpmRegistryServer: 'https://${HOST}/${T}/x'\n"},
		{"<settings>\ns3cret "
		 "two\n<password>s3cret</password><url>http://a.example/b</url>\n",
		 "<settings>\nx1xxxx "
		 "xxx\n<password>x1xxxx</password><url>http://a.example/x</url>\n"},
		{"# s3cret https://u:s3cret@example.com\nkey = https://example.com/?token=s3cret\n",
		 "# x1xxxx https://x:x1xxxx@example.com\nkey = "
		 "https://example.com/?token=x1xxxx\n"},
		{"token = ghp_abcdefghijklmnopqrstuvwxyz\n",
		 "token = ghp_xxxxxxxxxxxxxxxxxxxxxxxxxx\n"},
		{"key = \"tab\\tquote\\\" 2024-05-06\"\n",
		 "key = \"xxx\\txxxxx\\\" 1111-11-11\"\n"},
		{"gitdir: /home/ann/a b/.git\n", "gitdir: /home/ann/a b/.git\n"},
		{"../../x\n", "../../x\n"},
		{"s3cret\n", "x1xxxx\n"},
		{"s3cret\nmore\n", "x1xxxx\nxxxx\n"},
		{"\xff\xfe=\xff s\n", "\xff\xfe=x x\n"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *text = strdup(rows[i].before);
		snapshot_mask(text, strlen(text));
		CHECK_STR(text, rows[i].after);
		free(text);
	}
}

TEST(the_value_of_a_variable_keeps_only_the_hosts_of_urls) {
	char list[] = "https://u:s3cret@proxy.example.com/s3cret,direct\n",
	     sums[] = "sum.example.com";
	char secret[] = "s3cret:/s3cret@s3cret";
	snapshot_mask_value("GOPROXY", list, strlen(list));
	CHECK_STR(list, "https://x:x1xxxx@proxy.example.com/x1xxxx,direct\n");
	snapshot_mask_value("GOSUMDB", sums, strlen(sums));
	CHECK_STR(sums, "sum.example.com");
	snapshot_mask_value("X", secret, strlen(secret));
	CHECK_STR(secret, "x1xxxx:/x1xxxx@x1xxxx");
}

/* ---- a round trip ---- */

struct trip {
	struct world w;
	struct snapshot recorded, read;
	unsigned char used[16];
	char *text; /* JSON */
};

static void trip_init(struct trip *t) {
	*t = (struct trip){0};
	world_init(&t->w);
}

static void trip_done(struct trip *t) {
	free(t->text);
	world_done(&t->w);
}

static char *plan_of(struct trip *t, const struct host *h) {
	t->w.e = (struct err){0};
	if (plan_build(&t->w.a, &t->w.p, h, &t->w.plan, &t->w.e) != 0) {
		return strdup(t->w.e.what);
	}
	return explained(&t->w, true);
}

static int read_again(struct trip *t, const char *text) {
	struct buf in = {0};
	buf_puts(&in, text);
	t->w.e = (struct err){0};
	int rc = snapshot_read(&t->read, &t->w.a, "host.json", &in, &t->w.e);
	buf_done(&in);
	return rc;
}

/* Records the plan of the world, writes it and reads it back. */
static void record(struct trip *t) {
	struct buf out = {0};
	t->w.h.environ = t->w.environ;
	t->w.h.environ_used = t->used;
	t->w.h.fs.ctx = &t->w.fs;
	snapshot_record(&t->recorded, &t->w.a, &t->w.h);
	free(plan_of(t, &t->recorded.host));
	snapshot_write(&t->recorded, &out);
	CHECK(!buf_failed(&out));
	t->text = buf_take(&out);
	CHECK_INT(read_again(t, t->text), 0);
	CHECK_STR(t->w.e.what, "");
}

static void check_same(struct trip *t) {
	record(t);
	char *here = plan_of(t, &t->w.h), *there = plan_of(t, &t->read.host);
	CHECK_STR(there, here);
	CHECK_INT(snapshot_check(&t->read, &t->w.e), 0);
	free(here);
	free(there);
}

TEST(a_snapshot_gives_the_plan_of_its_host) {
	for (int variant = 0; variant < 6; variant++) {
		struct trip t;
		trip_init(&t);
		node(&t.w, "/home/ann/work/app/.git/config", 'f',
		     "[remote \"o\"]\n\turl = https://ann:s3cret@example.com/x\n");
		node(&t.w, "/home/ann/work/app/.git/HEAD", 'f', "ref: refs/heads/main\n");
		node(&t.w, "/home/ann/.npmrc", 'f',
		     "registry=https://npm.example.com/\n_auth=s3cret\n");
		node(&t.w, "/home/ann/work/odd\xff\\name", 'l', "app");
		variable(&t.w, "PATH=/usr/bin:/bin");
		variable(&t.w, "LANG=s3cret");
		variable(&t.w, "API_KEY=s3cret");
		variable(&t.w, "OTHER_KEY=s3cret");
		add_item(&t.w, KEY_ENV_PASS, "API_KEY");
		t.w.h.run_dir = "/tmp/corral-1000-x";
		t.w.h.userns = variant != 1;
		t.w.h.landlock_abi = variant == 2 ? 3 : 7;
		t.w.h.privileged = variant == 3;
		t.w.h.uid = variant == 3 ? 0 : 1000;
		(void)snprintf(t.w.h.git.name, sizeof t.w.h.git.name, "s3cret");
		t.w.h.git_settings = "s3cret";
		if (variant == 4) {
			add_pattern(&t.w, KEY_FS_DENY, "**/*.key");
			add_item(&t.w, KEY_FS_READ, "/home/ann/work/odd\xff\\name");
		}
		if (variant == 5) {
			set_num(&t.w, KEY_NET_MODE, NET_FILTERED);
			add_item(&t.w, KEY_NET_ALLOW, "@registries")->kind = ITEM_SET;
		}
		check_same(&t);
		CHECK(strstr(t.text, "s3cret") == NULL);
		CHECK(strstr(t.text, "OTHER_KEY") == NULL);
		CHECK(strstr(t.text, "\"API_KEY\": \"\"") != NULL);
		trip_done(&t);
	}
}

/* Hard links: a rule names one of them, and the others are reported. */
TEST(files_that_share_an_inode_share_it_in_the_snapshot) {
	struct trip t;
	trip_init(&t);
	node(&t.w, "/home/ann/work/app/a.key", 'f', "linked");
	node(&t.w, "/home/ann/work/app/b", 'f', "linked");
	add_item(&t.w, KEY_FS_DENY, "/home/ann/work/app/a.key");
	add_item(&t.w, KEY_FS_DENY, "/home/ann/work/app/b");
	check_same(&t);
	const struct host_fs *fs = &t.read.host.fs;
	struct look a = fs->look(fs->ctx, "/home/ann/work/app/a.key");
	struct look b = fs->look(fs->ctx, "/home/ann/work/app/b");
	CHECK(a.dev == b.dev && a.ino == b.ino && a.names == 2);
	CHECK(a.ino != fs->look(fs->ctx, "/home/ann/work/app").ino);
	trip_done(&t);
}

/* ---- questions ---- */

static const char small[] =
	"{\"corral_snapshot\": 1, \"kernel\": {\"landlock_abi\": 4, \"seccomp\": true,"
	" \"user_namespaces\": true, \"notify\": false, \"sockets\": true},"
	" \"caller\": {\"uid\": 1, \"gid\": 1, \"cwd\": \"/w\", \"environ\": {\"A\": \"b\"}},"
	" \"absent\": [\"/w/gone\"],"
	" \"files\": {\"/\": {\"kind\": \"dir\", \"entries\": [\"w\", \"l\", \"loop\"]},"
	" \"/w\": {\"kind\": \"dir\", \"mode\": \"0700\", \"uid\": 1},"
	" \"/w/f\": {\"kind\": \"file\", \"text\": \"a\\\\x00b\\\\\\\\\", \"names\": 3},"
	" \"/w/shut\": {\"kind\": \"file\", \"reachable\": false, \"unreadable\": true},"
	" \"/l\": {\"kind\": \"link\", \"to\": \"w/../w/./f\"},"
	" \"/loop\": {\"kind\": \"link\", \"to\": \"/loop\"}}}";

TEST(questions_are_answered_from_the_file_alone) {
	struct trip t;
	char out[PATH_MAX];
	bool dir = false;
	trip_init(&t);
	CHECK_INT(read_again(&t, small), 0);
	const struct host_fs *fs = &t.read.host.fs;
	CHECK_INT(t.read.host.landlock_abi, 4);
	CHECK(!t.read.host.sockets); /* needs notify */
	CHECK_STR(plan_caller_variable(&t.read.host, "A"), "b");
	CHECK_INT(fs->look(fs->ctx, "/w").mode, 0700);
	CHECK_INT(fs->look(fs->ctx, "/l").kind, LOOK_LINK);
	CHECK_INT(fs->look(fs->ctx, "/l").mode, 0777);
	CHECK(fs->readlink(fs->ctx, "/l", out, sizeof out));
	CHECK_STR(out, "w/../w/./f");
	CHECK(!fs->readlink(fs->ctx, "/l", out, 4));
	CHECK(fs->resolve(fs->ctx, "/l", out, sizeof out));
	CHECK_STR(out, "/w/f");
	CHECK(!fs->resolve(fs->ctx, "/loop", out, sizeof out));
	CHECK(!fs->resolve(fs->ctx, "/w/f/x", out, sizeof out));
	CHECK_INT(fs->look(fs->ctx, "/w/gone").kind, LOOK_NOTHING);
	CHECK_INT(fs->look(fs->ctx, "/missing").kind, LOOK_NOTHING);
	CHECK_INT(fs->look(fs->ctx, "/w/f").names, 3);
	CHECK(!fs->look(fs->ctx, "/w/shut").reachable);
	CHECK(!fs->folds(fs->ctx, "/w"));
	struct buf text = {0};
	CHECK(!fs->read(fs->ctx, "/w/shut", 100, &text));
	CHECK(!fs->read(fs->ctx, "/w/f", 3, &text));
	CHECK(fs->read(fs->ctx, "/w/f", 4, &text));
	CHECK(text.len == 4 && memcmp(text.data, "a\0b\\", 4) == 0);
	buf_done(&text);
	CHECK_INT(snapshot_find(&t.read, "/w/f", out, &dir), 0);
	CHECK(!dir);
	CHECK_INT(snapshot_find(&t.read, "/missing", NULL, &dir), ENOENT);
	CHECK_INT(snapshot_check(&t.read, &t.w.e), 0);
	trip_done(&t);
}

static void take(void *arg, const char *name) {
	(void)arg;
	(void)name;
}

/* A name that is listed, in a directory without a list, or a list: each is an error. */
TEST(a_question_without_an_answer_names_the_path) {
	for (int question = 0; question < 4; question++) {
		static const char *const paths[] = {"/w/new", "/w", "/w/new", "/usr/bin/npm"};
		struct trip t;
		char out[PATH_MAX];
		struct buf text = {0};
		struct program_query q = {.name = "npm", .program = "/usr/bin/npm"};
		trip_init(&t);
		CHECK_INT(read_again(&t, small), 0);
		const struct host *h = &t.read.host;
		if (question == 0) {
			CHECK_INT(h->fs.look(h->fs.ctx, "/w/new").kind, LOOK_NOTHING);
		} else if (question == 1) {
			CHECK(!h->fs.list(h->fs.ctx, "/w", take, NULL));
		} else if (question == 2) {
			CHECK(!h->fs.resolve(h->fs.ctx, "/w/new/x", out, sizeof out));
		} else {
			CHECK(!h->ask(h->ask_ctx, &q, &text));
		}
		CHECK_INT(snapshot_check(&t.read, &t.w.e), -1);
		CHECK_INT(t.w.e.kind, ERR_USAGE);
		CHECK(strstr(t.w.e.what, paths[question]) != NULL);
		CHECK(strstr(t.w.e.fix, "status --snapshot") != NULL);
		buf_done(&text);
		trip_done(&t);
	}
}

/* ---- wrong files ---- */

/* The small snapshot with one part replaced. */
static char *with(const char *part, const char *instead) {
	const char *at = strstr(small, part);
	struct buf out = {0};
	if (at == NULL) {
		abort();
	}
	buf_add(&out, small, (size_t)(at - small));
	buf_puts(&out, instead);
	buf_puts(&out, at + strlen(part));
	return buf_take(&out);
}

TEST(a_wrong_file_is_refused_and_the_place_is_named) {
	static const struct {
		const char *part, *instead, *said;
	} rows[] = {
		{"\"kind\": \"dir\", \"entries\"", "\"kind\": \"dir\" \"entries\"", "host.json:1:"},
		{"\"corral_snapshot\": 1", "\"corral_snapshot\": 2",
		 "corral_snapshot: this version"},
		{"\"corral_snapshot\": 1,", "", "corral_snapshot: the key is missing"},
		{"\"seccomp\": true", "\"seccomp\": 1", "kernel.seccomp: true or false"},
		{"\"seccomp\": true", "\"seccmp\": true", "kernel.seccmp: unknown key"},
		{"\"seccomp\": true,", "", "kernel.seccomp: the key is missing"},
		{"\"landlock_abi\": 4", "\"landlock_abi\": -1", "kernel.landlock_abi: a number"},
		{"\"landlock_abi\": 4", "\"landlock_abi\": 4.5", "kernel.landlock_abi: a number"},
		{"\"landlock_abi\": 4", "\"landlock_abi\": 1001", "kernel.landlock_abi: a number"},
		{"\"sockets\": true", "\"sockets\": true, \"cgroup\": {\"kind\": \"v3\"}",
		 "kernel.cgroup: the kind"},
		{"\"uid\": 1,", "\"uid\": 4294967296,", "caller.uid: a number"},
		{"\"cwd\": \"/w\"", "\"cwd\": \"w\"", "caller.cwd: an absolute path"},
		{"\"cwd\": \"/w\"", "\"cwd\": null", "cwd must be a path"},
		{"{\"A\": \"b\"}", "{\"A=\": \"b\"}", "caller.environ.A=: the name"},
		{"\"A\": \"b\"", "\"A\": 1", "caller.environ.A: a string"},
		{"\"/w/gone\"", "\"/w/../gone\"", "absent.[]: an absolute path"},
		{"\"/w/gone\"", "\"/w/gone\", \"/w/gone\"", "listed twice"},
		{"\"/w/gone\"", "\"/w/f\"", "files./w/f: the path is listed twice"},
		{"\"mode\": \"0700\"", "\"mode\": \"0780\"", "files./w.mode: a mode"},
		{"\"mode\": \"0700\"", "\"mode\": 448", "files./w.mode: a mode"},
		{"\"kind\": \"dir\", \"mode\"", "\"kind\": \"door\", \"mode\"",
		 "files./w: the kind"},
		{"\"mode\": \"0700\"", "\"text\": \"\"", "files./w: a key does not apply"},
		{"\"names\": 3", "\"entries\": []", "files./w/f: a key does not apply"},
		{"\"kind\": \"dir\", \"entries\": [\"w\", \"l\", \"loop\"]",
		 "\"kind\": \"link\", \"to\": \"w\"", "files./: the root must be"},
		{"[\"w\",", "[\"w/x\",", "files./.entries: the name of an entry"},
		{"\"a\\\\x00b", "\"a\\\\x0gb", "files./w/f.text: an escape is wrong"},
		{"\"/w/f\": {\"kind\": \"file\"", "\"/w/\\\\f\": {\"kind\": \"file\"",
		 "an escape is wrong"},
		{"\"to\": \"/loop\"", "\"to\": \"\\\\x00\"", "files./loop.to: a NUL byte"},
		{"\"files\":", "\"files\": 1, \"more\":", "more: unknown key"},
		{"{\"corral_snapshot\": 1,", "[{\"corral_snapshot\": 1}, {", "host.json:1:"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct trip t;
		trip_init(&t);
		char *text = with(rows[i].part, rows[i].instead);
		CHECK_INT(read_again(&t, text), -1);
		CHECK_INT(t.w.e.kind, ERR_USAGE);
		if (strstr(t.w.e.what, rows[i].said) == NULL) {
			CHECK_STR(t.w.e.what, rows[i].said);
		}
		free(text);
		trip_done(&t);
	}
}

TESTS_MAIN
