/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the watcher of a container, and ends it (container.h has the theory).
 *
 * The watcher is a clone of a caller that may have threads: like pid 1 of a sandbox it makes system
 * calls and nothing else, so all arguments that it executes are made here (E2).
 *
 * Should:   write the files that the engine reads into the directory of the run.
 * Must not: leave a process, a file or a container behind when a step fails.
 * Fails:    closed. */
#include "docker/watcher.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/signal_mask.h"
#include "linux/kernel_api.h"
#include "linux/program_output.h"
#include "linux/scratch.h"
#include "linux/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define WHERE "container"
/* For the engine's command that removes a container. */
#define COMMAND_MS 20000
/* The watcher may wait for several commands of the engine. */
#define LEAVE_MS 60000

static char *word(const char *text) {
	union {
		const char *given;
		char *plain; /* execve(2) does not write to it, but its type lacks const */
	} w = {.given = text};
	return w.plain;
}

static int make_words(struct arena *a, const struct spawn_request *r, struct watcher *k,
		      struct err *e) {
	const struct container_run *c = r->plan->container;
	size_t n = 0, at = 0;

	while (r->argv[n] != NULL) {
		n++;
	}
	k->run = arena_array(a, c->nrun + ARRAY_LEN(c->start) + n + 2, sizeof *k->run);
	char *since = arena_printf(a, "--since=%lld", (long long)time(NULL) - 1);
	char *filter = arena_printf(a, "--filter=container=%s", c->name);
	if (k->run == NULL || since == NULL || filter == NULL) {
		return err_memory(e, WHERE);
	}
	for (size_t i = 0; i < c->nrun; i++) {
		if (r->terminal && i + 1 == c->nrun) {
			k->run[at++] = word("-t"); /* before the image */
		}
		k->run[at++] = c->run[i];
	}
	for (size_t i = 0; c->nports > 0 && i < ARRAY_LEN(c->start); i++) {
		k->run[at++] = c->start[i];
	}
	memcpy(k->run + at, r->argv, (n + 1) * sizeof *k->run);
	(void)snprintf(k->signal_word, sizeof k->signal_word, "--signal=");
	(void)snprintf(k->until_word, sizeof k->until_word, "--until=");
	char *program = c->run[0], *name = word(c->name);
	memcpy(k->kill, (char *[]){program, word("kill"), k->signal_word, name, NULL},
	       5 * sizeof *k->kill);
	memcpy(k->remove,
	       (char *[]){program, word("rm"), word("--force"), word("--volumes"), name,
			  word(c->rm_option), NULL},
	       7 * sizeof *k->remove);
	if (c->removes) {
		memcpy(k->inspect,
		       (char *[]){program, word("events"), since, k->until_word, filter,
				  word("--format={{.Status}}"), NULL},
		       7 * sizeof *k->inspect);
	} else {
		memcpy(k->inspect,
		       (char *[]){program, word("inspect"),
				  word("--format={{.State.StartedAt}} oom={{.State.OOMKilled}}"),
				  name, NULL},
		       5 * sizeof *k->inspect);
	}
	return 0;
}

static void make_failures(const struct spawn_request *r, struct watcher *k) {
	const char *command = r->argv[0], *engine = k->c->run[0];

	(void)err_set(&k->failures[0], ERR_SETUP, WHERE,
		      "%s could not start the container; its message is on stderr", engine);
	(void)err_fix(&k->failures[0], "see what the engine says of itself: %s info", engine);
	(void)err_set(&k->failures[1], ERR_NO_EXEC, WHERE,
		      "%.200s cannot be executed in the image; the engine's message is on stderr",
		      command);
	(void)err_set(&k->failures[2], ERR_NOT_FOUND, WHERE,
		      "%.200s is not in the image; the engine's message is on stderr", command);
	(void)err_fix(&k->failures[2], "name a program of the image, or another image");
	(void)err_set(&k->failures[WATCHER_STATUSES], ERR_SETUP, WHERE,
		      "the container's first program could not listen for the gate");
	(void)err_fix(&k->failures[WATCHER_STATUSES],
		      "see the messages on stderr; without a network: --net none");
}

/* The directory of the run: the profile, masks and texts. */
static int make_files(const struct container_run *c, const char *dir, int *ret_lock,
		      struct err *e) {
	scratch_sweep(dir);
	if (mkdir(dir, 0700) != 0) {
		return err_sys_at(e, WHERE, "cannot create the directory of the run", dir);
	}
	auto_fd lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock < 0 || flock(lock, LOCK_SH) != 0) {
		return err_sys_at(e, WHERE, "cannot lock the directory of the run", dir);
	}
	for (size_t i = 0; i < c->nfiles; i++) {
		const struct container_file *f = &c->files[i];
		if (f->text == NULL) {
			if (mkdir(f->path, f->mode) != 0) {
				return err_sys_at(e, WHERE, "cannot create a directory of the run",
						  f->path);
			}
			continue;
		}
		auto_fd fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 || fd_write_all(fd, f->text, strlen(f->text)) != 0 ||
		    fchmod(fd, f->mode) != 0) {
			return err_sys_at(e, WHERE, "cannot write a file of the run", f->path);
		}
	}
	*ret_lock = fd_duplicate(lock, 10);
	return *ret_lock < 0 ? err_sys(e, WHERE, "cannot duplicate a descriptor") : 0;
}

static int open_terminal(const struct spawn_request *r, struct watcher *k, struct err *e) {
	char name[64];
	struct winsize size = {.ws_row = r->rows, .ws_col = r->cols};
	auto_fd master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 ||
	    ptsname_r(master, name, sizeof name) != 0) {
		return err_sys(e, WHERE, "cannot open a terminal");
	}
	auto_fd slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || (r->modes != NULL && tcsetattr(slave, TCSANOW, r->modes) != 0) ||
	    (r->rows > 0 && ioctl(slave, TIOCSWINSZ, &size) != 0)) {
		return err_sys(e, WHERE, "cannot set the terminal up");
	}
	for (size_t i = 0; i < 3; i++) {
		k->fds[i] = fd_duplicate(slave, 10);
	}
	k->master = take_fd(&master);
	return 0;
}

static int open_streams(const struct spawn_request *r, struct watcher *k, struct err *e) {
	auto_fd null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (r->terminal) {
		return open_terminal(r, k, e);
	}
	for (size_t i = 0; i < 3; i++) {
		k->fds[i] = fd_duplicate(r->fds[i] < 0 ? null : r->fds[i], 10);
		if (k->fds[i] < 0) {
			return err_sys(e, WHERE, "cannot duplicate a stream");
		}
	}
	return 0;
}

static int open_channel(struct watcher *k, struct child *c, struct err *e) {
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		return err_sys(e, "channel", "cannot create the status channel");
	}
	c->channel = pair[0];
	k->channel = pair[1];
	k->supervisor = (int)syscall(SYS_pidfd_open, getpid(), 0U); /* -1: the channel has to do */
	return 0;
}

static int clone_watcher(struct watcher *k, struct child *c, struct err *e) {
	int pidfd = -1;
	sigset_t all, before;

	sigfillset(&all);
	signal_mask(SIG_SETMASK, &all, &before);
	long pid = syscall(SYS_clone, CLONE_PIDFD, NULL, &pidfd, NULL, NULL);
	if (pid == 0) {
		watcher_main(k);
	}
	int error = errno;
	signal_mask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		errno = error;
		return err_sys(e, WHERE, "the kernel refused to create a process");
	}
	c->pidfd = pidfd;
	c->pid = (pid_t)pid;
	return 0;
}

static int check_request(const struct spawn_request *r, struct err *e) {
	if (r->nmore_fds == 0 && !r->session) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, WHERE, "a container gets no descriptors but its streams");
	return err_fix(e, "use --backend auto");
}

static void drop_watcher(struct watcher *k) {
	drop_fd(&k->channel);
	drop_fd(&k->supervisor);
	drop_fd(&k->lock);
	drop_fd(&k->master);
	drop_fd(&k->listen);
	drop_fd(&k->gate);
	for (size_t i = 0; i < 3; i++) {
		drop_fd(&k->fds[i]);
	}
}

static struct child child_of(const struct spawn_request *r) {
	return (struct child){.pidfd = -1,
			      .channel = -1,
			      .ask = -1,
			      .memory = -1,
			      .scope = SCOPE_NONE,
			      .gate = GATE_PROCESS_NONE,
			      .samplers = SAMPLERS_NONE,
			      .run_dir = r->plan->run_dir,
			      .container = r->plan->container,
			      .timings = r->timings};
}

int container_spawn(struct arena *a, const struct spawn_request *r, struct child *ret,
		    struct err *e) {
	struct watcher k = {.plan = r->plan,
			    .c = r->plan->container,
			    .channel = -1,
			    .supervisor = -1,
			    .lock = -1,
			    .fds = {-1, -1, -1},
			    .master = -1,
			    .listen = -1,
			    .start = -1,
			    .gate = -1,
			    .terminal = r->terminal,
			    .rehearse = r->rehearse,
			    .pidfd = -1,
			    .deadline = -1,
			    .end_at = -1};
	struct child c = child_of(r);

	make_failures(r, &k);
	int rc = check_request(r, e) == 0 && make_words(a, r, &k, e) == 0 &&
				 run_state_new(&c.run_state, e) == 0 &&
				 make_files(k.c, r->plan->run_dir, &k.lock, e) == 0 &&
				 open_streams(r, &k, e) == 0 && open_channel(&k, &c, e) == 0 &&
				 container_gate_start(r, &k, &c, e) == 0
			 ? 0
			 : -1;
	k.state = c.run_state;
	k.deadline = r->plan->timeout_ms == LIMIT_NONE ? -1 : clock_ms() + r->plan->timeout_ms;
	if (rc == 0) {
		rc = clone_watcher(&k, &c, e);
	}
	drop_watcher(&k);
	if (rc != 0) {
		scratch_remove(r->plan->run_dir);
		drop_fd(&c.channel);
		gate_process_end(&c.gate);
		spawn_free_records(&c);
		return -1;
	}
	*ret = c;
	return 0;
}

/* For a watcher that was killed: its container, and the directory, are removed here. */
static void stand_in(const struct container_run *c) {
	const char *const argv[] = {c->program, "rm",         "--force", "--volumes",
				    c->name,    c->rm_option, NULL};
	struct buf unused;

	buf_init(&unused);
	(void)program_output_run(argv, (const char *const *)c->env, COMMAND_MS, &unused);
	buf_done(&unused);
}

void container_finish(struct child *c, struct usage *ret) {
	struct usage usage = {.cpu_ms = -1, .max_rss_kb = -1, .processes_peak = -1};
	const struct container_run *container = c->container;
	siginfo_t info = {.si_code = 0};

	if (c->pidfd >= 0) {
		(void)shutdown(c->channel, SHUT_WR); /* it removes the container, and exits */
		if (watcher_wait(c->pidfd, LEAVE_MS)) {
			while (syscall(SYS_waitid, WAIT_PIDFD, c->pidfd, &info, WEXITED | __WALL,
				       NULL) != 0 &&
			       errno == EINTR) {
			}
		}
		if (info.si_code == CLD_KILLED) {
			stand_in(container);
		}
		drop_fd(&c->pidfd);
	}
	spawn_finish(c, &usage);
	usage.cpu_ms = usage.max_rss_kb = usage.processes_peak = -1; /* not known */
	if (usage.run_state.overrun == OVERRUN_MEMORY) {
		usage.run_state.overrun = OVERRUN_NONE;
		usage.oom = usage.memory_limited = true;
		usage.oom_kills = 1;
	}
	if (ret != NULL) {
		*ret = usage;
	}
}
