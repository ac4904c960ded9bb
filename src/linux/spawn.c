#include "linux/spawn.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/syscalls.h"
#include "gate/ledger.h"
#include "linux/cgroup.h"
#include "linux/channel.h"
#include "linux/follow.h"
#include "linux/init.h"
#include "linux/journal.h"
#include "linux/kernel.h"
#include "linux/layer.h"
#include "linux/scratch.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

/* ---- what the child needs, made ready ---- */

/* dir, len bytes, + "/" + name */
static char *candidate(struct arena *a, const char *dir, size_t len, const char *name) {
	size_t tail = strlen(name) + 1;
	char *path = arena_alloc(a, len + 1 + tail);
	if (path != NULL) {
		memcpy(path, dir, len);
		path[len] = '/';
		memcpy(path + len + 1, name, tail);
	}
	return path;
}

/* Every path under which execvp(3) would look for the command. */
static int find_candidates(struct kit *k, struct err *e) {
	const char *name = k->argv[0];
	const char *path = "/usr/bin:/bin";
	size_t n = 0, dirs = 1;

	for (char *const *v = k->envp; *v != NULL; v++) {
		if (str_starts(*v, "PATH=")) {
			path = *v + strlen("PATH=");
		}
	}
	for (const char *p = path; *p != '\0'; p++) {
		dirs += *p == ':';
	}
	char **list = arena_array(k->arena, dirs + 1, sizeof *list);
	if (list == NULL) {
		return err_memory(e, "exec");
	}
	k->candidates = list;
	if (strchr(name, '/') != NULL) {
		list[0] = k->argv[0];
		return 0;
	}
	for (const char *p = path; *p != '\0';) {
		size_t len = strcspn(p, ":");
		if (len > 0 && (list[n++] = candidate(k->arena, p, len, name)) == NULL) {
			return err_memory(e, "exec");
		}
		p += len + (p[len] == ':');
	}
	return 0;
}

static int prepare_command(struct kit *k, const struct spawn_request *r, struct err *e) {
	size_t argc = 0;
	while (r->argv[argc] != NULL) {
		argc++;
	}
	if (argc == 0 || r->argv[0][0] == '\0') {
		return err_set(e, ERR_USAGE, "exec", "no command was given");
	}
	k->argv = r->argv;
	k->envp = r->plan->env;
	k->shell_argv = arena_array(k->arena, argc + 2, sizeof *k->shell_argv);
	if (k->shell_argv == NULL) {
		return err_memory(e, "exec");
	}
	k->shell_argv[0] = arena_strdup(k->arena, "sh");
	for (size_t i = 1; i < argc; i++) {
		k->shell_argv[i + 1] = r->argv[i];
	}
	return k->shell_argv[0] == NULL ? err_memory(e, "exec") : find_candidates(k, e);
}

static int prepare_descriptors(struct kit *k, const struct spawn_request *r, struct err *e) {
	k->nfds = 3 + r->nmore_fds;
	k->fds = arena_array(k->arena, k->nfds, sizeof *k->fds);
	if (k->fds == NULL) {
		return err_memory(e, "descriptors");
	}
	for (size_t i = 0; i < k->nfds; i++) {
		k->fds[i] = i < 3 ? r->fds[i] : r->more_fds[i - 3];
	}
	return 0;
}

/* A copy: the layers close theirs after the clone, and the caller's stays. */
static int prepare_lock(struct kit *k, const struct spawn_request *r, struct err *e) {
	if (r->cow == NULL) {
		return 0;
	}
	k->lock_fd = fcntl(r->cow->lock, F_DUPFD_CLOEXEC, 3);
	return k->lock_fd < 0 ? err_sys(e, "cow", "cannot keep the lock of the changes") : 0;
}

static bool serves(const struct layer *l, const struct kit *k) {
	return !l->namespaces || !plan_shares(k->plan);
}

static int prepare_layers(struct kit *k, struct err *e) {
	for (size_t i = 0; layers[i] != NULL; i++) {
		if (serves(layers[i], k) && layers[i]->prepare != NULL &&
		    layers[i]->prepare(k, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static void layers_done(struct kit *k) {
	for (size_t i = 0; layers[i] != NULL; i++) {
		if (layers[i]->done != NULL) {
			layers[i]->done(k);
		}
	}
}

/* ---- the clone ---- */

static _Noreturn void child_main(struct kit *k) {
	struct err e = {0};

	init_reset_signals();
	for (size_t i = 0; layers[i] != NULL; i++) {
		if (serves(layers[i], k) && layers[i]->enter != NULL &&
		    layers[i]->enter(k, &e) != 0) {
			init_fail(k, &e);
		}
	}
	init_run(k);
}

static int clone_failed(const struct kit *k, struct err *e) {
	if (plan_shares(k->plan)) {
		return err_sys(e, "spawn", "the kernel refused to make a process");
	}
	return err_host(e, "namespaces", "the kernel refused to make the sandbox's namespaces");
}

/* Without namespaces clone(2) is enough, and there where a container's filter
 * answers clone3 with ENOSYS.  The order of its last two arguments differs between
 * architectures; neither is used. */
static long clone_guard(int *ret_pidfd) {
	return syscall(SYS_clone, CLONE_PIDFD, NULL, ret_pidfd, NULL, NULL);
}

static long clone_init(const struct kit *k, int *ret_pidfd) {
	int pidfd = -1;
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
			 CLONE_NEWCGROUP | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.exit_signal = 0, /* a host program's wait(2) and SIGCHLD handler never see it */
	};
	if (k->plan->own_net) {
		args.flags |= CLONE_NEWNET;
	}
	if (k->cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)k->cgroup_fd;
	}
	long pid = sys_clone3(&args);
	*ret_pidfd = pidfd;
	return pid;
}

static int start_child(struct kit *k, struct child *ret, struct err *e) {
	int pidfd = -1;
	/* Signals stay blocked until the child has given up the caller's handlers. */
	sigset_t all, before;
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before); /* fails only for a bad `how` */
	long pid = plan_shares(k->plan) ? clone_guard(&pidfd) : clone_init(k, &pidfd);
	if (pid == 0) {
		child_main(k);
	}
	int error = errno;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* likewise */
	if (pid < 0) {
		errno = error;
		return clone_failed(k, e);
	}
	ret->pidfd = pidfd;
	return 0;
}

static int make_cgroup(struct kit *k, struct child *ret, struct err *e) {
	if (!k->plan->use_cgroup) {
		return 0;
	}
	if (cgroup_new(k->plan, &k->host->cgroup, &ret->cgroup, e) != 0) {
		return -1;
	}
	k->cgroup_fd = cgroup_fd(ret->cgroup);
	k->njoin_fds = cgroup_join_fds(ret->cgroup, plan_shares(k->plan), &k->join_fds);
	return 0;
}

/* Complete where every call that makes a name is asked about. */
static bool keeps_journal(const struct spawn_request *r) {
	return r->plan->broker && (r->plan->traits & TRAIT_CHANGES) != 0 && !r->rehearse;
}

/* Beside the sandbox, and before it: it makes the channel that pid 1 keeps. */
static int start_gate(struct kit *k, const struct spawn_request *r, struct child *ret,
		      struct err *e) {
	if (!r->plan->net.gate || r->rehearse) {
		return 0;
	}
	if (ledger_new(&ret->ledger, e) != 0 ||
	    gatekeeper_start(r->plan, ret->ledger, &ret->gate, e) != 0) {
		return -1;
	}
	k->gate_fd = ret->gate.broker;
	k->peers = ret->gate.peers;
	return 0;
}

static int prepare_records(struct kit *k, const struct spawn_request *r, struct child *ret,
			   struct err *e) {
	if ((keeps_journal(r) && journal_new(&ret->journal, e) != 0) ||
	    (!r->rehearse && follow_new(r->plan, &ret->follow, e) != 0)) {
		return -1;
	}
	k->journal = ret->journal;
	k->follow = ret->follow != NULL;
	return 0;
}

static void drop_records(struct child *c) {
	follow_free(take_ptr(c->follow));
	journal_free(take_ptr(c->journal));
	ledger_free(take_ptr(c->ledger));
}

/* Nothing was started, or nothing but the gate. */
static void give_up(struct child *c) {
	gatekeeper_end(&c->gate);
	drop_records(c);
	cgroup_free(c->cgroup);
	scratch_remove(c->run_dir);
	drop_fd(&c->channel);
}

int spawn_start(struct arena *a, const struct spawn_request *r, struct child *ret, struct err *e) {
	struct kit k = {
		.plan = r->plan,
		.host = r->host,
		.arena = a,
		.ruleset_fd = -1,
		.scope_fd = -1,
		.lock_fd = -1,
		.cow_upper = r->cow == NULL ? -1 : r->cow->upper,
		.cow_work = r->cow == NULL ? -1 : r->cow->work,
		.listener_fd = -1,
		.channel_fd = -1,
		.gate_fd = -1,
		.cgroup_fd = -1,
		.want_pty = r->terminal,
		.rows = r->rows,
		.cols = r->cols,
		.rehearse = r->rehearse,
		.attended = r->attended,
		.tell_start = r->tell_start,
	};
	struct child child = {
		.pidfd = -1, .channel = -1, .gate = GATEKEEPER_NONE, .run_dir = r->plan->run_dir};
	int pair[2] = {-1, -1};

	if (prepare_command(&k, r, e) != 0 || prepare_descriptors(&k, r, e) != 0) {
		return -1;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		return err_sys(e, "channel", "cannot make the status channel");
	}
	k.channel_fd = pair[1];
	child.channel = pair[0];
	int failed = prepare_lock(&k, r, e) != 0 || prepare_records(&k, r, &child, e) != 0 ||
		     prepare_layers(&k, e) != 0 || make_cgroup(&k, &child, e) != 0 ||
		     start_gate(&k, r, &child, e) != 0 || start_child(&k, &child, e) != 0;
	layers_done(&k);
	gatekeeper_handed(&child.gate);
	drop_fd(&pair[1]);
	if (failed) {
		give_up(&child);
		return -1;
	}
	*ret = child;
	return 0;
}

/* ---- the parent's side of the channel ---- */

int spawn_read(const struct child *c, struct report *ret, int *ret_fd) {
	return channel_receive(c->channel, ret, ret_fd);
}

void spawn_give_peer(const struct child *c, int master, int flags) {
	auto_fd own = master;
	auto_fd peer = (int)syscall(SYS_ioctl, own, TIOCGPTPEER, flags);
	struct order o = {.kind = ORDER_PEER, .value = peer < 0 ? -errno : 0};
	/* Who cannot be told gives up after a moment. */
	(void)channel_send_bytes(c->channel, &o, sizeof o, peer);
}

int spawn_order(const struct child *c, enum order_kind kind, int value) {
	struct order o = {.kind = kind, .value = value};
	return send(c->channel, &o, sizeof o, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof o
		       ? 0
		       : -1;
}

static int64_t milliseconds(struct timeval t) {
	return (int64_t)t.tv_sec * 1000 + t.tv_usec / 1000;
}

void spawn_leave(struct child *c) {
	drop_records(c);
	drop_fd(&c->pidfd);
	drop_fd(&c->channel); /* the lifeline: pid 1 would end even if it had not */
	gatekeeper_end(&c->gate);
	scratch_remove(c->run_dir);
}

void spawn_finish(struct child *c, struct usage *ret) {
	struct usage usage = {.processes_peak = -1};

	drop_records(c); /* first: who holds the view last has to take it down */
	if (c->pidfd >= 0) {
		struct rusage r = {0};
		siginfo_t info;
		(void)syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL,
			      0); /* it may be gone already */
		/* The raw call, because libc's waitid has no place for the usage. */
		while (syscall(SYS_waitid, P_PIDFD, c->pidfd, &info, WEXITED | __WALL, &r) != 0 &&
		       errno == EINTR) {
		}
		usage.cpu_ms = milliseconds(r.ru_utime) + milliseconds(r.ru_stime);
		usage.max_rss_kb = r.ru_maxrss;
		drop_fd(&c->pidfd);
	}
	if (c->cgroup != NULL) {
		cgroup_usage(c->cgroup, &usage);
		cgroup_free(c->cgroup);
	}
	drop_fd(&c->channel);
	gatekeeper_end(&c->gate); /* after everybody who could send something */
	scratch_remove(c->run_dir);
	*c = (struct child){.pidfd = -1, .channel = -1, .gate = GATEKEEPER_NONE};
	if (ret != NULL) {
		*ret = usage;
	}
}
