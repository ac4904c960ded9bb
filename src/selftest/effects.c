/* SPDX-License-Identifier: Apache-2.0 */
/* Detects whether an attempt on mounts, devices or privileges succeeded.
 *
 * Should:   look at the host where the attempt leaves a trace there (a node, a mode, a mount),
 *           and otherwise at what the kernel showed the test program in /proc.
 * Must not: leave the trace behind.
 * Fails:    closed: a line of /proc/self/status that is missing counts as a success. */
#include "selftest/selftest.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"
#include "data/acts.h"

#include <sys/mount.h>
#include <sys/stat.h>

/* The source of the mount is the token.  Without a mount namespace the mount is the host's. */
bool effect_mounted(struct bait *b, const char *target, const char *out) {
	struct buf text;
	buf_init(&text);
	bool ours = fd_read_file("/proc/self/mountinfo", (size_t)4 * 1024 * 1024, &text) == 0 &&
		    strstr(text.data, b->token) != NULL;
	buf_done(&text);
	if (ours) {
		(void)umount2(target, MNT_DETACH); /* if it fails, nothing-left reports it */
	}
	return ours || strstr(out, b->token) != NULL;
}

bool effect_gained(struct bait *b, const char *target, const char *out) {
	(void)b;
	(void)target;
	return strstr(out, PROBE_GAINED) != NULL;
}

bool effect_node(struct bait *b, const char *target, const char *out) {
	struct stat st;
	bool made = lstat(target, &st) == 0 && S_ISBLK(st.st_mode);
	(void)out;
	bait_reset(b, target);
	return made;
}

bool effect_set_id(struct bait *b, const char *target, const char *out) {
	struct stat st;
	bool set = lstat(target, &st) == 0 && (st.st_mode & S_ISUID) != 0;
	(void)b;
	(void)out;
	(void)chmod(target, 0600); /* if it fails, the next control does */
	return set;
}

bool effect_new_privs(struct bait *b, const char *target, const char *out) {
	(void)b;
	(void)target;
	return strstr(out, "\nNoNewPrivs:\t1\n") == NULL;
}

/* Without CAP_SETPCAP the bounding set stays as it is; no_new_privs makes it useless. */
bool effect_capabilities(struct bait *b, const char *target, const char *out) {
	static const char *const sets[] = {"\nCapInh:\t", "\nCapPrm:\t", "\nCapEff:\t",
					   "\nCapAmb:\t", "\nCapBnd:\t"};
	size_t n = ARRAY_LEN(sets) - (b->bounded ? 0 : 1);
	(void)target;
	for (size_t i = 0; i < n; i++) {
		const char *at = strstr(out, sets[i]);
		if (at == NULL || strtoull(at + strlen(sets[i]), NULL, 16) != 0) {
			return true;
		}
	}
	return false;
}
