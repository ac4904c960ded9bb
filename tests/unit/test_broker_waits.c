/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait in a helper of the broker: a FIFO, a lease, a server that does not accept; and
 * the signals that reach their callers meanwhile. */
#include "broker_world.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

/* ---- what takes long ---- */

#define PATIENCE 60.0 /* seconds; what does not happen takes for ever */

static double seconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int fifo_both_ends(void) {
	char got[8] = "";
	pid_t writer = fork();
	if (writer == 0) {
		usleep(50000);
		_exit(write_to("fifo", O_WRONLY) == 0 ? 0 : 1);
	}
	int fd = open("fifo", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_INT(read(fd, got, sizeof got), 4);
	CHECK_STR(got, "more");
	CHECK_INT(read(fd, got, sizeof got), 0); /* nobody else holds the other end */
	CHECK_INT(wait_for(writer), 0);
	CHECK_INT(open("fifo", O_WRONLY | O_NONBLOCK | O_CLOEXEC) >= 0, 1); /* we are the reader */
	close(fd);
	CHECK_INT(open_close("fifo", O_RDONLY | O_NONBLOCK), 0);
	return 0;
}

TEST(a_fifo_waits_for_its_other_end_and_the_guard_does_not) {
	world_make();
	CHECK_INT(without_broker(fifo_both_ends), 0);
	CHECK_INT(with_broker(ALL_FAMILIES, fifo_both_ends), 0);
	world_remove();
}

static int fifo_waits_for_ever(void) {
	pid_t waiter = fork();
	if (waiter == 0) {
		_exit(open_close("fifo", O_RDONLY));
	}
	usleep(50000);
	double before = seconds();
	for (int i = 0; i < 100; i++) {
		CHECK_INT(open_close("file", O_RDONLY), 0);
	}
	CHECK(seconds() - before < PATIENCE); /* others are served meanwhile */
	CHECK_INT(waitpid(waiter, NULL, WNOHANG), 0);
	CHECK_INT(kill(waiter, SIGKILL), 0);
	CHECK_INT(wait_for(waiter), SIGNALLED + SIGKILL);
	return 0;
}

/* ---- signals meanwhile ---- */

static volatile sig_atomic_t alarms;

static void count_alarm(int number) {
	(void)number;
	alarms++;
}

static void alarm_after(long us, int flags) {
	const struct sigaction act = {.sa_handler = count_alarm, .sa_flags = flags};
	/* Again each second: under load the first may come before the call that it is for. */
	const struct itimerval timer = {.it_value.tv_usec = us, .it_interval.tv_sec = 1};

	alarms = 0;
	CHECK_INT(sigaction(SIGALRM, &act, NULL), 0);
	CHECK_INT(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* No further alarm; whether there was one. */
static bool alarm_came(void) {
	const struct itimerval never = {0};

	return setitimer(ITIMER_REAL, &never, NULL) == 0 && alarms > 0;
}

/* Writes to the FIFO when the handler must have run: the parent's byte says so. */
static pid_t writer_after(int sign) {
	pid_t writer = fork();

	if (writer == 0) {
		char byte;
		_exit(read(sign, &byte, 1) == 1 && write_to("fifo", O_WRONLY) == 0 ? 0 : 1);
	}
	return writer;
}

static int sign_of_alarm;

static void tell_alarm(int number) {
	(void)number;
	alarms++;
	(void)!write(sign_of_alarm, "!", 1);
}

static int signal_while_a_fifo_waits(void) {
	const struct sigaction telling = {.sa_handler = tell_alarm, .sa_flags = SA_RESTART};
	int sign[2];

	alarm_after(20000, 0);
	CHECK_INT(open_close("fifo", O_RDONLY), -1);
	CHECK_INT(errno, EINTR);
	CHECK(alarm_came());

	CHECK_INT(pipe(sign), 0);
	sign_of_alarm = sign[1];
	pid_t writer = writer_after(sign[0]);
	alarm_after(20000, 0);
	CHECK_INT(sigaction(SIGALRM, &telling, NULL), 0);
	CHECK_INT(open_close("fifo", O_RDONLY), 0); /* the kernel makes the call again */
	CHECK(alarm_came());
	(void)kill(writer, SIGKILL); /* it may have lost its reader */
	(void)wait_for(writer);
	return 0;
}

static int signal_while_a_server_does_not_accept(void) {
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "server"};
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK_INT(bind(server, (struct sockaddr *)&a, sizeof a), 0);
	CHECK_INT(listen(server, 0), 0);
	int first = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(connect(first, (struct sockaddr *)&a, sizeof a), 0);
	int second = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	alarm_after(20000, 0);
	CHECK_INT(connect(second, (struct sockaddr *)&a, sizeof a), -1);
	CHECK_INT(errno, EINTR);
	CHECK(alarm_came());

	/* With a limit of its own it is not made again, and ends by itself. */
	const struct timeval limit = {.tv_sec = 5}, soon = {.tv_usec = 50000};
	CHECK_INT(setsockopt(second, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit), 0);
	alarm_after(20000, SA_RESTART);
	CHECK_INT(connect(second, (struct sockaddr *)&a, sizeof a), -1);
	CHECK_INT(errno, EINTR);
	CHECK(alarm_came());
	CHECK_INT(setsockopt(second, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon), 0);
	CHECK_INT(connect(second, (struct sockaddr *)&a, sizeof a), -1);
	CHECK_INT(errno, EAGAIN);
	return unlink("server");
}

TEST(a_signal_reaches_a_caller_that_waits_for_others) {
	world_make();
	CHECK_INT(without_broker(signal_while_a_fifo_waits), 0);
	CHECK_INT(with_broker(ALL_FAMILIES, signal_while_a_fifo_waits), 0);
	CHECK_INT(without_broker(signal_while_a_server_does_not_accept), 0);
	CHECK_INT(with_broker(ALL_FAMILIES, signal_while_a_server_does_not_accept), 0);
	world_remove();
}

/* ---- signals and threads ---- */

/* Opens the FIFO as a loop around EINTR does; 0, or the errno. */
static int open_patiently(const char *path) {
	int fd;

	do {
		fd = open(path, O_RDONLY | O_CLOEXEC);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0) {
		return errno;
	}
	close(fd);
	return 0;
}

/* A process that writes to each after a while, which ends the waiting. */
static pid_t writer_later(const char *one, const char *other) {
	pid_t writer = fork();

	if (writer == 0) {
		(void)signal(SIGPIPE, SIG_IGN);
		usleep(500000);
		_exit(write_to(one, O_WRONLY) + (other == NULL ? 0 : write_to(other, O_WRONLY)));
	}
	return writer;
}

static void *wait_as_a_parent(void *arg) {
	int *result = arg;
	pid_t child = fork();

	if (child == 0) {
		usleep(100000);
		_exit(0);
	}
	*result = open_patiently("pipe"); /* SIGCHLD is for this thread, and finds it here */
	return NULL;
}

static int child_ends_while_two_threads_wait(void) {
	const struct sigaction counting = {.sa_handler = count_alarm, .sa_flags = SA_RESTART};
	pthread_t thread;
	int other = -1;

	CHECK_INT(mkfifo("pipe", 0600), 0);
	pid_t writer = writer_later("fifo", "pipe");
	CHECK_INT(sigaction(SIGCHLD, &counting, NULL), 0);
	CHECK_INT(pthread_create(&thread, NULL, wait_as_a_parent, &other), 0);
	CHECK_INT(open_patiently("fifo"), 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_INT(other, 0);
	for (double end = seconds() + PATIENCE; alarms == 0 && seconds() < end;) {
		usleep(1000); /* on a loaded machine the child ends after the writer has come */
	}
	CHECK(alarms > 0);
	(void)kill(writer, SIGKILL); /* it may have lost its reader */
	return unlink("pipe");
}

TEST(a_signal_for_another_thread_is_no_errno_that_no_program_knows) {
	world_make();
	CHECK_INT(without_broker(child_ends_while_two_threads_wait), 0);
	CHECK_INT(with_broker(ALL_FAMILIES, child_ends_while_two_threads_wait), 0);
	world_remove();
}

/* Opens the FIFO for a reader that waits, and closes it; not 0 if none comes, so that a reader that
 * failed does not keep the writer for ever. */
static int end_wait(const char *path) {
	for (double end = seconds() + PATIENCE; seconds() < end;) {
		if (open_close(path, O_WRONLY | O_NONBLOCK) == 0) {
			return 0;
		}
		usleep(1000);
	}
	return 1;
}

static pid_t second_thread;

static void *wait_by_number(void *arg) {
	second_thread = (pid_t)syscall(SYS_gettid);
	*(int *)arg = open_patiently("other-fifo");
	return NULL;
}

/* kill(2) takes the number of a thread: the signal is for the process, and that thread's. */
static int job_signal_for_the_second_thread(void) {
	const struct sigaction counting = {.sa_handler = count_alarm, .sa_flags = SA_RESTART};
	pthread_t t;
	int other = -1;

	alarms = 0;
	CHECK_INT(mkfifo("other-fifo", 0600), 0);
	CHECK_INT(sigaction(SIGTERM, &counting, NULL), 0);
	CHECK_INT(pthread_create(&t, NULL, wait_by_number, &other), 0);
	while (second_thread == 0) {
		usleep(1000);
	}
	pid_t writer = fork();
	if (writer == 0) {
		usleep(100000);
		(void)kill(second_thread, SIGTERM);
		usleep(200000);
		_exit(end_wait("fifo") + end_wait("other-fifo"));
	}
	CHECK_INT(open_patiently("fifo"), 0);
	CHECK_INT(pthread_join(t, NULL), 0);
	CHECK_INT(other, 0);
	CHECK_INT(alarms, 1);
	CHECK_INT(wait_for(writer), 0);
	return unlink("other-fifo");
}

TEST(a_signal_that_names_a_thread_is_no_errno_either) {
	world_make();
	CHECK_INT(without_broker(job_signal_for_the_second_thread), 0);
	CHECK_INT(with_broker(BROKER_FILES, job_signal_for_the_second_thread), 0);
	world_remove();
}

static void *pause_for_ever(void *arg) {
	(void)pause();
	return arg;
}

static void *wait_once(void *arg) {
	int *result = arg;

	*result = open_close("fifo", O_RDONLY) == 0 ? 0 : errno;
	return NULL;
}

/* One of two threads waits; a stop and its end change nothing for it. */
static int stop_while_a_thread_waits(bool first) {
	int status = 0;
	pid_t waiter = fork();

	if (waiter == 0) {
		int result = -1;
		pthread_t thread;
		void *(*other)(void *) = first ? pause_for_ever : wait_once;
		if (pthread_create(&thread, NULL, other, &result) != 0) {
			_exit(CHECK_FAILED);
		}
		if (first) {
			wait_once(&result);
		} else {
			(void)pthread_join(thread, NULL);
		}
		_exit(result);
	}
	usleep(100000);
	CHECK_INT(kill(waiter, SIGSTOP), 0);
	CHECK_INT(waitpid(waiter, &status, WUNTRACED), waiter);
	CHECK(WIFSTOPPED(status));
	CHECK_INT(kill(waiter, SIGCONT), 0);
	pid_t writer = writer_later("fifo", NULL);
	CHECK_INT(wait_for(waiter), 0);
	(void)kill(writer, SIGKILL); /* as above */
	(void)wait_for(writer);
	return 0;
}

static int stop_first_thread(void) {
	return stop_while_a_thread_waits(true);
}

static int stop_second_thread(void) {
	return stop_while_a_thread_waits(false);
}

TEST(a_stop_reaches_every_thread_that_waits_for_others) {
	world_make();
	CHECK_INT(without_broker(stop_first_thread), 0);
	CHECK_INT(without_broker(stop_second_thread), 0);
	CHECK_INT(with_broker(ALL_FAMILIES, stop_first_thread), 0);
	CHECK_INT(with_broker(ALL_FAMILIES, stop_second_thread), 0);
	world_remove();
}

/* ---- helpers that somebody kills ---- */

static pid_t parent_of(pid_t pid) {
	char path[64], text[512] = "";
	(void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
	FILE *f = fopen(path, "r");
	if (f == NULL) {
		return -1;
	}
	(void)!fread(text, 1, sizeof text - 1, f);
	(void)fclose(f);
	const char *end = strrchr(text, ')');
	return end == NULL ? -1 : (pid_t)strtol(end + 4, NULL, 10); /* ") S 12" */
}

/* A child other than this one; 0: there is none. */
static pid_t child_of(pid_t pid, pid_t but) {
	struct dirent *one;
	pid_t found = 0;
	DIR *proc = opendir("/proc");

	while (proc != NULL && found == 0 && (one = readdir(proc)) != NULL) {
		pid_t number = (pid_t)strtol(one->d_name, NULL, 10);
		if (number > 0 && number != but && parent_of(number) == pid) {
			found = number;
		}
	}
	if (proc != NULL) {
		(void)closedir(proc);
	}
	return found;
}

/* The guard's first child is the command, and another one a helper. */
static void serve_and_kill(struct broker *b, bool worker) {
	static pid_t first;

	first = first != 0 ? first : child_of(getpid(), 0);
	broker_serve(b);
	pid_t watcher = child_of(getpid(), first), victim = 0;
	if (watcher == 0) {
		return;
	}
	/* kill(0) would reach the whole process group, and those who run this test. */
	for (double end = seconds() + PATIENCE; victim == 0 && seconds() < end;) {
		usleep(100000); /* until it waits */
		victim = worker ? child_of(watcher, 0) : watcher;
	}
	if (victim != 0) {
		(void)kill(victim, SIGKILL);
	}
}

static void serve_and_kill_worker(struct broker *b) {
	serve_and_kill(b, true);
}

static void serve_and_kill_watcher(struct broker *b) {
	serve_and_kill(b, false);
}

static int fifo_without_a_helper(void) {
	CHECK_INT(open_close("fifo", O_RDONLY), -1);
	return errno;
}

TEST(a_helper_that_is_killed_leaves_no_caller_waiting) {
	world_make();
	serve_calls = serve_and_kill_worker;
	CHECK_INT(with_broker(ALL_FAMILIES, fifo_without_a_helper), EIO);
	serve_calls = serve_and_kill_watcher;
	CHECK_INT(with_broker(ALL_FAMILIES, fifo_without_a_helper), EIO);
	serve_calls = broker_serve;
	world_remove();
}

TEST(a_helper_ends_with_the_caller_that_it_works_for) {
	world_make();
	double before = seconds();
	/* The guard of this test ends when it has no child any more. */
	CHECK_INT(with_broker(ALL_FAMILIES, fifo_waits_for_ever), 0);
	CHECK(seconds() - before < PATIENCE);
	world_remove();
}

/* The holder keeps its lease until it is told, so that what happens before does so at any load. */
static int leased(void) {
	int ready[2], told[2];
	char byte;
	if (pipe(ready) != 0 || pipe(told) != 0) {
		return 1;
	}
	pid_t holder = fork();
	if (holder == 0) {
		int fd = open("file", O_RDONLY | O_CLOEXEC);
		(void)signal(SIGIO, SIG_IGN);
		byte = fcntl(fd, F_SETLEASE, F_RDLCK) == 0 ? 'y' : 'n';
		(void)!write(ready[1], &byte, 1);
		(void)!read(told[0], &byte, 1);
		_exit(fcntl(fd, F_SETLEASE, F_UNLCK));
	}
	(void)!read(ready[0], &byte, 1);
	CHECK_INT(byte, 'y');
	pid_t writer = fork();
	if (writer == 0) {
		_exit(write_to("file", O_WRONLY | O_APPEND) == 0 ? 0 : 1);
	}
	usleep(50000);
	CHECK_INT(open_close("a/b/deep", O_RDONLY), 0);
	CHECK_INT(truncate("a/b/deep", 1), 0);
	CHECK_INT(waitpid(writer, NULL, WNOHANG), 0);
	CHECK_INT(write(told[1], "x", 1), 1);
	CHECK_INT(wait_for(writer), 0);
	CHECK_INT(wait_for(holder), 0);
	return 0;
}

TEST(a_lease_holds_the_writer_up_and_not_the_guard) {
	world_make();
	CHECK_INT(without_broker(leased), 0);
	CHECK_INT(with_broker(ALL_FAMILIES, leased), 0);
	world_remove();
}

TESTS_MAIN
