/* SPDX-License-Identifier: Apache-2.0 */
/* How much freed memory malloc(3) keeps.
 *
 * A process that serves requests frees after each what it allocates for the next one.  glibc gives
 * the top of the heap back to the kernel when 128 KiB of it are free, so each request would clear
 * its pages again. */
#ifndef CORRAL_BASE_HEAP_H
#define CORRAL_BASE_HEAP_H

#include <malloc.h>
#include <stddef.h>

/* Lets the heap keep up to `bytes`, and lets all threads use this one heap. */
static inline void heap_keep(size_t bytes) {
#ifdef M_TRIM_THRESHOLD /* musl has no such setting, and no such threshold */
	/* The process has one thread.  NOLINTBEGIN(concurrency-mt-unsafe) */
	(void)mallopt(M_TRIM_THRESHOLD, (int)bytes); /* fails only for a bad value */
	(void)mallopt(M_TOP_PAD, (int)bytes / 8);
	(void)mallopt(M_ARENA_MAX, 1);
	/* NOLINTEND(concurrency-mt-unsafe) */
#else
	(void)bytes;
#endif
}

#endif
