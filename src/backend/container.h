/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises the container runtime around this process, for `corral status`. */
#ifndef CORRAL_BACKEND_CONTAINER_H
#define CORRAL_BACKEND_CONTAINER_H

#include "data/containers.h"

#include <stdbool.h>

struct container {
	enum container_kind kind;          /* CONTAINER_NONE: no mark was found */
	bool pod;                          /* of Kubernetes */
	const struct container_mark *mark; /* the one that decided; NULL: none */
};

/* root: "" for this host, or a directory that has the files of another, for tests.  env: the
 * caller's environment. */
struct container container_find(const char *root, const char *const *env);

/* The name for people, such as "docker" or "kubernetes pod, containerd"; NULL: none found. */
const char *container_name(const struct container *c, char out[64]);

/* The flags that raise the level in it; all NULL without a container. */
struct container_row container_flags(const struct container *c);

#endif
