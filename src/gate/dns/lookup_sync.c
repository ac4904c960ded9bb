/* SPDX-License-Identifier: Apache-2.0 */
/* A blocking look-up with the gate's resolver, for other processes (`corral check url`).
 *
 * Should:   resolve as the gate does, so that a check has the gate's result.
 * Must not: run in the gate, which neither allocates nor blocks; leak a descriptor or a mapping.
 * Fails:    closed: an error is never an empty answer. */
#include "gate/dns/lookup_sync.h"

#include "base/auto.h"
#include "base/fd.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define FILE_MAX ((size_t)16 * 1024 * 1024) /* the longest hosts files have a few million bytes */

struct lookup {
	struct loop loop;
	struct resolver_wait wait;
	struct resolved *ret;
};

static void found(struct resolver_wait *w, const struct resolved *f) {
	struct lookup *l = (struct lookup *)(void *)((char *)w - offsetof(struct lookup, wait));
	*l->ret = *f;
	l->ret = NULL;
	l->loop.over = true;
}

/* A missing file counts as empty. */
static int read_file(const char *path, struct buf *out) {
	buf_init(out);
	if (fd_read_file(path, FILE_MAX, out) != 0) {
		int why = errno;
		buf_done(out);
		buf_init(out);
		return why == ENOENT ? 0 : -why;
	}
	return 0;
}

static const char *text_of(const struct buf *b) {
	return b->data == NULL ? "" : b->data;
}

static int resolve(struct lookup *l, struct resolver *r, const char *name) {
	struct buf conf, hosts;
	int status = loop_init(&l->loop);
	if (status != 0) {
		return status;
	}
	status = read_file("/etc/resolv.conf", &conf);
	int hosts_status = read_file("/etc/hosts", &hosts);
	status = status != 0 ? status : hosts_status;
	if (status == 0) {
		resolver_init(r, &l->loop, text_of(&conf), text_of(&hosts));
		l->wait.found = found;
		resolver_lookup(r, name, &l->wait);
		loop_run(&l->loop);
		status = l->ret == NULL ? 0 : -EIO; /* epoll_wait(2) failed */
	}
	buf_done(&conf);
	buf_done(&hosts);
	drop_fd(&l->loop.epoll);
	return status;
}

int lookup_sync(const char *name, struct resolved *ret) {
	struct hostname host;
	if (hostname_parse(name, strlen(name), &host) != HOST_NAME) {
		return -EINVAL;
	}
	size_t size = sizeof(struct lookup) + resolver_size();
	void *place = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED) {
		return -errno;
	}
	struct lookup *l = place;
	l->ret = ret;
	int status = resolve(l, (struct resolver *)(void *)(l + 1), host.name);
	(void)munmap(place, size); /* cannot fail: a mapping of this size */
	return status;
}
