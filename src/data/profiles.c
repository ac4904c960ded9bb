/* SPDX-License-Identifier: Apache-2.0 */
/* The default values of a policy and the profiles, each row with its reason.
 *
 * Should:   hold values as a user would write them, so that one parser reads
 *           tables, files and options.
 * Must not: define types or ranges; those are in data/keys.c.
 * Fails:    closed: a row may hold a value that is not implemented.  The profile is then
 *           refused by name, unless a file or option sets another value. */
#include "data/profiles.h"

#include "base/auto.h"

#include <string.h>

const struct default_row default_rows[] = {
	{KEY_PROFILE, "workspace", NULL, "works for most commands with no configuration"},
	{KEY_MODE, "workspace-write", NULL, "an agent that cannot write cannot work"},
	{KEY_ANY_WORKSPACE, "false", NULL, "HOME as workspace is nearly always a mistake"},
	{KEY_BACKEND, "auto", NULL, "the operating system's own sandbox is the strongest"},
	{KEY_LEVEL, "auto", NULL, "the highest level of this host"},
	{KEY_MIN_LEVEL, "standard", NULL, "a sandbox must confine at least files and network"},
	{KEY_ACCEPT_NO_SANDBOX, "false", NULL, "a run without a sandbox must be explicit"},
	{KEY_NESTED, "false", NULL,
	 "an inner sandbox needs more of the kernel, and few commands have one"},
	{KEY_FS_VIEW, "system", NULL, "programs and libraries, but no personal data"},
	{KEY_FS_PROTECT, "@agents", NULL, "an agent must not change its own instructions"},
	{KEY_FS_PROTECT, "@corral", NULL, "the policy of the next run"},
	{KEY_FS_PROTECT, "@editors", NULL, "opening a project must not run code of a command"},
	{KEY_FS_PROTECT, "@git", NULL, "git runs its hooks and programs of its configuration"},
	{KEY_FS_PROTECT, "@packages", NULL, "package managers run programs of their settings"},
	{KEY_FS_PROTECT, "@startup", NULL, "shells run them at start"},
	{KEY_FS_HOME, "persistent", NULL, "caches stay, so that builds are fast"},
	{KEY_FS_TOOLCHAINS, "true", NULL, "compilers in the home are needed and hold no secrets"},
	{KEY_FS_TOOLS, "view", NULL, "the file tools see what a command sees"},
	{KEY_FS_COW, "false", NULL, "an editor outside and the command see the same files"},
	{KEY_NET_MODE, "none", NULL, "network access must be explicit"},
	{KEY_NET_PROXY, "false", NULL, "the gate works without a proxy setting"},
	{KEY_COMMANDS_DEFAULT, "allow", NULL, "the kernel is the boundary, not the command's name"},
	{KEY_LIMITS_TIMEOUT, "none", "120s", "a person can press ^C, a tool call needs a limit"},
	{KEY_LIMITS_IDLE_TIMEOUT, "none", NULL, "compilers can be silent for long"},
	{KEY_LIMITS_GRACE, "2s", NULL, "long enough to remove a lock file"},
	{KEY_LIMITS_OUTPUT, "none", "1M", "the output for a model must be bounded"},
	{KEY_LIMITS_PROCESSES, "512", NULL, "parallel builds pass, fork bombs do not"},
	{KEY_LIMITS_OPEN_FILES, "4096", NULL, "bundlers and JVMs need thousands"},
	{KEY_LIMITS_FILE_SIZE, "8G", NULL, "large enough for images, too small for a full disk"},
	{KEY_LIMITS_CPU_TIME, "none", NULL, "no default: it depends on the host"},
	{KEY_LIMITS_MEMORY, "none", NULL, "no default: it depends on the host"},
	{KEY_LIMITS_CPUS, "none", NULL, "no default: it depends on the host"},
	{KEY_LIMITS_DISK, "none", NULL, "no default: it depends on the host"},
	{KEY_LIMITS_TMP_SIZE, "1G", NULL,
	 "room for a compiler's temporary files, less than the memory"},
	{KEY_SCAN_ARGS, "warn", "block", "a model must not copy a secret into a command"},
	{KEY_SCAN_OUTPUT, "warn", "redact", "a person sees each byte, a model no secret"},
	{KEY_SCAN_FILES, "block", NULL, "a file that leaves the machine must hold no secret"},
	{KEY_SCAN_NET, "off", NULL, "most requests are TLS, which is not read"},
	{KEY_DENIALS, "changes", NULL, "the broker answers these calls anyway"},
	{KEY_ASK_TIMEOUT, "60s", NULL, "time to read a question and to think about it"},
	{KEY_AUDIT_ENABLED, "true", NULL, "someone will ask later what an agent did"},
	{KEY_AUDIT_REQUIRED, "false", NULL, "a full disk must not stop the work"},
	{KEY_LOCK, "none", NULL, "several agents may work in one tree"},
	{KEY_LOCK_WAIT, "0", NULL, "an error at once names the run that has it"},
	{KEY_SESSION_TIMEOUT, "none", NULL, "a session is the user's, who ends it"},
	{KEY_SESSION_IDLE_TIMEOUT, "none", NULL, "a person may come back tomorrow"},
	{KEY_SESSION_CPU_TOTAL, "none", NULL, "no default: it depends on the work"},
	{KEY_DAEMON_START, "no", NULL, "a process that stays is the user's decision"},
	{KEY_DAEMON_IDLE, "10m", NULL, "the next command of an agent comes within minutes"},
	{KEY_DAEMON_POOL, "0", NULL, "a waiting sandbox is a process that stays"},
};
const size_t default_rows_count = ARRAY_LEN(default_rows);

const struct profile profiles[] = {
	{"aider", "aider as a whole: its settings; add a model with --provider"},
	{"amp", "Amp as a whole: its service, key and settings, registries and remotes"},
	{"campaign", "file tools confined to the workspace, command rules and a deny list"},
	{"claude", "Claude Code as a whole: its API, key and settings, registries and remotes"},
	{"codex", "Codex as a whole: its API, key and settings, registries and remotes"},
	{"coding", "a filtered network for package registries and the repository's remotes"},
	{"copilot", "Copilot CLI as a whole: its API, token and settings, registries and remotes"},
	{"cursor",
	 "cursor-agent as a whole: its service, key and settings, registries and remotes"},
	{"data-analysis", "no network, more room in /tmp, more processes"},
	{"gemini", "Gemini CLI as a whole: its API, key and settings, registries and remotes"},
	{"goose", "goose as a whole: its settings; add a model with --provider"},
	{"host-read", "the whole file system readable, minus credentials, sockets and state"},
	{"minimal", "no toolchains, nothing kept, only listed commands"},
	{"opencode", "OpenCode as a whole: its service, key and settings, registries and remotes"},
	{"readonly", "nothing can be changed but private scratch space"},
	{"strict", "a synthesised minimal root, /workspace, and small limits"},
	{"workspace", "system directories readable, workspace writable, no network"},
};
const size_t profiles_count = ARRAY_LEN(profiles);

const struct profile_row profile_rows[] = {
	{"aider", KEY_PROVIDERS, "aider", "its settings"},
	{"aider", KEY_NET_ALLOW, "@registries", "it installs packages"},
	{"aider", KEY_NET_ALLOW, "@remotes", "it fetches and pushes"},
	{"aider", KEY_ENV_SET, "AIDER_ANALYTICS=false", "no telemetry"},
	{"aider", KEY_ENV_SET, "AIDER_CHECK_UPDATE=false", "an update is for the host"},
	{"aider", KEY_LIMITS_PROCESSES, "2048", "the agent's threads and a parallel build at once"},
	{"amp", KEY_PROVIDERS, "amp", "its service, key and settings"},
	{"amp", KEY_FS_READ, "~/.amp/bin?", "where its installer puts it"},
	{"amp", KEY_NET_ALLOW, "@registries", "it installs packages"},
	{"amp", KEY_NET_ALLOW, "@remotes", "it fetches and pushes"},
	{"amp", KEY_ENV_PASS, "AMP_URL?", "a server of yours; allow its host"},
	{"amp", KEY_ENV_SET, "AMP_SKIP_UPDATE_CHECK=1", "an update is for the host"},
	{"amp", KEY_LIMITS_PROCESSES, "2048", "the agent's threads and a parallel build at once"},
	{"campaign", KEY_FS_DENY, "@sensitive", "keys and passwords as data"},
	{"campaign", KEY_FS_DENY, "@secrets", "names that suggest a secret"},
	{"campaign", KEY_FS_TOOLS, "workspace", "the session works in the campaign alone"},
	{"campaign", KEY_COMMANDS_DEFAULT, "deny", "campaigns list their commands"},
	{"campaign", KEY_COMMANDS, "git description Version control",
	 "the history of the campaign"},
	{"campaign", KEY_COMMANDS, "git blocked push --force", "it rewrites the history of others"},
	{"campaign", KEY_COMMANDS, "git blocked reset --hard", "it discards work"},
	{"campaign", KEY_COMMANDS, "git blocked clean -fd",
	 "it deletes files that git does not have"},
	{"campaign", KEY_COMMANDS, "just description Task runner", "the tasks of the campaign"},
	{"campaign", KEY_COMMANDS, "cat", "reads only"},
	{"campaign", KEY_COMMANDS, "diff", "reads only"},
	{"campaign", KEY_COMMANDS, "grep", "reads only"},
	{"campaign", KEY_COMMANDS, "head", "reads only"},
	{"campaign", KEY_COMMANDS, "ls", "reads only"},
	{"campaign", KEY_COMMANDS, "pwd", "reads only"},
	{"campaign", KEY_COMMANDS, "tail", "reads only"},
	{"campaign", KEY_COMMANDS, "wc", "reads only"},
	{"claude", KEY_PROVIDERS, "claude-code", "its API, key and settings"},
	{"claude", KEY_FS_READ, "~/.local/share/claude?", "where its installer puts it"},
	{"claude", KEY_NET_ALLOW, "@registries", "it installs packages"},
	{"claude", KEY_NET_ALLOW, "@remotes", "it fetches and pushes"},
	{"claude", KEY_ENV_PASS, "ANTHROPIC_BASE_URL?", "a gateway of yours; allow its host"},
	{"claude", KEY_ENV_PASS, "ANTHROPIC_MODEL?", "the model that you chose"},
	{"claude", KEY_ENV_SET, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	 "no telemetry, no error reports"},
	{"claude", KEY_ENV_SET, "DISABLE_AUTOUPDATER=1", "an update is for the host"},
	{"claude", KEY_LIMITS_PROCESSES, "2048",
	 "the agent's threads and a parallel build at once"},
	{"codex", KEY_PROVIDERS, "codex", "its API, key and settings"},
	{"codex", KEY_NET_ALLOW, "@registries", "it installs packages"},
	{"codex", KEY_NET_ALLOW, "@remotes", "it fetches and pushes"},
	{"codex", KEY_ENV_PASS, "OPENAI_BASE_URL?", "a gateway of yours; allow its host"},
	{"codex", KEY_LIMITS_PROCESSES, "2048", "the agent's threads and a parallel build at once"},
	{"coding", KEY_NET_MODE, "filtered", "registries and remotes by name, nothing else"},
	{"coding", KEY_NET_ALLOW, "@registries", "as this host's package managers are set up"},
	{"coding", KEY_NET_ALLOW, "@remotes", "fetch and push of the repository"},
	{"copilot", KEY_PROVIDERS, "copilot", "its API, token and settings"},
	{"copilot", KEY_NET_ALLOW, "@registries", "it installs packages"},
	{"copilot", KEY_NET_ALLOW, "@remotes", "it fetches and pushes"},
	{"copilot", KEY_ENV_PASS, "COPILOT_PROVIDER_BASE_URL?", "a model of yours; allow its host"},
	{"copilot", KEY_ENV_PASS, "COPILOT_PROVIDER_TYPE?", "the protocol of that model"},
	{"copilot", KEY_ENV_PASS, "COPILOT_MODEL?", "the model that you chose"},
	{"copilot", KEY_ENV_SET, "COPILOT_AUTO_UPDATE=false", "an update is for the host"},
	{"copilot", KEY_LIMITS_PROCESSES, "2048",
	 "the agent's threads and a parallel build at once"},
	{"cursor", KEY_PROVIDERS, "cursor", "its service, key and settings"},
	{"cursor", KEY_FS_READ, "~/.local/share/cursor-agent?", "where its installer puts it"},
	{"cursor", KEY_NET_ALLOW, "@registries", "it installs packages"},
	{"cursor", KEY_NET_ALLOW, "@remotes", "it fetches and pushes"},
	{"cursor", KEY_LIMITS_PROCESSES, "2048",
	 "the agent's threads and a parallel build at once"},
	{"data-analysis", KEY_NET_MODE, "none", "data goes in, nothing goes out"},
	{"data-analysis", KEY_LIMITS_PROCESSES, "1024", "numeric libraries start a thread a core"},
	{"data-analysis", KEY_LIMITS_TMP_SIZE, "4G", "intermediate tables are large"},
	{"gemini", KEY_PROVIDERS, "gemini", "its API, key and settings"},
	{"gemini", KEY_NET_ALLOW, "@registries", "it installs packages"},
	{"gemini", KEY_NET_ALLOW, "@remotes", "it fetches and pushes"},
	{"gemini", KEY_ENV_PASS, "GEMINI_MODEL?", "the model that you chose"},
	{"gemini", KEY_ENV_PASS, "GOOGLE_GEMINI_BASE_URL?", "a gateway of yours; allow its host"},
	{"gemini", KEY_ENV_SET, "GEMINI_SANDBOX=false", "its own sandbox would need a container"},
	{"gemini", KEY_ENV_SET, "GEMINI_TELEMETRY_ENABLED=false", "no telemetry"},
	{"gemini", KEY_ENV_SET, "NO_BROWSER=true",
	 "a login prints its URL: there is no browser inside"},
	{"gemini", KEY_LIMITS_PROCESSES, "2048",
	 "the agent's threads and a parallel build at once"},
	{"goose", KEY_PROVIDERS, "goose", "its settings"},
	{"goose", KEY_NET_ALLOW, "@registries", "it installs packages"},
	{"goose", KEY_NET_ALLOW, "@remotes", "it fetches and pushes"},
	{"goose", KEY_ENV_SET, "GOOSE_TELEMETRY_OFF=1", "no telemetry"},
	{"goose", KEY_LIMITS_PROCESSES, "2048", "the agent's threads and a parallel build at once"},
	{"host-read", KEY_FS_VIEW, "host", "tools that look all over the machine"},
	{"minimal", KEY_FS_HOME, "ephemeral", "no state between runs"},
	{"minimal", KEY_FS_TOOLCHAINS, "false", "only the system's programs"},
	{"minimal", KEY_COMMANDS_DEFAULT, "deny", "only listed commands"},
	{"minimal", KEY_COMMANDS, "cat", "reads only"},
	{"minimal", KEY_COMMANDS, "cut", "reads only"},
	{"minimal", KEY_COMMANDS, "date", "reads only"},
	{"minimal", KEY_COMMANDS, "diff", "reads only"},
	{"minimal", KEY_COMMANDS, "echo", "prints"},
	{"minimal", KEY_COMMANDS, "false", "does nothing"},
	{"minimal", KEY_COMMANDS, "grep", "reads only"},
	{"minimal", KEY_COMMANDS, "head", "reads only"},
	{"minimal", KEY_COMMANDS, "ls", "reads only"},
	{"minimal", KEY_COMMANDS, "printf", "prints"},
	{"minimal", KEY_COMMANDS, "pwd", "reads only"},
	{"minimal", KEY_COMMANDS, "sha256sum", "reads only"},
	{"minimal", KEY_COMMANDS, "stat", "reads only"},
	{"minimal", KEY_COMMANDS, "tail", "reads only"},
	{"minimal", KEY_COMMANDS, "tr", "reads only"},
	{"minimal", KEY_COMMANDS, "true", "does nothing"},
	{"minimal", KEY_COMMANDS, "uniq", "reads only"},
	{"minimal", KEY_COMMANDS, "wc", "reads only"},
	{"opencode", KEY_PROVIDERS, "opencode", "its service, key and settings"},
	{"opencode", KEY_FS_READ, "~/.opencode/bin?", "where its installer puts it"},
	{"opencode", KEY_NET_ALLOW, "@registries", "it installs packages"},
	{"opencode", KEY_NET_ALLOW, "@remotes", "it fetches and pushes"},
	{"opencode", KEY_ENV_SET, "OPENCODE_DISABLE_AUTOUPDATE=1", "an update is for the host"},
	{"opencode", KEY_LIMITS_PROCESSES, "2048",
	 "the agent's threads and a parallel build at once"},
	{"readonly", KEY_MODE, "read-only", "the purpose of the profile"},
	{"strict", KEY_REQUIRE, "pid,fs.read,fs.write,net",
	 "the run must fail if these are not enforced"},
	{"strict", KEY_FS_VIEW, "minimal", "a root made for the run"},
	{"strict", KEY_FS_DENY, "@sensitive", "keys and passwords as data"},
	{"strict", KEY_FS_DENY, "@secrets",
	 "names that suggest a secret; except a file with \"!\""},
	{"strict", KEY_FS_HOME, "ephemeral", "no state between runs"},
	{"strict", KEY_FS_TOOLCHAINS, "false", "the caller's home stays hidden"},
	{"strict", KEY_FS_WORKSPACE_AT, "/workspace", "the host's paths stay hidden"},
	{"strict", KEY_ENV_PATH, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	 "the same on every host"},
	{"strict", KEY_LIMITS_TIMEOUT, "120s", "small limits are part of the profile"},
	{"strict", KEY_LIMITS_OUTPUT, "1M", "small limits are part of the profile"},
	{"strict", KEY_LIMITS_PROCESSES, "64", "small limits are part of the profile"},
	{"strict", KEY_LIMITS_OPEN_FILES, "256", "small limits are part of the profile"},
	{"strict", KEY_LIMITS_FILE_SIZE, "50M", "small limits are part of the profile"},
	{"strict", KEY_LIMITS_TMP_SIZE, "256M", "small limits are part of the profile"},
};
const size_t profile_rows_count = ARRAY_LEN(profile_rows);

const struct profile *profile_by_name(const char *name) {
	for (size_t i = 0; i < profiles_count; i++) {
		if (strcmp(profiles[i].name, name) == 0) {
			return &profiles[i];
		}
	}
	return NULL;
}

static bool is_refused(const struct key *k, const char *value) {
	for (const char *const *l = k->type == TYPE_ENUM ? k->later : NULL; l != NULL && *l != NULL;
	     l++) {
		if (strcmp(*l, value) == 0) {
			return true;
		}
	}
	return false;
}

bool profile_is_usable(const char *name) {
	for (size_t i = 0; i < profile_rows_count; i++) {
		const struct profile_row *row = &profile_rows[i];
		if (strcmp(row->profile, name) == 0 && is_refused(&keys[row->key], row->value)) {
			return false;
		}
	}
	return true;
}
