/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the args of a process object a run in the sandbox.
 *
 * Should:   keep the working directory, the environment and the terminal of the process.
 * Must not: let an argument of the process become an option of corral run.
 * Fails:    closed: a process without args is refused. */
#include "oci/oci.h"

#include "base/auto.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

static int add(json_t *array, const char *text, struct err *e) {
	return json_array_append_new(array, json_string(text)) == 0 ? 0 : err_memory(e, OCI_WHERE);
}

static int add_all(json_t *array, const json_t *strings, struct err *e) {
	size_t i;
	json_t *item;

	json_array_foreach(strings, i, item) {
		if (!json_is_string(item)) {
			return err_set(e, ERR_SETUP, OCI_WHERE, "an argument is not a string");
		}
		if (json_array_append(array, item) != 0) {
			return err_memory(e, OCI_WHERE);
		}
	}
	return 0;
}

/* As Corral's --pass-env accepts it; other names reach no program of a shell either. */
static bool is_name(const char *s, size_t len) {
	bool good = len > 0 && !isdigit((unsigned char)s[0]);

	for (size_t i = 0; i < len && good; i++) {
		good = isalnum((unsigned char)s[i]) || s[i] == '_';
	}
	return good;
}

/* PATH has a key of its own, which takes absolute directories only. */
static int pass_path(json_t *args, const char *value, struct err *e) {
	char setting[4096] = "env.path=";
	size_t at = strlen(setting), before = at;

	while (*value != '\0') {
		size_t len = strcspn(value, ":");
		if (value[0] == '/' && at + len + 2 < sizeof setting) {
			setting[at] = ':';
			at += at > before;
			memcpy(setting + at, value, len);
			at += len;
		}
		value += len + (value[len] == ':');
	}
	setting[at] = '\0';
	if (at == before) {
		return 0; /* Corral's own */
	}
	return add(args, "--set", e) != 0 ? -1 : add(args, setting, e);
}

static int pass_name(json_t *args, const char *entry, size_t len, struct err *e) {
	json_t *name = json_stringn(entry, len);
	int rc = add(args, "--allow-dangerous-env", e) != 0 || json_array_append(args, name) != 0 ||
				 add(args, "--pass-env", e) != 0 ||
				 json_array_append(args, name) != 0
			 ? err_memory(e, OCI_WHERE)
			 : 0;
	json_decref(name);
	return rc;
}

/* Variables that the sandbox sets itself. */
static bool is_own(const char *entry, size_t len) {
	static const char *const names[] = {"HOME", "PWD", "TMPDIR"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strlen(names[i]) == len && memcmp(names[i], entry, len) == 0) {
			return true;
		}
	}
	return str_starts(entry, "CORRAL_");
}

/* Every other variable: the engine's user chose them.  Code that one of them loads runs in the
 * sandbox like the rest of the image. */
static int pass_environment(json_t *args, const json_t *env, struct err *e) {
	size_t i;
	json_t *item;

	json_array_foreach(env, i, item) {
		const char *entry = json_string_value(item);
		size_t len = entry == NULL ? 0 : strcspn(entry, "=");
		if (entry == NULL || !is_name(entry, len) || is_own(entry, len)) {
			continue;
		}
		bool path = len == 4 && memcmp(entry, "PATH", 4) == 0 && entry[len] == '=';
		if ((path ? pass_path(args, entry + len + 1, e) : pass_name(args, entry, len, e)) !=
		    0) {
			return -1;
		}
	}
	return 0;
}

static bool is_home(const json_t *env, const char *dir) {
	size_t i;
	json_t *item;

	json_array_foreach(env, i, item) {
		const char *entry = json_string_value(item);
		if (entry != NULL && str_starts(entry, "HOME=")) {
			return streq(entry + 5, dir);
		}
	}
	return streq(dir, "/root"); /* the runtime sets the one of /etc/passwd */
}

/* The working directory is the workspace, unless it is one that a run refuses as such: then an
 * empty directory is. */
static int add_workspace(json_t *args, const char *cwd, const json_t *env, struct err *e) {
	bool apart = streq(cwd, "/") || is_home(env, cwd);

	if (add(args, "--workspace", e) != 0 || add(args, apart ? OCI_SCRATCH : cwd, e) != 0) {
		return -1;
	}
	if (!apart) {
		return add(args, "--any-workspace", e);
	}
	return add(args, "--chdir", e) != 0 ? -1 : add(args, cwd, e);
}

int oci_process_wrap(json_t *process, const json_t *options, struct err *e) {
	const json_t *args = json_object_get(process, "args");
	const json_t *env = json_object_get(process, "env");
	const char *cwd = json_string_value(json_object_get(process, "cwd"));

	if (!json_is_array(args) || json_array_size(args) == 0 || cwd == NULL || cwd[0] != '/') {
		return err_set(e, ERR_SETUP, OCI_WHERE,
			       "the process has no args, or no absolute cwd");
	}
	json_t *made = json_array();
	if (made == NULL) {
		return err_memory(e, OCI_WHERE);
	}
	if (add(made, OCI_PROGRAM, e) != 0 || add(made, "run", e) != 0 ||
	    add_all(made, options, e) != 0 || add_workspace(made, cwd, env, e) != 0 ||
	    pass_environment(made, env, e) != 0 || add(made, "--", e) != 0 ||
	    add_all(made, args, e) != 0) {
		json_decref(made);
		return -1;
	}
	return json_object_set_new(process, "args", made) == 0 ? 0 : err_memory(e, OCI_WHERE);
}
