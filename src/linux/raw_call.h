/* SPDX-License-Identifier: Apache-2.0 */
/* System calls without errno, for processes that share their memory while both run.
 *
 * The zygote and its leaders (linux/warm.h) share one memory and one thread-local storage, so
 * errno of one would overwrite that of another. */
#ifndef CORRAL_LINUX_RAW_CALL_H
#define CORRAL_LINUX_RAW_CALL_H

#include <linux/sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
static inline long raw_call6(long nr, const long a[6]) {
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	register long r9 __asm__("r9") = a[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
static inline long raw_call6(long nr, const long a[6]) {
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a[0];
	register long x1 __asm__("x1") = a[1];
	register long x2 __asm__("x2") = a[2];
	register long x3 __asm__("x3") = a[3];
	register long x4 __asm__("x4") = a[4];
	register long x5 __asm__("x5") = a[5];

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "no system call instruction is known for this architecture"
#endif

/* clone3(2) for a process that shares this memory while both run, on the stack of the arguments.
 * main must not return.  Returns the pid, or -errno. */
#if defined(__x86_64__)
static inline long raw_clone3(const struct clone_args *args, size_t size, void (*main)(void *),
			      void *arg) {
	register void (*fn)(void *) __asm__("r12") = main;
	register void *own __asm__("r13") = arg;
	long result;

	__asm__ volatile("syscall\n\t"
			 "testq %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xorl %%ebp, %%ebp\n\t"
			 "movq %%r13, %%rdi\n\t"
			 "callq *%%r12\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(result)
			 : "a"(SYS_clone3), "D"(args), "S"(size), "r"(fn), "r"(own)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
static inline long raw_clone3(const struct clone_args *args, size_t size, void (*main)(void *),
			      void *arg) {
	register void (*fn)(void *) __asm__("x9") = main;
	register void *own __asm__("x10") = arg;
	register long x8 __asm__("x8") = SYS_clone3;
	register long x0 __asm__("x0") = (long)(intptr_t)args;
	register long x1 __asm__("x1") = (long)size;

	__asm__ volatile("svc 0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "mov x30, xzr\n\t"
			 "mov x0, x10\n\t"
			 "blr x9\n\t"
			 "brk #1\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(fn), "r"(own)
			 : "memory");
	return x0;
}
#endif

/* The result, or -errno.  Missing arguments are 0. */
#define raw_call(nr, ...) raw_call6(nr, (const long[6]){__VA_ARGS__})

#define raw_pointer(p) ((long)(intptr_t)(p))

#endif
