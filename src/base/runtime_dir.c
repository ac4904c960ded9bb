/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the runtime directory: XDG_RUNTIME_DIR, /run/user/UID, or for root /run.
 *
 * Should:   give daemon and clients the same name.
 * Must not: create or check it.
 * Fails:    with -1, if the user has no such directory. */
#include "base/runtime_dir.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_directory(const char *path) {
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Without snprintf(3), whose pages a client of a session would read for this alone. */
static int below(const char *dir, char *ret, size_t cap) {
	static const char name[] = "/corral";
	size_t len = strlen(dir);

	if (len + sizeof name > cap) {
		return -1;
	}
	memcpy(ret, dir, len + 1);
	memcpy(ret + len, name, sizeof name);
	return 0;
}

int runtime_dir_find(const char *xdg, char *ret, size_t cap) {
	char login[64];

	if (xdg != NULL && xdg[0] == '/') {
		return below(xdg, ret, cap);
	}
	(void)snprintf(login, sizeof login, "/run/user/%u", (unsigned)geteuid()); /* it fits */
	if (is_directory(login)) {
		return below(login, ret, cap);
	}
	return geteuid() == 0 ? below("/run", ret, cap) : -1;
}
