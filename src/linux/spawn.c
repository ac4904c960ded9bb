/* SPDX-License-Identifier: Apache-2.0 */
/* Clones the sandbox's first process with clone3(); spawn_end.c ends it.
 *
 * Theory.  Processes:
 *
 *   supervisor ──clone3──> pid 1 ──clone(VM|VFORK)──> command        with a pid namespace
 *        ├──────clone(VM)──> early process (linux/early.h): clones pid 1 in its place
 *        └──────clone(VM)──> network process (linux/early_network.h): its network namespace
 *   supervisor ──clone──> outer warden ──> inner warden ──> guard ──> command     without
 *        └──────clone──> gate (linux/gate_process.c), only with a filtered network
 *
 * 1. The supervisor fills struct kit with everything that needs memory, a lock or libc:
 *    argv, the paths to execve, the channel, the shared memory of run_state, journal and
 *    ledgers, Landlock rulesets and BPF program (prepare() of the layers), cgroup, gate.
 * 2. clone3() creates the first process together with its user, mount, pid, IPC, UTS,
 *    cgroup and network namespaces, in the run's cgroup.  It has a copy of the caller's
 *    memory, and the caller may have had threads: until execve it makes only system calls.
 *    An early process has made the namespaces meanwhile, if there is one: then it calls clone3(),
 *    and layer network joins the network namespace.
 *    Without namespaces clone() is enough, and the process becomes the outer warden.
 * 3. The first process stays on its processor (linux/processors.h), enters the layers in the order
 *    of layers.c, then calls init_run() (linux/init.c), which clones the command and serves it
 * until it ends.
 * 4. The supervisor closes its copies of the child's descriptors and returns.
 *
 * The channel is a SOCK_SEQPACKET pair: a message arrives whole or not at all.  Every
 * process between supervisor and command holds the lower end, close-on-exec.
 *
 *   dies              noticed by                              consequence
 *   supervisor        end-of-file on the channel; its pidfd   pid 1 kills everything and exits
 *                     (a fork of the caller may hold the channel)
 *   pid 1             the kernel; end-of-file on the channel  SIGKILL to the whole namespace
 *   warden or guard   linux/warden.h                          the others end the run
 *   early process     waitid(2) in early_clone()              the caller gets an error, or "lost"
 *   network process   waitid(2) in early_free()               "lost": the supervisor kills pid 1
 *   gate              end-of-file on its channel              connect(2) fails in the sandbox
 *   any, in set-up    REPORT_ERROR or end-of-file             the caller gets the error
 *
 * run_state, in shared memory, records how far the run got and outlives all of them.
 *
 * Should:   leave no process, cgroup, mount or directory behind, on every path.
 * Must not: run the command outside one of its namespaces or layers, or call anything but
 *           system calls between clone and execve.
 * Fails:    closed: a step that fails before the clone undoes the earlier ones; a step that
 *           fails after it ends the first process before the command starts. */
#include "linux/spawn.h"

#include "backend/secrets.h"
#include "backend/timings.h"
#include "base/auto.h"
#include "base/fd.h"
#include "base/clock.h"
#include "base/signal_mask.h"
#include "base/str.h"
#include "data/syscalls.h"
#include "gate/ledger.h"
#include "linux/cgroup.h"
#include "linux/channel.h"
#include "linux/run_state.h"
#include "linux/follow.h"
#include "linux/disk_growth.h"
#include "linux/early.h"
#include "linux/init.h"
#include "backend/journal.h"
#include "linux/kernel_api.h"
#include "linux/layer.h"
#include "linux/parked.h"
#include "linux/scratch.h"
#include "linux/signals_reset.h"
#include "linux/warden.h"
#include "linux/warm.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- before the clone: struct kit ---- */

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
		(void)err_set(e, ERR_USAGE, "exec", "no command was given");
		return err_fix(e, "name a program: corral run -- COMMAND [ARG...]");
	}
	k->argv = r->argv;
	k->secrets = r->secrets;
	k->envp = r->secrets == NULL ? r->plan->env
				     : secrets_environment(k->arena, r->plan, r->secrets);
	if (k->envp == NULL) {
		return err_memory(e, "exec");
	}
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

/* A duplicate: layer scratch closes it after the clone, and the caller's stays open. */
static int prepare_lock(struct kit *k, const struct spawn_request *r, struct err *e) {
	if (r->cow == NULL) {
		return 0;
	}
	k->lock_fd = fd_duplicate(r->cow->lock, 3);
	return k->lock_fd < 0 ? err_sys(e, "cow",
					"cannot duplicate the lock of the copy-on-write directory")
			      : 0;
}

static bool serves(const struct layer *l, const struct kit *k) {
	return !l->namespaces || !plan_lacks_namespaces(k->plan);
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

/* From here to execve(2) and _exit(2): system calls only (E2). */
static _Noreturn void child_main(struct kit *k) {
	struct err e = {0};

	timings_stamp(k->timings, STEP_CLONE);
	processors_stay();
	if (k->early == NULL) {
		signals_reset();
	}
	timings_stamp(k->timings, STEP_SIGNALS);
	if (plan_lacks_namespaces(k->plan)) {
		if (warden_outer(k, &e) != 0) {
			init_fail(k, &e);
		}
		timings_stamp(k->timings, STEP_WARDENS);
	}
	for (size_t i = 0; layers[i] != NULL; i++) {
		if (!serves(layers[i], k) || layers[i]->enter == NULL) {
			continue;
		}
		if (layers[i]->enter(k, &e) != 0) {
			init_fail(k, &e); /* E1 */
		}
		timings_stamp(k->timings, STEP_ENTER + i);
	}
	init_run(k);
}

static int clone_failed(const struct kit *k, struct err *e) {
	if (errno == EOWNERDEAD) {
		(void)err_set(e, ERR_SETUP, "spawn",
			      "the process that makes the namespaces was killed");
		return err_fix(e, "start the command again");
	}
	if (errno == EAGAIN || plan_lacks_namespaces(k->plan)) {
		return err_sys(e, "spawn", "the kernel refused to create a process");
	}
	return err_host(e, ERR_NO_CLONE, "namespaces",
			"the kernel refused to make the sandbox's namespaces");
}

/* Not clone3(): seccomp filters of containers answer it with ENOSYS.  The order of clone's
 * last two arguments differs between architectures; neither is used. */
static long clone_warden(int *ret_pidfd) {
	return syscall(SYS_clone, CLONE_PIDFD, NULL, ret_pidfd, NULL, NULL);
}

static void run_early_child(void *kit) {
	child_main(kit);
}

/* With the namespaces that the early process has made; 0: it has not. */
static long clone_early(struct kit *k, struct early *early, const struct clone_args *args,
			int *ret_pidfd) {
	k->early = early;
	long pid = early_clone(early, args, run_early_child, k, ret_pidfd);
	k->early = NULL;
	return pid;
}

static long clone_init(struct kit *k, struct early *early, int *ret_pidfd) {
	int pidfd = -1;
	struct clone_args args = {
		.flags = CLONE_NEWPID | CLONE_NEWCGROUP | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.exit_signal = 0, /* the caller's wait(2) and SIGCHLD handler do not see it */
	};
	if (k->waits) {
		args.flags &= ~(uint64_t)CLONE_NEWCGROUP; /* layers/cgroup.c, after it has joined */
	}
	if (k->cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)k->cgroup_fd;
	}
	long pid = early == NULL || !k->plan->own_net ? 0 : clone_early(k, early, &args, ret_pidfd);
	if (pid != 0) {
		return pid;
	}
	args.flags |= CLONE_NEWUSER | EARLY_SPACES;
	if (k->plan->own_net) {
		args.flags |= CLONE_NEWNET;
	}
	pid = sys_clone3(&args);
	*ret_pidfd = pidfd;
	return pid;
}

static int start_child(struct kit *k, const struct spawn_request *r, struct child *ret,
		       struct err *e) {
	int pidfd = -1;
	/* Signals stay blocked until the child has reset the caller's handlers. */
	sigset_t all, before;
	sigfillset(&all);
	signal_mask(SIG_SETMASK, &all, &before);
	secrets_inherit(k->secrets, true);
	processors_read(&k->affinity);
	timings_stamp(k->timings, STEP_PREPARE);
	long pid = plan_lacks_namespaces(k->plan) ? clone_warden(&pidfd)
						  : clone_init(k, r->early, &pidfd);
	if (pid == 0) {
		child_main(k);
	}
	int error = errno;
	secrets_inherit(k->secrets, false);
	signal_mask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		errno = error;
		return clone_failed(k, e);
	}
	ret->pidfd = pidfd;
	ret->pid = (pid_t)pid;
	return 0;
}

static int make_cgroup(struct kit *k, struct child *ret, struct err *e) {
	if (!k->plan->use_cgroup) {
		return 0;
	}
	k->waits = k->host->cgroup.scope;
	if (k->waits) {
		return 0; /* make_scope() */
	}
	if (cgroup_new(k->plan, &k->host->cgroup, &ret->cgroup, e) != 0) {
		return -1;
	}
	k->cgroup_fd = cgroup_fd(ret->cgroup);
	k->njoin_fds = cgroup_join_fds(ret->cgroup, plan_lacks_namespaces(k->plan), &k->join_fds);
	return 0;
}

/* Makes the scope and the cgroup of a first process that waits for them. */
static int make_scope(const struct kit *k, struct child *c, struct err *e) {
	struct host_cgroup place = k->host->cgroup;
	struct order join = {.kind = ORDER_JOIN};
	const int *procs;

	if (scope_begin(c->pid, place.dir[0], &c->scope, e) != 0) {
		return -1;
	}
	if (cgroup_new(k->plan, &place, &c->cgroup, e) != 0) {
		e->kind = ERR_NO_SCOPE; /* the scope is not what was probed: the limits can be
					   sampled */
		(void)snprintf(e->where, sizeof e->where, "scope");
		return -1;
	}
	(void)cgroup_join_fds(c->cgroup, true, &procs);
	return channel_send_bytes(c->channel, &join, sizeof join, procs[0]) == 0
		       ? 0
		       : err_sys(e, "channel", "cannot send the first process its cgroup");
}

bool spawn_keeps_journal(const struct plan *plan) {
	const unsigned kept = TRAIT_CHANGES | TRAIT_WATCH | TRAIT_WATCH_EXEC;

	return plan->broker && (plan->traits & kept) != 0;
}

static bool keeps_journal(const struct spawn_request *r) {
	return spawn_keeps_journal(r->plan) && !r->rehearse;
}

/* Before the clone: it creates the channel that pid 1 inherits. */
static int start_gate(struct kit *k, const struct spawn_request *r, struct child *ret,
		      struct err *e) {
	if (!r->plan->net.gate || r->rehearse) {
		return 0;
	}
	if (ledger_new(&ret->ledger, e) != 0 ||
	    gate_process_start(r->plan, &r->scanner, r->asks, ret->ledger, &ret->gate, e) != 0) {
		return -1;
	}
	/* After the gate's clone, so that the gate does not share this memory. */
	if (ledger_new(&ret->refusals, e) != 0) {
		return -1;
	}
	k->gate_fd = ret->gate.broker;
	k->peers = ret->gate.peers;
	k->refusals = ret->refusals;
	return 0;
}

static int prepare_records(struct kit *k, const struct spawn_request *r, struct child *ret,
			   struct err *e) {
	int rc = r->parked ? parked_memory_new(&ret->memory, &ret->run_state, &ret->journal, e)
			   : run_state_new(&ret->run_state, e);
	if (rc != 0 || (keeps_journal(r) && !r->parked && journal_new(&ret->journal, e) != 0) ||
	    (r->session && warm_state_new(&ret->warm, e) != 0) ||
	    (!r->rehearse && follow_new(r->plan, &ret->follow, e) != 0)) {
		return -1;
	}
	ret->timings = r->timings;
	k->run_state = ret->run_state;
	k->timings = r->timings;
	k->journal = keeps_journal(r) ? ret->journal : NULL;
	k->warm = ret->warm;
	k->follow = ret->follow != NULL || r->asks;
	return 0;
}

void spawn_free_records(struct child *c) {
	follow_free(take_ptr(c->follow));
	journal_free(take_ptr(c->journal));
	ledger_free(take_ptr(c->ledger));
	ledger_free(take_ptr(c->refusals));
	run_state_free(take_ptr(c->run_state));
	warm_state_free(take_ptr(c->warm));
	drop_fd(&c->memory);
}

/* For a failure before the clone: at most the gate runs. */
static void undo_start(struct child *c) {
	gate_process_end(&c->gate);
	spawn_free_records(c);
	cgroup_free(c->cgroup);
	scratch_remove(c->run_dir);
	drop_fd(&c->channel);
	drop_fd(&c->ask);
}

static struct child child_of(const struct plan *plan) {
	return (struct child){.pidfd = -1,
			      .channel = -1,
			      .ask = -1,
			      .memory = -1,
			      .wardens = plan_lacks_namespaces(plan),
			      .inner = plan->inner,
			      .scope = SCOPE_NONE,
			      .gate = GATE_PROCESS_NONE,
			      .samplers = SAMPLERS_NONE,
			      .run_dir = plan->run_dir};
}

static int open_channel(struct kit *k, struct child *c, struct err *e) {
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		return err_sys(e, "channel", "cannot create the status channel");
	}
	k->channel_fd = pair[1];
	c->channel = pair[0];
	/* A caller that forked leaves a copy of our end in the fork, so the channel alone does
	 * not show our death.  -1 is no error: then the channel has to do. */
	k->warden_fd = (int)syscall(SYS_pidfd_open, getpid(), 0U);
	return 0;
}

/* Questions of the command's opens have a pair of their own (backend/ask.h). */
static int open_ask(const struct spawn_request *r, struct kit *k, struct child *c, struct err *e) {
	int pair[2];

	if (!r->asks) {
		return 0;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		return err_sys(e, "channel", "cannot create the channel of --ask");
	}
	k->ask_fd = pair[1];
	c->ask = pair[0];
	return 0;
}

/* The disk usage before the command starts, for limits.disk. */
static int measure_disk(struct arena *a, const struct spawn_request *r, struct disk_growth **ret,
			struct err *e) {
	*ret = NULL;
	return r->rehearse || r->plan->sampled.disk == 0 ? 0
							 : disk_growth_begin(a, r->plan, ret, e);
}

static int start_samplers(const struct spawn_request *r, struct disk_growth *growth,
			  struct child *child, struct err *e) {
	const struct sampled_run run = {.plan = r->plan,
					.run_state = child->run_state,
					.pidfd = child->pidfd,
					.pid = child->pid,
					.growth = growth,
					.warm = child->warm};

	if (r->rehearse || samplers_start(&run, &child->samplers, e) == 0) {
		return 0;
	}
	spawn_finish(child, NULL);
	return -1;
}

/* The lower half of the numbers: half of them stay free for set-up.  Without namespaces the first
 * process becomes a warden, which must hold no descriptor of the set-up. */
static int leave_below(const struct plan *plan) {
	struct rlimit most;
	const rlim_t enough = 512;

	if (plan_lacks_namespaces(plan) || getrlimit(RLIMIT_NOFILE, &most) != 0) {
		return 0;
	}
	return (int)(most.rlim_cur / 2 < enough ? most.rlim_cur / 2 : enough);
}

static struct kit kit_of(struct arena *a, const struct spawn_request *r) {
	return (struct kit){
		.plan = r->plan,
		.host = r->host,
		.arena = a,
		.ruleset_fd = -1,
		.scope_fd = -1,
		.circle_fd = -1,
		.lock_fd = -1,
		.cow_upper = r->cow == NULL ? -1 : r->cow->upper,
		.cow_work = r->cow == NULL ? -1 : r->cow->work,
		.listener_fd = -1,
		.channel_fd = -1,
		.gate_fd = -1,
		.ask_fd = -1,
		.warden_fd = -1,
		.beneath_fd = -1,
		.view_fd = -1,
		.root_fd = -1,
		.cgroup_fd = -1,
		.want_pty = r->terminal,
		.rows = r->rows,
		.cols = r->cols,
		.modes = r->modes,
		.parked = r->parked,
		.rehearse = r->rehearse,
		.count_usage = r->count_usage,
		.attended = r->attended,
		.report_start = r->report_start,
		.leave_below = leave_below(r->plan),
	};
}

int spawn_start(struct arena *a, const struct spawn_request *r, struct child *ret, struct err *e) {
	struct kit k = kit_of(a, r);
	struct child child = child_of(r->plan);
	struct disk_growth *growth = NULL;

	timings_stamp(r->timings, STEP_STREAMS);
	if (prepare_command(&k, r, e) != 0 || prepare_descriptors(&k, r, e) != 0) {
		return -1;
	}
	if (open_channel(&k, &child, e) != 0) {
		return -1;
	}
	int failed = open_ask(r, &k, &child, e) != 0 || prepare_lock(&k, r, e) != 0 ||
		     prepare_records(&k, r, &child, e) != 0 || prepare_layers(&k, e) != 0 ||
		     measure_disk(a, r, &growth, e) != 0 || make_cgroup(&k, &child, e) != 0 ||
		     start_gate(&k, r, &child, e) != 0 || start_child(&k, r, &child, e) != 0;
	layers_done(&k);
	gate_process_handed(&child.gate);
	drop_fd(&k.channel_fd);
	drop_fd(&k.warden_fd);
	drop_fd(&k.ask_fd);
	if (failed) {
		undo_start(&child);
		return -1;
	}
	if (k.waits && make_scope(&k, &child, e) != 0) {
		spawn_finish(&child, NULL);
		return -1;
	}
	if (start_samplers(r, growth, &child, e) != 0) {
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
	/* If the send fails, pid 1 times out after PEER_WAIT_MS. */
	(void)channel_send_bytes(c->channel, &o, sizeof o, peer);
}

int spawn_order(const struct child *c, enum order_kind kind, int value) {
	return spawn_order_exec(c, kind, 0, value);
}

int spawn_order_exec(const struct child *c, enum order_kind kind, uint64_t exec, int value) {
	struct order o = {.kind = kind, .value = value, .exec = exec};
	return send(c->channel, &o, sizeof o, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof o
		       ? 0
		       : -1;
}
