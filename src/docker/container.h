/* SPDX-License-Identifier: Apache-2.0 */
/* The backends docker and podman: a plan becomes the arguments of `docker run`.
 *
 * Theory.  The root file system is an image, named by its digest and never pulled.  The plan is
 * built as for a run in namespaces; its mounts of the workspace and of the grants become mounts of
 * the engine, and the system's own directories come from the image.  No broker checks names, so
 * rules about names hold for files that exist when the run starts.
 *
 *   supervisor ──clone──> watcher ──fork──> docker run ──socket──> daemon ──> container
 *
 * The watcher is the first process of struct child.  It starts the engine's command with the
 * streams of the run, and later `kill` and `rm --force` with the container's name, which is the id
 * of the run.  Arguments are vectors; no shell reads them.
 *
 * With a gate (gate.c) the first program of the container passes listeners of its loopback to the
 * watcher, over a socket in the directory of the run that takes one connection:
 *
 *   container: corral container-start ──listeners──> watcher ──WIRE_LISTENER──> gate
 *
 *   dies             noticed by                      then
 *   supervisor       watcher: channel, its pidfd     the container is removed
 *   docker run       watcher: its pidfd              the run ends; the container is removed
 *   watcher          supervisor: end-of-file         the supervisor removes the container
 *   both at once     no process                      the engine runs the command to its end
 *
 * Because of the last row `lifetime` is reported as weaker. */
#ifndef CORRAL_DOCKER_CONTAINER_H
#define CORRAL_DOCKER_CONTAINER_H

#include "backend/backend.h"

/* In the directory of the run. */
#define CONTAINER_SOCKET_NAME "gate"

/* A small file in the directory of the run: the profile, a mask, a generated text. */
struct container_file {
	const char *path, *text; /* NULL: an empty directory */
	uint32_t mode;
};

struct container_run {
	const char *name;
	const char *program;
	char **run; /* "docker", "run", …, the image; the command follows */
	/* With a gate: the arguments between them (data/container_start.h), and the ports. */
	char *start[4];
	uint16_t *ports;
	size_t nports; /* 0: no gate */
	size_t nrun, run_cap;
	char **env;   /* of the engine's command */
	bool removes; /* the engine removes the container at its end, and has recorded events */
	bool limited; /* its memory is limited */
	const char *rm_option; /* of `rm --force --volumes`: without a wait; NULL */
	bool init;             /* pid 1 is the engine's */
	struct container_file *files;
	size_t nfiles, files_cap;
};

/* engine.c: the facts about the engine of this policy, by its own command. */
int engine_probe(struct arena *a, const struct policy *p, struct host *h, struct err *e);
void engine_describe(const char *name, struct buf *out);
/* The environment of its command: from nothing, with the variables that name its daemon and
 * directories. */
char **engine_environment(struct arena *a, const struct host *h);
/* The value of `backend`. */
const char *engine_name(const struct policy *p);

/* failure.c: the function `explain` of the backends. */
void container_explain(const char *output, size_t len, struct err *e);

/* prepare.c: the plan of a container. */
int container_prepare(struct arena *a, const struct policy *p, const struct host *h,
		      struct plan *ret, struct err *e);

/* arguments.c: everything of *c but the ports. */
int container_arguments(struct arena *a, const struct policy *p, const struct host *h,
			struct plan *plan, struct container_run *c, struct err *e);

/* gate.c: the ports of the container's loopback that the gate serves. */
int container_gate(struct arena *a, const struct policy *p, const struct host *h, struct plan *plan,
		   struct container_run *c, struct err *e);

/* names.c: masks and read-only mounts for existing files that rules about names cover.  *ret_later:
 * there are rules that names which do not exist yet would fall under. */
int container_names(struct arena *a, const struct host *h, struct plan *plan, bool *ret_later,
		    struct err *e);

/* spawn.c */
int container_spawn(struct arena *a, const struct spawn_request *r, struct child *ret,
		    struct err *e);
void container_finish(struct child *c, struct usage *ret);

#endif
