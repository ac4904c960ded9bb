/* SPDX-License-Identifier: Apache-2.0 */
/* The backends of a build for Linux; the first is the default.
 *
 * Should:   be one list a system; the build compiles the one of its target (src/meson.build).
 * Must not: know anything of a backend but its row.
 * Fails:    never. */
#include "backend/backend.h"

const struct backend *const backends[] = {&backend_linux, &backend_docker, &backend_podman, NULL};
