/* SPDX-License-Identifier: Apache-2.0 */
/* src/agents: answers to hooks, quoting, and edits of settings that belong to the user. */
#include "agents/agents.h"
#include "agents/entry.h"
#include "agents/jsonc.h"
#include "agents/toml_table.h"
#include "data/agents.h"
#include "data/profiles.h"
#include "data/providers.h"

#include "test.h"

#include <jansson.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const no_options[] = {NULL};

static struct hook_call call_of(enum hook_protocol protocol) {
	return (struct hook_call){.protocol = protocol,
				  .program = "/opt/corral",
				  .shell = "/bin/bash",
				  .options = no_options};
}

/* The answer as JSON; NULL: denied. */
static json_t *answer(const struct hook_call *call, const char *input) {
	struct buf out;
	struct err e = {0};
	json_t *root = NULL;

	buf_init(&out);
	if (hook_answer(call, input, strlen(input), &out, &e) == 0) {
		root = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
		CHECK(root != NULL);
	} else {
		CHECK(e.what[0] != '\0');
		CHECK_INT(out.len, 0);
	}
	buf_done(&out);
	return root;
}

static const char *path_text(const json_t *root, const char *a, const char *b, const char *c) {
	const json_t *at = json_object_get(root, a);
	at = b == NULL ? at : json_object_get(at, b);
	at = c == NULL ? at : json_object_get(at, c);
	return json_string_value(at);
}

#define EVENT(event, tool)                                                                         \
	"{\"hook_event_name\":\"" event "\",\"tool_name\":\"" tool                                 \
	"\",\"cwd\":\"/p\",\"tool_input\":{\"command\":\"ls -l\",\"description\":\"d\"}}"
#define WRAPPED "'/opt/corral' run --workspace '/p' -- '/bin/bash' -c 'ls -l'"

TEST(each_protocol_gets_the_rewritten_command_where_it_expects_it) {
	struct hook_call claude = call_of(HOOK_CLAUDE), codex = call_of(HOOK_CODEX),
			 gemini = call_of(HOOK_GEMINI), cursor = call_of(HOOK_CURSOR);
	json_t *j = answer(&claude, EVENT("PreToolUse", "Bash"));

	CHECK_STR(path_text(j, "hookSpecificOutput", "updatedInput", "command"), WRAPPED);
	CHECK_STR(path_text(j, "hookSpecificOutput", "updatedInput", "description"), "d");
	CHECK_STR(path_text(j, "hookSpecificOutput", "permissionDecision", NULL), "allow");
	json_decref(j);
	j = answer(&codex, EVENT("PreToolUse", "Bash"));
	CHECK_STR(path_text(j, "hookSpecificOutput", "updatedInput", "command"), WRAPPED);
	json_decref(j);
	j = answer(&gemini, EVENT("BeforeTool", "run_shell_command"));
	CHECK_STR(path_text(j, "hookSpecificOutput", "tool_input", "command"), WRAPPED);
	json_decref(j);
	j = answer(&cursor, EVENT("preToolUse", "Shell"));
	CHECK_STR(path_text(j, "updated_input", "command", NULL), WRAPPED);
	CHECK_STR(path_text(j, "permission", NULL, NULL), "allow");
	json_decref(j);
}

TEST(a_denial_has_the_words_of_each_protocol) {
	static const struct {
		enum hook_protocol protocol;
		const char *text;
	} rows[] = {
		{HOOK_CLAUDE,
		 "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
		 "\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"why\"}}"},
		{HOOK_CODEX,
		 "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
		 "\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"why\"}}"},
		{HOOK_GEMINI, "{\"decision\":\"deny\",\"reason\":\"why\"}"},
		{HOOK_CURSOR, "{\"permission\":\"deny\",\"user_message\":\"why\","
			      "\"agent_message\":\"why\"}"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct buf out;
		buf_init(&out);
		hook_deny(rows[i].protocol, "why", &out);
		CHECK_STR(out.data, rows[i].text);
		buf_done(&out);
	}
}

TEST(an_event_that_is_not_understood_is_denied) {
	static const char *const events[] = {
		"",
		"null",
		"[]",
		"{}",
		"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\"",
		EVENT("PreToolUse", "Bash") "x",
		EVENT("PreToolUse", "Read"),
		EVENT("PostToolUse", "Bash"),
		EVENT("BeforeTool", "run_shell_command"),
		"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"cwd\":\"/p\"}",
		"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"cwd\":\"/p\","
		"\"tool_input\":{\"command\":\"\"}}",
		"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"cwd\":\"/p\","
		"\"tool_input\":{\"command\":[\"ls\"]}}",
		"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"cwd\":\"p\","
		"\"tool_input\":{\"command\":\"ls\"}}",
		"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\","
		"\"tool_input\":{\"command\":\"ls\"}}",
		"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"cwd\":\"/p\","
		"\"tool_input\":{\"command\":\"ls\",\"command\":\"id\"}}",
		"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Read\",\"tool_name\":\"Bash\","
		"\"cwd\":\"/p\",\"tool_input\":{\"command\":\"ls\"}}",
		"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"cwd\":\"/p\","
		"\"tool_input\":{\"command\":\"a\\u0000b\"}}",
	};
	struct hook_call call = call_of(HOOK_CLAUDE);
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		json_t *j = answer(&call, events[i]);
		if (j != NULL) {
			printf("# accepted: %s\n", events[i]);
		}
		CHECK(j == NULL);
		json_decref(j);
	}
}

TEST(the_project_is_the_workspace_and_its_outside_is_denied) {
	struct hook_call call = call_of(HOOK_CLAUDE);
	call.project = "/home/u/project";
	json_t *j = answer(&call,
			   "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"cwd\":"
			   "\"/home/u/project/src/../lib\",\"tool_input\":{\"command\":\"ls\"}}");
	CHECK_STR(path_text(j, "hookSpecificOutput", "updatedInput", "command"),
		  "'/opt/corral' run --workspace '/home/u/project' -- '/bin/bash' -c 'ls'");
	json_decref(j);
	CHECK(answer(&call,
		     "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"cwd\":"
		     "\"/home/u/project/../.ssh\",\"tool_input\":{\"command\":\"ls\"}}") == NULL);
	CHECK(answer(&call,
		     "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"cwd\":"
		     "\"/home/u/project-evil\",\"tool_input\":{\"command\":\"ls\"}}") == NULL);
	call.project = "relative";
	CHECK(answer(&call, EVENT("PreToolUse", "Bash")) == NULL);
}

TEST(an_agent_that_runs_inside_keeps_its_command) {
	struct hook_call call = call_of(HOOK_CLAUDE);
	call.inside = true;
	json_t *j = answer(&call, EVENT("PreToolUse", "Bash"));
	CHECK_INT(json_object_size(j), 0);
	CHECK(json_is_object(j));
	json_decref(j);
	CHECK(answer(&call, "{") == NULL);
}

/* Each shell prints the word as it was. */
static void check_quoting(const char *shell, const char *word) {
	char path[] = "/tmp/corral-quote-XXXXXX", got[256] = "";
	struct buf line;
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	buf_init(&line);
	buf_printf(&line, "%s -c ", shell);
	{
		struct buf script;
		buf_init(&script);
		buf_puts(&script, "printf %s ");
		quote_word(&script, word, strlen(word));
		quote_word(&line, script.data, script.len);
		buf_done(&script);
	}
	buf_printf(&line, " > %s", path);
	pid_t pid = fork();
	if (pid == 0) {
		(void)execl("/bin/sh", "sh", "-c", line.data, (char *)NULL);
		_exit(127);
	}
	CHECK(waitpid(pid, NULL, 0) == pid);
	ssize_t n = read(fd, got, sizeof got - 1);
	got[n < 0 ? 0 : n] = '\0';
	CHECK_STR(got, word);
	(void)close(fd);
	(void)unlink(path);
	buf_done(&line);
}

TEST(shells_read_a_quoted_word_alike) {
	static const char *const shells[] = {"/bin/sh", "/bin/bash", "/usr/bin/zsh",
					     "/usr/bin/fish"};
	static const char *const words[] = {"plain",        "",      "a'b",
					    "a\\b",         "\\",    "'",
					    "\\'; id; '\\", "'\\''", "$(id)`id`\"$HOME\"",
					    "a\nb",         "!x",    "a\\\\'b\\",
					    "*?[a]~",       "-n"};
	for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
		if (access(shells[i], X_OK) != 0) {
			printf("# %s is not installed\n", shells[i]);
			continue;
		}
		for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
			check_quoting(shells[i], words[k]);
		}
	}
}

/* ---- settings ---- */

static char home[] = "/tmp/corral-agents-XXXXXX";

static void enter_home(void) {
	(void)snprintf(home, sizeof home, "/tmp/corral-agents-XXXXXX");
	REQUIRE(mkdtemp(home) != NULL);
	REQUIRE(setenv("HOME", home, 1) == 0);
	(void)unsetenv("CLAUDE_CONFIG_DIR");
	(void)unsetenv("CODEX_HOME");
}

static void leave_home(void) {
	char line[128];
	(void)snprintf(line, sizeof line, "rm -rf '%s'", home);
	pid_t pid = fork();
	if (pid == 0) {
		(void)execl("/bin/sh", "sh", "-c", line, (char *)NULL);
		_exit(127);
	}
	(void)waitpid(pid, NULL, 0);
}

static void put_file(const char *name, const char *text) {
	char path[PATH_MAX];
	(void)snprintf(path, sizeof path, "%s/%s", home, name);
	*strrchr(path, '/') = '\0';
	(void)mkdir(path, 0700);
	(void)snprintf(path, sizeof path, "%s/%s", home, name);
	FILE *f = fopen(path, "w");
	REQUIRE(f != NULL);
	(void)fputs(text, f);
	(void)fclose(f);
}

static char *get_file(const char *name) {
	static char text[8192];
	char path[PATH_MAX];
	(void)snprintf(path, sizeof path, "%s/%s", home, name);
	FILE *f = fopen(path, "r");
	text[f == NULL ? 0 : fread(text, 1, sizeof text - 1, f)] = '\0';
	if (f != NULL) {
		(void)fclose(f);
	}
	return text;
}

/* Installs or removes, and writes; the number of changed files, or -1. */
static int apply(const char *name, bool install, bool mcp) {
	const struct agent *agent = agent_by_name(name);
	struct changes c;
	struct err e = {0};
	int rc = install ? settings_install(agent, mcp, "/opt/corral", &c, &e)
			 : settings_uninstall(agent, &c, &e);
	if (rc == 0) {
		rc = (int)c.n;
		for (size_t i = 0; i < c.n; i++) {
			struct buf diff;
			buf_init(&diff);
			change_print(&c.items[i], &diff);
			CHECK(strncmp(diff.data, "--- ", 4) == 0);
			buf_done(&diff);
			CHECK_INT(change_write(&c.items[i], &e), 0);
		}
	} else {
		CHECK(e.what[0] != '\0');
	}
	settings_done(&c);
	return rc;
}

TEST(settings_come_back_byte_for_byte) {
	static const struct {
		const char *agent, *file, *text;
		bool mcp;
	} rows[] = {
		{"claude", ".claude/settings.json", "{}\n", false},
		{"claude", ".claude/settings.json", "{\n  \"model\": \"x\"\n}\n", false},
		{"claude", ".claude/settings.json",
		 "{\n\t\"a\": [1, 2.50, {\"b\": null}],\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n"
		 "\t\t\t{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": "
		 "\"mine\"}]}\n\t\t],\n\t\t\"Stop\": []\n\t}\n}",
		 false},
		{"claude", ".claude/settings.json", "{\"hooks\":{\"Stop\":[]},\"z\":\"\\u00e9\"}",
		 false},
		{"gemini", ".gemini/settings.json",
		 "{\n  // a comment, with \"quotes\": {\n  \"ui\": {\"theme\": \"x\"}, /* one */\n"
		 "  \"tools\": {}\n}\n",
		 false},
		{"gemini", ".gemini/settings.json",
		 "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"o\"}\n  }\n}\n", true},
		{"opencode", ".config/opencode/opencode.json", "{\n  \"model\": \"x\"\n}\n", true},
		{"cursor", ".cursor/hooks.json",
		 "{\n  \"version\": 1,\n  \"hooks\": {\"stop\": [{\"command\": \"a\"}]}\n}\n",
		 false},
		{"codex", ".codex/config.toml",
		 "# mine\nmodel = \"x\"\n\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n", true},
		/* Lines of strings and arrays that look like the table of the server. */
		{"codex", ".codex/config.toml",
		 "notes = \"\"\"\n[mcp_servers.corral]\ncommand = \\\"\"\"\\\"\"\"\nx\"\"\"\"\n",
		 true},
		{"codex", ".codex/config.toml",
		 "notes = '''\n[mcp_servers.corral]\n\\'''\nn = [\n[1], # ]\n[\"[\"]\n]\n", true},
		{"codex", ".codex/config.toml",
		 "[a]\nb = \"\"\"\n[mcp_servers]\ncorral = 1\n\"\"\"\n  [c] # \"\"\"\nd = "
		 "'\"\"\"'\n",
		 true},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		enter_home();
		if (strncmp(rows[i].file, ".config/", 8) == 0) {
			put_file(".config/x", "");
		}
		put_file(rows[i].file, rows[i].text);
		CHECK_INT(apply(rows[i].agent, true, rows[i].mcp), 1);
		CHECK(strstr(get_file(rows[i].file), "/opt/corral") != NULL);
		CHECK_INT(apply(rows[i].agent, true, rows[i].mcp), 0);
		CHECK_INT(apply(rows[i].agent, false, false), 1);
		CHECK_STR(get_file(rows[i].file), rows[i].text);
		CHECK_INT(apply(rows[i].agent, false, false), 0);
		leave_home();
	}
}

TEST(an_old_entry_is_replaced_and_others_stay) {
	enter_home();
	put_file(".claude/settings.json",
		 "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": "
		 "\"command\", \"command\": \"/old/corral hook claude\"}, {\"type\": \"command\", "
		 "\"command\": \"mine\"}]}]}}");
	CHECK_INT(apply("claude", true, false), 1);
	char *text = get_file(".claude/settings.json");
	CHECK(strstr(text, "/old/corral") == NULL);
	CHECK(strstr(text, "\"mine\"") != NULL);
	CHECK(strstr(text, "/opt/corral") != NULL);
	leave_home();
}

TEST(the_table_that_is_removed_ends_after_its_strings_and_arrays) {
	enter_home();
	put_file(".codex/config.toml", "a = 1\n\n[mcp_servers.corral]\ncommand = "
				       "\"\"\"\n[b]\n\"\"\"\nargs = [\n[\"mcp\"],\n]\n\n"
				       "  [c]\nd = 1\n");
	CHECK_INT(apply("codex", false, false), 1);
	CHECK_STR(get_file(".codex/config.toml"), "a = 1\n\n  [c]\nd = 1\n");
	leave_home();
}

TEST(a_hook_is_corrals_by_its_words) {
	static const struct {
		const char *command;
		bool own;
	} rows[] = {
		{"/usr/bin/corral hook claude", true},
		{"'/opt/my tools/corral' hook claude -- --profile coding || exit 2", true},
		{"A=1 B='x y' \"/opt/corral\" hook \"claude\"||exit 2", true},
		{"/opt/a=b/corral hook claude", true},
		{"/opt/a\\ b/corral hook claude", true},
		{"corral  hook\tclaude", true},
		{"corral hook claude-code", false},
		{"corral hook claudette", false},
		{"corral hooks claude", false},
		{"corral hook", false},
		{"/opt/notcorral hook claude", false},
		{"/opt/corral/other hook claude", false},
		{"echo corral hook claude", false},
		{"my-hook 'use corral hook claude'", false},
		{"corral run -- other hook claude", false},
		{"other && corral hook claude", false},
		{"corral; hook claude", false},
		{"'corral hook claude", false},
		{"", false},
	};
	const struct agent *claude = agent_by_name("claude");
	struct buf line;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (entry_is_hook(claude, rows[i].command) != rows[i].own) {
			printf("# %s\n", rows[i].command);
		}
		CHECK(entry_is_hook(claude, rows[i].command) == rows[i].own);
	}
	/* The program may have any name in a line that Corral wrote. */
	buf_init(&line);
	entry_hook_command(claude, "/opt/it's new/corral-2", &line);
	CHECK(entry_is_hook(claude, line.data));
	CHECK(!entry_is_hook(agent_by_name("codex"), line.data));
	buf_done(&line);
}

TEST(settings_that_cannot_be_parsed_are_left_alone) {
	static const char *const texts[] = {
		"{",
		"[]",
		"{\"hooks\": []}",
		"{\"hooks\": {\"PreToolUse\": {}}}",
		"{\"a\": 1, \"a\": 2}",
		"{\"\\u0068ooks\": {}}", /* a second "hooks" would hide it */
		"{} {}",
		"{\"a\": \"unfinished",
		"/* no end {}",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		enter_home();
		put_file(".claude/settings.json", texts[i]);
		int rc = apply("claude", true, false);
		if (rc != -1) {
			printf("# accepted: %s\n", texts[i]);
		}
		CHECK_INT(rc, -1);
		CHECK_STR(get_file(".claude/settings.json"), texts[i]);
		leave_home();
	}
}

TEST(a_symlink_to_the_settings_stays_one) {
	char link[PATH_MAX];
	struct stat st;

	enter_home();
	put_file("dotfiles/settings.json", "{\n}\n");
	put_file(".claude/x", "");
	(void)snprintf(link, sizeof link, "%s/.claude/settings.json", home);
	REQUIRE(symlink("../dotfiles/settings.json", link) == 0);
	CHECK_INT(apply("claude", true, false), 1);
	CHECK(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
	CHECK(strstr(get_file("dotfiles/settings.json"), "hook claude") != NULL);
	leave_home();
}

TEST(a_file_that_changed_meanwhile_is_not_replaced) {
	const struct agent *agent = agent_by_name("claude");
	struct changes c;
	struct err e = {0};

	enter_home();
	put_file(".claude/settings.json", "{}");
	CHECK_INT(settings_install(agent, false, "/opt/corral", &c, &e), 0);
	put_file(".claude/settings.json", "{\"new\": 1}");
	CHECK_INT(change_write(&c.items[0], &e), -1);
	CHECK_STR(get_file(".claude/settings.json"), "{\"new\": 1}");
	settings_done(&c);
	leave_home();
}

TEST(codex_trust_follows_the_entry) {
	const struct agent *agent = agent_by_name("codex");

	enter_home();
	put_file(".codex/config.toml", "model = \"x\"");
	CHECK_INT(apply("codex", true, false), 2);
	CHECK(strstr(get_file(".codex/config.toml"),
		     ":pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:") != NULL);
	CHECK(installed_trusted(agent));
	put_file(".codex/hooks.json",
		 "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": "
		 "\"command\", \"command\": \"corral hook codex\", \"timeout\": 60}]}]}}");
	CHECK(!installed_trusted(agent));
	leave_home();
}

TEST(a_hook_that_is_switched_off_or_does_not_cover_the_shell_is_found) {
	const struct agent *agent = agent_by_name("claude");

	enter_home();
	CHECK_INT(apply("claude", true, false), 1);
	CHECK(installed_applies(agent));
	char *text = get_file(".claude/settings.json");
	char *matcher = strstr(text, "\"Bash\"");
	REQUIRE(matcher != NULL);
	memcpy(matcher, "\"Bush\"", 6);
	put_file(".claude/settings.json", text);
	CHECK(!installed_applies(agent));
	CHECK_INT(apply("claude", true, false), 1); /* repaired */
	CHECK(installed_applies(agent));
	text = get_file(".claude/settings.json");
	char off[8192];
	(void)snprintf(off, sizeof off, "{\"disableAllHooks\": true, %s", strchr(text, '{') + 1);
	put_file(".claude/settings.json", off);
	CHECK(!installed_applies(agent));
	leave_home();
}

/* ---- tables ---- */

TEST(each_agent_has_a_provider_with_a_command_and_a_profile) {
	for (size_t i = 0; i < agents_count; i++) {
		const struct provider *row = provider_by_name(agents[i].provider);
		CHECK(row != NULL && row->command != NULL);
		CHECK(profile_by_name(agents[i].name) != NULL);
		CHECK(profile_is_usable(agents[i].name));
		CHECK((agents[i].hook == HOOK_NONE) == (agents[i].hook_file == NULL));
		CHECK((agents[i].hook == HOOK_NONE) == (agents[i].open == NULL));
		CHECK((agents[i].mcp == MCP_NONE) == (agents[i].mcp_file == NULL));
		if (i > 0) {
			CHECK(strcmp(agents[i - 1].name, agents[i].name) < 0);
		}
	}
}

TESTS_MAIN
