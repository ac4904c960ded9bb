/* SPDX-License-Identifier: Apache-2.0 */
/* A host that lacks something, made of one that has it.
 *
 *     without WORD[,WORD...] COMMAND [ARG...]
 *
 * Should:   load one outer filter for every word, which answers as a kernel or
 *           a container does that lacks the thing, and become the command.
 * Must not: be taken for a boundary: whoever knows the filter walks around it.
 * Fails:    closed: a filter that is not loaded stops everything, with status 99. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FAILED 99
#define MAX_RULES 8
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv)
#define OWN_ARCH AUDIT_ARCH_RISCV64
#endif

/* Newer than some C libraries; the numbers are the same on every architecture. */
enum {
	nr_open_tree = 428,
	nr_move_mount = 429,
	nr_fsopen = 430,
	nr_fsmount = 432,
	nr_clone3 = 435,
	nr_pidfd_getfd = 438,
	nr_mount_setattr = 442,
	nr_landlock_create_ruleset = 444,
	nr_landlock_add_rule = 445,
	nr_landlock_restrict_self = 446,
};

#define any_namespace 0x7e020000 /* every CLONE_NEW* but the time one's: Docker's own mask */
#define new_listener (1U << 3)   /* SECCOMP_FILTER_FLAG_NEW_LISTENER */

/* One refusal: of every such call, or only where argument `arg` says so. */
struct rule {
	uint32_t call;
	int error;
	enum { always, has_bits, equals } when;
	uint32_t arg;
	uint32_t value;
};

struct lack {
	const char *name;
	const char *as; /* who answers so */
	struct rule rules[MAX_RULES];
};

/* In this order they are loaded, so the last may take loading itself away. */
static const struct lack lacks[] = {
	{"userns",
	 "the seccomp profile that Docker and podman give a container",
	 {{SYS_clone, EPERM, has_bits, 0, any_namespace},
	  {nr_clone3, ENOSYS},
	  {SYS_unshare, EPERM},
	  {SYS_setns, EPERM}}},
	{"mounts",
	 "a user namespace without rights in it, as AppArmor makes them on Ubuntu 24.04",
	 {{SYS_mount, EACCES},
	  {SYS_umount2, EACCES},
	  {SYS_pivot_root, EACCES},
	  {nr_open_tree, EACCES},
	  {nr_move_mount, EACCES},
	  {nr_fsopen, EACCES},
	  {nr_fsmount, EACCES},
	  {nr_mount_setattr, EACCES}}},
	{"landlock",
	 "a kernel before 5.13, or one that was built without it",
	 {{nr_landlock_create_ruleset, ENOSYS},
	  {nr_landlock_add_rule, ENOSYS},
	  {nr_landlock_restrict_self, ENOSYS}}},
	{"notify",
	 "a sandbox around this one that has the only listener there can be",
	 {{SYS_seccomp, EBUSY, has_bits, 1, new_listener}, {nr_pidfd_getfd, EPERM}}},
	{"seccomp",
	 "a kernel that was built without filters",
	 {{SYS_seccomp, ENOSYS}, {SYS_prctl, EINVAL, equals, 0, PR_SET_SECCOMP}}},
};

/* Appends what one rule needs; the call's number is in the accumulator before and after. */
static size_t add_rule(struct sock_filter *at, const struct rule *rule) {
	uint32_t refuse = SECCOMP_RET_ERRNO | (uint32_t)rule->error;
	uint16_t test = rule->when == equals ? BPF_JEQ : BPF_JSET;
	struct sock_filter whole[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule->call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, refuse),
	};
	struct sock_filter some[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule->call, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args) + rule->arg * sizeof(uint64_t)),
		BPF_JUMP(BPF_JMP | test | BPF_K, rule->value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, refuse),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	if (rule->when == always) {
		memcpy(at, whole, sizeof(whole));
		return ARRAY_LEN(whole);
	}
	memcpy(at, some, sizeof(some));
	return ARRAY_LEN(some);
}

/* no_new_privs only where the kernel asks for it: a container's root has no such bit. */
static int load(struct sock_filter *code, size_t count) {
	struct sock_fprog program = {.len = (unsigned short)count, .filter = code};
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0) {
		return 0;
	}
	if (errno != EACCES || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
		return -1;
	}
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static int take(const struct lack *lack) {
	struct sock_filter code[4 + MAX_RULES * 5 + 1] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	size_t count = 4;
	for (size_t i = 0; i < MAX_RULES && lack->rules[i].error != 0; i++) {
		count += add_rule(code + count, &lack->rules[i]);
	}
	code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return load(code, count);
}

/* Whether the list of words, which commas part, has this one. */
static bool listed(const char *words, const char *name) {
	size_t length = strlen(name);
	for (const char *at = words; at != NULL; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
			return true;
		}
	}
	return false;
}

static size_t words_of(const char *words) {
	size_t count = 1;
	for (; *words != '\0'; words++) {
		count += *words == ',';
	}
	return count;
}

static int usage(void) {
	fprintf(stderr, "usage: without WORD[,WORD...] COMMAND [ARG...]\n");
	for (size_t i = 0; i < ARRAY_LEN(lacks); i++) {
		fprintf(stderr, "  %-10s like %s\n", lacks[i].name, lacks[i].as);
	}
	return FAILED;
}

int main(int argc, char **argv) {
	if (argc < 3) {
		return usage();
	}
	size_t known = 0;
	for (size_t i = 0; i < ARRAY_LEN(lacks); i++) {
		known += listed(argv[1], lacks[i].name);
	}
	if (known != words_of(argv[1])) {
		return usage();
	}
	for (size_t i = 0; i < ARRAY_LEN(lacks); i++) {
		if (listed(argv[1], lacks[i].name) && take(&lacks[i]) != 0) {
			fprintf(stderr, "without: %s: %s\n", lacks[i].name, strerror(errno));
			return FAILED;
		}
	}
	execvp(argv[2], argv + 2);
	fprintf(stderr, "without: %s: %s\n", argv[2], strerror(errno));
	return FAILED;
}
