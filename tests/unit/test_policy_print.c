/* SPDX-License-Identifier: Apache-2.0 */
/* A policy printed, hashed, and described by its schema. */
#include "policy_world.h"

#include <jansson.h>

/* ---- P5: the hash ---- */

/* A second value for every key; a key that has none is listed with its reason. */
struct other_value {
	const char *value;
	bool refused; /* nothing but the default is implemented */
};

static const struct other_value others[KEY_COUNT] = {
	[KEY_PROFILE] = {"data-analysis", false},
	[KEY_MODE] = {"read-only", false},
	[KEY_WORKSPACE] = {"sub", false},
	[KEY_ANY_WORKSPACE] = {"true", false},
	[KEY_CHDIR] = {"sub", false},
	[KEY_BACKEND] = {"linux", false},
	[KEY_DOCKER_IMAGE] = {"sha256:1", false},
	[KEY_LEVEL] = {"full", false},
	[KEY_MIN_LEVEL] = {"full", false},
	[KEY_REQUIRE] = {"net", false},
	[KEY_ALLOW_DEGRADED] = {"net", false},
	[KEY_ACCEPT_NO_SANDBOX] = {"true", false},
	[KEY_ACCEPT_FULL_ACCESS] = {"2026-11-17", false},
	[KEY_NESTED] = {"true", false},
	[KEY_PROVIDERS] = {"anthropic", false},
	[KEY_SKILL] = {"skill.toml", false},
	[KEY_UID] = {"1000", false},
	[KEY_GID] = {"1000", false},
	[KEY_FS_VIEW] = {"host", false},
	[KEY_FS_READ] = {"/usr", false},
	[KEY_FS_WRITE] = {"/usr", false},
	[KEY_FS_DENY] = {"/usr", false},
	[KEY_FS_PROTECT] = {"/usr", false},
	[KEY_FS_PROTECT_NAMES] = {"SOUL.md", false},
	[KEY_FS_HOME] = {"ephemeral", false},
	[KEY_FS_TOOLCHAINS] = {"false", false},
	[KEY_FS_WORKSPACE_AT] = {"/work", false},
	[KEY_FS_AGENT] = {"/usr", false},
	[KEY_FS_COW] = {"true", false},
	[KEY_FS_TOOLS] = {"workspace", false},
	[KEY_NET_MODE] = {"full", false},
	[KEY_NET_ALLOW] = {"a.example", false},
	[KEY_NET_DENY] = {"a.example", false},
	[KEY_NET_PRIVATE] = {"10.0.0.0/8", false},
	[KEY_NET_PROXY] = {"true", false},
	[KEY_NET_PUBLISH] = {"3000", false},
	[KEY_NET_HOST_PORTS] = {"3000", false},
	[KEY_NET_SOCKETS] = {"/run/x", false},
	[KEY_SECCOMP_EXTRA_DENY] = {"ptrace", false},
	[KEY_ENV_PASS] = {"EDITOR", false},
	[KEY_ENV_SET] = {"EDITOR=vi", false},
	[KEY_ENV_ALLOW_DANGEROUS] = {"PYTHONPATH", false},
	[KEY_ENV_SECRETS] = {"API_KEY=TOKEN", false},
	[KEY_ENV_AGENT] = {"bot", false},
	[KEY_ENV_PATH] = {"/bin", false},
	[KEY_ENV_PATH_PREPEND] = {"/bin", false},
	[KEY_ENV_TOOLS] = {"lint", false},
	[KEY_ENV_PREFIX] = {"ASH", false},
	[KEY_ENV_LABELS] = {"SESSION_ID=s1", false},
	[KEY_COMMANDS_DEFAULT] = {"deny", false},
	[KEY_COMMANDS] = {"git blocked push", false},
	[KEY_LIMITS_TIMEOUT] = {"7", false},
	[KEY_LIMITS_IDLE_TIMEOUT] = {"7", false},
	[KEY_LIMITS_GRACE] = {"7", false},
	[KEY_LIMITS_OUTPUT] = {"7", false},
	[KEY_LIMITS_PROCESSES] = {"7", false},
	[KEY_LIMITS_OPEN_FILES] = {"77", false},
	[KEY_LIMITS_FILE_SIZE] = {"7", false},
	[KEY_LIMITS_CPU_TIME] = {"7", false},
	[KEY_LIMITS_MEMORY] = {"7M", false},
	[KEY_LIMITS_CPUS] = {"7", false},
	[KEY_LIMITS_DISK] = {"7M", false},
	[KEY_LIMITS_TMP_SIZE] = {"7M", false},
	[KEY_SCAN_ARGS] = {"off", false},
	[KEY_SCAN_OUTPUT] = {"kill", false},
	[KEY_SCAN_FILES] = {"redact", false},
	[KEY_SCAN_NET] = {"block", false},
	[KEY_DENIALS] = {"all", false},
	[KEY_AUDIT_ENABLED] = {"false", false},
	[KEY_AUDIT_REQUIRED] = {"true", false},
	[KEY_ASK_TIMEOUT] = {"7", false},
	[KEY_LOCK] = {"workspace", false},
	[KEY_LOCK_WAIT] = {"7", false},
	[KEY_SESSION_TIMEOUT] = {"7", false},
	[KEY_SESSION_IDLE_TIMEOUT] = {"7", false},
	[KEY_SESSION_CPU_TOTAL] = {"7", false},
	[KEY_DAEMON_START] = {"on-demand", false},
	[KEY_DAEMON_IDLE] = {"7", false},
	[KEY_DAEMON_POOL] = {"7", false},
};

TEST(every_key_changes_the_hash) {
	WORLD(w);
	char hashes[KEY_COUNT + 1][65];
	size_t count = 0;
	make_dir(arena_printf(&w.a, "%s/sub", w.ws));
	write_file(w.user, "net.mode = \"restricted\"\n"); /* the others of net.* need one */
	write_file(arena_printf(&w.a, "%s/skill.toml", w.ws), "name = \"s\"\n");
	w.in.tools_dir = w.home;
	make_dir(arena_printf(&w.a, "%s/lint", w.home));
	make_dir(arena_printf(&w.a, "%s/lint/bin", w.home));
	CHECK_OK(&w, resolve(&w));
	memcpy(hashes[count++], w.p.sha256, 65);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		REQUIRE(others[i].value != NULL);
		if (others[i].refused) {
			CHECK_FAILS(&w, try(&w, keys[i].name, others[i].value), ERR_USAGE,
				    "not implemented");
			continue;
		}
		CHECK_OK(&w, try(&w, keys[i].name, others[i].value));
		for (size_t n = 0; n < count; n++) {
			CHECK(strcmp(hashes[n], w.p.sha256) != 0);
		}
		memcpy(hashes[count++], w.p.sha256, 65);
	}
	CHECK_INT(strlen(hashes[0]), 64);
	CHECK_INT(strspn(hashes[0], "0123456789abcdef"), 64);
}

TEST(the_hash_depends_on_values_and_not_on_origins_or_order) {
	WORLD(w);
	char first[65];
	set(&w, "fs.read", "/usr", "--read");
	set(&w, "fs.read", "/etc", "--read");
	set(&w, "limits.timeout", "60", "--timeout");
	CHECK_OK(&w, resolve(&w));
	memcpy(first, w.p.sha256, 65);
	w.in.nsettings = 0;
	write_file(w.user, "fs.read = [\"/etc\", \"/usr\"]\nlimits.timeout = \"1m\"\n");
	CHECK_OK(&w, resolve(&w));
	CHECK_STR(w.p.sha256, first);
	write_file(w.user, "fs.read = [\"/etc\", \"/usr?\"]\nlimits.timeout = \"1m\"\n");
	CHECK_OK(&w, resolve(&w));
	CHECK(strcmp(w.p.sha256, first) != 0);
}

/* ---- printing ---- */

TEST(origins_are_named_as_users_know_them) {
	static const struct {
		struct origin o;
		const char *text;
	} rows[] = {
		{{ORIGIN_BUILTIN, 0, NULL}, "built-in"},
		{{ORIGIN_PROFILE, 0, "strict"}, "profile strict"},
		{{ORIGIN_SYSTEM, 12, "/etc/corral/policy.toml"}, "/etc/corral/policy.toml:12"},
		{{ORIGIN_FILE, 0, "p.json"}, "p.json"},
		{{ORIGIN_OPTION, 0, "--write"}, "--write"},
		{{ORIGIN_FLOOR, 3, "/etc/x"}, "floor /etc/x:3"},
		{{ORIGIN_PROJECT, 1, "a\x1b[31m\nb"}, "a?[31m?b:1"},
	};
	char text[100], tiny[5];
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_STR(policy_origin_text(&rows[i].o, text, sizeof text), rows[i].text);
	}
	CHECK_STR(policy_origin_text(&rows[0].o, tiny, sizeof tiny), "buil");
}

static void set_something_of_each_kind(struct world *w) {
	set(w, "fs.deny", "a\\*b\\\\c?", "--deny");
	set(w, "fs.deny", "**/*.key", "--deny");
	set(w, "fs.deny", "x\\[y/[!a-z]", "--deny");
	set(w, "fs.deny", "@sensitive", "--deny");
	set(w, "fs.protect", "!@editors", "--protect");
	set(w, "fs.protect", "!/srv/x/*.c", "--protect");
	set(w, "fs.read", "/usr", "--read");
	set(w, "env.set", "A=say \"hi\"\n\\x", "--env");
	set(w, "env.set", "B=", "--env");
	set(w, "env.pass", "EDITOR", "--pass-env");
	set(w, "limits.cpus", "1.25", "--cpus");
	set(w, "limits.grace", "0", "--grace");
	set(w, "limits.memory", "3M", "--memory");
	set(w, "limits.processes", "none", "--processes");
	set(w, "limits.timeout", "1500ms", "--timeout");
}

TEST(the_printed_policy_reads_back_as_the_same_policy) {
	WORLD(w);
	struct buf text = {0};
	char first[65];
	set_something_of_each_kind(&w);
	CHECK_OK(&w, resolve(&w));
	memcpy(first, w.p.sha256, 65);
	policy_print(&w.p, false, &text);
	REQUIRE(!buf_failed(&text));
	write_file(w.extra, text.data);
	w.in.nsettings = 0;
	w.in.extra_file = w.extra;
	CHECK_OK(&w, resolve(&w));
	CHECK_STR(w.p.sha256, first);
	buf_done(&text);
}

TEST(an_exception_from_own_rules_is_printed_as_a_comment) {
	WORLD(w);
	struct buf text = {0}, json = {0};
	write_file(w.project, "fs.deny = [\"*.key\", \"!a.key\"]\n");
	set(&w, "fs.deny", "*.pem", "--deny");
	set(&w, "fs.deny", "!b.pem", "--deny");
	CHECK_OK(&w, resolve(&w));
	policy_print(&w.p, false, &text);
	policy_print(&w.p, true, &json);
	CHECK(strstr(text.data, "\n# \"!**/a.key\",") != NULL);
	CHECK(strstr(json.data, "\"own_exceptions\": [\n        \"!**/a.key\"") != NULL);
	/* Ours come first: read back, the exception of b.pem takes nothing from *.key. */
	CHECK(strstr(text.data, "\"**/*.key\"") > strstr(text.data, "\"!**/b.pem\""));
	REQUIRE(unlink(w.project) == 0);
	write_file(w.extra, text.data);
	w.in.nsettings = 0;
	w.in.extra_file = w.extra;
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(w.p.values[KEY_FS_DENY].count, 3);
	buf_done(&text);
	buf_done(&json);
}

TEST(the_printed_policy_names_every_origin) {
	WORLD(w);
	struct buf text = {0};
	set_something_of_each_kind(&w);
	CHECK_OK(&w, resolve(&w));
	policy_print(&w.p, false, &text);
	for (char *line = text.data, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		bool bracket = streq(line, "]") || (end > line && end[-1] == '[');
		CHECK(bracket || strstr(line, "# ") != NULL);
	}
	buf_done(&text);
}

TEST(the_json_form_holds_every_key_with_value_and_origin) {
	WORLD(w);
	struct buf text = {0};
	set_something_of_each_kind(&w);
	CHECK_OK(&w, resolve(&w));
	policy_print(&w.p, true, &text);
	json_error_t je;
	json_t *root = json_loads(text.data, JSON_REJECT_DUPLICATES, &je);
	REQUIRE(root != NULL);
	CHECK_INT(json_integer_value(json_object_get(root, "version")), 1);
	CHECK_STR(json_string_value(json_object_get(root, "sha256")), w.p.sha256);
	json_t *values = json_object_get(root, "values");
	CHECK_INT(json_object_size(values), KEY_COUNT);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		json_t *one = json_object_get(values, keys[i].name);
		CHECK(json_object_get(one, "value") != NULL);
		CHECK(json_object_get(one, "origin") != NULL);
	}
	json_t *memory = json_object_get(values, "limits.memory");
	CHECK_INT(json_integer_value(json_object_get(memory, "value")), 3 << 20);
	CHECK_STR(json_string_value(json_object_get(memory, "origin")), "--memory");
	json_t *timeout = json_object_get(json_object_get(values, "limits.timeout"), "value");
	CHECK_STR(json_string_value(timeout), "1500ms");
	json_decref(root);
	buf_done(&text);
}

/* ---- the schema ---- */

TEST(the_schema_is_json_and_describes_every_key) {
	struct buf text = {0};
	json_error_t je;
	policy_schema(&text);
	REQUIRE(!buf_failed(&text));
	json_t *root = json_loads(text.data, JSON_REJECT_DUPLICATES, &je);
	REQUIRE(root != NULL);
	CHECK(json_is_false(json_object_get(root, "additionalProperties")));
	json_t *top = json_object_get(root, "properties");
	for (size_t i = 0; i < KEY_COUNT; i++) {
		char name[64];
		(void)snprintf(name, sizeof name, "%s", keys[i].name);
		char *dot = strchr(name, '.');
		json_t *table = top;
		if (keys[i].type == TYPE_COMMANDS) {
			json_t *any = json_object_get(json_object_get(top, "commands"),
						      "additionalProperties");
			CHECK_STR(json_string_value(json_object_get(any, "description")),
				  keys[i].help);
			continue;
		}
		if (dot != NULL) {
			*dot = '\0';
			json_t *group = json_object_get(top, name);
			CHECK(streq(name, "commands") ||
			      json_is_false(json_object_get(group, "additionalProperties")));
			table = json_object_get(group, "properties");
		}
		json_t *one = json_object_get(table, dot == NULL ? name : dot + 1);
		CHECK(json_is_object(one));
		CHECK_STR(json_string_value(json_object_get(one, "description")), keys[i].help);
	}
	CHECK(json_object_get(top, "version") != NULL);
	CHECK(json_object_get(top, "floor") != NULL);
	json_decref(root);
	buf_done(&text);
}

TEST(the_schema_offers_no_value_that_is_refused) {
	struct buf text = {0};
	policy_schema(&text);
	json_t *root = json_loads(text.data, 0, NULL);
	const json_t *scan = json_object_get(
		json_object_get(json_object_get(json_object_get(root, "properties"), "scan"),
				"properties"),
		"net");
	const json_t *choices = json_object_get(scan, "enum");
	CHECK_INT(json_array_size(choices), 4);
	CHECK_STR(json_string_value(json_array_get(choices, 2)), "block"); /* not redact */
	json_decref(root);
	buf_done(&text);
}

TESTS_MAIN
