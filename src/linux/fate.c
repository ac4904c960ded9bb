#include "linux/fate.h"

#include <sys/mman.h>

int fate_new(struct fate **ret, struct err *e) {
	void *place = mmap(NULL, sizeof(struct fate), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED) {
		return err_sys(e, "spawn", "cannot map memory that the run's processes share");
	}
	*ret = place; /* the kernel gives it zeroed */
	return 0;
}

struct fate_copy fate_read(const struct fate *f) {
	struct fate_copy copy = {0};

	if (f != NULL) {
		copy.begun = f->begun != 0;
		copy.ended = f->ended != 0;
		copy.finished = f->finished != 0;
		copy.timed_out = f->timed_out != 0;
		copy.status = f->status;
		copy.overrun = (enum overrun)f->overrun;
		copy.overrun_value = f->overrun_value;
	}
	return copy;
}

void fate_free(struct fate *f) {
	if (f != NULL) {
		(void)munmap(f, sizeof *f); /* it is a mapping of this size */
	}
}
