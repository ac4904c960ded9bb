/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the runtime directory: XDG_RUNTIME_DIR, /run/user/UID, or for root /run.
 *
 * Should:   give daemon and clients the same name.
 * Must not: create or check it.
 * Fails:    with -1, if the user has no such directory. */
#include "base/runtime_dir.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_directory(const char *path) {
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int runtime_dir_find(const char *xdg, char *ret, size_t cap) {
	char login[64];

	(void)snprintf(login, sizeof login, "/run/user/%u", (unsigned)geteuid()); /* it fits */
	int n = -1;
	if (xdg != NULL && xdg[0] == '/') {
		n = snprintf(ret, cap, "%s/corral", xdg);
	} else if (is_directory(login)) {
		n = snprintf(ret, cap, "%s/corral", login);
	} else if (geteuid() == 0) {
		n = snprintf(ret, cap, "/run/corral");
	}
	return n >= 0 && (size_t)n < cap ? 0 : -1;
}
