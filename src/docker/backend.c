/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the container engines in the table of backends.
 *
 * Should:   share every function: the policy names the engine.
 * Must not: run a command in the container of another row (C1).
 * Fails:    closed. */
#include "docker/container.h"

#include "linux/spawn.h"

static void docker_describe(const struct policy *p, const struct host *h, struct buf *out) {
	(void)p;
	(void)h;
	engine_describe("docker", out);
}

static void podman_describe(const struct policy *p, const struct host *h, struct buf *out) {
	(void)p;
	(void)h;
	engine_describe("podman", out);
}

#define ENGINE_FUNCTIONS                                                                           \
	.probe = engine_probe, .prepare = container_prepare, .spawn = container_spawn,             \
	.supervise = spawn_read, .finish = container_finish, .explain = container_explain

const struct backend backend_docker = {
	.name = "docker",
	ENGINE_FUNCTIONS,
	.describe = docker_describe,
};

const struct backend backend_podman = {
	.name = "podman",
	ENGINE_FUNCTIONS,
	.describe = podman_describe,
};
