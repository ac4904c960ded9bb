/* SPDX-License-Identifier: Apache-2.0 */
/* The remedies of `corral status`: how to raise the level on this host.
 *
 * Should:   name the one sysctl, file or flag that limits the level, as a command.
 * Must not: advise a change without effect: a row applies only when its condition
 *           was observed on this host.
 * Fails:    open: a reason without a row has no advice; the report still has the errno. */
#include "lib/status.h"

#include "base/auto.h"
#include "base/str.h"

#include <errno.h>

/* The first Landlock ABIs with rules for TCP, and with scopes for signals and abstract
 * sockets. */
#define ABI_NETWORK 4
#define ABI_SCOPES 6

static bool no_namespaces(const struct status *s) {
	return !s->run.host.userns;
}

static bool none_allowed(const struct status *s) {
	return s->mechanisms.max_user_namespaces == 0 && !s->mechanisms.inside_corral;
}

static bool root_only(const struct status *s) {
	return s->mechanisms.unprivileged_userns_clone == 0 && !s->run.host.privileged;
}

static bool apparmor_forbids(const struct status *s) {
	return no_namespaces(s) && s->mechanisms.apparmor_restricts_userns > 0 &&
	       !s->run.host.privileged;
}

/* No sysctl of the host decides: a filter, a capability, a chroot or a flag of the container. */
static bool confined(const struct status *s) {
	return no_namespaces(s) && !none_allowed(s) && !root_only(s) &&
	       !s->mechanisms.inside_corral;
}

static bool nested(const struct status *s) {
	return no_namespaces(s) && s->mechanisms.inside_corral;
}

/* A kernel of its own, which no remedy for Linux changes. */
static bool in_gvisor(const struct status *s) {
	return s->mechanisms.container.kind == CONTAINER_GVISOR;
}

static bool landlock_off(const struct status *s) {
	return s->mechanisms.landlock_abi == 0 && s->mechanisms.landlock_errno == EOPNOTSUPP;
}

static bool landlock_missing(const struct status *s) {
	return s->mechanisms.landlock_abi == 0 && s->mechanisms.landlock_errno == ENOSYS &&
	       !in_gvisor(s);
}

static bool landlock_filtered(const struct status *s) {
	bool known = container_flags(&s->mechanisms.container).landlock != NULL;
	return s->mechanisms.landlock_abi == 0 && s->mechanisms.landlock_errno != EOPNOTSUPP &&
	       s->mechanisms.landlock_errno != ENOSYS && !known;
}

static bool landlock_without_network(const struct status *s) {
	return s->mechanisms.landlock_abi > 0 && s->mechanisms.landlock_abi < ABI_NETWORK;
}

static bool landlock_without_scopes(const struct status *s) {
	return s->mechanisms.landlock_abi >= ABI_NETWORK && s->mechanisms.landlock_abi < ABI_SCOPES;
}

static bool no_filters(const struct status *s) {
	return !s->mechanisms.seccomp;
}

static bool no_listener(const struct status *s) {
	return s->mechanisms.seccomp && !s->mechanisms.listener && !s->mechanisms.inside_corral &&
	       !in_gvisor(s);
}

static bool dumps_to_socket(const struct status *s) {
	return s->mechanisms.core_dumps != NULL && streq(s->mechanisms.core_dumps, "socket");
}

static const struct {
	bool (*applies)(const struct status *s);
	struct remedy remedy;
} rows[] = {
	{none_allowed,
	 {"user namespaces", "sysctl -w user.max_user_namespaces=15000 (as root; keep it in "
			     "/etc/sysctl.d)"}},
	{root_only,
	 {"user namespaces", "sysctl -w kernel.unprivileged_userns_clone=1 (as root; keep it in "
			     "/etc/sysctl.d)"}},
	{apparmor_forbids,
	 {"user namespaces", "install the AppArmor profile packaging/apparmor/corral and load it: "
			     "apparmor_parser -r /etc/apparmor.d/corral; or, for every program: "
			     "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"}},
	{nested,
	 {"user namespaces", "not possible here: this runs inside Corral, whose sandbox stays "
			     "in force"}},
	{landlock_off,
	 {"landlock", "add landlock to lsm= on the kernel command line, for example "
		      "lsm=landlock,lockdown,yama,integrity,apparmor"}},
	{landlock_missing,
	 {"landlock",
	  "use Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK; if this kernel has it, an "
	  "outer seccomp filter hides Landlock"}},
	{landlock_filtered,
	 {"landlock", "allow landlock_create_ruleset, landlock_add_rule and "
		      "landlock_restrict_self in the outer seccomp filter (the container's "
		      "seccomp profile)"}},
	{landlock_without_network,
	 {"level full", "use a kernel with Landlock ABI 4 (Linux 6.7) or later"}},
	{landlock_without_scopes,
	 {"ipc, pid",
	  "use a kernel with Landlock ABI 6 (Linux 6.12) or later: it is a second barrier for "
	  "signals and abstract sockets"}},
	{no_filters, {"every level", "use a kernel with CONFIG_SECCOMP_FILTER"}},
	{no_listener,
	 {"the landlock engine", "use Linux 5.9 or later, and allow seccomp() with "
				 "SECCOMP_FILTER_FLAG_NEW_LISTENER in the outer seccomp filter"}},
	{dumps_to_socket,
	 {"core dumps", "sysctl -w kernel.core_pattern=core (as root; the service that owns the "
			"socket sets it again when it starts)"}},
};

/* A control group raises these; processes only where nothing else limits them already. */
static const char *limits_raised(const struct status *s) {
	bool enforced = s->starts &&
			s->run.plan.guarantees[GUARANTEE_LIMITS_PROCESSES].state == STATE_ENFORCED;
	return enforced ? "limits.memory, limits.cpu"
			: "limits.memory, limits.processes, limits.cpu";
}

static void add(struct status *s, const char *raises, const char *text) {
	if (text != NULL && s->nremedies < REMEDIES_MAX) {
		s->remedies[s->nremedies++] = (struct remedy){raises, text};
	}
}

#define CHROOT                                                                                     \
	"the kernel creates no user namespace in a chroot: enter the directory with "              \
	"pivot_root(2) instead, for example bwrap --dev-bind DIR / --proc /proc COMMAND"

/* Whether the set-up failed only when it mapped root's own id. */
static bool maps_refused(const struct status *s) {
	const struct err *e = &s->run.no_namespaces;
	return e->kind != ERR_NONE && streq(e->where, "user") && e->sys == EPERM &&
	       s->run.host.privileged;
}

/* clone3(2) answers EPERM in a chroot, by a filter, and by an LSM. */
static bool clone_refused(const struct status *s) {
	const struct err *e = &s->run.no_namespaces;
	return e->kind != ERR_NONE && streq(e->where, "namespaces") && e->sys == EPERM &&
	       s->mechanisms.container.kind == CONTAINER_NONE;
}

/* The flags that together allow the namespaces of a run. */
static void advise_namespaces(struct status *s, const struct container_row *flags) {
	const struct mechanisms *m = &s->mechanisms;
	bool filter = m->filtered && !maps_refused(s);
	bool setfcap = m->lacks_setfcap && s->run.host.privileged;
	bool apparmor = m->apparmor && !str_starts(m->apparmor_label, "unconfined");
	size_t before = s->nremedies;

	if (m->chrooted || (clone_refused(s) && !filter && !apparmor)) {
		add(s, "level full", CHROOT);
		return;
	}
	if (filter) {
		add(s, "level full", flags->seccomp);
	}
	if (setfcap) {
		add(s, filter ? "level full, in addition" : "level full", flags->setfcap);
	}
	if (apparmor) {
		add(s, s->nremedies == before ? "level full" : "level full, in addition",
		    flags->apparmor);
	}
	if (s->nremedies == before) {
		add(s, "level full", flags->otherwise);
	}
}

/* The flags for the next step: first for namespaces, then for a procfs of its own. */
static void advise_container(struct status *s) {
	struct container_row flags = container_flags(&s->mechanisms.container);

	if (confined(s)) {
		advise_namespaces(s, &flags);
	} else if (!no_namespaces(s) && s->run.plan.shares_proc) {
		add(s, "pid", flags.proc);
	}
	if (s->mechanisms.landlock_abi == 0) {
		add(s, "landlock", flags.landlock);
	}
}

void advice_find(struct status *s) {
	advise_container(s);
	for (size_t i = 0; i < ARRAY_LEN(rows) && s->nremedies < REMEDIES_MAX; i++) {
		if (rows[i].applies(s)) {
			s->remedies[s->nremedies++] = rows[i].remedy;
		}
	}
	add(s, limits_raised(s), s->run.host.cgroup.why);
}
