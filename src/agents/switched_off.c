/* SPDX-License-Identifier: Apache-2.0 */
/* Finds settings that switch the hooks of an agent off: of its user, of the project, of the host.
 *
 * A repository can have such a file, and the agent then skips the hook without a message.
 *
 * Should:   look at the working directory and the directories above it, as agents do.
 * Must not: change anything, or run anything.
 * Fails:    closed: a file that cannot be read or parsed counts as one that switches hooks off. */
#include "agents/editing.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETTINGS_MAX ((size_t)1024 * 1024)
#define MANAGED "/etc/claude-code/managed-settings.json"

/* The length of an escape for a letter, as a quoted key may have it: \uXXXX, \UXXXXXXXX, \xXX; 0:
 * there is none. */
static size_t letter_escape(const char *at, char *ret) {
	size_t digits = at[0] != '\\'  ? 0
			: at[1] == 'u' ? 4
			: at[1] == 'U' ? 8
			: at[1] == 'x' ? 2
				       : 0;
	unsigned long value = 0;

	for (size_t i = 0; i < digits; i++) {
		const char hex[] = {at[2 + i], '\0'};
		if (!isxdigit((unsigned char)hex[0])) {
			return 0;
		}
		value = value << 4 | strtoul(hex, NULL, 16);
	}
	if (value >= 0x80 || isalpha((int)value) == 0) {
		return 0;
	}
	*ret = (char)value;
	return 2 + digits;
}

/* In place. */
static void decode_letters(char *text) {
	char *to = text;

	for (const char *at = text; *at != '\0'; to++) {
		size_t len = letter_escape(at, to);
		if (len == 0) {
			*to = *at;
			len = 1;
		}
		at += len;
	}
	*to = '\0';
}

/* "hooks = false" or "codex_hooks = false" of the table features, in each form that TOML has for
 * it; a text that only looks like it is reported too. */
static bool toml_switches_off(const char *text) {
	static const char key[] = "hooks";
	const char *line = text;

	while (*line != '\0') {
		size_t len = strcspn(line, "\n");
		const char *end = line + len, *at = line + strspn(line, " \t");
		while (*at != '#' && (at = strstr(at, key)) != NULL && at < end) {
			at += sizeof key - 1;
			at += strspn(at, "\"' \t");
			if (*at == '=' && str_starts(at + 1 + strspn(at + 1, " \t"), "false")) {
				return true;
			}
		}
		line = end + (*end == '\n');
	}
	return false;
}

/* Gemini CLI skips hooks whose command, or name, is in this list.  Corral's has no name, and a
 * command with this word. */
static bool lists_corral(const json_t *disabled) {
	size_t i;
	const json_t *name;

	json_array_foreach(disabled, i, name) {
		const char *text = json_string_value(name);
		if (text != NULL && strstr(text, "corral") != NULL) {
			return true;
		}
	}
	return false;
}

static bool json_switches_off(const char *path, struct buf *text) {
	struct editing ed = {.path = path, .text = text};
	struct err e;
	bool off = true;

	if (editing_parse(&ed, &e) == 0) {
		const json_t *config = json_object_get(ed.root, "hooksConfig");
		off = json_is_true(json_object_get(ed.root, "disableAllHooks")) ||
		      json_is_true(json_object_get(ed.root, "allowManagedHooksOnly")) ||
		      json_is_false(json_object_get(config, "enabled")) ||
		      lists_corral(json_object_get(config, "disabled"));
	}
	editing_done(&ed);
	return off;
}

static bool file_switches_off(const char *path) {
	const char *dot = strrchr(path, '.');
	struct buf text;

	buf_init(&text);
	int rc = fd_read_file(path, SETTINGS_MAX, &text);
	bool absent = rc != 0 && (errno == ENOENT || errno == ENOTDIR);
	bool off = !absent;
	if (rc == 0) {
		buf_puts(&text, "");
		bool toml = streq(dot, ".toml");
		if (toml && !buf_failed(&text) && text.data != NULL) {
			decode_letters(text.data);
		}
		off = buf_failed(&text)   ? true
		      : text.data == NULL ? false
		      : toml              ? toml_switches_off(text.data)
					  : json_switches_off(path, &text);
	}
	buf_done(&text);
	return off;
}

/* The settings of a directory that has the agent's own directory. */
static bool find_beneath(const char *dir, char ret_path[PATH_MAX]) {
	static const char *const names[] = {"settings.json", "settings.local.json", "config.toml"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct err unused;
		if (agents_path(ret_path, dir, names[i], &unused) == 0 &&
		    file_switches_off(ret_path)) {
			return true;
		}
	}
	return false;
}

bool switched_off(const struct agent *agent, char ret_path[PATH_MAX]) {
	auto_free char *at = getcwd(NULL, 0);
	struct agent_place place;
	struct err unused;
	char dir[PATH_MAX];

	if (agent->hook == HOOK_CLAUDE && file_switches_off(MANAGED)) {
		(void)snprintf(ret_path, PATH_MAX, "%s", MANAGED);
		return true;
	}
	if (agents_place(agent, &place, &unused) == 0 && find_beneath(place.dir, ret_path)) {
		return true;
	}
	while (at != NULL) {
		char *slash = strrchr(at, '/');
		if (agents_path(dir, at, agent->dir, &unused) == 0 && find_beneath(dir, ret_path)) {
			return true;
		}
		if (slash == NULL || at[0] == '\0') {
			break;
		}
		*slash = '\0'; /* "" is the root */
	}
	return false;
}
