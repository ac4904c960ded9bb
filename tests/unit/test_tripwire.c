/* SPDX-License-Identifier: Apache-2.0 */
/* Invariant E2: between clone3 and execve the child makes system calls only.
 *
 * This program's own malloc, stdio and locking functions stand before libc's.
 * In any process but this one they leave their name in shared memory and end
 * it; so a layer that allocates, prints or locks is caught by its name, on
 * every path that a run can take. */
#include "corral.h"
#include "test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *tripped; /* shared with every child; "" while nothing has happened */
static long home;     /* the process that may do as it likes */

static void wire(const char *name) {
	if (home == 0 || syscall(SYS_getpid) == home) {
		return;
	}
	for (size_t i = 0; i < 31 && name[i] != '\0'; i++) {
		tripped[i] = name[i];
	}
	syscall(SYS_exit_group, 99);
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

void *malloc(size_t size) {
	wire("malloc");
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
	wire("calloc");
	return __libc_calloc(count, size);
}

void *realloc(void *p, size_t size) {
	wire("realloc");
	return __libc_realloc(p, size);
}

void free(void *p) {
	wire("free");
	__libc_free(p);
}

char *getenv(const char *name) {
	extern char **environ;
	size_t n = strlen(name);
	wire("getenv");
	for (char **v = environ; *v != NULL; v++) {
		if (strncmp(*v, name, n) == 0 && (*v)[n] == '=') {
			return *v + n + 1;
		}
	}
	return NULL;
}

int vsnprintf(char *out, size_t cap, const char *format, va_list ap) {
	static int (*real)(char *, size_t, const char *, va_list);
	wire("vsnprintf");
	if (real == NULL) {
		*(void **)&real = dlsym(RTLD_NEXT, "vsnprintf");
	}
	return real(out, cap, format, ap);
}

int snprintf(char *out, size_t cap, const char *format, ...) {
	va_list ap;
	wire("snprintf");
	va_start(ap, format);
	int n = vsnprintf(out, cap, format, ap);
	va_end(ap);
	return n;
}

/* What the two become under _FORTIFY_SOURCE. */
int __vsnprintf_chk(char *out, size_t cap, int flag, size_t size, const char *format, va_list ap)
	__attribute__((format(printf, 5, 0)));
int __snprintf_chk(char *out, size_t cap, int flag, size_t size, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

int __vsnprintf_chk(char *out, size_t cap, int flag, size_t size, const char *format, va_list ap) {
	(void)flag;
	(void)size;
	return vsnprintf(out, cap, format, ap);
}

int __snprintf_chk(char *out, size_t cap, int flag, size_t size, const char *format, ...) {
	va_list ap;
	(void)flag;
	(void)size;
	wire("snprintf");
	va_start(ap, format);
	int n = vsnprintf(out, cap, format, ap);
	va_end(ap);
	return n;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
	static int (*real)(pthread_mutex_t *);
	wire("pthread_mutex_lock");
	if (real == NULL) {
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	}
	return real(mutex);
}

static void arm(void) {
	if (tripped == NULL) {
		tripped =
			mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		home = syscall(SYS_getpid);
	}
	memset(tripped, 0, 4096);
}

static void run(const char *const *settings, const char *const *argv, int want_failure) {
	struct corral_error err = {0};
	struct corral_result *result = NULL;
	struct corral_policy *policy = corral_policy_new();
	char workspace[] = "/tmp/tripwire-XXXXXX";

	REQUIRE(policy != NULL && mkdtemp(workspace) != NULL);
	corral_policy_no_config(policy);
	CHECK(corral_policy_set(policy, "workspace", workspace, &err) == 0);
	CHECK(corral_policy_set(policy, "fs.home", "ephemeral", &err) == 0);
	for (size_t i = 0; settings[i] != NULL; i += 2) {
		CHECK(corral_policy_set(policy, settings[i], settings[i + 1], &err) == 0);
	}
	arm();
	int rc = corral_run(policy, argv, NULL, &result, &err);
	CHECK_STR(tripped, "");
	CHECK_INT(rc, want_failure ? -1 : 0);
	if (rc != 0 && !want_failure) {
		printf("# %s: %s\n", err.layer, err.message);
	}
	corral_result_free(result);
	corral_policy_free(policy);
	CHECK(rmdir(workspace) == 0);
}

static const char *const nothing[] = {NULL};

TEST(the_wire_trips_in_a_child_that_allocates) {
	arm();
	pid_t child = (pid_t)syscall(SYS_fork);
	if (child == 0) {
		volatile char *p = malloc(10);
		p[0] = 1;
		syscall(SYS_exit_group, 0);
	}
	int status = 0;
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 99);
	CHECK_STR(tripped, "malloc");
}

TEST(a_plain_run) {
	run(nothing, (const char *const[]){"true", NULL}, 0);
}

TEST(a_script_without_an_interpreter_line) {
	run(nothing,
	    (const char *const[]){"/bin/sh", "-c", "echo :>s; chmod +x s; ./s; rm s", NULL}, 0);
}

TEST(a_command_that_does_not_exist) {
	run(nothing, (const char *const[]){"no-such-command-anywhere", NULL}, 1);
}

TEST(a_command_that_cannot_be_executed) {
	run(nothing, (const char *const[]){"/etc/passwd", NULL}, 1);
}

TEST(orphans_signals_and_a_time_out) {
	run((const char *const[]){"limits.timeout", "300ms", "limits.grace", "100ms", NULL},
	    (const char *const[]){"/bin/sh", "-c", "trap '' TERM; (sleep 50 &) ; sleep 50", NULL},
	    0);
}

TEST(a_view_with_masks_pins_and_made_up_files) {
	run((const char *const[]){"profile", "strict", NULL}, (const char *const[]){"true", NULL},
	    0);
}

TEST(a_cgroup) {
	if (geteuid() != 0) {
		SKIP("only root can divide version 1 control groups");
	}
	run((const char *const[]){"limits.memory", "64M", NULL},
	    (const char *const[]){"true", NULL}, 0);
}

TEST(a_terminal) {
	struct corral_error err = {0};
	struct corral_result *result = NULL;
	struct corral_policy *policy = corral_policy_new();
	struct corral_options options = CORRAL_OPTIONS_INIT;
	char workspace[] = "/tmp/tripwire-XXXXXX";
	int master, slave;

	REQUIRE(policy != NULL && mkdtemp(workspace) != NULL);
	REQUIRE(openpty(&master, &slave, NULL, NULL, NULL) == 0);
	corral_policy_no_config(policy);
	CHECK(corral_policy_set(policy, "workspace", workspace, &err) == 0);
	CHECK(corral_policy_set(policy, "fs.home", "ephemeral", &err) == 0);
	options.in = options.out = options.err = slave;
	options.terminal = 1;
	arm();
	CHECK_INT(corral_run(policy, (const char *const[]){"true", NULL}, &options, &result, &err),
		  0);
	CHECK_STR(tripped, "");
	corral_result_free(result);
	corral_policy_free(policy);
	CHECK(close(master) == 0 && close(slave) == 0 && rmdir(workspace) == 0);
}

static void run_in(struct corral_session *s, const char *script, int64_t timeout_ms) {
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	struct corral_exec_options o = CORRAL_EXEC_OPTIONS_INIT;
	struct corral_result *result = NULL;
	struct corral_error err = {0};

	o.timeout_ms = timeout_ms;
	CHECK_INT(corral_session_run(s, argv, &o, &result, &err), 0);
	CHECK_STR(tripped, "");
	corral_result_free(result);
}

static void a_session_at(const char *level) {
	const char *absent[] = {"no-such-command-anywhere", NULL};
	struct corral_error err = {0};
	struct corral_result *result = NULL;
	struct corral_session *s = NULL;
	struct corral_policy *policy = corral_policy_new();
	char workspace[] = "/tmp/tripwire-XXXXXX";

	REQUIRE(policy != NULL && mkdtemp(workspace) != NULL);
	corral_policy_no_config(policy);
	CHECK(corral_policy_set(policy, "workspace", workspace, &err) == 0);
	CHECK(corral_policy_set(policy, "fs.home", "ephemeral", &err) == 0);
	CHECK(corral_policy_set(policy, "limits.grace", "100ms", &err) == 0);
	CHECK(corral_policy_set(policy, "level", level, &err) == 0);
	arm();
	if (corral_session_open(policy, NULL, &s, &err) != 0) {
		printf("# %s: %s\n", level, err.message);
	} else {
		run_in(s, "true", 0);
		run_in(s, "(sleep 50 &); mkdir /usr/x 2>/dev/null; kill -9 $$", 0);
		run_in(s, "trap '' TERM; (setsid sleep 50 &) ; sleep 50", 300);
		CHECK_INT(corral_session_run(s, absent, NULL, &result, &err), -1);
		CHECK(corral_session_alive(s));
		corral_session_close(s);
	}
	CHECK_STR(tripped, "");
	corral_policy_free(policy);
	CHECK(rmdir(workspace) == 0);
}

TEST(a_session) {
	a_session_at("full");
	a_session_at("standard");
}

TESTS_MAIN
