/* SPDX-License-Identifier: Apache-2.0 */
/* Makes calls for a caller under the Landlock domain that the caller has entered.
 *
 * Theory.  The kernel checks a call that the guard makes against the guard's domain.  So with
 * --allow-nested landlock_restrict_self(2) is a notification: the guard duplicates the ruleset
 * (pidfd_getfd), marks the caller's process, and lets the call continue.  Later the guard makes the
 * calls of a marked process in a child that has entered the same rulesets, in the same order.  The
 * child shares the guard's memory and descriptors (CLONE_VM, CLONE_FILES) and lives for one call.
 * The command can send signals to the child.  The guard waits for the child's stop as well as for
 * its end, and kills a child that was stopped: the call fails, and the guard does not hang.
 *
 * The mark is the hard limit RLIMIT_LOCKS, which the kernel does not use for anything.  A process
 * inherits it by fork and execve, and no process of the sandbox can raise it; the filter refuses to
 * lower it.  It belongs to the process and a domain to a thread: a thread that has not entered the
 * domain is restricted all the same, and all others are exact.  A process that enters two domains,
 * in one thread or in two, is under both.  So a call is never made with more rights than the
 * calling thread has:
 *
 *  - the mark is set before the call continues, so every process that inherits the domain
 *    inherits the mark;
 *  - the rulesets of a mark are those of its parent's mark and one more;
 *  - the ruleset's descriptor may be replaced by another thread between our copy and the
 *    kernel's: such a process weakens its own sandbox before it is in it, and could as well not
 *    enter one.  The domains that it was in already still hold.
 *
 * Should:   know the domain of every caller.
 * Must not: make a system call for a caller without a domain that it would not make otherwise.
 * Fails:    closed: EACCES for a mark whose rulesets are not kept any more, and for a child that
 *           cannot enter them. */
#include "linux/broker/domain.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/raw_call.h"
#include "base/str.h"

#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Domains whose rulesets are kept.  An agent enters one for each command; the processes of a
 * domain that is older than this many others are refused. */
#define DOMAINS_MAX 512

/* Marks count down from here: the limit can only be lowered. */
#define MARK_FIRST ((uint64_t)1 << 40)

#define KCMP_FILE_ 0

#define CHILD_STACK (16 * 1024)

struct domain {
	uint64_t mark; /* 0: the entry is free */
	size_t nlayers;
	int layers[DOMAIN_LAYERS]; /* rulesets, the outermost first */
};

/* Not in struct broker: a run without nested domains does not touch these pages. */
static struct domain domains[DOMAINS_MAX];
static uint64_t entered;                 /* domains so far */
static const struct domain *current;     /* of the present call; NULL: none */
static int userns = -1;                  /* for the next call; -1: the guard's own */
static struct domain lost = {.mark = 1}; /* of a mark that is not kept: no call succeeds */

static struct domain *place_of(uint64_t mark) {
	return &domains[(MARK_FIRST - mark) % DOMAINS_MAX];
}

/* The mark of the caller's process: 0 if it has none. */
static int read_mark(const struct call *c, uint64_t *ret) {
	uint64_t now[2]; /* struct rlimit64 */

	if (syscall(SYS_prlimit64, c->tid, RLIMIT_LOCKS, NULL, now) != 0) {
		return errno == ESRCH ? -ESRCH : -EACCES;
	}
	*ret = now[1] <= MARK_FIRST ? now[1] : 0;
	return 0;
}

int domain_begin(const struct call *c) {
	uint64_t mark = 0;

	current = NULL;
	int r = entered == 0 ? 0 : read_mark(c, &mark);
	if (r != 0 || mark == 0) {
		return r;
	}
	current = place_of(mark)->mark == mark ? place_of(mark) : &lost;
	return 0;
}

void domain_end(void) {
	current = NULL;
	userns = -1;
}

bool domain_is_set(void) {
	return current != NULL;
}

void domain_lend_userns(int fd) {
	userns = fd;
}

size_t domain_fds(int fds[DOMAIN_LAYERS]) {
	size_t n = current == NULL ? 0 : current->nlayers;

	for (size_t i = 0; i < n; i++) {
		fds[i] = current->layers[i];
	}
	return n;
}

/* ---- entering ---- */

/* Raw: a child that shares the guard's memory shares its errno, too. */
static long enter_layers(const struct domain *d) {
	if (d == &lost) {
		return -EACCES;
	}
	for (size_t i = 0; d != NULL && i < d->nlayers; i++) {
		if (raw_call(SYS_landlock_restrict_self, d->layers[i]) != 0) {
			return -EACCES;
		}
	}
	return 0;
}

int domain_enter(void) {
	long r = enter_layers(current);

	current = NULL; /* calls of this process are under it now */
	return (int)r;
}

/* ---- one call in a child ---- */

struct errand {
	long nr, args[6], result;
	int userns;
	const struct domain *domain;
	const struct domain_place *at; /* NULL: where the guard is */
};

static long go_to(const struct domain_place *at) {
	long r = raw_call(SYS_setns, at->mounts, CLONE_NEWNS);

	r = r != 0 ? r : raw_call(SYS_fchdir, at->root);
	r = r != 0 ? r : raw_call(SYS_chroot, domain_pointer("."));
	return r != 0 ? r : raw_call(SYS_fchdir, at->cwd);
}

static int run_errand(void *arg) {
	struct errand *e = arg;
	long r = e->userns < 0 ? 0 : raw_call(SYS_setns, e->userns, CLONE_NEWUSER);

	if (r == 0 && e->at != NULL) {
		r = go_to(e->at);
	}
	if (r == 0) {
		r = enter_layers(e->domain);
	}
	e->result = r == 0 ? raw_call6(e->nr, e->args) : r;
	(void)raw_call(SYS_exit, 0);
	return 0;
}

/* Waits until the child has ended.  A child that is stopped would keep the guard from the end of
 * the run. */
static void await(pid_t child) {
	int status = 0;
	long r;

	while ((r = syscall(SYS_wait4, child, &status, __WALL | WUNTRACED, NULL)) < 0 &&
	       errno == EINTR) {
	}
	if (r == child && WIFSTOPPED(status)) {
		(void)syscall(SYS_kill, child, SIGKILL); /* unreaped: its id is not reused */
		while (syscall(SYS_wait4, child, NULL, __WALL, NULL) < 0 && errno == EINTR) {
		}
	}
}

/* Runs it in a child; the command can kill the child: then the call has failed. */
static long send_child(struct errand *e) {
	static char stack[CHILD_STACK] __attribute__((aligned(16)));

	e->result = -EINTR;
	/* No exit signal: the guard's loop, which waits for children with SIGCHLD, does not see
	 * it. */
	pid_t child = clone(run_errand, stack + sizeof stack, CLONE_VM | CLONE_FILES, e);
	if (child < 0) {
		return -EAGAIN;
	}
	await(child);
	return e->result;
}

long domain_call(long nr, const long a[6]) {
	struct errand e = {.nr = nr, .userns = userns, .domain = current};

	if (current == NULL && userns < 0) {
		return syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	}
	memcpy(e.args, a, sizeof e.args);
	userns = -1;
	long r = send_child(&e);
	if (r < 0) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

long domain_call_at(const struct domain_place *at, long nr, const long a[6]) {
	struct errand e = {.nr = nr, .userns = at->userns, .at = at};

	memcpy(e.args, a, sizeof e.args);
	return send_child(&e);
}

/* connect(2) on a listening socket fails with EISCONN, after Landlock's check of the port. */
int domain_judge_connect(const struct sockaddr *to, socklen_t len) {
	if (current == NULL || to->sa_family == AF_UNSPEC) {
		return 0; /* AF_UNSPEC: no port, the socket is disconnected */
	}
	auto_fd probe = socket(to->sa_family == AF_INET6 ? AF_INET6 : AF_INET,
			       SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 own = {.sin6_family = to->sa_family};
	if (to->sa_family == AF_INET) {
		((struct sockaddr_in *)&own)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	} else {
		own.sin6_addr = in6addr_loopback;
	}
	if (probe < 0 ||
	    syscall(SYS_bind, probe, &own,
		    to->sa_family == AF_INET6 ? sizeof own : sizeof(struct sockaddr_in)) != 0 ||
	    syscall(SYS_listen, probe, 0) != 0) {
		return -EACCES;
	}
	long r = in_domain(SYS_connect, probe, domain_pointer(to), (long)len);
	return r != 0 && errno == EISCONN ? 0 : -EACCES;
}

/* ---- landlock_restrict_self ---- */

static bool is_same_file(int a, int b) {
	long self = getpid();

	return syscall(SYS_kcmp, self, self, KCMP_FILE_, (long)a, (long)b) == 0;
}

static void forget(struct domain *d) {
	for (size_t i = 0; i < d->nlayers; i++) {
		drop_fd(&d->layers[i]);
	}
	d->nlayers = 0;
	d->mark = 0;
}

/* The rulesets of the caller's present domain and this one. */
static int keep(const struct domain *before, int ruleset, uint64_t mark) {
	struct domain made = {.mark = mark};
	struct domain *place = place_of(mark);

	for (size_t i = 0; before != NULL && i < before->nlayers; i++) {
		int fd = fd_duplicate(before->layers[i], 0);
		if (fd < 0) {
			forget(&made);
			return -EMFILE;
		}
		made.layers[made.nlayers++] = fd;
	}
	made.layers[made.nlayers++] = ruleset;
	forget(place);
	*place = made;
	return 0;
}

static int set_mark(const struct call *c, uint64_t mark) {
	const uint64_t limit[2] = {mark, mark}; /* struct rlimit64 */

	return syscall(SYS_prlimit64, c->tid, RLIMIT_LOCKS, limit, NULL) == 0 ? 0 : -EPERM;
}

/* Many threads of one process enter the same ruleset one after the other.  Rules that were added to
 * it meanwhile only allow more: the domain that the process has is stricter. */
static bool is_repeated(const struct domain *d, int ruleset) {
	return d != NULL && d->nlayers > 0 && is_same_file(d->layers[d->nlayers - 1], ruleset);
}

long serve_landlock_restrict_self(struct call *c) {
	int number = call_int(c, 0);

	if (number < 0) {
		return call_let_pass(c); /* no ruleset: only flags, or EBADF */
	}
	auto_fd ruleset = caller_take_fd(c, number);
	if (ruleset < 0) {
		return ruleset;
	}
	uint64_t mark = 0;
	int r = read_mark(c, &mark);
	if (r != 0) {
		return r;
	}
	const struct domain *before = mark == 0 ? NULL : place_of(mark);
	if (before != NULL && before->mark != mark) {
		return -EACCES;
	}
	if (is_repeated(before, ruleset)) {
		return call_let_pass(c);
	}
	if (before != NULL && before->nlayers == DOMAIN_LAYERS) {
		return -E2BIG; /* as the kernel's own maximum */
	}
	uint64_t next = MARK_FIRST - entered - 1;
	r = keep(before, ruleset, next);
	if (r != 0) {
		return r;
	}
	(void)take_fd(&ruleset); /* it is kept */
	entered++;
	r = set_mark(c, next);
	return r != 0 ? r : call_let_pass(c);
}

/* ---- landlock_add_rule ---- */

/* A domain has this ruleset. */
static bool is_kept(int ruleset) {
	for (size_t i = 0; i < DOMAINS_MAX && i <= entered; i++) { /* place_of(): from 1 */
		for (size_t k = 0; k < domains[i].nlayers; k++) {
			if (is_same_file(domains[i].layers[k], ruleset)) {
				return true;
			}
		}
	}
	return false;
}

/* The kernel's struct landlock_path_beneath_attr and landlock_net_port_attr. */
struct rule_of_path {
	uint64_t access;
	int32_t parent;
} __attribute__((packed));
struct rule_of_port {
	uint64_t access, port;
};

enum { RULE_OF_PATH = 1, RULE_OF_PORT = 2 };

/* The guard adds the rule itself: another thread could replace the descriptor between a check and
 * the kernel's use.  The kernel copies the rules of a ruleset that is entered; ours would get those
 * that are added later. */
long serve_landlock_add_rule(struct call *c) {
	struct rule_of_path path = {.parent = -1};
	struct rule_of_port port;
	int type = call_int(c, 1);
	bool of_path = type == RULE_OF_PATH;

	if (!of_path && type != RULE_OF_PORT) {
		return -EINVAL;
	}
	auto_fd ruleset = caller_take_fd(c, call_int(c, 0));
	if (ruleset < 0) {
		return ruleset;
	}
	if (is_kept(ruleset)) {
		return -EPERM;
	}
	int r = of_path ? caller_bytes(c, c->args[2], &path, sizeof path)
			: caller_bytes(c, c->args[2], &port, sizeof port);
	auto_fd parent = r == 0 && of_path ? caller_take_fd(c, path.parent) : -1;
	if (r != 0 || (of_path && parent < 0)) {
		return r != 0 ? r : parent;
	}
	path.parent = parent;
	const void *rule = of_path ? (const void *)&path : (const void *)&port;
	return syscall(SYS_landlock_add_rule, ruleset, type, rule, (unsigned)call_int(c, 3)) == 0
		       ? 0
		       : -errno;
}

/* Only for RLIMIT_LOCKS: reading is allowed.  The arguments are in registers, so the call that
 * continues is the one that was checked. */
long serve_prlimit64(struct call *c) {
	return c->args[2] != 0 ? -EPERM : call_let_pass(c);
}
