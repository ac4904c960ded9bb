/* What this host offers, for programs that want to say so before a run. */
#include "lib/internal.h"

#include "linux/probe.h"

#include <stdio.h>

/* The level that a run with defaults gets.  plan_build() decides for real; this
 * version has only the namespaces engine, so without it there is no level. */
static enum level reachable_level(const struct host *host) {
	if (!host->userns || !host->seccomp) {
		return LEVEL_NONE;
	}
	return host->landlock_abi >= 4 ? LEVEL_FULL : LEVEL_STANDARD;
}

static int fill(struct arena *a, struct corral_probe *probe, struct err *e) {
	struct host host = {0};

	if (probe == NULL || probe->size != sizeof *probe) {
		return err_set(e, ERR_USAGE, "library",
			       "corral_probe.size is not sizeof(struct corral_probe)");
	}
	if (host_probe(a, &host, e) != 0) {
		return -1;
	}
	host_probe_switches(&host);
	probe->landlock_abi = host.landlock_abi;
	probe->user_namespaces = host.userns;
	probe->seccomp = host.seccomp;
	/* Truncation is acceptable in a message. */
	(void)snprintf(probe->userns_why, sizeof probe->userns_why, "%s",
		       host.userns || host.userns_why == NULL ? "" : host.userns_why);
	(void)snprintf(probe->level, sizeof probe->level, "%s", level_name(reachable_level(&host)));
	return 0;
}

int corral_probe(struct corral_probe *probe, struct corral_error *err) {
	struct arena a;
	struct err e = {0};

	arena_init(&a);
	int rc = fill(&a, probe, &e);
	arena_done(&a);
	return rc == 0 ? 0 : lib_fail(&e, err);
}
