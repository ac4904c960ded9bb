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
#define HIGH 0x100000000ull
#define LOW_WORD 0xffffffffull

static const uint32_t scmp_arch[] = {
	[BPF_ARCH_X86_64] = SCMP_ARCH_X86_64,
	[BPF_ARCH_AARCH64] = SCMP_ARCH_AARCH64,
};

static const uint64_t protocols[] = {0,   1,   2,   4,   6,   9,   11,  12,    15,
				     16,  17,  21,  33,  41,  47,  50,  58,    103,
				     115, 132, 136, 255, 256, 262, 263, 0x300, 0xffffffff};
static const uint64_t personalities[] = {
	0,        1,         2,         6,         8,         0x20000,  0x20008,
	0x40000,  0x40008,   0x80000,   0x100000,  0x200000,  0x400000, 0x440000,
	0x800000, 0x1000000, 0x2000000, 0x4000000, 0x8000000, 0x20001,  0xffffffff};
static const uint64_t requests[] = {0x5401, 0x5412, 0x5413, 0x541c, 0x541d, 0x5423, 0x4b47,
				    0x4b49, 0x4b4b, 0x4b4d, 0x4bfb, 0x4b46, 0x15412};
static const uint64_t modes[] = {0,     0644,  0755,  01777,   02755,
				 04000, 04755, 06755, 0104755, 0177777};
static const uint64_t flags[] = {0,          01,        0100,      0101,       0200000,
				 02000000,   020000000, 020200000, 020200002,  0x80000000,
				 0xffffffff, 0102,      0x40000,   0x7fffffff, 0x10000};
static const uint64_t levels[] = {0, 1, 6, 17, 41, 255};
static const uint64_t options[] = {0, 1, 31, 100, 101, 255};

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
		if (!ONE_OF(personalities[i], 0, 0xffffffff, 8, 0x20000, 0x20008, 0x40000)) {
			REFUSE(r, EPERM, personality, IS(0, personalities[i]));
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		if (!ONE_OF(requests[i], 0x5401, 0x5413, 0x4b46, 0x15412)) {
			REFUSE(r, EPERM, ioctl, IS(1, requests[i]));
		}
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
	REFUSE(r, EPERM, setsockopt, IS(1, 6), IS(2, 31));
	REFUSE(r, EPERM, setsockopt, IS(1, 17), IS(2, 100));
}

static void rival_modes(struct rival *r) {
	static const uint64_t creates[] = {0100, 020000000};

	REFUSE(r, EPERM, chmod, HAS(1, 04000));
	REFUSE(r, EPERM, fchmod, HAS(1, 04000));
	REFUSE(r, EPERM, creat, HAS(1, 04000));
	REFUSE(r, EPERM, mkdir, HAS(1, 04000));
	REFUSE(r, EPERM, mknod, HAS(1, 04000));
	REFUSE(r, EPERM, fchmodat, HAS(2, 04000));
	REFUSE(r, EPERM, fchmodat2, HAS(2, 04000));
	REFUSE(r, EPERM, mkdirat, HAS(2, 04000));
	REFUSE(r, EPERM, mknodat, HAS(2, 04000));
	for (size_t i = 0; i < ARRAY_LEN(creates); i++) {
		REFUSE(r, EPERM, open, HAS(1, creates[i]), HAS(2, 04000));
		REFUSE(r, EPERM, openat, HAS(2, creates[i]), HAS(3, 04000));
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
	rival_modes(r);
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
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		compare(c, CALL_ioctl, (const uint64_t[6]){0, requests[i]});
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
	compare_modes(&c);
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

TEST(numbers_agree_with_libseccomp) {
	size_t agreed = 0, unknown = 0;

	for (size_t i = 0; i < CALL_COUNT; i++) {
		for (enum bpf_arch arch = BPF_ARCH_X86_64; arch <= BPF_ARCH_AARCH64; arch++) {
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
	CHECK(agreed > 2 * 350);
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
