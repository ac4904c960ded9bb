/* SPDX-License-Identifier: Apache-2.0 */
/* The same policy built by libseccomp, and the same answers.
 *
 * Whole calls come from our rules; the conditions on arguments are written here
 * a second time, by hand, so that a slip in the table shows.
 *
 * Not compared, because libseccomp cannot say it: the lid (its default has to
 * be allow, so numbers that nobody knows are allowed there) and x32 (there it
 * counts as a foreign architecture).  "None of" has to be spelled out value by
 * value, so those arguments are compared over the domains below. */
#include "unit/test.h"

#include "verdicts.h"

#include "base/auto.h"
#include "interpret.h"

#include <errno.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define FAMILIES 64
#define TYPES 16
#define WHICH 4 /* whose priority: a process, a group, a user, from 0 or 1 */
#define HIGH 0x100000000ull
#define LOW_WORD 0xffffffffull

static const uint32_t scmp_arch[] = {
	[BPF_ARCH_X86_64] = SCMP_ARCH_X86_64,
	[BPF_ARCH_AARCH64] = SCMP_ARCH_AARCH64,
	[BPF_ARCH_RISCV64] = SCMP_ARCH_RISCV64,
};

static const uint64_t protocols[] = {0,   1,   2,   4,   6,   9,   11,  12,    15,
				     16,  17,  21,  33,  41,  47,  50,  58,    103,
				     115, 132, 136, 255, 256, 262, 263, 0x300, 0xffffffff};
static const uint64_t personalities[] = {
	0,        1,         2,         6,         8,         0x20000,  0x20008,
	0x40000,  0x40008,   0x80000,   0x100000,  0x200000,  0x400000, 0x440000,
	0x800000, 0x1000000, 0x2000000, 0x4000000, 0x8000000, 0x20001,  0xffffffff};
/* Requests that are let through, and those that are not, with their errors. */
static const uint64_t requests[] = {0x5401,     0x5404,     0x5413,     0x541b,     0x5421,
				    0x5451,     0x5452,     0x8905,     0x8912,     0x8933,
				    0x40049409, 0x80086601, 0x802c542a, 0xc0502100, 0x540b};
static const struct {
	uint64_t request;
	int error;
} refused_requests[] = {
	{0x5412, EPERM},          /* TIOCSTI */
	{0x541c, EPERM},          /* TIOCLINUX */
	{0x541d, EPERM},          /* TIOCCONS */
	{0x5423, EPERM},          /* TIOCSETD */
	{0x8901, EPERM},          /* FIOSETOWN */
	{0x8902, EPERM},          /* SIOCSPGRP */
	{0x8914, EPERM},          /* SIOCSIFFLAGS */
	{0x40086602, EOPNOTSUPP}, /* FS_IOC_SETFLAGS */
	{0x401c5820, EOPNOTSUPP}, /* FS_IOC_FSSETXATTR */
	{0x4b47, ENOTTY},         /* KDSKBENT */
	{0x4bfb, ENOTTY},         /* KDSKBDIACRUC */
	{0x15412, ENOTTY},
	{0x5400, ENOTTY},
	{0x5405, ENOTTY},
	{0, ENOTTY},
	{1, ENOTTY},
	{2, ENOTTY},
	{0xff0b, ENOTTY},
	{0xffffffff, ENOTTY},
	{0x5760, ENOTTY},     /* IOC_WATCH_QUEUE_SET_SIZE */
	{0x6609, ENOTTY},     /* EXT4_IOC_MIGRATE */
	{0x40086604, ENOTTY}, /* EXT4_IOC_SETVERSION */
	{0x40806685, ENOTTY}, /* FS_IOC_ENABLE_VERITY */
	{0x50009401, ENOTTY}, /* BTRFS_IOC_SNAP_CREATE */
	{0xc0189436, ENOTTY}, /* FIDEDUPERANGE */
	{0xc0406618, ENOTTY}, /* FS_IOC_REMOVE_ENCRYPTION_KEY */
	{0xc0506617, ENOTTY}, /* FS_IOC_ADD_ENCRYPTION_KEY */
};
static const uint64_t prctls[] = {0,  1,  4,  5,  15, 22, 31, 33,         35,        38,
				  40, 47, 62, 67, 68, 77, 78, 0x53564d41, 0x12345678};
static const uint64_t modes[] = {0,     0644,  0755,  01777,   02755,
				 04000, 04755, 06755, 0104755, 0177777};
static const uint64_t flags[] = {0,          01,        0100,      0101,       0200000,
				 02000000,   020000000, 020200000, 020200002,  0x80000000,
				 0xffffffff, 0102,      0x40000,   0x7fffffff, 0x10000};
static const uint64_t levels[] = {0, 1, 2, 6, 17, 41, 58, 255, 270, 282, 284, 0x10001, 0xffffffff};
static const uint64_t options[] = {0,  1,  2,  4,  5,  12,  13,  14,  15,      30,        31,
				   35, 36, 38, 51, 64, 100, 101, 255, 0x10002, 0xffffffff};

struct rival {
	scmp_filter_ctx ctx;
	enum bpf_arch arch;
	size_t rules, unknown; /* added; calls that this libseccomp does not know */
};

/* The call as libseccomp wants it: the native number or its own pseudo number.
 * What it does not know goes in as our number, which works for the native
 * architecture; for another one it cannot be said. */
static bool rival_call(struct rival *r, enum syscall_id id, int *ret) {
	int known = seccomp_syscall_resolve_name_arch(scmp_arch[r->arch], syscall_names[id].name);

	if (syscall_names[id].nr[r->arch] < 0) {
		return false;
	}
	*ret = seccomp_syscall_resolve_name(syscall_names[id].name);
	if (known == __NR_SCMP_ERROR) {
		*ret = syscall_names[id].nr[r->arch];
		return r->arch == bpf_native();
	}
	return true;
}

static void refuse(struct rival *r, int error, enum syscall_id id, unsigned count,
		   const struct scmp_arg_cmp *args) {
	int nr, rc;

	if (!rival_call(r, id, &nr)) {
		r->unknown += syscall_names[id].nr[r->arch] >= 0;
		return;
	}
	rc = seccomp_rule_add_exact_array(r->ctx, SCMP_ACT_ERRNO(error), nr, count, args);
	if (rc != 0) {
		printf("# %s: libseccomp answers %d\n", syscall_names[id].name, rc);
		test_failed = true;
	}
	r->rules++;
}

#define REFUSE(r, error, call, ...)                                                                \
	do {                                                                                       \
		const struct scmp_arg_cmp args_[] = {__VA_ARGS__};                                 \
		refuse(r, error, CALL_##call, ARRAY_LEN(args_), args_);                            \
	} while (0)
#define IS(arg, value) SCMP_CMP64(arg, SCMP_CMP_MASKED_EQ, LOW_WORD, value)
#define HAS(arg, bits) SCMP_CMP64(arg, SCMP_CMP_MASKED_EQ, bits, bits)
#define TYPE_IS(arg, value) SCMP_CMP64(arg, SCMP_CMP_MASKED_EQ, 0xf, value)

static bool is_one_of(uint64_t value, const uint64_t *list, size_t count) {
	for (size_t i = 0; i < count; i++) {
		if (list[i] == value) {
			return true;
		}
	}
	return false;
}

#define ONE_OF(value, ...)                                                                         \
	is_one_of(value, (const uint64_t[]){__VA_ARGS__},                                          \
		  sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void rival_whole_calls(struct rival *r) {
	for (size_t i = 0; i < syscall_rules_count; i++) {
		if (syscall_rules[i].verdict == RULE_REFUSE) {
			refuse(r, syscall_rules[i].error, syscall_rules[i].id, 0, NULL);
		}
	}
}

static void rival_flags(struct rival *r) {
	for (unsigned bit = 0; bit < 32; bit++) {
		if (!ONE_OF(bit, 8, 9, 10, 11, 16, 18)) { /* VM FS FILES SIGHAND THREAD SYSVSEM */
			REFUSE(r, EPERM, unshare, HAS(0, 1ull << bit));
		}
		if (ONE_OF(bit, 17, 25, 26, 27, 28, 29,
			   30)) { /* NEWNS CGROUP UTS IPC USER PID NET */
			REFUSE(r, EPERM, clone, HAS(0, 1ull << bit));
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(personalities); i++) {
		if (!ONE_OF(personalities[i], 0, 0xffffffff, 0x20000, 0x40000)) {
			REFUSE(r, EPERM, personality, IS(0, personalities[i]));
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(prctls); i++) {
		if (!ONE_OF(prctls[i], 1, 4, 15, 22, 38, 47, 0x53564d41)) {
			REFUSE(r, prctls[i] == 35 ? EPERM : EINVAL, prctl, IS(0, prctls[i]));
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(refused_requests); i++) {
		REFUSE(r, refused_requests[i].error, ioctl, IS(1, refused_requests[i].request));
	}
}

static void rival_inet(struct rival *r, uint64_t family) {
	for (uint64_t type = 0; type < TYPES; type++) {
		if (type != 1 && type != 2) {
			REFUSE(r, type == 3 ? EPERM : EPROTONOSUPPORT, socket, IS(0, family),
			       TYPE_IS(1, type));
			continue;
		}
		for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
			if (!ONE_OF(protocols[i], 0, 1, 6, 17, 58)) {
				REFUSE(r, EPROTONOSUPPORT, socket, IS(0, family), TYPE_IS(1, type),
				       IS(2, protocols[i]));
			}
		}
	}
}

/* Of the levels and options above. */
static bool option_is_listed(uint64_t level, uint64_t option) {
	switch (level) {
	case 0:
		return ONE_OF(option, 1, 2, 12, 13, 15, 35, 36, 38, 51);
	case 1:
		return ONE_OF(option, 2, 5, 12, 13, 14, 15, 35, 64);
	case 6:
		return ONE_OF(option, 1, 2, 4, 5, 12, 13, 30, 36);
	case 17:
		return ONE_OF(option, 1);
	case 41:
		return ONE_OF(option, 2, 51);
	case 270:
		return ONE_OF(option, 1, 2, 5, 12);
	default:
		return false;
	}
}

static void rival_sockets(struct rival *r) {
	for (uint64_t family = 0; family < FAMILIES; family++) {
		if (!ONE_OF(family, 1, 2, 10, 16)) {
			REFUSE(r, EAFNOSUPPORT, socket, IS(0, family));
		}
		if (family != 1) {
			REFUSE(r, EAFNOSUPPORT, socketpair, IS(0, family));
		}
	}
	rival_inet(r, 2);
	rival_inet(r, 10);
	for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
		if (protocols[i] != 0) {
			REFUSE(r, EPROTONOSUPPORT, socket, IS(0, 16), IS(2, protocols[i]));
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
		for (size_t j = 0; j < ARRAY_LEN(options); j++) {
			if (!option_is_listed(levels[i], options[j])) {
				REFUSE(r, levels[i] == 1 && options[j] == 36 ? EPERM : ENOPROTOOPT,
				       setsockopt, IS(1, levels[i]), IS(2, options[j]));
			}
		}
	}
}

static void rival_processes(struct rival *r) {
	REFUSE(r, EPERM, prlimit64, IS(0, 1));
	REFUSE(r, EPERM, sched_setaffinity, IS(0, 1));
	REFUSE(r, EPERM, sched_setattr, IS(0, 1));
	REFUSE(r, EPERM, sched_setparam, IS(0, 1));
	REFUSE(r, EPERM, sched_setscheduler, IS(0, 1));
	for (uint64_t which = 0; which < WHICH; which++) {
		if (which == 0) {
			REFUSE(r, EPERM, setpriority, IS(0, which), IS(1, 1));
		} else {
			REFUSE(r, EPERM, setpriority, IS(0, which));
		}
		if (which == 1) {
			REFUSE(r, EPERM, ioprio_set, IS(0, which), IS(1, 1));
		} else {
			REFUSE(r, EPERM, ioprio_set, IS(0, which));
		}
	}
}

static void rival_memory(struct rival *r) {
	REFUSE(r, ENOMEM, mmap, HAS(3, 0x40000));
	REFUSE(r, ENOMEM, shmget, HAS(2, 04000));
	REFUSE(r, EINVAL, memfd_create, HAS(1, 4));
	REFUSE(r, EINVAL, madvise, IS(2, 12));
}

static void rival_modes(struct rival *r) {
	static const uint64_t creates[] = {0100, 020000000}, ids[] = {02000, 04000};

	REFUSE(r, EPERM, chmod, HAS(1, 04000));
	REFUSE(r, EPERM, fchmod, HAS(1, 04000));
	REFUSE(r, EPERM, mkdir, HAS(1, 04000));
	REFUSE(r, EPERM, fchmodat, HAS(2, 04000));
	REFUSE(r, EPERM, fchmodat2, HAS(2, 04000));
	REFUSE(r, EPERM, mkdirat, HAS(2, 04000));
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		REFUSE(r, EPERM, creat, HAS(1, ids[i]));
		REFUSE(r, EPERM, mknod, HAS(1, ids[i]));
		REFUSE(r, EPERM, mknodat, HAS(2, ids[i]));
		for (size_t c = 0; c < ARRAY_LEN(creates); c++) {
			REFUSE(r, EPERM, open, HAS(1, creates[c]), HAS(2, ids[i]));
			REFUSE(r, EPERM, openat, HAS(2, creates[c]), HAS(3, ids[i]));
		}
	}
}

static void rival_nodes(struct rival *r) {
	static const uint64_t devices[] = {020000, 060000};

	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		REFUSE(r, EPERM, creat, SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, 0170000, devices[i]));
		REFUSE(r, EPERM, mknod, SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, 0170000, devices[i]));
		REFUSE(r, EPERM, mknodat, SCMP_CMP64(2, SCMP_CMP_MASKED_EQ, 0170000, devices[i]));
	}
	for (uint64_t bit = 4; bit < 0x100000000; bit *= 2) {
		REFUSE(r, EINVAL, renameat2, HAS(4, bit));
	}
}

/* What libseccomp exports, mapped; the mapping lasts as long as the process. */
static bool rival_program(struct rival *r, struct sock_fprog *ret) {
	auto_fd fd = memfd_create("filter", MFD_CLOEXEC);
	struct stat st;
	void *code;

	if (fd < 0 || seccomp_export_bpf(r->ctx, fd) != 0 || fstat(fd, &st) != 0) {
		return false;
	}
	code = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	*ret = (struct sock_fprog){
		(unsigned short)((size_t)st.st_size / sizeof(struct sock_filter)), code};
	return code != MAP_FAILED;
}

static bool rival_build(struct rival *r, enum bpf_arch arch, struct sock_fprog *ret) {
	*r = (struct rival){.ctx = seccomp_init(SCMP_ACT_ALLOW), .arch = arch};
	if (r->ctx == NULL ||
	    seccomp_attr_set(r->ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) != 0) {
		return false;
	}
	if (arch != bpf_native() && (seccomp_arch_add(r->ctx, scmp_arch[arch]) != 0 ||
				     seccomp_arch_remove(r->ctx, SCMP_ARCH_NATIVE) != 0)) {
		return false;
	}
	rival_whole_calls(r);
	rival_flags(r);
	rival_sockets(r);
	rival_processes(r);
	rival_memory(r);
	rival_modes(r);
	rival_nodes(r);
	return rival_program(r, ret);
}

struct contest {
	struct rival rival;
	struct sock_fprog ours, theirs;
	size_t compared, refused;
};

/* Compares one call with and without bits above the low words. */
static void compare(struct contest *c, enum syscall_id id, const uint64_t *args) {
	int nr = syscall_names[id].nr[c->rival.arch], unused;

	if (!rival_call(&c->rival, id, &unused)) {
		return;
	}
	for (uint64_t high = 0; high <= HIGH; high += HIGH) {
		struct seccomp_data d = {0};
		uint32_t ours, theirs;

		for (int i = 0; i < 6; i++) {
			d.args[i] = args[i] | high;
		}
		entry_apply(c->rival.arch, ENTRY_NATIVE, (uint32_t)nr, &d);
		ours = program_run(&c->ours, &d).action;
		theirs = program_run(&c->theirs, &d).action;
		c->compared++;
		c->refused += ours != SECCOMP_RET_ALLOW;
		if (ours != theirs) {
			printf("# %s %llx %llx %llx %llx: ours %08x, theirs %08x\n",
			       syscall_names[id].name, (unsigned long long)d.args[0],
			       (unsigned long long)d.args[1], (unsigned long long)d.args[2],
			       (unsigned long long)d.args[3], ours, theirs);
			test_failed = true;
		}
	}
}

static void compare_all_calls(struct contest *c) {
	for (enum syscall_id id = 0; id < CALL_COUNT; id++) {
		compare(c, id, (const uint64_t[6]){0});
		compare(c, id, (const uint64_t[6]){1, 1, 1, 1, 1, 1});
		compare(c, id, (const uint64_t[6]){2, 2, 2, 2, 2, 2});
	}
}

static void compare_flags(struct contest *c) {
	for (unsigned a = 0; a < 32; a++) {
		for (unsigned b = 0; b < 32; b++) {
			uint64_t bits = 1ull << a | 1ull << b;

			compare(c, CALL_clone, (const uint64_t[6]){bits});
			compare(c, CALL_unshare, (const uint64_t[6]){bits});
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(personalities); i++) {
		compare(c, CALL_personality, (const uint64_t[6]){personalities[i]});
	}
	for (size_t i = 0; i < ARRAY_LEN(prctls); i++) {
		compare(c, CALL_prctl, (const uint64_t[6]){prctls[i], 1});
	}
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		compare(c, CALL_ioctl, (const uint64_t[6]){0, requests[i]});
	}
	for (size_t i = 0; i < ARRAY_LEN(refused_requests); i++) {
		compare(c, CALL_ioctl, (const uint64_t[6]){0, refused_requests[i].request});
	}
}

static void compare_sockets(struct contest *c) {
	for (uint64_t family = 0; family < FAMILIES; family++) {
		for (uint64_t type = 0; type < TYPES; type++) {
			for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
				compare(c, CALL_socket,
					(const uint64_t[6]){family, type, protocols[i]});
				compare(c, CALL_socket,
					(const uint64_t[6]){family, type | 0x80800, protocols[i]});
			}
			compare(c, CALL_socketpair, (const uint64_t[6]){family, type});
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
		for (size_t j = 0; j < ARRAY_LEN(options); j++) {
			compare(c, CALL_setsockopt, (const uint64_t[6]){3, levels[i], options[j]});
		}
	}
}

static void compare_processes(struct contest *c) {
	for (uint64_t which = 0; which < WHICH; which++) {
		for (uint64_t who = 0; who < 4; who++) {
			compare(c, CALL_setpriority, (const uint64_t[6]){which, who, 5});
			compare(c, CALL_ioprio_set, (const uint64_t[6]){which, who, 0});
		}
	}
}

static void compare_memory(struct contest *c) {
	for (unsigned bit = 0; bit < 32; bit++) {
		compare(c, CALL_mmap, (const uint64_t[6]){0, 4096, 3, 1ull << bit | 2});
		compare(c, CALL_shmget, (const uint64_t[6]){0, 4096, 1ull << bit});
		compare(c, CALL_memfd_create, (const uint64_t[6]){0, 1ull << bit});
		compare(c, CALL_madvise, (const uint64_t[6]){0, 4096, bit});
	}
}

static void compare_modes(struct contest *c) {
	static const enum syscall_id second[] = {CALL_chmod, CALL_fchmod, CALL_creat, CALL_mkdir,
						 CALL_mknod};
	static const enum syscall_id third[] = {CALL_fchmodat, CALL_fchmodat2, CALL_mkdirat,
						CALL_mknodat};

	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		for (size_t i = 0; i < ARRAY_LEN(second); i++) {
			compare(c, second[i], (const uint64_t[6]){0, modes[m]});
		}
		for (size_t i = 0; i < ARRAY_LEN(third); i++) {
			compare(c, third[i], (const uint64_t[6]){0, 0, modes[m]});
		}
		for (size_t f = 0; f < ARRAY_LEN(flags); f++) {
			compare(c, CALL_open, (const uint64_t[6]){0, flags[f], modes[m]});
			compare(c, CALL_openat, (const uint64_t[6]){0, 0, flags[f], modes[m]});
		}
	}
}

static void compare_nodes(struct contest *c) {
	static const uint64_t nodes[] = {010600, 020600, 040600, 060600, 0100600, 0120600, 0140600};

	for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
		compare(c, CALL_mknod, (const uint64_t[6]){0, nodes[i]});
		compare(c, CALL_mknodat, (const uint64_t[6]){0, 0, nodes[i]});
	}
	for (uint64_t flag = 0; flag < 17; flag++) {
		compare(c, CALL_renameat2, (const uint64_t[6]){0, 0, 0, 0, flag});
	}
}

static void contest(enum bpf_arch arch) {
	struct bpf_options o = {.arch = arch};
	struct contest c = {.compared = 0};
	struct arena arena;
	struct err e;

	arena_init(&arena);
	REQUIRE(rival_build(&c.rival, arch, &c.theirs));
	REQUIRE(bpf_build(&arena, &o, &c.ours, &e) == 0);
	REQUIRE(program_valid(&c.theirs));
	compare_all_calls(&c);
	compare_flags(&c);
	compare_sockets(&c);
	compare_processes(&c);
	compare_memory(&c);
	compare_modes(&c);
	compare_nodes(&c);
	printf("# %zu comparisons, %zu of them refused; libseccomp: %zu rules, %u instructions "
	       "(ours %u), %zu rules about calls that it does not know\n",
	       c.compared, c.refused, c.rival.rules, c.theirs.len, c.ours.len, c.rival.unknown);
	CHECK(c.compared > 100000);
	CHECK(c.refused > 10000 && c.refused < c.compared);
	seccomp_release(c.rival.ctx);
	arena_done(&arena);
}

TEST(x86_64_agrees_with_libseccomp) {
	contest(BPF_ARCH_X86_64);
}

TEST(aarch64_agrees_with_libseccomp) {
	contest(BPF_ARCH_AARCH64);
}

TEST(riscv64_agrees_with_libseccomp) {
	contest(BPF_ARCH_RISCV64);
}

TEST(numbers_agree_with_libseccomp) {
	size_t agreed = 0, unknown = 0;

	for (size_t i = 0; i < CALL_COUNT; i++) {
		for (enum bpf_arch arch = BPF_ARCH_X86_64; arch < BPF_ARCHS; arch++) {
			int theirs = seccomp_syscall_resolve_name_arch(scmp_arch[arch],
								       syscall_names[i].name);
			int ours = syscall_names[i].nr[arch];

			if (theirs == __NR_SCMP_ERROR) {
				unknown++;
				continue;
			}
			CHECK_INT(ours, theirs < 0 ? -1 : theirs);
			agreed++;
		}
	}
	printf("# %zu numbers compared, %zu not known to libseccomp\n", agreed, unknown);
	CHECK(agreed > BPF_ARCHS * 350);
}

TEST(both_kill_a_foreign_architecture) {
	struct sock_fprog ours, theirs;
	struct seccomp_data d = {0};
	struct rival r;
	struct arena arena;
	struct err e;

	arena_init(&arena);
	REQUIRE(rival_build(&r, BPF_ARCH_X86_64, &theirs));
	REQUIRE(bpf_build(&arena, &(struct bpf_options){.arch = BPF_ARCH_X86_64}, &ours, &e) == 0);
	for (uint32_t nr = 0; nr < 1024; nr++) {
		entry_apply(BPF_ARCH_X86_64, ENTRY_FOREIGN, nr, &d);
		CHECK_INT(program_run(&ours, &d).action, SECCOMP_RET_KILL_PROCESS);
		CHECK_INT(program_run(&theirs, &d).action, SECCOMP_RET_KILL_PROCESS);
	}
	seccomp_release(r.ctx);
	arena_done(&arena);
}

TESTS_MAIN
