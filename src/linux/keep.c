#include "linux/keep.h"

#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

void keep_only(const int *kept, size_t n) {
	unsigned from = 0;

	for (;;) {
		unsigned next = UINT_MAX; /* the smallest that is kept and not passed yet */

		for (size_t i = 0; i < n; i++) {
			if (kept[i] >= 0 && (unsigned)kept[i] >= from && (unsigned)kept[i] < next) {
				next = (unsigned)kept[i];
			}
		}
		if (next > from) {
			/* Since 5.9.  What stays open is closed by the process's end. */
			(void)syscall(SYS_close_range, from, next - 1, 0U);
		}
		if (next == UINT_MAX) {
			return;
		}
		from = next + 1;
	}
}
