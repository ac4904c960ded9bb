/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves a path component by component, as the kernel would for the caller. */
#ifndef CORRAL_LINUX_BROKER_WALK_H
#define CORRAL_LINUX_BROKER_WALK_H

#include "linux/broker/call.h"

enum walk_end {
	WALK_FOLLOW,  /* at the file; a last symlink is followed */
	WALK_STAY,    /* at the file; a last symlink is not followed */
	WALK_NAME,    /* at the directory of the last component, which need not exist */
	WALK_MISSING, /* at the directory of the missing last component; -EEXIST if it exists */
};

struct walk_result {
	int fd; /* O_PATH */
	bool has_name, slash, by_proc;
	char name[NAME_MAX + 1];
};

/* 0 or -errno; *ret is valid only for 0. */
int walk_path(const struct call *c, int base, const char *path, enum walk_end end,
	      struct walk_result *ret);

/* In resolve.c: turns p, a directory, into a name in it; 0 or -errno. */
struct resolved;
int resolved_add_name(struct resolved *p, const char *name, size_t len, bool slash);

/* In resolve.c: whether the file is on procfs; its real path; whether it is in the guard's own
 * /proc directory. */
bool resolved_in_proc(int fd);
int resolved_real_path(const struct broker *b, int fd, char *out, size_t cap);
bool resolved_is_guards(const struct broker *b, int fd);

#endif
