/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: tables of agents and the files of skills, which only narrow a policy (P6). */
#include "policy_world.h"

#include "policy/agent.h"

static const char *path_in(struct world *w, const char *name) {
	return arena_printf(&w->a, "%s/%s", w->dir, name);
}

static void make_tree(struct world *w) {
	static const char *const dirs[] = {"data", "data/in", "data/secret", "data/.git", "other"};
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		make_dir(path_in(w, dirs[i]));
	}
}

/* Writes the skill, with %s for the world's directory, and resolves with it. */
static int with_skill(struct world *w, const char *requires) {
	const char *path = path_in(w, "skill.toml");
	const char *text = arena_printf(&w->a, "name = \"s\"\n[requires]\n%s", requires);
	write_file(path, text);
	w->in.nsettings = 0;
	set(w, "skill", path, "--skill");
	return resolve(w);
}

static const struct request *answer_to(const struct world *w, const char *text) {
	for (size_t i = 0; i < w->p.nrequests; i++) {
		if (streq(w->p.requests[i].text, text)) {
			return &w->p.requests[i];
		}
	}
	return NULL;
}

static int answered(const struct world *w, const char *text) {
	const struct request *r = answer_to(w, text);
	return r == NULL ? -1 : (int)r->answer;
}

/* ---- skills ---- */

TEST(a_skill_without_requests_has_the_workspace_and_no_grant) {
	WORLD(w);
	make_tree(&w);
	write_file(w.user, arena_printf(&w.a,
					"fs.read = [\"%s/data\"]\nfs.write = [\"%s/other\"]\n"
					"net.mode = \"full\"\nenv.pass = [\"A\"]\n"
					"env.secrets = [\"S\"]\nnet.host_ports = [80]\n",
					w.dir, w.dir));
	CHECK_OK(&w, with_skill(&w, ""));
	static const enum key_id grants[] = {KEY_FS_READ,  KEY_FS_WRITE,    KEY_NET_ALLOW,
					     KEY_ENV_PASS, KEY_ENV_SECRETS, KEY_NET_HOST_PORTS};
	for (size_t i = 0; i < ARRAY_LEN(grants); i++) {
		CHECK_INT(w.p.values[grants[i]].count, 0);
	}
	CHECK_INT(policy_num(&w.p, KEY_NET_MODE), NET_NONE);
	CHECK_INT(policy_num(&w.p, KEY_MODE), MODE_WORKSPACE_WRITE);
	CHECK(w.p.agent_secrets_bound);
}

TEST(a_request_within_a_grant_is_granted_and_one_beyond_it_is_named) {
	WORLD(w);
	make_tree(&w);
	write_file(w.user,
		   arena_printf(&w.a, "fs.read = [\"%s/data\"]\nfs.deny = [\"%s/data/secret\"]\n",
				w.dir, w.dir));
	const char *in = path_in(&w, "data/in"), *other = path_in(&w, "other");
	const char *secret = path_in(&w, "data/secret");
	CHECK_OK(&w, with_skill(&w, arena_printf(
					    &w.a,
					    "fs.read = [\"data/in\", \"%s\", \"%s\", \"nowhere\"]\n"
					    "fs.write = [\"%s\"]\n",
					    other, secret, in)));
	CHECK_INT(w.p.values[KEY_FS_READ].count, 1);
	CHECK_STR(w.p.values[KEY_FS_READ].items[0].str, in);
	CHECK_STR(w.p.values[KEY_FS_READ].items[0].part_of, path_in(&w, "data"));
	CHECK_INT(w.p.values[KEY_FS_WRITE].count, 0);
	CHECK_INT(answered(&w, other), REQUEST_REFUSED);
	CHECK(strstr(answer_to(&w, other)->fix, "--read") != NULL);
	CHECK(strstr(answer_to(&w, secret)->why, "fs.deny") != NULL);
	CHECK_INT(w.p.nremarks, 4); /* each refusal is a warning */
}

TEST(a_symlink_in_a_granted_tree_leads_nowhere_else) {
	WORLD(w);
	make_tree(&w);
	CHECK(symlink("../other", path_in(&w, "data/out")) == 0);
	write_file(w.user, arena_printf(&w.a, "fs.write = [\"%s/data\"]\n", w.dir));
	CHECK_OK(&w, with_skill(&w, "fs.write = [\"data/out\"]\n"));
	CHECK_INT(w.p.values[KEY_FS_WRITE].count, 0);
	CHECK_OK(&w, with_skill(&w, "fs.write = [\"data/in\"]\n"));
	CHECK_INT(w.p.values[KEY_FS_WRITE].count, 1);
}

TEST(a_part_is_not_granted_where_a_rule_of_the_whole_may_not_hold) {
	WORLD(w);
	make_tree(&w);
	write_file(w.user,
		   arena_printf(&w.a, "fs.write = [\"%s/data\"]\nfs.deny = [\"**/secre?/**\"]\n",
				w.dir));
	CHECK_OK(&w, with_skill(&w, "fs.write = [\"data/.git\", \"data/secret\", \"data/in\"]\n"));
	CHECK_INT(answered(&w, path_in(&w, "data/.git")), REQUEST_REFUSED);
	CHECK_INT(answered(&w, path_in(&w, "data/secret")), REQUEST_REFUSED);
	CHECK_INT(answered(&w, path_in(&w, "data/in")), REQUEST_GRANTED);
	CHECK_OK(&w, with_skill(&w, "fs.write = [\"data\"]\n"));
	CHECK_INT(w.p.values[KEY_FS_WRITE].count, 1);
}

TEST(a_read_only_part_of_the_workspace_stays_read_only) {
	WORLD(w);
	make_dir(path_in(&w, "ws/kept"));
	write_file(w.user, "fs.read = [\"kept\"]\n");
	CHECK_OK(&w, with_skill(&w, "fs.write = [\"ws/kept\"]\n"));
	CHECK_INT(w.p.values[KEY_FS_READ].count, 1);
	CHECK_STR(w.p.values[KEY_FS_READ].items[0].str, path_in(&w, "ws/kept"));
	CHECK_INT(answered(&w, path_in(&w, "ws/kept")), REQUEST_REFUSED);
}

TEST(hosts_are_granted_as_far_as_mode_rules_and_ports_cover_them) {
	static const struct {
		const char *base, *asked;
		bool granted;
	} rows[] = {
		{"net.allow = [\"*.a.example\"]", "x.a.example", true},
		{"net.allow = [\"*.a.example\"]", "*.b.a.example", true},
		{"net.allow = [\"*.a.example\"]", "a.example", false},
		{"net.allow = [\"*.a.example\"]", "xa.example", false},
		{"net.allow = [\"a.example\"]", "a.example:443", true},
		{"net.allow = [\"a.example\"]", "a.example:8080", false},
		{"net.allow = [\"a.example:443\"]", "a.example", false},
		{"net.allow = [\"a.example:443\", \"a.example:80\"]", "a.example", true},
		{"net.allow = [\"a.example:*\"]", "a.example:8080", true},
		{"net.allow = [\"10.0.0.0/8\"]", "10.1.0.0/16:80", true},
		{"net.allow = [\"10.1.0.0/16\"]", "10.0.0.0/8", false},
		{"net.allow = [\"10.0.0.0/8\"]", "a.example", false},
		{"net.allow = [\"@remotes\"]", "@remotes", true},
		{"net.allow = [\"@remotes\"]", "@registries", false},
		{"net.mode = \"restricted\"", "a.example", true},
		{"net.mode = \"restricted\"", "a.example:22", false},
		{"net.mode = \"restricted\"", "10.0.0.0/8", false},
		{"net.mode = \"full\"", "a.example:22", true},
		{"", "a.example", false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		WORLD(w);
		write_file(w.user, rows[i].base);
		CHECK_OK(&w, with_skill(&w, arena_printf(&w.a, "net.allow = [\"%s\"]\n",
							 rows[i].asked)));
		CHECK_INT(w.p.values[KEY_NET_ALLOW].count, rows[i].granted);
		CHECK_INT(policy_num(&w.p, KEY_NET_MODE),
			  rows[i].granted ? NET_FILTERED : NET_NONE);
		CHECK_INT(answered(&w, rows[i].asked),
			  rows[i].granted ? REQUEST_GRANTED : REQUEST_REFUSED);
	}
}

TEST(a_skill_cannot_keep_full_access) {
	WORLD(w);
	make_tree(&w);
	write_file(w.user, "mode = \"full-access\"\naccept_full_access = 2026-11-17\n");
	CHECK_OK(&w, with_skill(&w, "fs.read = [\"data\"]\nnet.allow = [\"a.example\"]\n"));
	CHECK_INT(policy_num(&w.p, KEY_MODE), MODE_WORKSPACE_WRITE);
	CHECK_INT(policy_num(&w.p, KEY_NET_MODE), NET_FILTERED);
	CHECK_INT(w.p.values[KEY_FS_READ].count, 1);
}

TEST(commands_that_a_skill_names_are_all_that_it_has) {
	WORLD(w);
	write_file(w.user,
		   "[commands]\ndefault = \"deny\"\ngit = {blocked = [\"push\"]}\nmake = {}\n");
	CHECK_OK(&w, with_skill(&w, "commands = [\"git\", \"curl\"]\n"));
	CHECK_INT(w.p.values[KEY_COMMANDS].count, 2);
	CHECK_STR(w.p.values[KEY_COMMANDS].items[1].str, "git blocked push");
	CHECK_INT(answered(&w, "curl"), REQUEST_REFUSED);
	write_file(w.user, "");
	CHECK_OK(&w, with_skill(&w, "commands = [\"git\"]\n"));
	CHECK_INT(policy_num(&w.p, KEY_COMMANDS_DEFAULT), COMMANDS_DENY);
	CHECK_OK(&w, with_skill(&w, ""));
	CHECK_INT(policy_num(&w.p, KEY_COMMANDS_DEFAULT), COMMANDS_ALLOW);
}

TEST(the_socket_of_a_session_stays) {
	WORLD(w);
	CHECK_OK(&w, with_skill(&w, ""));
	set(&w, "net.sockets", "/run/x", "session");
	set(&w, "net.sockets", "/run/y", "--socket");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(w.p.values[KEY_NET_SOCKETS].count, 1);
	CHECK_STR(w.p.values[KEY_NET_SOCKETS].items[0].str, "/run/x");
}

TEST(a_file_that_is_no_skill_is_refused) {
	static const struct {
		const char *text, *words;
	} rows[] = {
		{"", "the name is missing"},
		{"name = \"a b\"\n", "not a valid name"},
		{"name = \"s\"\nnames = 1\n", "unknown key"},
		{"name = \"s\"\nversion = 2\n", "must be 1"},
		{"name = \"s\"\nrequires = 1\n", "must be a table"},
		{"name = \"s\"\n[requires]\nfs.deny = [\"x\"]\n", "cannot request it"},
		{"name = \"s\"\n[requires]\nworkspace = \"/\"\n", "cannot request it"},
		{"name = \"s\"\n[requires]\nskill = \"/\"\n", "cannot request it"},
		{"name = \"s\"\n[requires]\nenv.tools = [\"a\"]\n", "cannot request it"},
		{"name = \"s\"\n[requires]\nfs.reed = [\"x\"]\n", "did you mean"},
		{"name = \"s\"\n[requires]\nfs.read = \"x\"\n", "must be a list"},
		{"name = \"s\"\n[requires]\ncommands = {git = {}}\n", "list of the names"},
		{"name = \"s\"\n[requires]\ncommands = [\"git push\"]\n", "list of the names"},
		{"name = \"s\"\n[requires]\nlimits.memory = 1\n", "limits.memory"},
		{"name = \"s\"\n[floor]\n", "unknown key"},
		{"{}", ""},
	};
	WORLD(w);
	const char *path = path_in(&w, "s.toml");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		write_file(path, rows[i].text);
		CHECK(try(&w, "skill", path) == -1);
		CHECK_INT(w.e.kind, ERR_USAGE);
		CHECK(says(&w, rows[i].words));
	}
	char *large = arena_alloc(&w.a, SKILL_FILE_MAX + 32);
	memset(large, '#', SKILL_FILE_MAX + 1);
	write_file(path, large);
	CHECK(try(&w, "skill", path) == -1 && says(&w, "larger than 64 KiB"));
	CHECK(try(&w, "skill", path_in(&w, "nowhere")) == -1 && says(&w, "skill.toml"));
}

TEST(a_list_of_a_skill_is_bounded) {
	WORLD(w);
	struct buf list = {0};
	buf_puts(&list, "env.pass = [\"A\"");
	for (int i = 0; i < SKILL_ITEMS_MAX; i++) {
		buf_printf(&list, ", \"A%d\"", i);
	}
	buf_puts(&list, "]\n");
	CHECK(with_skill(&w, list.data) == -1 && says(&w, "at most 256"));
	buf_done(&list);
}

TEST(a_project_cannot_choose_a_skill_and_the_floor_holds_with_one) {
	WORLD(w);
	make_tree(&w);
	write_file(w.project, "skill = \"s\"\n");
	CHECK_FAILS(&w, resolve(&w), ERR_REFUSED, "skill");
	CHECK_INT(remove(w.project), 0);
	write_file(w.admin, "[floor]\nnet.mode = \"none\"\nfs.deny = [\"/etc/x\"]\n");
	CHECK_OK(&w, with_skill(&w, "net.allow = [\"a.example\"]\n"));
	CHECK_INT(policy_num(&w.p, KEY_NET_MODE), NET_NONE);
	CHECK_INT(w.p.values[KEY_FS_DENY].count, 1);
}

/* ---- agents ---- */

static int as_agent(struct world *w, const char *id) {
	w->in.nsettings = 0;
	set(w, "env.agent", id, "--agent");
	return resolve(w);
}

TEST(the_table_of_the_agent_narrows_and_others_do_not) {
	WORLD(w);
	make_tree(&w);
	write_file(w.user,
		   arena_printf(&w.a,
				"fs.read = [\"%s/data\"]\nnet.allow = [\"*.a.example\"]\n"
				"limits.timeout = 60\nenv.pass = [\"A\"]\n"
				"[agent.one]\nlimits.timeout = 5\nnet.allow = [\"x.a.example\", "
				"\"b.example\"]\n"
				"fs.deny = [\"%s/data/secret\"]\n[agent.one.commands.git]\nblocked "
				"= [\"push\"]\n"
				"[agent.two]\nmode = \"read-only\"\nlimits.timeout = "
				"\"1h\"\nnet.mode = \"none\"\n",
				w.dir, w.dir));
	CHECK_OK(&w, as_agent(&w, "one"));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_TIMEOUT), 5000);
	CHECK_INT(w.p.values[KEY_NET_ALLOW].count, 1);
	CHECK_STR(w.p.values[KEY_NET_ALLOW].items[0].str, "x.a.example");
	CHECK_INT(answered(&w, "b.example"), REQUEST_REFUSED);
	CHECK_INT(w.p.values[KEY_FS_READ].count, 1); /* a table is not closed */
	CHECK_INT(w.p.values[KEY_ENV_PASS].count, 1);
	CHECK_INT(w.p.values[KEY_FS_DENY].count, 1);
	CHECK_INT(w.p.values[KEY_COMMANDS].count, 1);
	CHECK_OK(&w, as_agent(&w, "two"));
	CHECK_INT(policy_num(&w.p, KEY_MODE), MODE_READ_ONLY);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_TIMEOUT), 60000);
	CHECK_INT(answered(&w, "1h"), REQUEST_REDUCED);
	CHECK_INT(policy_num(&w.p, KEY_NET_MODE), NET_NONE);
	CHECK_INT(w.p.values[KEY_NET_ALLOW].count, 0);
	CHECK_FAILS(&w, as_agent(&w, "tow"), ERR_REFUSED, "[agent.tow]");
	w.in.nsettings = 0;
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(w.p.nrequests, 0);
}

TEST(an_agent_that_may_not_write_still_reads_what_it_could_write) {
	WORLD(w);
	make_tree(&w);
	write_file(w.user,
		   arena_printf(&w.a, "fs.write = [\"%s/data\"]\n[agent.a]\nmode = \"read-only\"\n",
				w.dir));
	CHECK_OK(&w, as_agent(&w, "a"));
	CHECK_INT(w.p.values[KEY_FS_WRITE].count, 0);
	CHECK_INT(w.p.values[KEY_FS_READ].count, 1);
}

TEST(a_grant_that_the_agent_is_denied_goes) {
	WORLD(w);
	make_tree(&w);
	write_file(w.user,
		   arena_printf(&w.a,
				"fs.read = [\"%s/data\"]\n[agent.a]\nfs.deny = [\"%s/data\"]\n",
				w.dir, w.dir));
	CHECK_OK(&w, as_agent(&w, "a"));
	CHECK_INT(w.p.values[KEY_FS_READ].count, 0);
}

TEST(a_table_of_a_project_narrows_and_cannot_grant) {
	WORLD(w);
	make_tree(&w);
	write_file(w.user,
		   arena_printf(&w.a, "fs.read = [\"%s/data\"]\nfs.deny = [\"%s/data/in\"]\n",
				w.dir, w.dir));
	write_file(
		w.project,
		arena_printf(&w.a,
			     "[agent.a]\nfs.read = [\"%s/other\", \"%s/data/secret\"]\n"
			     "net.mode = \"full\"\nlimits.timeout = \"none\"\nfs.write = [\"/\"]\n"
			     "env.pass = [\"A\"]\nenv.secrets = [\"S\"]\n",
			     w.dir, w.dir));
	set(&w, "limits.timeout", "7", "--timeout");
	set(&w, "env.agent", "a", "--agent");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(w.p.values[KEY_FS_READ].count, 1);
	CHECK_STR(w.p.values[KEY_FS_READ].items[0].str, path_in(&w, "data/secret"));
	CHECK_INT(policy_num(&w.p, KEY_NET_MODE), NET_NONE);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_TIMEOUT), 7000);
	CHECK_INT(w.p.values[KEY_FS_WRITE].count, 0);
	CHECK_INT(w.p.values[KEY_ENV_PASS].count, 0);
	CHECK_INT(w.p.values[KEY_ENV_SECRETS].count, 0);
	CHECK_OK(&w, as_agent(&w, "b")); /* only a trusted file says which agents there are */
}

TEST(tables_of_all_agents_are_checked) {
	static const struct {
		const char *text, *words;
	} rows[] = {
		{"agent = 1", "must hold tables"},
		{"[agent]\na = 1", "needs a table"},
		{"[agent.\"a b\"]", "not a valid name"},
		{"[agent.-a]", "not a valid name"},
		{"[agent.a]\nprofile = \"strict\"", "cannot have this key"},
		{"[agent.a]\nworkspace = \"/\"", "cannot have this key"},
		{"[agent.a]\nenv.agent = \"b\"", "cannot have this key"},
		{"[agent.a]\nskill = \"x\"", "cannot have this key"},
		{"[agent.a]\nallow_degraded = [\"net\"]", "cannot have this key"},
		{"[agent.a]\nfs.deny = [\"!x\"]", "no exception"},
		{"[agent.a.commands.git]\nblocked = [\"!push\"]", "no exception"},
		{"[agent.a.commands.git]\nallowed = [\"status\"]", "allowed subcommands"},
		{"[agent.a]\nlimits.time = 1", "did you mean"},
		{"[agent.a.floor]\nmode = \"read-only\"", "unknown key"},
		{"[agent.a.agent.b]\nmode = \"read-only\"", "unknown key"},
	};
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		write_file(w.user, rows[i].text);
		CHECK_FAILS(&w, resolve(&w), ERR_USAGE, rows[i].words);
	}
	write_file(w.user, "[agent.a]\n");
	CHECK_OK(&w, as_agent(&w, "a"));
}

TEST(a_skill_gets_no_more_than_its_agent) {
	WORLD(w);
	write_file(w.user, "net.allow = [\"a.example\", \"b.example\"]\n[agent.a]\nnet.allow = "
			   "[\"a.example\"]\n");
	CHECK_OK(&w, with_skill(&w, "net.allow = [\"a.example\", \"b.example\"]\n"));
	CHECK_INT(w.p.values[KEY_NET_ALLOW].count, 2);
	set(&w, "env.agent", "a", "--agent");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(w.p.values[KEY_NET_ALLOW].count, 1);
	CHECK_INT(answered(&w, "b.example"), REQUEST_REFUSED);
}

TESTS_MAIN
