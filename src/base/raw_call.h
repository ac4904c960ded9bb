/* SPDX-License-Identifier: Apache-2.0 */
/* System calls without errno, for processes that share their memory while both run.
 *
 * The zygote and its leaders (linux/warm.h) share one memory and one thread-local storage, so
 * errno of one would overwrite that of another. */
#ifndef CORRAL_BASE_RAW_CALL_H
#define CORRAL_BASE_RAW_CALL_H

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
#elif defined(__riscv)
static inline long raw_call6(long nr, const long a[6]) {
	register long a7 __asm__("a7") = nr;
	register long a0 __asm__("a0") = a[0];
	register long a1 __asm__("a1") = a[1];
	register long a2 __asm__("a2") = a[2];
	register long a3 __asm__("a3") = a[3];
	register long a4 __asm__("a4") = a[4];
	register long a5 __asm__("a5") = a[5];

	__asm__ volatile("ecall"
			 : "+r"(a0)
			 : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
			 : "memory");
	return a0;
}
#else
#error "no system call instruction is known for this architecture"
#endif

/* The result, or -errno.  Missing arguments are 0. */
#define raw_call(nr, ...) raw_call6(nr, (const long[6]){__VA_ARGS__})

#define raw_pointer(p) ((long)(intptr_t)(p))

/* clone(2) of a process that runs main(arg) on another stack, whose end is given, and must not
 * return.  Its pid, which is also stored at the int whose address is pid_at, or -errno: libc's
 * clone() sets errno. */
static inline long raw_clone(long flags, void *stack_end, long pid_at, void (*main)(void *arg),
			     void *arg) {
#if defined(__x86_64__)
	register long r10 __asm__("r10") = 0;
	long result;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %[arg], %%rdi\n\t"
			 "call *%[main]\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(result)
			 : "a"(SYS_clone), "D"(flags), "S"(stack_end), "d"(pid_at),
			   "r"(r10), [main] "r"(main), [arg] "r"(arg)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = SYS_clone;
	register long x0 __asm__("x0") = flags;
	register void *x1 __asm__("x1") = stack_end;
	register long x2 __asm__("x2") = pid_at;
	register long x3 __asm__("x3") = 0;

	__asm__ volatile("svc 0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "mov x0, %[arg]\n\t"
			 "blr %[main]\n\t"
			 "brk 0\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), [main] "r"(main), [arg] "r"(arg)
			 : "memory");
	return x0;
#else
	register long a7 __asm__("a7") = SYS_clone;
	register long a0 __asm__("a0") = flags;
	register void *a1 __asm__("a1") = stack_end;
	register long a2 __asm__("a2") = pid_at;
	register long a3 __asm__("a3") = 0;

	__asm__ volatile("ecall\n\t"
			 "bnez a0, 1f\n\t"
			 "mv a0, %[arg]\n\t"
			 "jalr %[main]\n\t"
			 "ebreak\n"
			 "1:"
			 : "+r"(a0)
			 : "r"(a7), "r"(a1), "r"(a2), "r"(a3), [main] "r"(main), [arg] "r"(arg)
			 : "memory");
	return a0;
#endif
}

#endif
