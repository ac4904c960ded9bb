/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the layers in the order in which the child enters them, with the reason for each place.
 *
 * The parent calls prepare() from top to bottom, the child enter().  A layer needs the
 * effects of those above it, and removes only rights that no layer below it needs.
 *
 * Should:   hold the order, and nothing else.
 * Must not: put a layer that mounts or opens files below capabilities, landlock or seccomp.
 * Fails:    closed: the first layer that fails stops the run (linux/spawn.c). */
#include "linux/layer.h"

/* One line a layer, its reason beside it. */
/* clang-format off */
const struct layer *const layers[] = {
	&layer_scratch,      /* first: makes the directories that later layers open */
	&layer_cgroup,       /* before the child allocates: its set-up counts as use of the run */
	&layer_inherited,    /* while /proc/self is the host's, and before the set-up's work */
	&layer_idmap,        /* every later layer needs the capabilities of the mapped id */
	&layer_quotas,       /* while the host's writable /proc/sys is still mounted */
	&layer_mounts,       /* needs CAP_SYS_ADMIN and the old root; Landlock would forbid it */
	&layer_network,      /* needs CAP_NET_ADMIN, and /proc/sys like quotas; below the mounts, which
				take as long as the namespace that it waits for */
	&layer_pivot,        /* the last layer that needs the old root is above */
	&layer_hostname,     /* needs CAP_SYS_ADMIN */
	&layer_terminal,     /* the pty comes from the new devpts */
	&layer_directory,    /* the working directory is in the new root */
	&layer_capabilities, /* no layer below needs a capability; sets no_new_privs for the next */
	&layer_landlock,     /* needs no_new_privs, and /dev, /tmp and the rest in their final place */
	&layer_descriptors,  /* the ruleset was the last of the parent's descriptors in use */
	&layer_limits,       /* the parent's descriptors may have numbers above the limit */
	&layer_seccomp,      /* last: it refuses system calls that the layers above make */
	NULL,
};
/* clang-format on */
