/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the agents of this host: program, version, directory, key, hook and MCP server.
 *
 * Should:   run nothing: the version is that of the package around the program, or the name of the
 *           file that a link in PATH names.
 * Must not: read a login or a key: their existence is enough.
 * Fails:    with "" for a part that cannot be found. */
#include "agents/agents.h"

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "data/providers.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PACKAGE_MAX ((size_t)1024 * 1024)
/* node_modules/@scope/name/bin/program: package.json is one or two directories above. */
#define PACKAGE_LEVELS 3

static bool is_program(const char *path) {
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static void find_program(const char *command, char out[PATH_MAX]) {
	const char *path = getenv("PATH");

	for (const char *p = path == NULL ? "" : path; *p != '\0';) {
		size_t n = strcspn(p, ":");
		int len = snprintf(out, PATH_MAX, "%.*s/%s", (int)n, p, command);
		if (p[0] == '/' && len < PATH_MAX && is_program(out)) {
			return;
		}
		p += n + (p[n] == ':');
	}
	out[0] = '\0';
}

static bool version_of_package(const char *dir, char out[64]) {
	char path[PATH_MAX];
	struct buf text;
	bool found = false;

	if (snprintf(path, sizeof path, "%s/package.json", dir) >= (int)sizeof path) {
		return false;
	}
	buf_init(&text);
	if (fd_read_file(path, PACKAGE_MAX, &text) == 0) {
		json_t *root = json_loadb(text.data == NULL ? "" : text.data, text.len, 0, NULL);
		const char *version = json_string_value(json_object_get(root, "version"));
		if (version != NULL) {
			(void)snprintf(out, 64, "%.60s", version);
			str_hide_controls(out, false);
			found = true;
		}
		json_decref(root);
	}
	buf_done(&text);
	return found;
}

static void find_version(const char *program, char out[64]) {
	char real[PATH_MAX];

	if (program[0] == '\0' || realpath(program, real) == NULL) {
		return;
	}
	const char *name = strrchr(real, '/') + 1;
	if (isdigit((unsigned char)name[0])) { /* versions/2.1.0 */
		(void)snprintf(out, 64, "%.60s", name);
		str_hide_controls(out, false);
		return;
	}
	for (int i = 0; i < PACKAGE_LEVELS; i++) {
		path_pop(real);
		if (real[0] == '\0' || version_of_package(real, out)) {
			return;
		}
	}
}

static void find_key(const struct provider *row, struct agent_found *ret) {
	for (size_t i = 0; i < PROVIDER_ITEMS && row->variables[i] != NULL; i++) {
		const char *value = getenv(row->variables[i]);
		if (ret->key == NULL && value != NULL && value[0] != '\0') {
			ret->key = row->variables[i];
		}
	}
}

static void find_login(const struct provider *row, const char *home, struct agent_found *ret) {
	char path[PATH_MAX];

	ret->login = row->login != NULL &&
		     snprintf(path, sizeof path, "%s/%s", home, row->login) < (int)sizeof path &&
		     access(path, F_OK) == 0;
}

void survey_agent(const struct agent *agent, struct agent_found *ret) {
	const struct provider *row = provider_by_name(agent->provider);
	struct agent_place place;
	struct buf command;
	struct err e;

	*ret = (struct agent_found){.key = NULL};
	find_program(row->command, ret->program);
	find_version(ret->program, ret->version);
	find_key(row, ret);
	if (agents_place(agent, &place, &e) != 0) {
		return;
	}
	if (access(place.dir, F_OK) == 0) {
		(void)snprintf(ret->dir, sizeof ret->dir, "%s", place.dir);
	}
	find_login(row, place.home, ret);
	buf_init(&command);
	ret->hook = agent->hook != HOOK_NONE && installed_hook_command(agent, &command, &e) == 0 &&
		    command.len > 0;
	ret->trusted = ret->hook && installed_trusted(agent);
	buf_done(&command);
	ret->mcp = installed_mcp(agent);
}
