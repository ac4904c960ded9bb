/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out which vector instructions this processor has, once in a process.
 *
 * Not __builtin_cpu_supports(): libgcc then runs CPUID in a constructor, at the start of every
 * program that contains the scanner.  CPUID traps in a virtual machine, and a run of a command
 * that prints nothing scans nothing.
 *
 * Should:   report a feature only if the kernel saves its registers as well (XGETBV).
 * Must not: run before the first scan.
 * Fails:    to the portable code. */
#include "leak/processor.h"

#include <stdatomic.h>
#include <stdint.h>

#ifdef __x86_64__
#include <cpuid.h>

#define LEAF_FEATURES 1
#define LEAF_EXTENDED 7
#define XCR0_AVX 0x6U     /* SSE and AVX state */
#define XCR0_AVX512 0xe6U /* and opmask, upper ZMM, ZMM16 to ZMM31 */

/* XCR0: the state that the kernel saves when it switches tasks. */
static uint32_t enabled_state(void) {
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

static unsigned read_features(void) {
	unsigned a, b, c, d, popcnt, found = PROCESSOR_KNOWN;

	if (__get_cpuid(LEAF_FEATURES, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) {
		return found;
	}
	popcnt = c & bit_POPCNT;
	uint32_t state = enabled_state();
	if ((state & XCR0_AVX) != XCR0_AVX || popcnt == 0 ||
	    __get_cpuid_count(LEAF_EXTENDED, 0, &a, &b, &c, &d) == 0 || (b & bit_AVX2) == 0 ||
	    (b & bit_BMI) == 0) {
		return found;
	}
	found |= PROCESSOR_AVX2;
	if ((state & XCR0_AVX512) == XCR0_AVX512 && (b & bit_AVX512BW) != 0 &&
	    (c & bit_AVX512VBMI) != 0 && (c & bit_AVX512VBMI2) != 0) {
		found |= PROCESSOR_AVX512;
	}
	return found;
}
#else
static unsigned read_features(void) {
	return PROCESSOR_KNOWN;
}
#endif

unsigned processor_features(void) {
	static _Atomic unsigned known; /* threads that meet here write the same value */
	unsigned found = atomic_load_explicit(&known, memory_order_relaxed);

	if (found == 0) {
		found = read_features();
		atomic_store_explicit(&known, found, memory_order_relaxed);
	}
	return found;
}
