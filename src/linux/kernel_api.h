/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel interfaces that Debian 12's headers (6.1) do not have or libc does not
 * wrap.  Thin inline wrappers only: all of them are safe between clone and exec. */
#ifndef CORRAL_LINUX_KERNEL_API_H
#define CORRAL_LINUX_KERNEL_API_H

#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* waitid(2) by pidfd, since 5.4.  libc may have it as an enumerator, which #ifndef does not see. */
#define WAIT_PIDFD 3

/* Landlock access rights, so that the plan supports every ABI on any build host. */
#define LL_FS_EXECUTE (1ULL << 0)
#define LL_FS_WRITE_FILE (1ULL << 1)
#define LL_FS_READ_FILE (1ULL << 2)
#define LL_FS_READ_DIR (1ULL << 3)
#define LL_FS_REMOVE_DIR (1ULL << 4)
#define LL_FS_REMOVE_FILE (1ULL << 5)
#define LL_FS_MAKE_CHAR (1ULL << 6)
#define LL_FS_MAKE_DIR (1ULL << 7)
#define LL_FS_MAKE_REG (1ULL << 8)
#define LL_FS_MAKE_SOCK (1ULL << 9)
#define LL_FS_MAKE_FIFO (1ULL << 10)
#define LL_FS_MAKE_BLOCK (1ULL << 11)
#define LL_FS_MAKE_SYM (1ULL << 12)
#define LL_FS_REFER (1ULL << 13)
#define LL_FS_TRUNCATE (1ULL << 14)
#define LL_FS_IOCTL_DEV (1ULL << 15)
#define LL_FS_RESOLVE_UNIX (1ULL << 16)
#define LL_NET_BIND_TCP (1ULL << 0)
#define LL_NET_CONNECT_TCP (1ULL << 1)
#define LL_SCOPE_ABSTRACT_UNIX (1ULL << 0)
#define LL_SCOPE_SIGNAL (1ULL << 1)
#define LL_CREATE_VERSION (1U << 0)
#define LL_RULE_PATH_BENEATH 1

struct ll_ruleset_attr {
	uint64_t fs, net, scoped;
};

struct ll_path_beneath {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

/* sched_setattr(2)'s struct sched_attr: <linux/sched/types.h> and <sched.h> exclude each other. */
struct sched_attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* statx(2)'s struct statx: <linux/stat.h> and the <sys/stat.h> of musl 1.2.5 exclude each other. */
struct file_time {
	int64_t sec;
	uint32_t nsec;
	int32_t spare;
};

struct file_status {
	uint32_t mask, block_size;
	uint64_t attributes;
	uint32_t links, uid, gid;
	uint16_t mode, spare;
	uint64_t ino, size, blocks, attributes_known;
	struct file_time accessed, born, changed, modified;
	uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
	uint64_t mount;    /* the id of the mount, with FILE_STATUS_MOUNT */
	uint64_t room[13]; /* fields of later kernels */
};

#define FILE_STATUS_BASIC 0x7ffU
#define FILE_STATUS_BORN 0x800U
#define FILE_STATUS_MOUNT 0x1000U
#define FILE_ATTRIBUTE_MOUNT_ROOT 0x2000U

static inline int sys_statx(int dir, const char *path, int flags, unsigned mask,
			    struct file_status *ret) {
	return (int)syscall(SYS_statx, dir, path, flags, mask, ret);
}

/* openat2(2); the mode is for O_CREAT.  The kernel returns EINVAL for flags that open(2) ignores.
 */
static inline int sys_openat2_how(int dir, const char *path, struct open_how how) {
	how.flags |= O_CLOEXEC;
	return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

/* openat2(2), with RESOLVE_* flags. */
static inline int sys_openat2(int dir, const char *path, uint64_t flags, uint64_t resolve) {
	return sys_openat2_how(dir, path, (struct open_how){.flags = flags, .resolve = resolve});
}

/* fchmodat2(2), since Linux 6.6, with AT_* flags; it has the same number on every architecture. */
#define NR_FCHMODAT2 452L
static inline long sys_fchmodat2(int dir, const char *path, unsigned mode, int flags) {
	return syscall(NR_FCHMODAT2, dir, path, mode, flags);
}

static inline long sys_clone3(struct clone_args *args) {
	return syscall(SYS_clone3, args, sizeof *args);
}

#endif
