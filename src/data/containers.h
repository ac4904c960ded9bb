/* SPDX-License-Identifier: Apache-2.0 */
/* Containers and virtual kernels: how each is recognised, and which flag raises the level in it. */
#ifndef CORRAL_DATA_CONTAINERS_H
#define CORRAL_DATA_CONTAINERS_H

#include <stddef.h>

enum container_kind {
	CONTAINER_NONE,
	CONTAINER_GVISOR,
	CONTAINER_DOCKER,
	CONTAINER_CRIO,
	CONTAINER_CONTAINERD,
	CONTAINER_PODMAN,
	CONTAINER_LXC,
	CONTAINER_NSPAWN,
	CONTAINER_POD, /* of Kubernetes, with a runtime that is not in this table */
	CONTAINER_WSL,
	CONTAINER_OTHER,
	CONTAINER_KINDS,
};

/* One mark.  The first row that applies wins. */
struct container_mark {
	enum container_kind kind;
	const char *file;     /* exists, or has `text`; NULL: the variable is the mark */
	const char *variable; /* of the caller's environment, set to `text` */
	const char *text;     /* NULL: any content */
	const char *reason;
	/* The file is a table of mounts, and a mount here has the text in another field: "/" that
	 * mount alone, "/etc/" those below it.  The host of a container has its directories as
	 * mount points, too.  NULL: any text. */
	const char *place;
};
extern const struct container_mark container_marks[];
extern const size_t container_marks_count;

/* Marks of Kubernetes, beside those of the runtime; the kind is CONTAINER_POD. */
extern const struct container_mark pod_marks[];
extern const size_t pod_marks_count;

/* A flag that does not exist is NULL. */
struct container_row {
	const char *name;      /* for people: "docker" */
	const char *seccomp;   /* allows the namespaces of a run where a filter refuses them */
	const char *setfcap;   /* gives root the capability to map its own id */
	const char *apparmor;  /* allows the namespaces where AppArmor confines the container */
	const char *otherwise; /* allows the namespaces where neither filter nor capability does */
	const char *landlock;  /* allows Landlock where a filter refuses its calls */
	const char *proc;      /* allows a procfs of its own */
};

/* Indexed by kind; in a pod the fields of pod_row replace the flags. */
extern const struct container_row container_rows[CONTAINER_KINDS];
extern const struct container_row pod_row;

#endif
