/* SPDX-License-Identifier: Apache-2.0 */
/* Should:   put the whole decision of a program into text that a person reviews.
 * Must not: look at the rules: only the program's answers count. */
#include "verdicts.h"

#include "base/auto.h"
#include "interpret.h"

#include <linux/audit.h>

#define NUMBERS 1025 /* 0..1024, well above the lid */
#define X32_BIT 0x40000000u
#define PROBE_ARGS 5

/* An argument list; the golden file shows the answer. */
struct probe {
	enum syscall_id id;
	unsigned count;
	uint64_t args[PROBE_ARGS];
};

#define P(call, ...)                                                                               \
	{                                                                                          \
		CALL_##call, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), {               \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define HIGH 0x100000000ull /* bits that the kernel does not look at in an int */

/* clang-format off */
static const struct probe probes[] = {
	/* records of denials: a program of the command and the first one; datagrams; look-ups, lstat, opens by name */
	P(chdir, 0x1000, 0), P(chdir, 0x1000, SYSCALL_FIRST_EXEC),
	P(execve, 0x1000, 0, 0, 0), P(execve, 0x1000, 0, 0, SYSCALL_FIRST_EXEC), P(execve, 0x1000, 0, 0, HIGH | SYSCALL_FIRST_EXEC),
	P(sendto, 3, 0, 0, 0, 0), P(sendto, 3, 0, 0, 0, 0x1000), P(sendto, 3, 0, 0, 0x20000000, 0x1000),
	P(newfstatat, 0xffffff9c, 0, 0, 0), P(newfstatat, 0xffffff9c, 0, 0, 0x100), P(newfstatat, 3, 0, 0, 0),
	P(openat, 0xffffff9c, 0, 0x80000), P(openat, 0xffffff9c, 0, 0400), P(openat, 0xffffff9c, 0, 0401),
	/* namespaces: each flag alone, two together, beside harmless ones, under high bits */
	P(unshare, 0x80), P(unshare, 0x20000), P(unshare, 0x2000000), P(unshare, 0x4000000),
	P(unshare, 0x8000000), P(unshare, 0x10000000), P(unshare, 0x20000000), P(unshare, 0x40000000),
	P(unshare, 0x10020000), P(unshare, 0x10000200), P(unshare, 0x10010000000), P(unshare, HIGH | 0x20000),
	P(unshare, 0x100000), P(unshare, 0x80000000),
	P(unshare, 0), P(unshare, 0x200), P(unshare, 0x400), P(unshare, 0x40000), P(unshare, 0x50f00), P(unshare, HIGH),
	P(clone, 0x20000), P(clone, 0x2000000), P(clone, 0x4000000), P(clone, 0x8000000),
	P(clone, 0x10000000), P(clone, 0x20000000), P(clone, 0x40000000), P(clone, 0x10000011),
	P(clone, 0x10010000011), P(clone, 0x7e020000),
	P(clone, 0x11), P(clone, 0x91), P(clone, 0x4111), P(clone, 0x3d0f00), P(clone, 0x1200011), P(clone, 0x80000011),
	P(clone, HIGH | 0x11),
	P(clone3, 0, 88), P(setns, 3, 0), P(setns, 3, 0x10000000),
	/* personality */
	P(personality, 0), P(personality, 0xffffffff), P(personality, 8), P(personality, 0x20000),
	P(personality, 0x20008), P(personality, 0x40000), P(personality, HIGH | 0x40000), P(personality, ~0ull),
	P(personality, 0x400000), P(personality, 0x440000), P(personality, 0x200000), P(personality, 0x100000),
	P(personality, 0x8000000), P(personality, 1), P(personality, HIGH | 0x400000),
	/* ioctl */
	P(ioctl, 0, 0x5412), P(ioctl, 0, 0x541c), P(ioctl, 0, 0x541d), P(ioctl, 0, 0x5423),
	P(ioctl, 0, 0x4b47), P(ioctl, 0, 0x4b49), P(ioctl, 0, 0x4b4b), P(ioctl, 0, 0x4b4d), P(ioctl, 0, 0x4bfb),
	P(ioctl, 0, 0x12300005412), P(ioctl, 0, 0xffffffff00005412), P(ioctl, 0x5412, 0x5401),
	P(ioctl, 0, 0x5401), P(ioctl, 0, 0x5402), P(ioctl, 0, 0x5413), P(ioctl, 0, 0x540e), P(ioctl, 0, 0x541b),
	P(ioctl, 0, 0x5424), P(ioctl, 0, 0x80045430), P(ioctl, 0, 0x15412), P(ioctl, 0, HIGH | 0x5401),
	/* ioctl: btrfs' subvolumes, reflinks, verity, fscrypt's keys and policies, ext4's and generic versions, migration */
	P(ioctl, 3, 0x50009401), P(ioctl, 3, 0x5000940e), P(ioctl, 3, 0x5000940f), P(ioctl, 3, 0x50009417),
	P(ioctl, 3, 0x50009418), P(ioctl, 3, 0x5000943f), P(ioctl, 3, 0x40049409), P(ioctl, 3, 0x40806685),
	P(ioctl, 3, 0xc0506617), P(ioctl, 3, 0xc0406618), P(ioctl, 3, 0xc0406619), P(ioctl, 3, 0x800c6613),
	P(ioctl, 3, 0x40086604), P(ioctl, 3, 0x40087602), P(ioctl, 3, 0x6609), P(ioctl, 3, 0xc0189436), P(ioctl, 3, 0x4020940d),
	/* fcntl: owners of signals, which they get; flags */
	P(fcntl, 3, 8, 1), P(fcntl, 3, 15), P(fcntl, 3, HIGH | 8), P(fcntl, 8, 10, 15), P(fcntl, 3, 4),
	/* ioctl: owners of signals, watch queues, namespaces, pidfds, mapped blocks */
	P(ioctl, 3, 0x8901), P(ioctl, 3, 0x8902), P(ioctl, 3, 0x5760), P(ioctl, 3, 0xb701), P(ioctl, 3, 0xff09), P(ioctl, 3, 1),
	/* socket: families */
	P(socket, 1, 1, 0), P(socket, 1, 5, 0), P(socket, 1, 3, 0), P(socket, 2, 1, 0), P(socket, 2, 2, 0), P(socket, 10, 1, 0),
	P(socket, 10, 2, 0), P(socket, 16, 3, 0), P(socket, 16, 2, 0), P(socket, 16, 0x80003, 0),
	P(socket, 0, 1, 0), P(socket, 3, 5, 0), P(socket, 9, 5, 0), P(socket, 15, 3, 2), P(socket, 17, 3, 0),
	P(socket, 21, 5, 0), P(socket, 29, 3, 1), P(socket, 30, 2, 0), P(socket, 31, 3, 0), P(socket, 33, 2, 2),
	P(socket, 38, 5, 0), P(socket, 39, 1, 0), P(socket, 40, 1, 0), P(socket, 42, 2, 0), P(socket, 43, 1, 0),
	P(socket, 44, 3, 0), P(socket, 45, 2, 0), P(socket, 46, 1, 0), P(socket, 0xffffffff, 1, 0),
	P(socket, HIGH | 38, 5, 0), P(socket, 0x100000002, 1, 0), P(socket, HIGH | 40, 1, 0),
	/* socket: types and protocols */
	P(socket, 2, 0x80801, 6), P(socket, 2, 0x80802, 17), P(socket, 2, 2, 1), P(socket, 10, 2, 58),
	P(socket, 2, 3, 0), P(socket, 2, 3, 255), P(socket, 10, 3, 58), P(socket, 2, 0x80003, 1), P(socket, 2, HIGH | 3, 0),
	P(socket, 2, 0, 0), P(socket, 2, 4, 0), P(socket, 2, 5, 0), P(socket, 2, 6, 33), P(socket, 2, 10, 0x300),
	P(socket, 10, 10, 3), P(socket, 10, 5, 132), P(socket, 2, 0x8080a, 3),
	P(socket, 2, 1, 262), P(socket, 10, 1, 262), P(socket, 2, 1, 132), P(socket, 2, 2, 136), P(socket, 2, 1, 256),
	P(socket, 2, 1, 33), P(socket, 2, 2, 115), P(socket, 2, 1, HIGH | 262), P(socket, 2, 1, HIGH | 6),
	P(socket, 16, 3, 2), P(socket, 16, 3, 4), P(socket, 16, 3, 6), P(socket, 16, 3, 9), P(socket, 16, 3, 11),
	P(socket, 16, 3, 12), P(socket, 16, 3, 15), P(socket, 16, 3, 16), P(socket, 16, 3, 21), P(socket, 16, 3, HIGH | 16),
	P(socket, 16, 3, HIGH),
	P(socketpair, 1, 1, 0), P(socketpair, 1, 0x80805, 0), P(socketpair, HIGH | 1, 1, 0), P(socketpair, 2, 1, 0),
	P(socketpair, 30, 1, 0), P(socketpair, 16, 2, 0), P(socketpair, HIGH | 30, 1, 0),
	P(setsockopt, 3, 6, 31), P(setsockopt, 3, 17, 100), P(setsockopt, 3, HIGH | 6, HIGH | 31),
	P(setsockopt, 3, 17, HIGH | 100),
	P(setsockopt, 3, 6, 1), P(setsockopt, 3, 17, 103), P(setsockopt, 3, 1, 31), P(setsockopt, 3, 6, 100),
	P(setsockopt, 3, 17, 31), P(setsockopt, 6, 1, 31),
	/* set-user-id */
	P(chmod, 0, 04755), P(chmod, 0, 04000), P(chmod, 0, 06755), P(chmod, 0, HIGH | 04755), P(chmod, 04000, 0755),
	P(chmod, 0, 0755), P(chmod, 0, 02775), P(chmod, 0, 01777), P(chmod, 0, 0104644),
	P(fchmod, 0, 04755), P(fchmod, 0, 02755),
	P(fchmodat, 0, 0, 04755), P(fchmodat, 0, 04755, 0755), P(fchmodat, 0, 0, 02755),
	P(fchmodat2, 0, 0, 04755, 0), P(fchmodat2, 0, 0, 0755, 04000),
	P(creat, 0, 04755), P(creat, 0, 0644), P(mkdir, 0, 04755), P(mkdir, 0, 02755), P(mkdirat, 0, 0, 04755),
	P(mkdirat, 0, 0, 01777), P(mknod, 0, 0104755), P(mknod, 0, 0100644), P(mknodat, 0, 0, 0104755),
	P(mknodat, 0, 0, 010600), P(mknod, 0, 0102755), P(creat, 0, 02755), P(openat, 0, 0, 0101, 02755),
	P(mknod, 0, 020600), P(mknod, 0, 060600), P(mknodat, 0, 0, 020600), P(mknodat, 0, 0, 060000), P(mknod, 0, 0140600),
	P(renameat2, 0, 0, 0, 0, 0), P(renameat2, 0, 0, 0, 0, 3), P(renameat2, 0, 0, 0, 0, 4), P(renameat2, 0, 0, 0, 0, 5),
	P(renameat2, 0, 0, 0, 0, HIGH | 4),
	P(open, 0, 0101, 04755), P(open, 0, 020200002, 04755), P(open, 0, HIGH | 0101, HIGH | 04755),
	P(open, 0, 0, 04755), P(open, 0, 0101, 0644), P(open, 0, 0101, 02755), P(open, 0, 02000000, 04755),
	P(open, 0, 0200000, 04755),
	P(openat, 0, 0, 0101, 04755), P(openat, 0, 0, 020200002, 04755), P(openat, 0, 0, HIGH | 0101, HIGH | 04755),
	P(openat, 0, 0, 0, 04755), P(openat, 0, 0, 0101, 0644), P(openat, 0, 0, 02000000, 04755),
	P(openat, 0, 0101, 0, 04755), P(openat2, 0, 0, 0, 24),
	/* without namespaces */
	P(open, 0, 0301, 0600), P(open, 0, 0400000), P(open, 0, 0100000), P(open, 0, 0600000), P(open, 0, 01000), P(open, 0, 01001),
	P(openat, 0, 0, 0302, 0600), P(openat, 0, 0, 0400002), P(openat, 0, 0, 0100002), P(openat, 0, 0, 01000),
	P(openat, 0, 0, 020200202, 0600), P(openat, 0, 0, 010400000),
	P(unlinkat, 0xffffff9c, 0, 0), P(unlinkat, 0xffffff9c, 0, 0x200), P(unlinkat, 3, 0, 0), P(unlinkat, 0xffffffffffffff9c, 0, 0),
	P(socket, 1, 2, 0), P(socket, 1, 0x80802, 0), P(socket, 2, 0x80001, 0), P(socketpair, 1, 2, 0), P(socketpair, 1, 5, 0),
	P(sendto, 3, 0, 1, 0x20000000), P(sendto, 3, 0, 1, 0x4000), P(sendmsg, 3, 0, 0x20000000), P(sendmsg, 3, 0, 0x4000),
	P(sendmmsg, 3, 0, 1, 0x20000000), P(sendmmsg, 3, 0, 1, 0),
	P(setsockopt, 3, 1, 15), P(setsockopt, 3, 6, 30), P(setsockopt, 3, 1, 2), P(setsockopt, 3, HIGH | 1, HIGH | 15),
	P(setsockopt, 3, 1, 25), P(setsockopt, 3, 1, 62), P(setsockopt, 3, 0, 4), P(setsockopt, 3, 41, 57), P(setsockopt, 3, 41, 6),
	P(setsockopt, 3, HIGH | 41, HIGH | 57), P(setsockopt, 3, 41, 26), P(setsockopt, 3, 0, 1), P(setsockopt, 3, 6, 4),
	P(setsockopt, 3, 0, 35), P(setsockopt, 3, 0, 39), P(setsockopt, 3, 0, 42), P(setsockopt, 3, 0, 46), P(setsockopt, 3, 0, 24),
	P(setsockopt, 3, 41, 20), P(setsockopt, 3, 41, 27), P(setsockopt, 3, 41, 42), P(setsockopt, 3, 41, 46), P(setsockopt, 3, 41, 21),
	P(ioctl, 3, 0x5441), P(ioctl, 3, 0x40086602), P(ioctl, 3, 0x401c5820), P(ioctl, 3, HIGH | 0x40086602),
	P(setpriority, 0, 0, 5), P(setpriority, 0, 77, 5), P(setpriority, 2, 0, 5), P(setpriority, 1, 0, 5), P(setpriority, 0, HIGH, 5),
	P(ioprio_set, 1, 0, 0), P(ioprio_set, 1, 77, 0), P(ioprio_set, 3, 0, 0),
	P(sched_setaffinity, 0, 8), P(sched_setaffinity, 77, 8), P(sched_setscheduler, 77, 0), P(prlimit64, 0, 1), P(prlimit64, 77, 1),
	P(prctl, 4, 0), P(prctl, 4, 1), P(prctl, 3, 0),
	/* options of processes and sockets that are in no list */
	P(prctl, 35, 14), P(prctl, 62, 1), P(prctl, 67, 1), P(prctl, 78, 1), P(prctl, 31), P(prctl, 15), P(prctl, HIGH | 38, 1), P(prctl, 0x59616d61),
	P(setsockopt, 3, 1, 26), P(setsockopt, 3, 1, 50), P(setsockopt, 3, 1, 51), P(setsockopt, 3, 1, 52), P(setsockopt, 3, 1, 36),
	P(setsockopt, 3, 6, 14), P(setsockopt, 3, 6, 32), P(setsockopt, 3, 6, 38), P(setsockopt, 3, 6, 19), P(setsockopt, 3, 0, 64),
	P(setsockopt, 3, 0x10001, 2), P(setsockopt, 3, 1, 0x10002), P(setsockopt, 3, 282, 1), P(setsockopt, 3, 270, 1),
	/* huge pages, and memory that is merged */
	P(mmap, 0, 4096, 3, 0x22), P(mmap, 0, 4096, 3, 0x40022), P(mmap, 0, 4096, 3, HIGH | 0x40022), P(mmap, 0, 4096, 3, 0x78040022),
	P(memfd_create, 0, 0), P(memfd_create, 0, 3), P(memfd_create, 0, 4), P(memfd_create, 0, HIGH | 5), P(memfd_create, 0, 8),
	P(shmget, 0, 4096, 01600), P(shmget, 0, 4096, 05600), P(madvise, 0, 4096, 4), P(madvise, 0, 4096, 14), P(madvise, 0, 4096, 12),
	P(madvise, 0, 4096, HIGH | 12),
	/* pid 1, and groups and users that it belongs to */
	P(prlimit64, 1, 0), P(prlimit64, HIGH | 1, 0), P(prlimit64, HIGH, 0), P(sched_setaffinity, 1, 8), P(sched_setattr, 1),
	P(sched_setparam, 1), P(sched_setscheduler, 1, 3), P(setpriority, 0, 1, 5), P(setpriority, 1, 1, 5), P(setpriority, HIGH | 1, 0, 5),
	P(ioprio_set, 1, 1, 0), P(ioprio_set, 2, 0, 0), P(ioprio_set, 0, 0, 0), P(ioprio_set, HIGH | 1, HIGH | 1, 0),
};
/* clang-format on */

#define STANDARD                                                                                   \
	(TRAIT_NO_NAMESPACES | TRAIT_NO_NET | TRAIT_BROKER | TRAIT_SOCKETS | TRAIT_MEMORY |        \
	 TRAIT_MARKS)

const struct variant variants[] = {
	{"", 0},
	{"_standard", STANDARD},
	{"_names", TRAIT_BROKER | TRAIT_CHANGES | TRAIT_MARKS | TRAIT_SOCKETS},
	{"_patterns", TRAIT_BROKER | TRAIT_CHANGES | TRAIT_READS | TRAIT_MARKS | TRAIT_SOCKETS},
	{"_exceptions", STANDARD | TRAIT_CHANGES | TRAIT_READS | TRAIT_SIGNALS | TRAIT_TRUNCATE},
	{"_changes_standard", STANDARD | TRAIT_CHANGES},
	{"_watch", TRAIT_BROKER | TRAIT_CHANGES | TRAIT_MARKS | TRAIT_SOCKETS | TRAIT_WATCH |
			   TRAIT_WATCH_EXEC},
	{"_pinned", TRAIT_PINNED},
	{"_pinned_standard", STANDARD | TRAIT_PINNED},
	{"_exec", TRAIT_EXEC},
	{"_exec_standard", STANDARD | TRAIT_EXEC},
	{"_gate", TRAIT_BROKER | TRAIT_SOCKETS | TRAIT_GATE},
	{"_gate_standard", STANDARD | TRAIT_GATE},
	{"_alone", TRAIT_NO_NAMESPACES | TRAIT_NO_NET},
	{"_minimal", TRAIT_NO_NAMESPACES | TRAIT_OPEN | TRAIT_NO_NET | TRAIT_BROKER |
			     TRAIT_SOCKETS | TRAIT_SIGNALS},
};
const size_t variants_count = ARRAY_LEN(variants);

void entry_apply(enum bpf_arch arch, enum entry entry, uint32_t nr, struct seccomp_data *d) {
	static const uint32_t archs[][ENTRY_COUNT] = {
		[BPF_ARCH_X86_64] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_I386, AUDIT_ARCH_X86_64},
		[BPF_ARCH_AARCH64] = {AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM, AUDIT_ARCH_AARCH64},
		[BPF_ARCH_RISCV64] = {AUDIT_ARCH_RISCV64, AUDIT_ARCH_RISCV32, AUDIT_ARCH_RISCV64},
	};

	d->arch = archs[arch][entry];
	d->nr = (int)(entry == ENTRY_X32 ? nr | X32_BIT : nr);
}

const char *number_name(enum bpf_arch arch, uint32_t nr) {
	for (size_t i = 0; i < CALL_COUNT; i++) {
		if (syscall_names[i].nr[arch] == (int)nr) {
			return syscall_names[i].name;
		}
	}
	return "-";
}

static uint32_t answer(enum bpf_arch arch, const struct sock_fprog *p, enum entry entry,
		       uint32_t nr, uint64_t fill) {
	struct seccomp_data d = {.args = {fill, fill, fill, fill, fill, fill}};

	entry_apply(arch, entry, nr, &d);
	return program_run(p, &d).action;
}

/* Runs of numbers with the same two answers: all arguments zero, all bits set. */
static void write_entry(enum bpf_arch arch, const struct sock_fprog *p, enum entry entry,
			struct buf *out) {
	static const char *const entries[ENTRY_COUNT] = {"native", "foreign", "x32"};
	char space[2][16];
	uint32_t next;

	for (uint32_t nr = 0; nr < NUMBERS; nr = next) {
		uint32_t zeros = answer(arch, p, entry, nr, 0);
		uint32_t ones = answer(arch, p, entry, nr, ~0ull);

		next = nr + 1;
		while (next < NUMBERS && answer(arch, p, entry, next, 0) == zeros &&
		       answer(arch, p, entry, next, ~0ull) == ones) {
			next++;
		}
		buf_printf(out, "%s %u-%u %s..%s %s %s\n", entries[entry], nr, next - 1,
			   number_name(arch, nr), number_name(arch, next - 1),
			   action_name(zeros, space[0], sizeof space[0]),
			   action_name(ones, space[1], sizeof space[1]));
	}
}

static void write_probe(enum bpf_arch arch, const struct sock_fprog *p, const struct probe *probe,
			struct buf *out) {
	int nr = syscall_names[probe->id].nr[arch];
	struct seccomp_data d = {0};
	char space[16];

	if (nr < 0) {
		return; /* the call does not exist here; its number belongs to another */
	}
	entry_apply(arch, ENTRY_NATIVE, (uint32_t)nr, &d);
	buf_puts(out, syscall_names[probe->id].name);
	for (unsigned i = 0; i < probe->count; i++) {
		d.args[i] = probe->args[i];
		buf_printf(out, " 0x%llx", (unsigned long long)probe->args[i]);
	}
	buf_printf(out, " -> %s\n", action_name(program_run(p, &d).action, space, sizeof space));
}

void verdicts_write(enum bpf_arch arch, const struct sock_fprog *p, struct buf *out) {
	buf_puts(out,
		 "# entry, numbers, names, answer with every argument 0, with every bit set\n");
	for (int entry = 0; entry < ENTRY_COUNT; entry++) {
		write_entry(arch, p, (enum entry)entry, out);
	}
	buf_puts(out, "# calls with arguments\n");
	for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
		write_probe(arch, p, &probes[i], out);
	}
}
