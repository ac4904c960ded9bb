/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock domains that processes of the run have entered, and calls under them. */
#ifndef CORRAL_LINUX_BROKER_DOMAIN_H
#define CORRAL_LINUX_BROKER_DOMAIN_H

#include "linux/broker/call.h"

#include <sys/socket.h>

/* Rulesets of one domain: the kernel's own maximum. */
#define DOMAIN_LAYERS 16

/* Finds the domain of the caller, for the calls below: 0 or -errno.  No system call as long as no
 * process has entered one. */
int domain_begin(const struct call *c);
void domain_end(void);

/* The caller is in a domain. */
bool domain_is_set(void);

/* A system call that the guard makes for the caller, under the caller's domain: as syscall(2). */
long domain_call(long nr, const long args[6]);
#define in_domain(nr, ...) domain_call(nr, (const long[6]){__VA_ARGS__})
#define domain_pointer(p) ((long)(intptr_t)(p))

/* Namespaces, root and working directory of the caller; all open. */
struct domain_place {
	int userns, mounts, root, cwd;
};
/* The same at that place, without a domain: 0 or more, or -errno. */
long domain_call_at(const struct domain_place *at, long nr, const long args[6]);

/* -EACCES if the domain forbids a connect to this TCP address; nothing is sent. */
int domain_judge_connect(const struct sockaddr *to, socklen_t len);

/* For a helper process: copies the rulesets' descriptors, which it has to keep; enters the domain
 * itself: 0 or -errno. */
size_t domain_fds(int fds[DOMAIN_LAYERS]);
int domain_enter(void);

/* The caller's user namespace, or -1: the next domain_call() is made in it. */
void domain_lend_userns(int fd);

#endif
