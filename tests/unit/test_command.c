/* SPDX-License-Identifier: Apache-2.0 */
/* The verdicts of the command rules. */
#include "command/judge.h"

#include "command_world.h"

static const struct row git_spellings[] = {
	{'-', "git push --force"},
	{'-', "git push -f"},
	{'-', "git push origin main --force"},
	{'-', "git push --force-with-lease"},
	{'-', "git push --force-with-lease=main:abc"},
	{'-', "git push --forc"},
	{'-', "git push --fo origin"},
	{'-', "git push origin +main"},
	{'-', "git push origin +refs/heads/*:refs/heads/*"},
	{'-', "git push -uf origin"},
	{'-', "git push -fu origin"},
	{'-', "git push --mirror"},
	{'-', "git -C dir push -f"},
	{'-', "git -Cdir push -f"},
	{'-', "git -C dir -c k=v push --force-with-lease"},
	{'-', "git --git-dir x --work-tree y push -f"},
	{'-', "git --git-dir=x push -f"},
	{'-', "git --no-pager push -f"},
	{'-', "git -p push -f"},
	{'-', "/usr/bin/git push -f"},
	{'-', "./git push -f"},
	{'-', "../x/git push -f"},
	{'-', "git reset --hard"},
	{'-', "git reset --har HEAD"},
	{'-', "git reset HEAD --hard"},
	{'-', "git clean -df"},
	{'-', "git clean -f -d"},
	{'-', "git clean -d -f"},
	{'-', "git clean -ffdx"},
	{'-', "git clean -xdf"},
	{'-', "git clean --force -d"},
	{'-', "git clean -d --for"},
	{'-', "git -c clean.requireForce=false clean -d"},
	{'+', "git push"},
	{'+', "git push origin main"},
	{'+', "git push -u origin main"},
	{'+', "git push -o ci.force origin"},
	{'+', "git push -oforce origin"},
	{'+', "git push --push-option -f origin"},
	{'+', "git push -- -f"},
	{'+', "git clean -n"},
	{'+', "git clean -f"},
	{'+', "git clean -f -e d"},
	{'+', "git clean -fed"},
	{'+', "git reset --soft"},
	{'+', "git reset HEAD"},
	{'+', "git commit -m reset --hard"},
	{'+', "git log --force"},
	{'+', "git -C push status"},
	{'+', "git -c push.default=simple push"},
	{'+', "git"},
	{'+', "git --version"},
	{'+', "echo git push --force"},
	{'?', "git -c alias.x=push x"},
	{'?', "git -c ALIAS.x=push x -f"},
	{'?', "git -c remote.o.push=+refs/heads/a push"},
	{'?', "git -c $x status"},
};

TEST(git_in_every_spelling) {
	begin("");
	check_rows(git_spellings, ARRAY_LEN(git_spellings));
}

static const struct row hidden_in_others[] = {
	{'-', "env git push -f"},
	{'-', "env -i A=b -u C git push -f"},
	{'-', "env --unset C -- git push -f"},
	{'-', "exec git push -f"},
	{'-', "command git push -f"},
	{'-', "nohup git push -f &"},
	{'-', "time git push -f"},
	{'-', "nice -n 5 git push -f"},
	{'-', "timeout -s KILL 5 git push -f"},
	{'-', "sudo -u me git push -f"},
	{'-', "stdbuf -oL git push -f"},
	{'-', "setsid git push -f"},
	{'-', "env nice timeout 5 git push -f"},
	{'-', "xargs git push -f"},
	{'-', "xargs -n 1 git reset --hard"},
	{'-', "find . -exec git push -f {} \\;"},
	{'-', "find . -name x -execdir git clean -fd +"},
	{'-', "sh -c 'git push -f'"},
	{'-', "bash -ec 'git push -f'"},
	{'-', "bash -o pipefail -c 'git push -f'"},
	{'-', "bash --rcfile x -c 'git push -f'"},
	{'-', "bash +o posix -O extglob -c 'git push -f'"},
	{'-', "sh -c -- 'git push -f'"},
	{'-', "bash --norc -lc 'git push -f'"},
	{'-', "sh -c \"sh -c 'git push -f'\""},
	{'-', "eval git push -f"},
	{'-', "eval 'git push' -f"},
	{'-', "trap 'git push -f' EXIT"},
	{'-', "flock lock git push -f"},
	{'-', "flock lock -c 'git push -f'"},
	{'-', "a=b git push -f"},
	{'-', "true && git push -f"},
	{'-', "(git push -f)"},
	{'-', "{ git push -f; }"},
	{'-', "echo $(git push -f)"},
	{'-', "echo \"`git push -f`\""},
	{'-', "cat <<E\n$(git push -f)\nE\n"},
	{'-', "cat <(git push -f)"},
	{'-', "f() { git push -f; }; f"},
	{'-', "if a; then git push -f; fi"},
	{'-', "for i in 1; do git push -f; done"},
	{'-', "case x in x) git push -f;; esac"},
	{'-', "[[ a && git push -f ]]"},
	{'-', "((git push -f))"},
	{'-', "g''it pu\\sh -'f'"},
	{'-', "! git push -f"},
	{'-', "git status; git push \\\n -f"},
	{'+', "cat <<'E'\n$(git push -f)\nE\n"},
	{'+', "echo 'git push -f'"},
	{'+', "git() { command git status; }; git log"},
	{'+', "xargs ls"},
	{'+', "env"},
	{'?', "$x push -f"},
	{'?', "git push $x"},
	{'?', "git push \"$x\""},
	{'?', "git push *"},
	{'?', "git $x"},
	{'?', "xargs git push"},
	{'?', "eval \"$x\""},
	{'?', ". ./script"},
	{'?', "source script"},
	{'?', "sh -c \"$x\""},
	{'?', "env -S 'git push -f'"},
	{'?', "env $x git status"},
	{'?', "PATH=. git status"},
	{'?', "env PATH=. git status"},
	{'?', "export PATH=.; git status"},
	{'?', "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x git x"},
	{'?', "alias g=git"},
	{'?', "git push --f$x"},
	{'?', "git 'a"},
	{'?', "if true"},
	{'+', "git push origin \"refs/$x\""},
	{'+', "git add \"src/$x\""},
	{'+', "git log \"$x\""},
	{'+', "git push -- src/*.c"},
	{'+', "ls $x"},
};

TEST(commands_in_other_commands) {
	begin("");
	check_rows(hidden_in_others, ARRAY_LEN(hidden_in_others));
}

TEST(lists_of_subcommands) {
	static const struct row rows[] = {
		{'+', "go build ./..."},
		{'+', "go test -run X ./..."},
		{'+', "go -C dir test"},
		{'+', "go mod tidy"},
		{'-', "go mod vendor"},
		{'-', "go install x"},
		{'-', "go run x"},
		{'-', "go"},
		{'-', "go version"},
		{'-', "go -C build install"},
		{'?', "go $x"},
		{'+', "npm install"},
		{'-', "npm install -g x"},
		{'-', "npm install x --global"},
		{'-', "npm --prefix dir install x -g"},
		{'-', "npm publish"},
		{'-', "tool drop"},
		{'-', "tool --opt value drop"},
		{'-', "tool --opt=value drop"},
		{'-', "tool -x value drop"},
		{'-', "tool list --wipe"},
		{'-', "tool list --wi"},
		{'-', "tool sub erase"},
		{'+', "tool sub list erase"},
		{'+', "tool list drop"},
		{'+', "unknown drop --wipe"},
	};
	begin("");
	check_rows(rows, ARRAY_LEN(rows));
}

TEST(deny_by_default) {
	static const struct row rows[] = {
		{'+', "git status"},
		{'+', "/usr/bin/git status"},
		{'-', "/opt/git status"},
		{'-', "./git status"},
		{'-', "rm x"},
		{'-', "git status; rm x"},
		{'-', "git status | tee y"},
		{'-', "env git status"},
		{'-', "sh script"},
		{'-', "git status $(rm x)"},
		{'-', "sh -c 'sh script'"},
		{'-', "$x"},
		{'-', "eval \"$x\""},
		{'-', "git 'a"},
		{'-', "git push $x"},
		{'+', "cd sub && git status"},
		{'+', "test -f x || exit 1"},
		{'+', "f() { git status; }; f"},
		{'-', "f() { rm x; }; f"},
	};
	begin("commands.default = 'deny'\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *string[] = {"sh", "-c", rows[i].text, NULL};
		struct command_verdict v = judge(string);
		CHECK(names[v.kind] == rows[i].want);
		if (names[v.kind] != rows[i].want) {
			printf("# %s: %s\n", rows[i].text, v.reason);
		}
	}
	const char *script[] = {"sh", "x", NULL}, *echo[] = {"echo", NULL};
	CHECK_INT(judge(script).kind, JUDGED_REFUSED);
	CHECK_INT(judge(echo).kind, JUDGED_REFUSED); /* no builtin outside a shell */
}

TEST(path_arguments_stay_in_the_workspace) {
	static const struct row rows[] = {
		{'+', "ls ./a sub/x"},      {'+', "go test ./..."},
		{'+', "ls /ws/x"},          {'+', "cat /dev/null"},
		{'+', "cat /tmp/x"},        {'-', "cat /etc/passwd"},
		{'-', "cat ../x"},          {'-', "cat sub/../../x"},
		{'-', "cat ~/x"},           {'-', "tool --file=/etc/passwd"},
		{'-', "ls >/etc/x"},        {'-', "ls </etc/passwd"},
		{'+', "ls >x 2>/dev/null"}, {'+', "echo s/a/b/"},
	};
	begin("fs.tools = 'workspace'\n");
	check_rows(rows, ARRAY_LEN(rows));
}

TEST(a_verdict_names_rule_origin_and_remedy) {
	const char *push[] = {"git", "push", "-f", NULL}, *run[] = {"go", "run", NULL};
	char origin[128];

	begin("");
	struct command_verdict v = judge(push);
	(void)snprintf(origin, sizeof origin, "%s:2", box.user);
	CHECK_STR(v.rule, "commands.git.blocked: push --force");
	CHECK_STR(v.origin, origin);
	CHECK_STR(v.command, "git push -f");
	CHECK_STR(v.remedy, "--set commands.git.blocked='!push --force'");
	CHECK(strstr(v.reason, origin) != NULL);
	v = judge(run);
	CHECK_STR(v.rule, "commands.go.allowed");
	box.settings[0] = (struct setting){"commands.git.blocked", "!push --force", "--set"};
	box.in.nsettings = 1;
	REQUIRE(policy_resolve(&box.a, &box.in, &box.p, &box.e) == 0);
	CHECK_INT(judge(push).kind, JUDGED_ALLOWED);
}

TEST(a_policy_without_rules_is_not_judged) {
	struct world w;

	world_init(&w);
	REQUIRE(policy_resolve(&w.a, &w.in, &w.p, &w.e) == 0);
	CHECK(!command_has_rules(&w.p));
	world_done(&w);
}

/* ---- layers ---- */

static int resolve_with(const char *user, const char *project) {
	if (ready) {
		world_done(&box);
	}
	world_init(&box);
	ready = true;
	write_file(box.user, user);
	write_file(box.project, project);
	return policy_resolve(&box.a, &box.in, &box.p, &box.e);
}

TEST(an_untrusted_file_only_narrows) {
	const char *status[] = {"git", "status", NULL}, *log[] = {"git", "log", NULL};
	const char *make[] = {"make", NULL}, *rm[] = {"rm", NULL};

	/* Its `allowed` is a second list, which a command must match as well. */
	REQUIRE(resolve_with("[commands.git]\nallowed = ['status']\n",
			     "[commands.git]\nallowed = ['status', 'log']\n") == 0);
	CHECK_INT(judge(status).kind, JUDGED_ALLOWED);
	CHECK_INT(judge(log).kind, JUDGED_REFUSED);
	/* It cannot take a blocked pattern away. */
	REQUIRE(resolve_with("[commands.git]\nblocked = ['log']\n",
			     "[commands.git]\nblocked = ['!log']\n") == 0);
	CHECK_INT(judge(log).kind, JUDGED_REFUSED);
	/* It cannot list a command where the policy denies. */
	CHECK(resolve_with("commands.default = 'deny'\n[commands.git]\n", "[commands.rm]\n") != 0);
	CHECK_INT(box.e.kind, ERR_REFUSED);
	CHECK(strstr(box.e.fix, "corral policy trust") != NULL);
	CHECK(resolve_with("commands.default = 'deny'\n", "commands.default = 'allow'\n") != 0);
	/* It may deny, and list what it needs. */
	REQUIRE(resolve_with("", "commands.default = 'deny'\n[commands.make]\n") == 0);
	CHECK_INT(judge(make).kind, JUDGED_ALLOWED);
	CHECK_INT(judge(rm).kind, JUDGED_REFUSED);
	/* But its list does not count when a trusted layer denies afterwards. */
	REQUIRE(resolve_with("", "[commands.rm]\n") == 0);
	box.settings[0] = (struct setting){"commands.default", "deny", "--set"};
	box.in.nsettings = 1;
	REQUIRE(policy_resolve(&box.a, &box.in, &box.p, &box.e) == 0);
	CHECK_INT(judge(rm).kind, JUDGED_REFUSED);
}

TEST(the_floor_bounds_the_lists) {
	const char *git[] = {"git", "push", "-f", NULL}, *rm[] = {"rm", NULL};
	const char *log[] = {"git", "log", NULL};

	if (ready) {
		world_done(&box);
	}
	world_init(&box);
	ready = true;
	write_file(box.admin,
		   "[floor]\ncommands.default = 'deny'\ncommands.git.blocked = ['push -f']\n");
	write_file(box.user, "[commands.git]\n[commands.rm]\n");
	REQUIRE(policy_resolve(&box.a, &box.in, &box.p, &box.e) == 0);
	CHECK_INT(judge(log).kind, JUDGED_ALLOWED);
	CHECK_INT(judge(git).kind, JUDGED_REFUSED);
	CHECK_INT(judge(rm).kind, JUDGED_REFUSED);
	box.settings[0] = (struct setting){"commands.default", "allow", "--set"};
	box.in.nsettings = 1;
	CHECK(policy_resolve(&box.a, &box.in, &box.p, &box.e) != 0);
}

TEST(the_printed_policy_reads_back) {
	struct policy first;
	struct buf text;
	char sum[65];

	begin("commands.default = 'deny'\ncommands.\"g++\".description = "
	      "'C++'\ncommands.'python3.11' = {}\n");
	first = box.p;
	memcpy(sum, first.sha256, sizeof sum);
	buf_init(&text);
	policy_print(&first, false, &text);
	write_file(box.extra, text.data);
	buf_done(&text);
	box.in.extra_file = box.extra;
	box.in.no_config = true;
	if (policy_resolve(&box.a, &box.in, &box.p, &box.e) != 0) {
		printf("# %s\n", box.e.what);
	}
	CHECK_INT(box.p.values[KEY_COMMANDS].count, first.values[KEY_COMMANDS].count);
	CHECK_STR(box.p.sha256, sum);
}

TEST(wrong_rules_are_errors) {
	static const char *const wrong[] = {
		"[commands.git]\nallowed = []\n",
		"[commands.git]\nblocked = 'x'\n",
		"[commands.git]\nblocked = [1]\n",
		"[commands.git]\nblock = ['x']\n",
		"[commands.git]\nallowed = ['!x']\n",
		"[commands.git]\nblocked = ['']\n",
		"[commands.git]\ndescription = 1\n",
		"commands.git = 1\n",
		"commands.'a b' = {}\n",
		"commands.'' = {}\n",
		"[commands.git]\nsubcommand_restrictions = 'some'\n",
		"[commands.git.subcommand_restrictions]\ndescription = 'x'\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		bool refused = resolve_with(wrong[i], "") != 0;
		if (!refused) {
			printf("# %s\n", wrong[i]);
		}
		CHECK(refused && box.e.kind == ERR_USAGE);
	}
}

TESTS_MAIN
