/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the mount points that a nested sandbox needs for protected names.
 *
 * Sandboxes protect names such as .mcp.json in the workspace as Corral does, and where such a name
 * is missing they create an empty file or directory and mount over it.  Corral's own rule forbids
 * to create the name.  For a process in namespaces of its own the broker creates it, empty, and
 * gives out no descriptor that can write.  The rule is in force from then on: no process of the run
 * can write to it, rename it, or create a file in it.  The guard removes it after the run if it is
 * still empty.
 *
 * Should:   create nothing but empty regular files and directories, and remove them again.
 * Must not: create a name that fs.deny covers, or one in a directory that is protected itself.
 * Fails:    closed: with more than PLACEHOLDERS_MAX the verdict stays a refusal.  A guard that is
 *           killed leaves the empty files behind. */
#include "linux/broker/placeholder.h"

#include "base/auto.h"
#include "base/fd.h"
#include "linux/broker/view.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>

/* The nested sandboxes that we know create a dozen. */
#define PLACEHOLDERS_MAX 64

#define CAP_DIGITS 16 /* of a set in /proc/PID/status */

struct placeholder {
	int dir; /* O_PATH */
	dev_t dev;
	ino_t ino;
	char name[NAME_MAX + 1];
};

/* Not in struct broker: a run without nested sandboxes does not touch these pages. */
static struct placeholder made[PLACEHOLDERS_MAX];
static size_t nmade;

/* The caller can mount: it has CAP_SYS_ADMIN in its user namespace.  Sandboxes drop their
 * capabilities before they start their command. */
static bool can_mount(const struct call *c) {
	static const char field[] = "\nCapEff:\t";
	char text[2048];
	struct text path = {.len = 0};

	caller_text_number(&path, (uint64_t)caller_entry(c));
	caller_text_add(&path, "/status");
	auto_fd fd = openat(c->b->proc, path.s, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	text[n < 0 ? 0 : n] = '\0';
	const char *at = strstr(text, field);
	if (at == NULL || strlen(at) < sizeof field - 1 + CAP_DIGITS) {
		return false;
	}
	char digit = at[sizeof field - 1 + CAP_DIGITS - 1 - CAP_SYS_ADMIN / 4];
	int value = digit <= '9' ? digit - '0' : digit - 'a' + 10;
	return (value >> CAP_SYS_ADMIN % 4 & 1) != 0;
}

bool placeholder_is_allowed(const struct call *c, const struct resolved *p, int refusal) {
	const struct rules *rules = &c->b->plan->rules;

	if (refusal != -EROFS || !view_is_foreign(c->b) || p->inner || !p->has_name ||
	    strlen(p->name) > NAME_MAX || nmade == PLACEHOLDERS_MAX) {
		return false;
	}
	struct ruling ruling = rules_judge(rules, p->real);
	return ruling.deny == NULL && ruling.protect != NULL &&
	       rules_judge(rules, p->dir).protect == NULL && can_mount(c);
}

bool placeholder_is(const struct resolved *p) {
	struct stat st;

	if (nmade == 0 || !p->has_name ||
	    syscall(SYS_newfstatat, p->fd, p->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return false;
	}
	for (size_t i = 0; i < nmade; i++) {
		if (made[i].dev == st.st_dev && made[i].ino == st.st_ino) {
			return S_ISDIR(st.st_mode) || st.st_size == 0;
		}
	}
	return false;
}

void placeholder_made(const struct resolved *p) {
	struct placeholder *one = &made[nmade];
	struct stat st;

	if (syscall(SYS_newfstatat, p->fd, p->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return;
	}
	one->dir = fd_duplicate(p->fd, 0);
	one->dev = st.st_dev;
	one->ino = st.st_ino;
	memcpy(one->name, p->name, strlen(p->name) + 1);
	if (one->name[strlen(one->name) - 1] == '/') {
		one->name[strlen(one->name) - 1] = '\0';
	}
	nmade += one->dir >= 0 ? 1 : 0;
}

/* rmdir(2) fails for a directory that is not empty. */
static void remove_one(const struct placeholder *one) {
	struct stat st;

	if (syscall(SYS_newfstatat, one->dir, one->name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    st.st_dev != one->dev || st.st_ino != one->ino ||
	    (!S_ISDIR(st.st_mode) && st.st_size != 0)) {
		return;
	}
	(void)syscall(SYS_unlinkat, one->dir, one->name,
		      S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0); /* what cannot be removed stays */
}

void placeholder_remove_all(void) {
	while (nmade > 0) {
		nmade--; /* the last first: one may be in another */
		remove_one(&made[nmade]);
		drop_fd(&made[nmade].dir);
	}
}
