/* SPDX-License-Identifier: Apache-2.0 */
/* abi COMMAND [ARG...]: runs a command on a kernel with Landlock ABI 1, as Linux 5.13 to 5.18 have
 * it.
 *
 * An outer filter stops the three calls of Landlock (SECCOMP_RET_TRACE), and this program answers
 * for them: the version is 1, and what ABI 1 does not know is refused as such a kernel refuses it.
 * A seccomp listener could answer too, but there can be only one, and it is Corral's.  Everything
 * else runs as it is; a traced process is slower. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAILED 125

enum { create_ruleset = 444, add_rule, restrict_self };

#define ASKS_VERSION 1U
#define RIGHTS_OF_ABI_1 ((UINT64_C(1) << 13) - 1)
#define RULE_PATH_BENEATH 1U
#define ATTRIBUTES_MAX 64

#if defined(__x86_64__)

static int load(void) {
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, create_ruleset, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, restrict_self, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0) {
		return 0;
	}
	if (errno != EACCES || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
		return -1;
	}
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* The answer of ABI 1 to a call, or 0: the kernel's own. */
static long judge(pid_t pid, const struct user_regs_struct *r) {
	uint64_t attributes[ATTRIBUTES_MAX / sizeof(uint64_t)] = {0};
	struct iovec here = {attributes, r->rsi < ATTRIBUTES_MAX ? r->rsi : ATTRIBUTES_MAX};
	struct iovec there = {(void *)(uintptr_t)r->rdi, here.iov_len};

	if (r->orig_rax == restrict_self) {
		return (uint32_t)r->rsi != 0 ? -EINVAL : 0;
	}
	if (r->orig_rax == add_rule) {
		return (uint32_t)r->rsi != RULE_PATH_BENEATH ? -EINVAL : 0;
	}
	if ((uint32_t)r->rdx != 0) {
		return (uint32_t)r->rdx == ASKS_VERSION && r->rdi == 0 && r->rsi == 0 ? 1 : -EINVAL;
	}
	if (process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)here.iov_len) {
		return 0; /* the kernel answers EFAULT */
	}
	for (size_t i = 1; i < sizeof attributes / sizeof attributes[0]; i++) {
		if (attributes[i] != 0) {
			return -E2BIG;
		}
	}
	return (attributes[0] & ~RIGHTS_OF_ABI_1) != 0 ? -EINVAL : 0;
}

static void answer(pid_t pid) {
	struct user_regs_struct r;
	if (ptrace(PTRACE_GETREGS, pid, NULL, &r) != 0) {
		return; /* it was killed meanwhile */
	}
	long said = judge(pid, &r);
	if (said != 0) {
		r.orig_rax = (unsigned long long)-1;
		r.rax = (unsigned long long)said;
		(void)ptrace(PTRACE_SETREGS, pid, NULL, &r);
	}
}

static int trace(pid_t first) {
	const int follow = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			   PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
	int status, result = FAILED;
	pid_t pid;

	if (ptrace(PTRACE_SEIZE, first, NULL, (void *)(intptr_t)follow) != 0) {
		perror("abi: PTRACE_SEIZE");
		(void)kill(first, SIGKILL);
		return FAILED;
	}
	(void)kill(first, SIGCONT);
	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (pid > 0 && (WIFEXITED(status) || WIFSIGNALED(status))) {
			if (pid == first) {
				result = WIFEXITED(status) ? WEXITSTATUS(status)
							   : 128 + WTERMSIG(status);
			}
			continue;
		}
		if (pid <= 0 || !WIFSTOPPED(status)) {
			continue;
		}
		int event = status >> 16, sent = WSTOPSIG(status);
		if (event == PTRACE_EVENT_SECCOMP) {
			answer(pid);
		}
		bool group = event == PTRACE_EVENT_STOP && (sent == SIGSTOP || sent == SIGTSTP ||
							    sent == SIGTTIN || sent == SIGTTOU);
		if (group) {
			(void)ptrace(PTRACE_LISTEN, pid, NULL, NULL);
		} else {
			(void)ptrace(PTRACE_CONT, pid, NULL,
				     (void *)(intptr_t)(event == 0 ? sent : 0));
		}
	}
	return result;
}

int main(int argc, char **argv) {
	if (argc < 2) {
		fprintf(stderr, "usage: abi COMMAND [ARG...]\n");
		return FAILED;
	}
	pid_t child = fork();
	if (child == 0) {
		(void)raise(SIGSTOP); /* until it is traced */
		if (load() != 0) {
			perror("abi: filter");
			_exit(FAILED);
		}
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	int status;
	if (child < 0 || waitpid(child, &status, WUNTRACED) != child) {
		perror("abi");
		return FAILED;
	}
	return trace(child);
}

#else

int main(void) {
	fprintf(stderr, "abi: only for x86-64\n");
	return FAILED;
}

#endif
