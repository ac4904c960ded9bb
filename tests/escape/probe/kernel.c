/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts on the kernel's surface: raw calls with bad arguments, namespaces,
 * mounts, foreign system call tables.
 *
 * A raw call gets arguments for which the unfiltered kernel has a known answer
 * (EFAULT, EINVAL, EBADF); another answer inside tells that the filter spoke,
 * even where the kernel lacks the feature. */
#include "probe.h"

#include <errno.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/user.h>
#include <unistd.h>

#define BAD (-1L)
#define WILD 0x10L /* an address that is never mapped */

/* Numbers that the build machine's headers may be too old to have; the same on
 * every architecture. */
#define NR_openat2 437
#define NR_quotactl_fd 443
#define NR_memfd_secret 447
#define NR_set_mempolicy_home_node 450
#define NR_fchmodat2 452
#define NR_statmount 457
#define NR_listmount 458
#define NR_lsm_get_self_attr 459
#define NR_lsm_set_self_attr 460
#define NR_lsm_list_modules 461
#define NR_open_tree_attr 467
#define NR_file_setattr 469

struct raw_call {
	const char *name;
	long number;
	long args[6];
};

/* clang-format off */
static const struct raw_call raw_calls[] = {
	{"acct", SYS_acct, {WILD}},
	{"add_key", SYS_add_key, {WILD, WILD, 0, 0, 0}},
	{"bpf", SYS_bpf, {0xffff, 0, 0}},
	{"chroot", SYS_chroot, {WILD}},
	{"clock_settime", SYS_clock_settime, {0, WILD}},
	{"clone3", SYS_clone3, {WILD, 0}},
	{"delete_module", SYS_delete_module, {WILD, 0}},
	{"fanotify_init", SYS_fanotify_init, {BAD, 0}},
	{"fanotify_mark", SYS_fanotify_mark, {BAD, 1, 1, AT_FDCWD, WILD}},
	{"file_setattr", NR_file_setattr, {BAD, WILD, WILD, 0, BAD}},
	{"finit_module", SYS_finit_module, {BAD, WILD, 0}},
	{"fsconfig", SYS_fsconfig, {BAD, BAD, 0, 0, 0}},
	{"fsmount", SYS_fsmount, {BAD, BAD, 0}},
	{"fsopen", SYS_fsopen, {WILD, BAD}},
	{"fspick", SYS_fspick, {BAD, WILD, BAD}},
	{"get_robust_list", SYS_get_robust_list, {BAD, WILD, WILD}},
	{"init_module", SYS_init_module, {WILD, 0, WILD}},
	{"io_uring_enter", SYS_io_uring_enter, {BAD, 0, 0, 0, 0, 0}},
	{"io_uring_register", SYS_io_uring_register, {BAD, 0, 0, 0}},
	{"io_uring_setup", SYS_io_uring_setup, {1, WILD}},
	{"kcmp", SYS_kcmp, {BAD, BAD, 99, 0, 0}},
	{"kexec_load", SYS_kexec_load, {0, 0, WILD, BAD}},
	{"keyctl", SYS_keyctl, {9999, 0, 0, 0, 0}},
	{"listmount", NR_listmount, {WILD, WILD, 1, BAD}},
	{"lsm_get_self_attr", NR_lsm_get_self_attr, {0, WILD, WILD, 0}},
	{"lsm_list_modules", NR_lsm_list_modules, {WILD, WILD, 0}},
	{"lsm_set_self_attr", NR_lsm_set_self_attr, {0, WILD, 0, 0}},
	{"memfd_secret", NR_memfd_secret, {0x7ffffff0}},
	{"migrate_pages", SYS_migrate_pages, {0, 8, WILD, WILD}},
	{"mount", SYS_mount, {0, WILD, 0, 0, 0}},
	{"mount_setattr", SYS_mount_setattr, {BAD, WILD, BAD, 0, 0}},
	{"move_mount", SYS_move_mount, {BAD, WILD, BAD, WILD, BAD}},
	{"move_pages", SYS_move_pages, {0, 1, WILD, 0, WILD, 0x100}},
	{"name_to_handle_at", SYS_name_to_handle_at, {BAD, WILD, WILD, WILD, BAD}},
	{"nfsservctl", SYS_nfsservctl, {0, 0, 0}},
	{"openat2", NR_openat2, {AT_FDCWD, WILD, WILD, 24}},
	{"open_by_handle_at", SYS_open_by_handle_at, {BAD, WILD, 0}},
	{"open_tree", SYS_open_tree, {BAD, WILD, 0x40000000}},
	{"open_tree_attr", NR_open_tree_attr, {BAD, WILD, 0x40000000, 0, 0}},
	{"perf_event_open", SYS_perf_event_open, {WILD, 0, 0, BAD, 0}},
	{"pidfd_getfd", SYS_pidfd_getfd, {BAD, 0, 1}},
	{"pivot_root", SYS_pivot_root, {WILD, WILD}},
	{"process_madvise", SYS_process_madvise, {BAD, WILD, 0, 0, 1}},
	{"process_mrelease", SYS_process_mrelease, {BAD, 1}},
	{"quotactl", SYS_quotactl, {BAD, WILD, 0, 0}},
	{"quotactl_fd", NR_quotactl_fd, {BAD, 0, 0, 0}},
	{"remap_file_pages", SYS_remap_file_pages, {0, 4096, 1, 0, 0}},
	{"reboot", SYS_reboot, {0, 0, 0, 0}},
	{"request_key", SYS_request_key, {WILD, WILD, 0, 0}},
	{"setdomainname", SYS_setdomainname, {WILD, 1}},
	{"set_mempolicy_home_node", NR_set_mempolicy_home_node, {0, 4096, 0, 1}},
	{"sethostname", SYS_sethostname, {WILD, 1}},
	{"setns", SYS_setns, {BAD, 0}},
	{"settimeofday", SYS_settimeofday, {WILD, 0}},
	{"statmount", NR_statmount, {WILD, WILD, 1, BAD}},
	{"swapoff", SYS_swapoff, {WILD}},
	{"swapon", SYS_swapon, {WILD, 0}},
	{"syslog", SYS_syslog, {3, 0, BAD}},
	{"umount2", SYS_umount2, {WILD, 0}},
	{"unshare", SYS_unshare, {0x20000000}},
	{"userfaultfd", SYS_userfaultfd, {0x7ffffff0}},
	{"vhangup", SYS_vhangup, {0}},
#if defined(__x86_64__)
	{"_sysctl", SYS__sysctl, {WILD}},
	{"create_module", SYS_create_module, {WILD, 0}},
	{"get_kernel_syms", SYS_get_kernel_syms, {0}},
	{"ioperm", SYS_ioperm, {BAD, 1, 1}},
	{"iopl", SYS_iopl, {9}},
	{"kexec_file_load", SYS_kexec_file_load, {BAD, BAD, 0, 0, 0xffffff00}},
	{"lookup_dcookie", SYS_lookup_dcookie, {BAD, WILD, 1}},
	{"modify_ldt", SYS_modify_ldt, {0, WILD, 16}},
	{"query_module", SYS_query_module, {WILD, 0, WILD, 0, WILD}},
	{"sysfs", SYS_sysfs, {99, 0, 0}},
	{"uselib", SYS_uselib, {WILD}},
	{"ustat", SYS_ustat, {BAD, WILD}},
	/* Modes with the set-user-id bit: the name is bad, so the kernel's answer is EFAULT. */
	{"chmod:setuid", SYS_chmod, {WILD, 04755}},
	{"creat:setuid", SYS_creat, {WILD, 04755}},
	{"mkdir:setuid", SYS_mkdir, {WILD, 04755}},
	{"mknod:setuid", SYS_mknod, {WILD, 0104755, 0}},
	{"open:setuid", SYS_open, {WILD, O_CREAT | O_WRONLY, 04755}},
#endif
	/* Checked arguments: the descriptor is bad, so that the kernel's own answer is EBADF. */
	{"ioctl:TIOCSTI", SYS_ioctl, {BAD, 0x5412, WILD}},
	{"ioctl:TIOCSTI-high", SYS_ioctl, {BAD, 0x12300005412, WILD}},
	{"ioctl:TIOCLINUX", SYS_ioctl, {BAD, 0x541c, WILD}},
	{"ioctl:TIOCCONS", SYS_ioctl, {BAD, 0x541d, WILD}},
	{"ioctl:TIOCSETD", SYS_ioctl, {BAD, 0x5423, WILD}},
	{"ioctl:KDSKBENT", SYS_ioctl, {BAD, 0x4b47, WILD}},
	{"ioctl:KDSKBSENT", SYS_ioctl, {BAD, 0x4b49, WILD}},
	{"ioctl:KDSKBDIACR", SYS_ioctl, {BAD, 0x4b4b, WILD}},
	{"ioctl:KDSETKEYCODE", SYS_ioctl, {BAD, 0x4b4d, WILD}},
	{"ioctl:KDSKBDIACRUC", SYS_ioctl, {BAD, 0x4bfb, WILD}},
	{"setsockopt:TCP_ULP", SYS_setsockopt, {BAD, 6, 31, WILD, 4}},
	{"setsockopt:TCP_ULP-high", SYS_setsockopt, {BAD, 0x100000006, 0x10000001f, WILD, 4}},
	{"setsockopt:SO_ATTACH_FILTER", SYS_setsockopt, {BAD, 1, 26, WILD, 16}},
	{"setsockopt:SO_ATTACH_BPF", SYS_setsockopt, {BAD, 1, 50, WILD, 4}},
	{"setsockopt:SO_ATTACH_REUSEPORT_CBPF", SYS_setsockopt, {BAD, 1, 51, WILD, 16}},
	{"setsockopt:SO_ATTACH_REUSEPORT_EBPF", SYS_setsockopt, {BAD, 1, 52, WILD, 4}},
	{"setsockopt:TCP_MD5SIG", SYS_setsockopt, {BAD, 6, 14, WILD, 4}},
	{"setsockopt:TCP_MD5SIG_EXT", SYS_setsockopt, {BAD, 6, 32, WILD, 4}},
	{"setsockopt:TCP_AO_ADD_KEY", SYS_setsockopt, {BAD, 6, 38, WILD, 4}},
	{"setsockopt:TCP_REPAIR", SYS_setsockopt, {BAD, 6, 19, WILD, 4}},
	{"setsockopt:IP_OPTIONS", SYS_setsockopt, {BAD, 0, 4, WILD, 4}},
	{"setsockopt:IP_XFRM_POLICY", SYS_setsockopt, {BAD, 0, 17, WILD, 4}},
	{"setsockopt:IPT_SO_SET_REPLACE", SYS_setsockopt, {BAD, 0, 64, WILD, 4}},
	{"setsockopt:IPV6_RTHDR", SYS_setsockopt, {BAD, 41, 57, WILD, 4}},
	{"setsockopt:IPV6_FLOWLABEL_MGR", SYS_setsockopt, {BAD, 41, 32, WILD, 4}},
	{"setsockopt:UDP_ENCAP", SYS_setsockopt, {BAD, 17, 100, WILD, 4}},
	/* Options and flags for which the kernel has another answer than the filter. */
	{"prctl:PR_SET_MM", SYS_prctl, {35, 9999, 0, 0, 1}},
	{"prctl:PR_SET_MM-high", SYS_prctl, {0x100000023, 9999, 0, 0, 1}},
	{"prctl:PR_SCHED_CORE", SYS_prctl, {62, 0, 0x3fffffff, 0, 0}},
	{"prctl:PR_SET_MEMORY_MERGE", SYS_prctl, {67, 1, 0, 0, 0}},
	{"prctl:PR_MCE_KILL_GET", SYS_prctl, {34, 0, 0, 0, 0}},
	{"prctl:PR_TASK_PERF_EVENTS_DISABLE", SYS_prctl, {31, 0, 0, 0, 0}},
	{"prctl:PR_GET_TID_ADDRESS", SYS_prctl, {40, WILD, 0, 0, 0}},
	{"prctl:PR_FUTEX_HASH", SYS_prctl, {78, 2, 0, 0, 0}},
	{"mmap:MAP_HUGETLB", SYS_mmap, {0, 4096, 3, 0x40002, BAD, 0}},
	{"mmap:MAP_HUGETLB-high", SYS_mmap, {0, 4096, 3, 0x100040002, BAD, 0}},
	{"memfd_create:MFD_HUGETLB", SYS_memfd_create, {WILD, 4}},
	{"madvise:MADV_MERGEABLE", SYS_madvise, {0, 0, 12}},
	{"shmget:SHM_HUGETLB", SYS_shmget, {0, 0, 04600}},
	{"fchmodat:setuid", SYS_fchmodat, {AT_FDCWD, WILD, 04755}},
	{"mkdirat:setuid", SYS_mkdirat, {AT_FDCWD, WILD, 04755}},
	{"mknodat:setuid", SYS_mknodat, {AT_FDCWD, WILD, 0104755, 0}},
	{"openat:setuid", SYS_openat, {AT_FDCWD, WILD, O_CREAT | O_WRONLY, 04755}},
	{"openat:setuid-tmpfile", SYS_openat, {AT_FDCWD, WILD, 020000000 | O_DIRECTORY | O_RDWR, 04755}},
	{"openat:setuid-high", SYS_openat, {AT_FDCWD, WILD, 0x100000000L | O_CREAT | O_WRONLY, 04755}},
	{"fchmod:setuid", SYS_fchmod, {BAD, 04755}},
	{"fchmod:setuid-high", SYS_fchmod, {BAD, 0x100000000L | 04755}},
	{"fchmodat2:setuid", NR_fchmodat2, {BAD, WILD, 04755, 0}},
};
/* clang-format on */

static int call(int argc, char **argv) {
	(void)argc;
	for (size_t i = 0; i < PROBE_COUNT(raw_calls); i++) {
		const struct raw_call *raw = &raw_calls[i];
		if (strcmp(raw->name, argv[1]) == 0) {
			const long *a = raw->args;
			return probe_result(
				syscall(raw->number, a[0], a[1], a[2], a[3], a[4], a[5]));
		}
	}
	fprintf(stderr, "probe: no raw call is named %s\n", argv[1]);
	return 2;
}

struct flag {
	const char *name;
	unsigned long bits;
};

static const struct flag namespace_flags[] = {
	{"cgroup", CLONE_NEWCGROUP}, {"ipc", CLONE_NEWIPC},
	{"mnt", CLONE_NEWNS},        {"net", CLONE_NEWNET},
	{"pid", CLONE_NEWPID},       {"time", 0x80},
	{"user", CLONE_NEWUSER},     {"uts", CLONE_NEWUTS},
	{"high", 1UL << 40},         {"fs", CLONE_FS},
	{"files", CLONE_FILES},
};

/* "user,net,high" to bits. */
static unsigned long flags_read(const char *names) {
	unsigned long bits = 0;
	for (const char *at = names; *at != '\0';) {
		size_t len = strcspn(at, ",");
		for (size_t i = 0; i < PROBE_COUNT(namespace_flags); i++) {
			const struct flag *flag = &namespace_flags[i];
			if (strlen(flag->name) == len && memcmp(flag->name, at, len) == 0) {
				bits |= flag->bits;
			}
		}
		at += len + (at[len] == ',');
	}
	return bits;
}

static int unshare_flags(int argc, char **argv) {
	(void)argc;
	return probe_result(syscall(SYS_unshare, flags_read(argv[1])));
}

static int report_child(long pid) {
	if (pid == 0) {
		_exit(0);
	}
	if (pid > 0) {
		waitpid((pid_t)pid, NULL, __WALL);
	}
	return probe_result(pid);
}

static int clone_flags(int argc, char **argv) {
	(void)argc;
	return report_child(syscall(SYS_clone, flags_read(argv[1]) | SIGCHLD, 0, 0, 0, 0));
}

static int clone3_flags(int argc, char **argv) {
	(void)argc;
	uint64_t args[11] = {flags_read(argv[1]), 0, 0, 0, SIGCHLD};
	return report_child(syscall(SYS_clone3, args, sizeof(args)));
}

static int join_namespace(int argc, char **argv) {
	(void)argc;
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	return probe_result(fd < 0 ? -1 : setns(fd, 0));
}

static int change_root(int argc, char **argv) {
	(void)argc;
	return probe_result(chroot(argv[1]));
}

static int mount_tmpfs(int argc, char **argv) {
	(void)argc;
	return probe_result(mount("none", argv[1], "tmpfs", 0, ""));
}

static int unmount(int argc, char **argv) {
	(void)argc;
	return probe_result(umount2(argv[1], MNT_DETACH));
}

static int open_tree_plain(int argc, char **argv) {
	(void)argc;
	return probe_result(syscall(SYS_open_tree, AT_FDCWD, argv[1], 0));
}

/* Asks a namespace for one that holds it, or for the next of its kind. */
static int namespace_ask(int argc, char **argv) {
	(void)argc;
	static const struct flag questions[] = {
		{"userns", 0xb701},    /* NS_GET_USERNS */
		{"parent", 0xb702},    /* NS_GET_PARENT */
		{"next", 0x8010b70b},  /* NS_MNT_GET_NEXT */
		{"first", 0x8010b70c}, /* NS_MNT_GET_PREV */
	};
	char room[64] = {0};
	int fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; fd >= 0 && i < PROBE_COUNT(questions); i++) {
		if (strcmp(questions[i].name, argv[1]) == 0) {
			return probe_result(ioctl(fd, questions[i].bits, room));
		}
	}
	return probe_result(-1);
}

/* struct mnt_id_req; the newest mounts first. */
struct mount_request {
	uint32_t size, spare;
	uint64_t mount, param, namespace;
};

/* How many mounts of a namespace the kernel lists; 0 is one's own. */
static int list_mounts(int argc, char **argv) {
	(void)argc;
	static uint64_t found[4096];
	struct mount_request request = {.size = sizeof(request),
					.mount = UINT64_MAX, /* LSMT_ROOT */
					.namespace = (uint64_t)probe_number(argv[1])};
	long got = syscall(NR_listmount, &request, found, PROBE_COUNT(found), 0);
	printf("mounts=%ld\n", got);
	return probe_result(got);
}

#define CAP_SYS_ADMIN_ 21

/* Puts a capability back, or opens one of the ways in which it would come back. */
static int gain(int argc, char **argv) {
	(void)argc;
	const char *way = argv[1];
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2];
	if (strcmp(way, "securebits") == 0) {
		return probe_result(prctl(PR_SET_SECUREBITS, 0, 0, 0, 0));
	}
	if (strcmp(way, "keepcaps") == 0) {
		return probe_result(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
	}
	if (syscall(SYS_capget, &head, sets) != 0) {
		return probe_result(-1);
	}
	sets[0].inheritable |= 1U << CAP_SYS_ADMIN_;
	long got = syscall(SYS_capset, &head, sets);
	if (strcmp(way, "ambient") == 0) {
		got = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN_, 0, 0);
	}
	return probe_result(got);
}

/* A program for the 32-bit table: exit(7), nothing else. */
static int write_elf32(int argc, char **argv) {
	enum { BASE = 0x08048000 };
	/* mov $1, %eax; mov $7, %ebx; int $0x80 */
	static const struct {
		Elf32_Ehdr header;
		Elf32_Phdr segment;
		unsigned char code[12];
	} image = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
				       EV_CURRENT},
			   .e_type = ET_EXEC,
			   .e_machine = EM_386,
			   .e_version = EV_CURRENT,
			   .e_entry = BASE + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
			   .e_phoff = sizeof(Elf32_Ehdr),
			   .e_ehsize = sizeof(Elf32_Ehdr),
			   .e_phentsize = sizeof(Elf32_Phdr),
			   .e_phnum = 1},
		.segment = {.p_type = PT_LOAD,
			    .p_vaddr = BASE,
			    .p_paddr = BASE,
			    .p_filesz = sizeof image,
			    .p_memsz = sizeof image,
			    .p_flags = PF_R | PF_X,
			    .p_align = 0x1000},
		.code = {0xb8, 1, 0, 0, 0, 0xbb, 7, 0, 0, 0, 0xcd, 0x80},
	};
	(void)argc;
	int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	return probe_result(fd < 0 ? -1 : write(fd, &image, sizeof image));
}

static int set_personality(int argc, char **argv) {
	(void)argc;
	return probe_result(personality((unsigned long)probe_number(argv[1])));
}

static int raw_socket(int argc, char **argv) {
	(void)argc;
	return probe_result(syscall(SYS_socket, probe_number(argv[1]), probe_number(argv[2]),
				    probe_number(argv[3])));
}

static int raw_socketpair(int argc, char **argv) {
	(void)argc;
	int pair[2];
	return probe_result(syscall(SYS_socketpair, probe_number(argv[1]), probe_number(argv[2]),
				    probe_number(argv[3]), pair));
}

#if defined(__x86_64__)
/* The 32-bit entry of a 64-bit process: another table of numbers, which a
 * filter that does not look at the architecture takes for its own. */
static long int80(long number, long a, long b, long c) {
	long answer;
	__asm__ volatile("int $0x80"
			 : "=a"(answer)
			 : "a"(number), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	if (answer < 0) {
		errno = (int)-answer;
		return -1;
	}
	return answer;
}

static int i386_call(int argc, char **argv) {
	(void)argc;
	return probe_result(
		int80(probe_number(argv[1]), probe_number(argv[2]), probe_number(argv[3]), 0));
}

static int x32_getpid(int argc, char **argv) {
	(void)argc;
	(void)argv;
	return probe_result(syscall(0x40000000L | SYS_getpid));
}

static void traced_child(void) {
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) {
		_exit(errno); /* nobody would continue it */
	}
	raise(SIGSTOP);
	long answer = syscall(SYS_getppid);
	int failed = errno;
	/* Judged by its own eyes: the changed call really was refused or made. */
	_exit(answer == 0 ? 0 : failed == 0 ? 255 : failed);
}

/* A tracer swaps an innocent call for unshare(CLONE_NEWUSER) after the filter
 * has seen the innocent one; kernels since 4.8 judge again. */
static int trace_swap(int argc, char **argv) {
	(void)argc;
	(void)argv;
	struct user_regs_struct regs;
	int status = 0;
	pid_t pid = fork();
	if (pid == 0) {
		traced_child();
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status)) {
		errno = WEXITSTATUS(status);
		return probe_result(-1);
	}
	do {
		if (ptrace(PTRACE_SYSCALL, pid, 0, 0) != 0 || waitpid(pid, &status, 0) != pid ||
		    !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, pid, 0, &regs) != 0) {
			return probe_result(-1);
		}
	} while (regs.orig_rax != SYS_getppid);
	regs.orig_rax = SYS_unshare;
	regs.rdi = CLONE_NEWUSER;
	if (ptrace(PTRACE_SETREGS, pid, 0, &regs) != 0 || ptrace(PTRACE_CONT, pid, 0, 0) != 0) {
		return probe_result(-1);
	}
	waitpid(pid, &status, 0);
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
	return probe_result(errno == 0 ? 0 : -1);
}
#else
static int i386_call(int argc, char **argv) {
	(void)argc;
	(void)argv;
	errno = ENOSYS;
	return probe_result(-1);
}

#define x32_getpid i386_call
#define trace_swap i386_call
#endif

/* clang-format off */
static const struct probe rows[] = {
	{"call", 1, call, "NAME"},
	{"unshare", 1, unshare_flags, "FLAG,FLAG"},
	{"clone", 1, clone_flags, "FLAG,FLAG"},
	{"clone3", 1, clone3_flags, "FLAG,FLAG"},
	{"setns", 1, join_namespace, "PATH"},
	{"chroot", 1, change_root, "DIR"},
	{"mount-tmpfs", 1, mount_tmpfs, "DIR"},
	{"unmount", 1, unmount, "DIR"},
	{"open-tree", 1, open_tree_plain, "PATH"},
	{"namespace-ask", 2, namespace_ask, "userns|parent|next|first PATH"},
	{"list-mounts", 1, list_mounts, "NAMESPACE"},
	{"gain", 1, gain, "inheritable|ambient|securebits|keepcaps"},
	{"write-elf32", 1, write_elf32, "PATH"},
	{"personality", 1, set_personality, "NUMBER"},
	{"socket", 3, raw_socket, "FAMILY TYPE PROTOCOL"},
	{"socketpair", 3, raw_socketpair, "FAMILY TYPE PROTOCOL"},
	{"i386", 3, i386_call, "NUMBER A B"},
	{"x32-getpid", 0, x32_getpid, ""},
	{"trace-swap", 0, trace_swap, ""},
};
/* clang-format on */

const struct probe_table probe_kernel = {rows, PROBE_COUNT(rows)};
