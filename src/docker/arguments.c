/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the plan of a container into the arguments of `docker run`.
 *
 * Should:   write one argument for each value, so that nothing needs quoting.
 * Must not: pull an image; add a capability; mount a directory of the system.
 * Fails:    closed: a path that the engine's syntax cannot have is an error. */
#include "docker/container.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/container_start.h"
#include "docker/seccomp_json.h"
#include "gate/gate.h"
#include "linux/bpf.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>

#define WHERE "container"
#define MIB ((int64_t)1024 * 1024)

#define PROFILE_NAME "seccomp.json"
#define MASK_NAME "hidden"
#define MASK_DIR_NAME "hidden.d"

struct words {
	struct arena *a;
	const struct plan *plan;
	struct container_run *c;
	bool out_of_memory;
	const char *bad; /* a path with a colon */
};

static void put(struct words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct words *w, const char *fmt, ...) {
	struct container_run *c = w->c;
	va_list ap;

	va_start(ap, fmt);
	char *word = arena_vprintf(w->a, fmt, ap);
	va_end(ap);
	if (word == NULL || arena_grow(w->a, &c->run, c->nrun, &c->run_cap, sizeof *c->run) != 0) {
		w->out_of_memory = true;
		return;
	}
	c->run[c->nrun++] = word;
}

static const char *add_file(struct words *w, const char *name, const char *text, uint32_t mode) {
	struct container_run *c = w->c;
	const char *path = path_join(w->a, w->plan->run_dir, name);

	if (path == NULL ||
	    arena_grow(w->a, &c->files, c->nfiles, &c->files_cap, sizeof *c->files) != 0) {
		w->out_of_memory = true;
		return "";
	}
	c->files[c->nfiles++] = (struct container_file){path, text, mode};
	return path;
}

/* ---- mounts ---- */

static bool has_colon(struct words *w, const char *path) {
	bool found = strchr(path, ':') != NULL;
	w->bad = found ? path : w->bad;
	return found;
}

static void put_volume(struct words *w, const char *source, const char *target, bool writable) {
	if (has_colon(w, source) || has_colon(w, target)) {
		return;
	}
	put(w, "-v");
	put(w, "%s:%s%s", source, target, writable ? "" : ":ro");
}

static void put_tmpfs(struct words *w, const struct mount *m) {
	char size[48] = "";

	if (streq(m->target, "/dev/shm") || has_colon(w, m->target)) {
		return; /* the engine has its own /dev/shm */
	}
	if (w->plan->tmp_size != 0) {
		(void)snprintf(size, sizeof size, ",size=%llu",
			       (unsigned long long)w->plan->tmp_size);
	}
	put(w, "--tmpfs");
	put(w, "%s:rw,exec,nosuid,nodev,mode=1777%s", m->target, size);
}

/* Whether a path inside lies in a tree of the host that is mounted. */
static bool is_shown(const struct plan *plan, const char *path) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->kind == MOUNT_BIND && !streq(m->note, "system") &&
		    path_within(path, m->target)) {
			return true;
		}
	}
	return false;
}

static void put_text(struct words *w, const struct mount *m) {
	char name[32];

	(void)snprintf(name, sizeof name, "text%zu", w->c->nfiles);
	put_volume(w, add_file(w, name, m->text, 0444), m->target, false);
}

static void put_pin(struct words *w, const struct mount *m) {
	char source[PATH_MAX];

	if (plan_host_path(w->plan, m->target, source)) {
		put_volume(w, source, m->target, m->writable);
	}
}

/* A directory is covered by an empty one of this host: podman copies the covered files into a new
 * tmpfs. */
static void put_mask(struct words *w, const struct mount *m) {
	const char *name = m->kind == MOUNT_MASK_FILE ? MASK_NAME : MASK_DIR_NAME;
	const char *empty = path_join(w->a, w->plan->run_dir, name);

	put_volume(w, empty == NULL ? "" : empty, m->target, false);
	w->out_of_memory = w->out_of_memory || empty == NULL;
}

/* The entries of the plan that are not the image's. */
static void put_mount(struct words *w, const struct mount *m) {
	bool shown = is_shown(w->plan, m->target);

	switch (m->kind) {
	case MOUNT_BIND:
		if (!streq(m->note, "system")) {
			put_volume(w, m->source, m->target, m->writable);
		}
		break;
	case MOUNT_PRIVATE:
		put_tmpfs(w, m);
		break;
	case MOUNT_MASK_FILE:
	case MOUNT_MASK_DIR:
	case MOUNT_COVER:
		if (shown) {
			put_mask(w, m);
		}
		break;
	case MOUNT_TEXT:
		if (shown) {
			put_text(w, m);
		}
		break;
	case MOUNT_PIN:
		if (shown) {
			put_pin(w, m);
		}
		break;
	default:
		break; /* devices, links and files of the new root: the image has its own */
	}
}

static bool is_workspace(const struct plan *plan, const struct mount *m) {
	return m->kind == MOUNT_BIND && streq(m->target, plan->workspace_at);
}

/* The workspace first: a reader looks for it. */
static void put_mounts(struct words *w) {
	for (int other = 0; other < 2; other++) {
		for (size_t i = 0; i < w->plan->nmounts; i++) {
			if (is_workspace(w->plan, &w->plan->mounts[i]) == (other == 0)) {
				put_mount(w, &w->plan->mounts[i]);
			}
		}
	}
}

/* ---- limits ---- */

static const struct {
	int resource;
	const char *name;
} ulimits[] = {
	{RLIMIT_CORE, "core"}, {RLIMIT_CPU, "cpu"},       {RLIMIT_FSIZE, "fsize"},
	{RLIMIT_DATA, "data"}, {RLIMIT_NOFILE, "nofile"}, {RLIMIT_MEMLOCK, "memlock"},
};

static void put_ulimits(struct words *w) {
	for (size_t i = 0; i < w->plan->nrlimits; i++) {
		const struct rlimit_row *row = &w->plan->rlimits[i];
		for (size_t k = 0; k < ARRAY_LEN(ulimits); k++) {
			if (ulimits[k].resource == row->resource) {
				put(w, "--ulimit=%s=%llu:%llu", ulimits[k].name,
				    (unsigned long long)row->value, (unsigned long long)row->value);
			}
		}
	}
}

static void put_limits(struct words *w) {
	const struct plan *plan = w->plan;
	int64_t memory = plan->memory_bytes, millis = plan->cpu_millis;

	if (memory != LIMIT_NONE) {
		bool whole = memory % MIB == 0;
		put(w, "--memory=%lld%s", (long long)(whole ? memory / MIB : memory),
		    whole ? "m" : "");
		put(w, "--memory-swap=%lld", (long long)memory); /* of both: no swap */
		w->c->limited = true;
	}
	if (millis != LIMIT_NONE && millis % 1000 == 0) {
		put(w, "--cpus=%lld", (long long)millis / 1000);
	} else if (millis != LIMIT_NONE) {
		put(w, "--cpus=%lld.%03lld", (long long)millis / 1000, (long long)millis % 1000);
	}
	if (plan->max_processes != LIMIT_NONE) {
		put(w, "--pids-limit=%lld", (long long)plan->max_processes);
	}
	put_ulimits(w);
}

/* ---- the rest ---- */

static void put_boundary(struct words *w, const struct host *h, bool podman) {
	const struct plan *plan = w->plan;

	put(w, "--pull=never");
	put(w, "--entrypoint=");    /* the command runs, and no program of the image before it */
	put(w, "--no-healthcheck"); /* or beside it */
	put(w, "--read-only");
	put(w, "--cap-drop=ALL");
	put(w, "--security-opt=no-new-privileges");
	put(w, "--security-opt=seccomp=%s/%s", plan->run_dir, PROFILE_NAME);
	put(w, "--ipc=private");
	put(w, "--hostname=%s", plan->hostname);
	put(w, "--user=%u:%u", plan->uid, plan->gid);
	put(w, "--log-driver=none");
	if (podman) {
		put(w, "--http-proxy=false");
		if (h->container->processes != 0) {
			put(w, "--ulimit=nproc=%llu:%llu",
			    (unsigned long long)h->container->processes,
			    (unsigned long long)h->container->processes);
		}
		if (h->container->rootless) {
			put(w, "--userns=keep-id");
		}
	}
	if (h->container->init) {
		put(w, "--init");
		w->c->init = true;
	}
}

/* Paths of this host: the image has its own. */
static bool is_of_image(const struct policy *p, const char *variable) {
	bool path = p->values[KEY_ENV_PATH].set &&
		    p->values[KEY_ENV_PATH].origin.kind != ORIGIN_BUILTIN;
	return (str_starts(variable, "PATH=") && !path) || str_starts(variable, "SHELL=") ||
	       str_starts(variable, "XDG_RUNTIME_DIR=");
}

static void put_environment(struct words *w, const struct policy *p) {
	for (size_t i = 0; w->plan->env[i] != NULL; i++) {
		if (is_of_image(p, w->plan->env[i])) {
			continue;
		}
		put(w, "-e");
		if (str_starts(w->plan->env[i], "CORRAL_LEVEL=")) {
			put(w, "CORRAL_LEVEL=%s", plan_level_name(w->plan->level));
		} else {
			put(w, "%s", w->plan->env[i]);
		}
	}
}

/* The first program of the container, which connects it to the gate (data/container_start.h). */
static void put_start(struct words *w, const struct host *h) {
	struct container_run *c = w->c;
	char list[GATE_LISTENERS_MAX * sizeof "65535,"] = "";
	size_t len = 0;
	bool low = false;

	if (c->nports == 0) {
		return;
	}
	for (size_t i = 0; i < c->nports; i++) {
		len += (size_t)snprintf(list + len, sizeof list - len, "%s%u", i == 0 ? "" : ",",
					c->ports[i]); /* it fits */
		low = low || c->ports[i] < 1024;
	}
	if (low) {
		put(w, "--sysctl=net.ipv4.ip_unprivileged_port_start=0");
	}
	const char *socket = path_join(w->a, w->plan->run_dir, CONTAINER_SOCKET_NAME);
	put_volume(w, h->container->start, CONTAINER_START_PROGRAM, false);
	put_volume(w, socket == NULL ? "" : socket, CONTAINER_START_SOCKET, false);
	const char *const words[] = {CONTAINER_START_PROGRAM, CONTAINER_START_WORD,
				     CONTAINER_START_SOCKET, list};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		c->start[i] = arena_strdup(w->a, words[i]);
		w->out_of_memory = w->out_of_memory || c->start[i] == NULL;
	}
	w->out_of_memory = w->out_of_memory || socket == NULL;
}

static int put_profile(struct words *w, struct err *e) {
	struct buf json;

	buf_init(&json);
	int rc = seccomp_json_write(w->a, (enum syscall_arch)bpf_native(), w->plan->denied, &json,
				    e);
	const char *text = rc == 0 ? arena_strdup(w->a, json.data) : NULL;
	buf_done(&json);
	if (rc == 0 && text == NULL) {
		return err_memory(e, WHERE);
	}
	(void)add_file(w, PROFILE_NAME, text, 0400);
	(void)add_file(w, MASK_NAME, "", 0);
	(void)add_file(w, MASK_DIR_NAME, NULL, 0555);
	return rc;
}

static int check(const struct words *w, struct err *e) {
	if (w->out_of_memory) {
		return err_memory(e, WHERE);
	}
	if (w->bad != NULL) {
		(void)err_set(e, ERR_SETUP, WHERE,
			      "%s has a colon, which the engine takes for the end of a path",
			      w->bad);
		return err_fix(e, "use --backend auto, or another path");
	}
	return 0;
}

int container_arguments(struct arena *a, const struct policy *p, const struct host *h,
			struct plan *plan, struct container_run *c, struct err *e) {
	bool podman = streq(engine_name(p), "podman");
	struct words w = {.a = a, .plan = plan, .c = c};

	c->program = h->container->program;
	c->env = engine_environment(a, h);
	/* podman has no record of a container that it has removed. */
	c->removes = !podman;
	c->rm_option = podman ? "--time=0" : NULL;
	c->name = arena_printf(a, "corral-%s", h->run_id == NULL ? "recorded" : h->run_id);
	if (c->name == NULL || c->env == NULL) {
		return err_memory(e, WHERE);
	}
	put(&w, "%s", engine_name(p));
	put(&w, "run");
	if (c->removes) {
		put(&w, "--rm");
	}
	put(&w, "--name");
	put(&w, "%s", c->name);
	if (plan->own_net) {
		put(&w, "--network=none");
	}
	put_limits(&w);
	put_boundary(&w, h, podman);
	put_mounts(&w);
	put_start(&w, h);
	put_environment(&w, p);
	put(&w, "-w");
	put(&w, "%s", plan->cwd);
	put(&w, "-i");
	put(&w, "%s", policy_str(p, KEY_DOCKER_IMAGE));
	return put_profile(&w, e) != 0 ? -1 : check(&w, e);
}
