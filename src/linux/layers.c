/* The order in which the child gives up its powers, and why.
 *
 * Prepared from top to bottom in the parent, entered from top to bottom in the
 * child.  What a layer needs stands above it; what it takes away is needed only
 * above it. */
#include "linux/layer.h"

/* One line a layer, its reason beside it. */
/* clang-format off */
const struct layer *const layers[] = {
	&layer_scratch,      /* first: makes the directories that later layers open */
	&layer_cgroup,       /* before anything is allocated: set-up counts as the run's own use */
	&layer_inherited,    /* while /proc/self is the host's, and before anything costs time */
	&layer_idmap,        /* every later layer needs the capabilities of the mapped id */
	&layer_quotas,       /* while the host's /proc/sys is still there to be written */
	&layer_network,      /* needs CAP_NET_ADMIN, and /proc/sys like quotas */
	&layer_mounts,       /* needs CAP_SYS_ADMIN and the old root; Landlock would forbid it */
	&layer_hostname,     /* needs CAP_SYS_ADMIN */
	&layer_terminal,     /* the pty comes from the new devpts */
	&layer_directory,    /* the working directory lies in the new root */
	&layer_capabilities, /* nothing below needs a privilege; sets no_new_privs for the next */
	&layer_landlock,     /* needs no_new_privs, and /dev, /tmp and the rest in their final place */
	&layer_descriptors,  /* the ruleset was the last of the parent's descriptors in use */
	&layer_limits,       /* the parent's descriptors may have numbers above the limit */
	&layer_seccomp,      /* last: it forbids what the layers above have just done */
	NULL,
};
/* clang-format on */
