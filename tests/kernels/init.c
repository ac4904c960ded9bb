/* SPDX-License-Identifier: Apache-2.0 */
/* The first process of a test machine: from the kernel's own root to a real one.
 *
 * Should:   load the modules in the order of their names, mount the disk, make it
 *           the root, start one program there, adopt what it leaves, and switch
 *           the machine off when it ends.  FIRST=PROGRAM on the kernel's command
 *           line, which it hands on as a variable: become that program instead.
 * Must not: judge anything.  The report is the program's.
 * Fails:    closed: it says why on the console and switches the machine off, and
 *           a machine that prints no report has not passed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DISK "/dev/vda"
#define DISK_TRIES 600 /* a minute: an emulated machine finds its disk late */
#define MODULES 100    /* /modules/00 to 99 */

static void off(void) {
	sync();
	reboot(RB_POWER_OFF);
	for (;;) {
		pause();
	}
}

static void fail(const char *what) {
	printf("init: %s: %s\n", what, strerror(errno));
	fflush(stdout);
	off();
}

static void nap(void) {
	struct timespec tenth = {0, 100000000};
	nanosleep(&tenth, NULL);
}

static void attach(const char *kind, const char *target) {
	mkdir(target, 0755);
	if (mount(kind, target, kind, 0, NULL) != 0) {
		fail(target);
	}
}

static void load_modules(void) {
	for (int i = 0; i < MODULES; i++) {
		char path[32];
		snprintf(path, sizeof(path), "/modules/%02d", i);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			return;
		}
		if (syscall(SYS_finit_module, fd, "", 0) != 0 && errno != EEXIST) {
			fail(path);
		}
		close(fd);
	}
}

/* As switch_root(8): a process whose root is the kernel's own cannot pivot_root,
 * and neither can a sandbox that it starts. */
static void take_disk(void) {
	for (int tries = 0; access(DISK, F_OK) != 0; tries++) {
		if (tries == DISK_TRIES) {
			fail(DISK);
		}
		nap();
	}
	mkdir("/disk", 0755);
	if (mount(DISK, "/disk", "ext4", 0, NULL) != 0) {
		fail("mount " DISK);
	}
	if (mount("/dev", "/disk/dev", NULL, MS_MOVE, NULL) != 0 || chdir("/disk") != 0 ||
	    mount(".", "/", NULL, MS_MOVE, NULL) != 0 || chroot(".") != 0 || chdir("/") != 0) {
		fail("switch root");
	}
}

static pid_t start(char *const argv[]) {
	pid_t pid = fork();
	if (pid == 0) {
		setsid();
		execv(argv[0], argv);
		fail(argv[0]);
	}
	return pid;
}

int main(void) {
	char *argv[] = {"/usr/bin/python3", "/corral/tests/kernels/guest.py", NULL};
	attach("devtmpfs", "/dev");
	int console = open("/dev/console", O_RDWR);
	for (int fd = 0; console >= 0 && fd < 3; fd++) {
		dup2(console, fd);
	}
	load_modules();
	take_disk();
	char *first[] = {getenv("FIRST"), NULL};
	if (first[0] != NULL) {
		execv(first[0], first);
		fail(first[0]);
	}
	pid_t program = start(argv);
	for (pid_t gone = 0; gone != program;) {
		gone = wait(NULL);
		if (gone < 0) {
			fail("wait");
		}
	}
	off();
}
