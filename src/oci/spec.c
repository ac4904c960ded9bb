/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites the config.json of a container.
 *
 * Should:   show corral and its policy in the container; grant the volumes that the engine's user
 *           mounted; make room for the sandbox's own set-up.
 * Must not: remove a mask that the sandbox does not make itself.
 * Fails:    closed: an object that has another type than the specification says is refused. */
#include "oci/oci.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/paths.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- pause containers ----
 *
 * An image can have annotations, too, and podman copies them: the marks count only with --pods, for
 * engines that set them themselves.  Such an engine may copy annotations of the pod, among them the
 * mark of the other engine: its own has another value then, and decides. */

static const struct {
	const char *annotation, *value;
} pause_marks[] = {
	{"io.kubernetes.cri.container-type", "sandbox"},  /* containerd */
	{"io.kubernetes.cri-o.ContainerType", "sandbox"}, /* CRI-O */
};

bool oci_spec_is_pause(const json_t *spec) {
	const json_t *annotations = json_object_get(spec, "annotations");
	bool marked = false;

	for (size_t i = 0; i < ARRAY_LEN(pause_marks); i++) {
		const json_t *value = json_object_get(annotations, pause_marks[i].annotation);
		if (value == NULL) {
			continue;
		}
		const char *text = json_string_value(value);
		if (text == NULL || !streq(text, pause_marks[i].value)) {
			return false;
		}
		marked = true;
	}
	return marked;
}

/* ---- paths ---- */

/* Relative paths begin in the bundle, and the copy is in another directory. */
static int make_absolute(json_t *object, const char *key, const char *bundle, struct err *e) {
	const char *path = json_string_value(json_object_get(object, key));
	char full[PATH_MAX];

	if (path == NULL || path[0] == '/') {
		return 0;
	}
	int n = snprintf(full, sizeof full, "%s/%s", bundle, path);
	if (n < 0 || (size_t)n >= sizeof full) {
		return err_set(e, ERR_SETUP, OCI_WHERE, "%s is too long: %s", key, path);
	}
	return json_object_set_new(object, key, json_string(full)) == 0 ? 0
									: err_memory(e, OCI_WHERE);
}

/* ---- mounts ---- */

static bool has_option(const json_t *mount, const char *name) {
	size_t i;
	json_t *item;

	json_array_foreach(json_object_get(mount, "options"), i, item) {
		if (json_is_string(item) && streq(json_string_value(item), name)) {
			return true;
		}
	}
	return false;
}

static bool is_bind(const json_t *mount) {
	const char *type = json_string_value(json_object_get(mount, "type"));
	return (type != NULL && streq(type, "bind")) || has_option(mount, "bind") ||
	       has_option(mount, "rbind");
}

/* Files and file systems that engines mount by themselves; the sandbox has its own, or shows them
 * read-only as part of the image. */
static bool is_engines(const char *target) {
	static const char *const trees[] = {"/dev", "/proc", "/sys", "/run/secrets"};
	static const char *const files[] = {
		"/",    "/etc/hostname",      "/etc/hosts", "/etc/resolv.conf",
		"/run", "/run/.containerenv", "/tmp",       "/var/tmp"};

	for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
		if (path_within(target, trees[i])) {
			return true;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (streq(target, files[i])) {
			return true;
		}
	}
	return false;
}

/* A socket is granted by a policy only: it may be the engine's own. */
static bool is_socket(const json_t *mount) {
	const char *source = json_string_value(json_object_get(mount, "source"));
	struct stat st;

	return source != NULL && stat(source, &st) == 0 && S_ISSOCK(st.st_mode);
}

static int add_option(json_t *options, const char *name, const char *value, struct err *e) {
	bool good = json_array_append_new(options, json_string(name)) == 0 &&
		    (value == NULL || json_array_append_new(options, json_string(value)) == 0);
	return good ? 0 : err_memory(e, OCI_WHERE);
}

static int grant_volume(const json_t *mount, json_t *options, struct err *e) {
	const char *target = json_string_value(json_object_get(mount, "destination"));
	const char *type = json_string_value(json_object_get(mount, "type"));
	bool scratch = type != NULL && streq(type, "tmpfs");

	if (target == NULL || target[0] != '/') {
		return err_set(e, ERR_SETUP, OCI_WHERE, "a mount has no absolute destination");
	}
	if (path_within(target, OCI_INSIDE)) {
		return err_set(e, ERR_REFUSED, OCI_WHERE, "a mount at %s would cover Corral's own",
			       target);
	}
	if (path_within(target, "/var/run/secrets") ||
	    path_within(target, "/run/secrets/kubernetes.io")) {
		/* The token of the pod, and those that clouds add.  With /var/run a directory of
		 * the image they would be shown with it. */
		return add_option(options, "--deny", target, e);
	}
	if (is_engines(target) || (!is_bind(mount) && !scratch) || is_socket(mount)) {
		return 0;
	}
	return add_option(options, has_option(mount, "ro") ? "--read" : "--write", target, e);
}

static int grant_volumes(json_t *mounts, const char *bundle, json_t *options, struct err *e) {
	size_t i;
	json_t *mount;

	json_array_foreach(mounts, i, mount) {
		if (is_bind(mount) && make_absolute(mount, "source", bundle, e) != 0) {
			return -1;
		}
		if (grant_volume(mount, options, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int show_file(json_t *mounts, const char *source, const char *target, struct err *e) {
	json_t *mount =
		json_pack("{s:s, s:s, s:s, s:[s,s,s,s]}", "destination", target, "source", source,
			  "type", "bind", "options", "bind", "ro", "nosuid", "nodev");
	return mount != NULL && json_array_append_new(mounts, mount) == 0
		       ? 0
		       : err_memory(e, OCI_WHERE);
}

/* Last, so that no mount of the engine covers them. */
static int show_own(json_t *mounts, const struct oci_sources *s, struct err *e) {
	json_t *scratch =
		json_pack("{s:s, s:s, s:s, s:[s,s,s]}", "destination", OCI_SCRATCH, "source",
			  "tmpfs", "type", "tmpfs", "options", "nosuid", "nodev", "mode=1777");
	if (scratch == NULL || json_array_append_new(mounts, scratch) != 0) {
		return err_memory(e, OCI_WHERE);
	}
	if (show_file(mounts, s->program, OCI_PROGRAM, e) != 0) {
		return -1;
	}
	return s->policy == NULL ? 0 : show_file(mounts, s->policy, OCI_POLICY, e);
}

/* ---- masks ---- */

/* The sandbox hides or protects it in its own /proc, for every user. */
static bool is_made_inside(const char *path) {
	return path_table_find(&proc_hidden, path) != NULL ||
	       path_table_find(&proc_readonly, path) != NULL;
}

/* Files of /proc that are readable for root alone, or that recent kernels do not have. */
static bool is_roots(const char *path) {
	static const char *const files[] = {"/proc/latency_stats", "/proc/sched_debug",
					    "/proc/scsi",          "/proc/sysrq-trigger",
					    "/proc/timer_stats",   "/proc/interrupts"};
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (streq(path, files[i])) {
			return true;
		}
	}
	return false;
}

static bool is_removable(const char *path) {
	return !path_within(path, "/proc") || is_made_inside(path) || is_roots(path);
}

static int check_masks(const json_t *list, bool *ret_removable, struct err *e) {
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *path = json_string_value(json_array_get(list, i));
		if (path == NULL) {
			return err_set(e, ERR_SETUP, OCI_WHERE, "a masked path is not a string");
		}
		*ret_removable &= is_removable(path);
	}
	return 0;
}

static int remove_masks(json_t *list, struct err *e) {
	for (size_t i = json_array_size(list); i-- > 0;) {
		bool proc = path_within(json_string_value(json_array_get(list, i)), "/proc");
		if (proc && json_array_remove(list, i) != 0) {
			return err_memory(e, OCI_WHERE);
		}
	}
	return 0;
}

/* With one mask on /proc left the kernel refuses the sandbox a procfs of its own: all are removed,
 * or none is, and then the sandbox shows the container's. */
static int unmask(json_t *masked, json_t *readonly, struct err *e) {
	bool removable = true;

	if (check_masks(masked, &removable, e) != 0 || check_masks(readonly, &removable, e) != 0) {
		return -1;
	}
	if (!removable) {
		return 0;
	}
	return remove_masks(masked, e) != 0 ? -1 : remove_masks(readonly, e);
}

/* ---- the whole ---- */

static int wrap_linux(json_t *linux_, struct err *e) {
	if (unmask(json_object_get(linux_, "maskedPaths"), json_object_get(linux_, "readonlyPaths"),
		   e) != 0) {
		return -1;
	}
	return oci_seccomp_allow(json_object_get(linux_, "seccomp"), e);
}

static int start_options(const struct oci_sources *s, json_t *options, struct err *e) {
	if (add_option(options, "--no-config", NULL, e) != 0 ||
	    add_option(options, "--profile", "host-read", e) != 0) {
		return -1;
	}
	return s->policy == NULL ? 0 : add_option(options, "--policy", OCI_POLICY, e);
}

int oci_spec_wrap(json_t *spec, const struct oci_sources *s, json_t **ret_options, struct err *e) {
	json_t *mounts = json_object_get(spec, "mounts"), *root = json_object_get(spec, "root");
	json_t *process = json_object_get(spec, "process");
	json_t *linux_ = json_object_get(spec, "linux"), *options = json_array();

	if (!json_is_array(mounts) || !json_is_object(root) || !json_is_object(process) ||
	    !json_is_object(linux_)) {
		json_decref(options);
		return err_set(e, ERR_SETUP, OCI_WHERE,
			       "config.json has no mounts, root, process or linux");
	}
	if (options == NULL || start_options(s, options, e) != 0 ||
	    make_absolute(root, "path", s->bundle, e) != 0 ||
	    grant_volumes(mounts, s->bundle, options, e) != 0 || show_own(mounts, s, e) != 0 ||
	    wrap_linux(linux_, e) != 0 || oci_process_wrap(process, options, e) != 0) {
		json_decref(options);
		return -1;
	}
	*ret_options = options;
	return 0;
}
