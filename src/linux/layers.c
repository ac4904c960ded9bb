/* The order in which the child gives up its powers, and why.
 *
 * Prepared from top to bottom in the parent, entered from top to bottom in the
 * child.  What a layer needs stands above it; what it takes away is needed only
 * above it. */
#include "linux/layer.h"

/* clang-format off: one line a layer, its reason beside it */
const struct layer *const layers[] = {
	&layer_scratch,      /* what later layers open has to be there */
	&layer_groups,       /* first: what set-up uses is the run's own use */
	&layer_inherited,    /* while /proc/self is the host's, and before anything costs time */
	&layer_user,         /* every later layer needs the capabilities of the mapped id */
	&layer_quotas,       /* while the host's /proc/sys is still there to be written */
	&layer_network,      /* needs CAP_NET_ADMIN, and /proc/sys like quotas */
	&layer_mounts,       /* needs CAP_SYS_ADMIN and the old root; Landlock would forbid it */
	&layer_names,        /* needs CAP_SYS_ADMIN */
	&layer_terminal,     /* the pty comes from the new devpts */
	&layer_directory,    /* the working directory of the new root */
	&layer_capabilities, /* nothing below needs a privilege; sets no_new_privs for two layers
				below */
	&layer_landlock, /* needs no_new_privs, and /dev, /tmp and the rest in their final place */
	&layer_descriptors, /* the ruleset was the last descriptor of the parent's that was needed
			     */
	&layer_limits,      /* the parent's descriptors may have numbers above the limit */
	&layer_seccomp,     /* last: it forbids what the layers above have just done */
	NULL,
};
/* clang-format on */
