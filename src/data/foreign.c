/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox settings of other products, with the policy key of each: one row a setting.
 *
 * Should:   cover every setting of a section, so that no setting is dropped silently.
 * Must not: map a setting to a looser one.
 * Fails:    closed: a setting without a row is an error, and `policy import` lists it. */
#include "data/foreign.h"

#include "base/auto.h"

#include <string.h>

#define OPEN_MODE "asks for no protection: the mode needs --dangerously-allow-full-access"

const struct foreign_row foreign_rows[] = {
	{"agents.sandbox.mode", "disabled", "mode", "full-access", NULL, OPEN_MODE},
	{"agents.sandbox.mode", "enabled", "mode", "workspace-write", NULL, NULL},
	{"agents.sandbox.writable_paths", NULL, "fs.write", NULL, NULL, NULL},
	{"sandbox.allow_paths.read", NULL, "fs.read", NULL, NULL, NULL},
	{"sandbox.allow_paths.write", NULL, "fs.write", NULL, NULL, NULL},
	{"sandbox.enabled", "false", "mode", "full-access", NULL, OPEN_MODE},
	{"sandbox.enabled", "true", NULL, NULL, NULL, "the default: a run always has a sandbox"},
	{"sandbox.level", "auto", "level", NULL, NULL, NULL},
	{"sandbox.level", "full", "level", NULL, NULL, NULL},
	{"sandbox.level", "full-access", "mode", NULL, NULL, OPEN_MODE},
	{"sandbox.level", "minimal", "level", NULL, NULL, NULL},
	{"sandbox.level", "none", "level", NULL, NULL, "needs --accept-no-sandbox"},
	{"sandbox.level", "read-only", "mode", NULL, NULL, NULL},
	{"sandbox.level", "standard", "level", NULL, NULL, NULL},
	{"sandbox.level", "workspace-write", "mode", NULL, NULL, NULL},
	{"sandbox.max_file_size_bytes", NULL, "limits.file_size", NULL, NULL, NULL},
	{"sandbox.max_open_files", NULL, "limits.open_files", NULL, NULL, NULL},
	{"sandbox.max_output_bytes", NULL, "limits.output", NULL, NULL, NULL},
	{"sandbox.max_processes", NULL, "limits.processes", NULL, NULL, NULL},
	{"sandbox.network", "full", "net.mode", NULL, NULL, NULL},
	{"sandbox.network", "none", "net.mode", NULL, NULL, NULL},
	{"sandbox.network", "restricted", "net.mode", NULL, NULL, NULL},
	{"sandbox.network.policy", "deny", "net.mode", "none", NULL, NULL},
	{"sandbox.network.policy", "proxy", "net.mode", "none", NULL,
	 "only the proxy's own socket is reachable"},
	{"sandbox.network.proxy_socket", NULL, "net.sockets", NULL, NULL, NULL},
	{"sandbox.timeout_secs", NULL, "limits.timeout", NULL, NULL, NULL},
	{"sandbox.workspace", NULL, "workspace", NULL, NULL, NULL},
	{"session_limits.max_cpu_seconds", NULL, "session.cpu_total", NULL, NULL, NULL},
	{"session_limits.max_file_size_mb", NULL, "limits.file_size", NULL, "M", NULL},
	{"session_limits.max_memory_mb", NULL, "limits.memory", NULL, "M", NULL},
	{"session_limits.max_open_files", NULL, "limits.open_files", NULL, NULL, NULL},
	{"session_limits.max_processes", NULL, "limits.processes", NULL, NULL, NULL},
};
const size_t foreign_rows_count = ARRAY_LEN(foreign_rows);

const struct foreign_section foreign_sections[] = {
	{"agents", "[agents.sandbox]",
	 "that sandbox shows all files and the network; here only system files can be read, and "
	 "net.mode is none"},
	{"api_keys", "api_keys", NULL},
	{"commands", "commands",
	 "only listed commands run; a name does not stop an interpreter, make or a hook"},
	{"sandbox", "[sandbox]", NULL},
	{"session_limits", "session_limits", NULL},
};
const size_t foreign_sections_count = ARRAY_LEN(foreign_sections);

const struct foreign_section *foreign_section_by_name(const char *name) {
	for (size_t i = 0; i < foreign_sections_count; i++) {
		if (strcmp(foreign_sections[i].name, name) == 0) {
			return &foreign_sections[i];
		}
	}
	return NULL;
}
