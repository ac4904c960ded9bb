/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the system calls of a sandbox's set-up to the engine's seccomp profile.
 *
 * The command inherits the profile, so a call may be added only if the filter of the sandbox
 * refuses it to the command, or if it can only take rights away (O2).  The reasons below are those
 * of a policy without `nested = true`.
 *
 * Should:   remove the calls from the other rules, which may refuse them or check their arguments.
 * Must not: change the action for any other call.
 * Fails:    closed: a profile that cannot be read as one is refused. */
#include "oci/oci.h"

#include "base/auto.h"
#include "base/str.h"

#include <string.h>

static const struct {
	const char *name;
	const char *why; /* the command gains nothing */
} calls[] = {
	{"clone", "the sandbox's filter refuses flags for namespaces"},
	{"clone3", "the sandbox's filter answers ENOSYS"},
	{"fsconfig", "refused"},
	{"fsmount", "refused"},
	{"fsopen", "refused"},
	{"landlock_add_rule", "takes rights away"},
	{"landlock_create_ruleset", "takes rights away"},
	{"landlock_restrict_self", "takes rights away"},
	{"mount_setattr", "refused"},
	{"move_mount", "refused"},
	{"open_tree", "refused"},
	{"pidfd_getfd", "refused"},
	{"pivot_root", "refused"},
	{"seccomp", "takes rights away"},
	{"setdomainname", "refused"},
	{"sethostname", "refused"},
	{"umount2", "refused"},
	{"unshare", "refused"},
};

static bool is_added(const char *name) {
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		if (streq(calls[i].name, name)) {
			return true;
		}
	}
	return false;
}

static int take_out(json_t *names, struct err *e) {
	for (size_t i = json_array_size(names); i-- > 0;) {
		const char *name = json_string_value(json_array_get(names, i));
		if (name == NULL) {
			return err_set(e, ERR_SETUP, OCI_WHERE, "a name in linux.seccomp is none");
		}
		if (is_added(name) && json_array_remove(names, i) != 0) {
			return err_memory(e, OCI_WHERE);
		}
	}
	return 0;
}

/* A rule without names is not valid. */
static int take_out_of_rules(json_t *rules, struct err *e) {
	for (size_t i = json_array_size(rules); i-- > 0;) {
		json_t *names = json_object_get(json_array_get(rules, i), "names");
		if (!json_is_array(names)) {
			return err_set(e, ERR_SETUP, OCI_WHERE,
				       "a rule of linux.seccomp has no names");
		}
		if (take_out(names, e) != 0) {
			return -1;
		}
		if (json_array_size(names) == 0 && json_array_remove(rules, i) != 0) {
			return err_memory(e, OCI_WHERE);
		}
	}
	return 0;
}

int oci_seccomp_allow(json_t *seccomp, struct err *e) {
	json_t *rules = json_object_get(seccomp, "syscalls");

	if (json_is_null(seccomp) || seccomp == NULL) {
		return 0; /* the engine filters nothing */
	}
	if (rules == NULL) {
		rules = json_array();
		if (json_object_set_new(seccomp, "syscalls", rules) != 0) {
			return err_memory(e, OCI_WHERE);
		}
	}
	if (!json_is_object(seccomp) || !json_is_array(rules)) {
		return err_set(e, ERR_SETUP, OCI_WHERE, "linux.seccomp is not a profile");
	}
	if (take_out_of_rules(rules, e) != 0) {
		return -1;
	}
	const char *otherwise = json_string_value(json_object_get(seccomp, "defaultAction"));
	if (otherwise != NULL && streq(otherwise, "SCMP_ACT_ALLOW")) {
		return 0; /* libseccomp refuses a rule with the default action */
	}
	json_t *names = json_array();
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		if (json_array_append_new(names, json_string(calls[i].name)) != 0) {
			json_decref(names);
			return err_memory(e, OCI_WHERE);
		}
	}
	json_t *rule = json_pack("{s:o, s:s}", "names", names, "action", "SCMP_ACT_ALLOW");
	return rule != NULL && json_array_append_new(rules, rule) == 0 ? 0
								       : err_memory(e, OCI_WHERE);
}
