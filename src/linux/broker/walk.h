/* A path walked name by name, with the caller's eyes. */
#ifndef CORRAL_LINUX_BROKER_WALK_H
#define CORRAL_LINUX_BROKER_WALK_H

#include "linux/broker/call.h"

enum walk_end {
	WALK_FOLLOW,  /* at the file, through a last symlink */
	WALK_STAY,    /* at the file; a last symlink is the file */
	WALK_NAME,    /* at the directory of the last name, whatever that is */
	WALK_MISSING, /* at the directory of the name that is missing; -EEXIST when none is */
};

struct walk_result {
	int fd; /* O_PATH */
	bool has_name, slash, by_proc;
	char name[NAME_MAX + 1];
};

/* 0 or -errno; the result is meaningful for 0 alone. */
int walk_path(const struct call *c, int base, const char *path, enum walk_end end,
	      struct walk_result *ret);

/* Of resolve.c: is it on procfs; its real path; is it the guard's own? */
bool resolved_in_proc(int fd);
int resolved_real_path(const struct broker *b, int fd, char *out, size_t cap);
bool resolved_is_guards(const struct broker *b, int fd);

#endif
