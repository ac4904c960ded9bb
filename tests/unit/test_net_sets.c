/* SPDX-License-Identifier: Apache-2.0 */
/* The sets of rules that the host and the workspace are asked for. */
#include "net_world.h"

#include "plan/net/url_host.h"
#include "plan/net/registry_files.h"

/* ---- addresses ---- */

TEST(the_host_of_an_address_is_found) {
	static const struct {
		const char *text;
		bool remote;
		enum url_host_kind kind;
		const char *name;
		int port;
	} rows[] = {
		{"https://a.example/x", false, URL_HOST_HOST, "a.example", 443},
		{"HTTPS://A.Example", false, URL_HOST_HOST, "a.example", 443},
		{"http://a.example:8080", false, URL_HOST_HOST, "a.example", 8080},
		{"sparse+https://a.example/index/", false, URL_HOST_HOST, "a.example", 443},
		{"mirror+http://a.example/list", false, URL_HOST_HOST, "a.example", 80},
		{"https://ann:b@c:d@a.example/x", false, URL_HOST_HOST, "a.example", 443},
		{"https://a.example@b.example/x", false, URL_HOST_HOST, "b.example", 443},
		{"https://a.example\\@b.example/x", false, URL_HOST_HOST, "a.example", 443},
		{"https://a.example?@b.example", false, URL_HOST_HOST, "a.example", 443},
		{"https://a.example#@b.example", false, URL_HOST_HOST, "a.example", 443},
		{"ssh://git@a.example:2222/x", true, URL_HOST_HOST, "a.example", 2222},
		{"git+ssh://a.example/x", true, URL_HOST_HOST, "a.example", 22},
		{"git://a.example/x", true, URL_HOST_HOST, "a.example", 9418},
		{"git@a.example:x/y.git", true, URL_HOST_HOST, "a.example", 22},
		{"a.example:x", true, URL_HOST_HOST, "a.example", 22},
		{"https://", false, URL_HOST_BAD, NULL, 0},
		{"https://a_b..example/", false, URL_HOST_BAD, NULL, 0},
		{"https://a.example:0/", false, URL_HOST_BAD, NULL, 0},
		{"https://a b.example/", false, URL_HOST_BAD, NULL, 0},
		{"direct", false, URL_HOST_NONE, NULL, 0},
		{"file:///srv/mirror", false, URL_HOST_NONE, NULL, 0},
		{"cdrom:[Debian]/", false, URL_HOST_NONE, NULL, 0},
		{"ftp://a.example/", false, URL_HOST_NONE, NULL, 0},
		{"a.example", false, URL_HOST_NONE, NULL, 0},
		{"/srv/x.git", true, URL_HOST_NONE, NULL, 0},
		{"./a:b", true, URL_HOST_NONE, NULL, 0},
		{"../x", true, URL_HOST_NONE, NULL, 0},
		{"ext::ssh a.example %S", true, URL_HOST_NONE, NULL, 0},
		{":x", true, URL_HOST_NONE, NULL, 0},
		{"", true, URL_HOST_NONE, NULL, 0},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct url_host a;
		enum url_host_kind kind =
			rows[i].remote ? url_host_of_remote(rows[i].text, strlen(rows[i].text), &a)
				       : url_host_of_url(rows[i].text, strlen(rows[i].text), &a);
		if (kind != rows[i].kind) {
			printf("# %s\n", rows[i].text);
		}
		CHECK_INT(kind, rows[i].kind);
		if (rows[i].name != NULL && kind == URL_HOST_HOST) {
			CHECK_STR(a.host.name, rows[i].name);
			CHECK_INT(a.port, rows[i].port);
		}
	}
	struct url_host six;
	CHECK_INT(url_host_of_remote("git@[fd00::1]:x", 15, &six), URL_HOST_HOST);
	CHECK_INT(six.host.kind, HOST_IP);
	CHECK_INT(six.port, 22);
}

/* ---- @registries ---- */

struct words {
	char text[600];
};

static void add_word(void *arg, const char *word, size_t len) {
	struct words *w = arg;
	size_t at = strlen(w->text);
	(void)snprintf(w->text + at, sizeof w->text - at, "%s%.*s", at > 0 ? " " : "", (int)len,
		       word);
}

static const struct {
	enum registry_format format;
	const char *text, *words;
} settings[] = {
	{REGISTRY_NPM,
	 "; registry=https://no\n# x\nregistry = \"https://a/\"\n@s:registry=https://b/\n"
	 "//a/:_authToken=secret\nmyregistry=https://no\nregistry\n",
	 "https://a/ https://b/"},
	{REGISTRY_YARN_1, "# yarn\nregistry \"https://a/\"\n\"@s:registry\" https://b/\n",
	 "https://a/ https://b/"},
	{REGISTRY_YARN,
	 "npmRegistryServer: \"https://a/\"\nnpmScopes:\n  x:\n    npmRegistryServer: "
	 "https://b/\n",
	 "https://a/ https://b/"},
	{REGISTRY_PIP,
	 "[global]\nindex-url = https://a/simple\nextra_index_url =\n    https://b/\n"
	 "\thttps://c/\n[install]\nfind-links: https://d/\ntimeout = 60\n  https://no/\n",
	 "https://a/simple https://b/ https://c/ https://d/"},
	{REGISTRY_UV,
	 "index-url = \"https://a/\"\n[[index]]\nname = \"x\"\nurl = "
	 "\"https://b/\"\n[pip]\n"
	 "extra-index-url = [\"https://c/\"]\n",
	 "https://a/ https://b/ https://c/"},
	{REGISTRY_CARGO,
	 "[registries.x]\nindex = \"sparse+https://a/\"\n[source.crates-io]\n"
	 "replace-with = \"m\"\n[source.m]\nregistry = \"https://b/\"\n[source.v]\n"
	 "directory = \"/v\"\n",
	 "sparse+https://a/ https://b/"},
	{REGISTRY_CARGO, "[registries.x\n", ""},
	{REGISTRY_GO, "GOPROXY=https://a,https://b|direct\nGOSUMDB=s.example+1a+k\n",
	 "https://a https://b direct https://s.example"},
	{REGISTRY_GO, "GOSUMDB=off\nGOFLAGS=-x\n", ""},
	{REGISTRY_SUMDB, "s.example+1a+k https://c/sumdb", "https://c/sumdb"},
	{REGISTRY_SUMDB, "off", ""},
	{REGISTRY_MAVEN,
	 "<settings><!-- <url>https://no/</url> --><mirror><url>\n https://a/x "
	 "</url></mirror>"
	 "<mirror><url>http://0.0.0.0/</url><blocked>true</blocked></mirror>"
	 "<repository><url>https://b/</url></repository></settings>",
	 "https://a/x https://b/"},
	{REGISTRY_MAVEN, "<url>https://a/</url><!-- <url>x", "https://a/"},
	{REGISTRY_GEM, ":sources:\n- https://a/\n  - \"https://b/\"\n:x: y\n",
	 "https://a/ https://b/"},
	{REGISTRY_APT,
	 "# deb http://no/ x\ndeb [arch=amd64 signed-by=/k] http://a/debian x main\n"
	 "deb-src\thttps://b/ x\ndebt http://no/\ndeb\n",
	 "http://a/debian https://b/"},
	{REGISTRY_SOURCES,
	 "Types: deb\nURIs: http://a/ http://b/\n https://c/\nSuites: x\n\n"
	 "Enabled: no\nURIs: http://no/\n\nuris:\n# http://no/\n mirror+file:/etc/l\n",
	 "http://a/ http://b/ https://c/ mirror+file:/etc/l"},
	{REGISTRY_MIRRORS, "# x\nhttp://a/\tpriority:1\nhttps://b/\n", "http://a/ https://b/"},
	{REGISTRY_LIST, "https://a/ https://b/", "https://a/ https://b/"},
};

TEST(the_settings_of_each_client_are_read) {
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		struct arena a;
		struct words w = {{0}};
		arena_init(&a);
		struct registry_reader r = {.a = &a, .found = add_word, .arg = &w};
		registry_read(&r, settings[i].format, settings[i].text);
		CHECK_STR(w.text, settings[i].words);
		arena_done(&a);
	}
}

TEST(registries_are_what_the_hosts_clients_are_set_up_for) {
	struct world w;
	net_world(&w, NET_FILTERED);
	node(&w, "/home/ann/.npmrc", 'f',
	     "registry=https://ann:hunter2@npm.example:8443/x\n@s:registry=${SCOPED}\n"
	     "@t:registry=${UNSET}/x\n");
	node(&w, "/home/ann/.cargo/config.toml", 'f',
	     "[registries.a]\nindex = \"https://10.1.2.3/\"\n");
	node(&w, "/etc/apt/sources.list.d/x.list", 'f', "deb mirror+file:/etc/apt/l x main\n");
	node(&w, "/etc/apt/sources.list.d/y.bak", 'f', "deb http://no.example/ x\n");
	node(&w, "/etc/apt/l", 'f', "http://apt.example/debian\nmirror+file:/etc/apt/l\n");
	node(&w, "/home/ann/.m2/settings.xml", 'f', "<url>http://localhost:8081/</url>");
	node(&w, "/home/ann/.gemrc", 'f', "- https://169.254.169.254/\n- https://a..b/\n");
	variable(&w, "SCOPED=https://scoped.example");
	variable(&w, "GOPROXY=https://go.example,direct");
	variable(&w, "CARGO_REGISTRIES_X_INDEX=https://crates.example/");
	allow_set(&w, "registries");
	CHECK_INT(build(&w), 0);
	const struct net_rule *npm = rule_of(&w, "npm.example", 8443);
	REQUIRE(npm != NULL);
	CHECK(npm->may_be_private);
	CHECK_STR(npm->note, "npm (~/.npmrc)");
	CHECK_STR(npm->written, "@registries");
	CHECK_INT(npm->origin.kind, ORIGIN_OPTION);
	CHECK(rule_of(&w, "scoped.example", 443) != NULL);
	CHECK(rule_of(&w, "go.example", 443) != NULL);
	CHECK(rule_of(&w, "crates.example", 443) != NULL);
	CHECK(rule_of(&w, "apt.example", 80) != NULL);
	CHECK_INT(w.plan.net.nallow, 6);
	CHECK_INT(w.plan.net.allow[5].kind, NET_RULE_NETWORK);
	CHECK(has_note(&w, "npm (~/.npmrc): a variable in the URL is not set"));
	CHECK(has_note(&w, "--host-port 8081"));
	CHECK(has_note(&w, "metadata"));
	CHECK(has_note(&w, "is not valid: a label is empty"));
	CHECK(has_note(&w, "not configured: yarn, pip, uv"));
	for (int json = 0; json < 2; json++) {
		char *text = explained(&w, json);
		CHECK(strstr(text, "hunter2") == NULL);
		CHECK(strstr(text, "npm.example:8443") != NULL);
		free(text);
	}
	world_done(&w);
}

TEST(settings_that_commands_can_write_do_not_count) {
	struct world w;
	net_world(&w, NET_FILTERED);
	node(&w, "/home/ann/work/app/.npmrc", 'f', "registry=https://evil.example/\n");
	node(&w, "/home/ann/.npmrc", 'l', "work/app/.npmrc");
	node(&w, "/home/ann/shared/pip.conf", 'f', "[global]\nindex-url=https://evil.example/\n");
	variable(&w, "PIP_CONFIG_FILE=/home/ann/shared/pip.conf");
	add_item(&w, KEY_FS_WRITE, "/home/ann/shared");
	allow_set(&w, "registries");
	CHECK_INT(build(&w), 0);
	CHECK_INT(w.plan.net.nallow, 0);
	CHECK(has_note(&w, "npm (~/.npmrc): ignored: commands can write this file"));
	CHECK(has_note(&w, "pip (PIP_CONFIG_FILE): ignored"));
	world_done(&w);
}

static bool answer(const void *ctx, const struct program_query *q, struct buf *out) {
	unsigned *asked = *(unsigned *const *)ctx;
	++*asked;
	CHECK(strstr(q->program, "/work/app/") == NULL);
	CHECK_STR(q->home, "HOME=/home/ann");
	CHECK_STR(q->path, "PATH=/usr/bin");
	if (streq(q->name, "npm")) {
		CHECK_STR(q->program, "/usr/bin/npm");
		buf_puts(out, "https://default.example/\n");
	} else if (streq(q->name, "go-sumdb")) {
		buf_puts(out, "sum.example\n");
	}
	return out->len > 0;
}

TEST(a_client_without_settings_is_asked_and_one_of_the_workspace_is_not) {
	static const char *const programs[] = {"/usr/bin/npm", "/usr/bin/go", "/usr/bin/mvn",
					       "/home/ann/work/app/npm", "/home/ann/work/app/gem"};
	unsigned asked = 0, *counter = &asked;
	struct world w;
	net_world(&w, NET_FILTERED);
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		node(&w, programs[i], 'f', NULL);
		w.fs.nodes[w.fs.n - 1].mode = 0755;
	}
	variable(&w, "PATH=/home/ann/work/app:usr/bin::/usr/bin");
	w.h.ask = answer;
	w.h.ask_ctx = &counter;
	CHECK_INT(build(&w), 0);
	CHECK_INT(asked, 0);
	allow_set(&w, "registries");
	CHECK_INT(build(&w), 0);
	CHECK_INT(asked, 3); /* npm, and Go for two things */
	CHECK(rule_of(&w, "default.example", 443) != NULL);
	CHECK(rule_of(&w, "sum.example", 443) != NULL);
	CHECK(has_note(&w, "not configured: yarn, pip, uv, cargo, Maven, gem, apt"));
	CHECK_INT(w.plan.nwarnings, 0);
	world_done(&w);
}

/* How many warnings a run of the command gets, with cargo and mvn installed. */
static size_t warned(const char *file, const char *command, const char *words) {
	struct world w;
	net_world(&w, NET_FILTERED);
	for (int i = 0; i < 2; i++) {
		node(&w, i == 0 ? "/usr/bin/mvn" : "/usr/bin/cargo", 'f', NULL);
		w.fs.nodes[w.fs.n - 1].mode = 0755;
	}
	if (file != NULL) {
		node(&w, file, 'f', "");
	}
	variable(&w, "PATH=/usr/bin");
	w.h.command = command;
	allow_set(&w, "registries");
	CHECK_INT(build(&w), 0);
	size_t n = w.plan.nwarnings;
	CHECK(n == 0 || strstr(w.plan.warnings[0], words) != NULL);
	world_done(&w);
	return n;
}

TEST(a_client_without_registry_is_warned_about_where_the_workspace_or_the_command_uses_it) {
	CHECK_INT(warned(NULL, NULL, ""), 0);
	CHECK_INT(warned("/home/ann/work/app/package.json", "npm", ""), 0);
	CHECK_INT(warned("/home/ann/work/app/pom.xml", NULL, "no registry is known for Maven; "),
		  1);
	CHECK_INT(
		warned("/home/ann/work/app/Cargo.toml", "make", "no registry is known for cargo; "),
		1);
	CHECK_INT(warned(NULL, "/usr/bin/mvn", "no registry is known for Maven; "), 1);
	CHECK_INT(warned(NULL, "cargo", "no registry is known for cargo; "), 1);
	CHECK_INT(warned(NULL, "/usr/bin/cargo-x", ""), 0);
}

/* ---- @remotes ---- */

static const char config[] = "[core]\n\tbare = false\n"
			     "[remote \"origin\"]\n\turl = https://ann:hunter2@code.example/x.git\n"
			     "\tpushurl = git@push.example:x.git\n"
			     "[remote \"up\"]\n\turl = work:team/x.git\n"
			     "[remote \"dir\"]\n\turl = ../other\n"
			     "[remote \"near\"]\n\turl = ssh://10.1.2.3/x\n"
			     "[remote \"here\"]\n\turl = http://localhost:3000/x\n"
			     "[url \"ssh://git@long.example:2222/\"]\n\tinsteadOf = work:team/\n"
			     "[url \"https://short.example/\"]\n\tinsteadOf = work:\n";

TEST(remotes_are_those_of_the_workspaces_own_repository) {
	struct world w;
	net_world(&w, NET_FILTERED);
	node(&w, "/home/ann/work/app/.git/HEAD", 'f', "ref: refs/heads/main\n");
	node(&w, "/home/ann/work/app/.git/config", 'f', config);
	node(&w, "/home/ann/work/app/sub/.git/HEAD", 'f', "ref: refs/heads/main\n");
	node(&w, "/home/ann/work/app/sub/.git/config", 'f',
	     "[remote \"origin\"]\n\turl = https://evil.example/x\n");
	allow_set(&w, "remotes");
	CHECK_INT(build(&w), 0);
	CHECK_INT(w.plan.net.nallow, 3);
	const struct net_rule *origin = rule_of(&w, "code.example", 443);
	REQUIRE(origin != NULL);
	CHECK(!origin->may_be_private);
	CHECK_STR(origin->note, "the remote origin");
	CHECK(rule_of(&w, "push.example", 22) != NULL);
	CHECK(rule_of(&w, "long.example", 2222) != NULL);
	CHECK(has_note(&w, "the address of near is a private network"));
	CHECK(has_note(&w, "here is on this host's loopback; to reach it: --host-port 3000"));
	char *text = explained(&w, false);
	CHECK(strstr(text, "hunter2") == NULL);
	CHECK(strstr(text, "allow    code.example:443   # the remote origin, @remotes, --rule") !=
	      NULL);
	free(text);
	world_done(&w);
}

TEST(without_a_repository_of_its_own_a_workspace_has_no_remotes) {
	struct world w;
	net_world(&w, NET_FILTERED);
	node(&w, "/home/ann/work/app/sub/.git/HEAD", 'f', "ref: refs/heads/main\n");
	node(&w, "/home/ann/work/app/sub/.git/config", 'f',
	     "[remote \"origin\"]\n\turl = https://evil.example/x\n");
	allow_set(&w, "remotes");
	CHECK_INT(build(&w), 0);
	CHECK_INT(w.plan.net.nallow, 0);
	CHECK(has_note(&w, "@remotes: no host is allowed: the workspace has no"));
	world_done(&w);
}

TESTS_MAIN
