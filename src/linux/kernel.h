/* Kernel interfaces that Debian 12's headers (6.1) do not have or libc does not
 * wrap.  Thin inline wrappers only: all of them are safe between clone and exec. */
#ifndef CORRAL_LINUX_KERNEL_H
#define CORRAL_LINUX_KERNEL_H

#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Landlock: our own names, so that every ABI can be planned on any build host. */
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

/* Opens by system call, with the kernel's own guards on how the path may resolve. */
static inline int sys_openat2(int dir, const char *path, uint64_t flags, uint64_t resolve) {
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};
	return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

static inline long sys_clone3(struct clone_args *args) {
	return syscall(SYS_clone3, args, sizeof *args);
}

#endif
