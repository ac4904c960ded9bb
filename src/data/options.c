/* SPDX-License-Identifier: Apache-2.0 */
/* The table of command-line options, grouped as --help shows them.
 *
 * Should:   hold one row an option; the parser, --help, the completions and the check of the
 *           manual read it.
 * Must not: check the value of an option that sets a policy key: the key's row in data/keys.c
 *           has the type and the range.
 * Fails:    closed: an option without a row is a usage error. */
#include "data/options.h"

#include "base/auto.h"

#define KEY(k) .id = OPTION_SETS_KEY, .key = (k)
#define ALL .verbs = FOR_ALL_CHECK
#define FILES .group = GROUP_FILES, ALL
#define BOUNDARY .group = GROUP_BOUNDARY, ALL
#define NETWORK .group = GROUP_NETWORK, ALL
#define ENVIRONMENT .group = GROUP_ENV, ALL
#define SECRETS .group = GROUP_SECRETS, ALL
#define LIMITS .group = GROUP_LIMITS, ALL
/* The other verbs with a policy give no secret to anything. */
#define WITH_SECRETS                                                                               \
	(FOR_RUN | FOR_SHELL | FOR_EXPLAIN | FOR_POLICY | FOR_LEARN | FOR_MCP | FOR_SESSION_CREATE)

const char *const option_groups[GROUP_COUNT] = {
	[GROUP_FILES] = "Files",     [GROUP_BOUNDARY] = "Boundary", [GROUP_NETWORK] = "Network",
	[GROUP_ENV] = "Environment", [GROUP_SECRETS] = "Secrets",   [GROUP_LIMITS] = "Limits",
	[GROUP_RUN] = "This call",
};

static const char *const expose_choices[] = {"env", "file", "never", NULL};
static const char *const verdict_choices[] = {"allowed",  "denied",  "failed", "warned",
					      "redacted", "blocked", "killed", NULL};
static const char *const format_choices[] = {"otlp", "otlp-traces", "ocsf", NULL};
static const char *const key_choices[] = {"file", "keyring", "passphrase", NULL};
static const char *const tty_choices[] = {"auto", "always", "never", NULL};

/* clang-format off */
const struct option_row options[] = {
	{"workspace", 'w', "DIR", KEY(KEY_WORKSPACE), FILES, .help = "the directory the command works in (default: here)"},
	{"any-workspace", 0, NULL, KEY(KEY_ANY_WORKSPACE), .fixed = "true", FILES, .help = "accept HOME or a system directory as workspace"},
	{"mode", 0, "MODE", KEY(KEY_MODE), FILES, .help = "workspace-write (default), read-only, or full-access"},
	{"read", 'r', "PATH[:DEST]", KEY(KEY_FS_READ), FILES, .help = "one more readable path, shown at DEST; PATH? if it may be missing"},
	{"write", 0, "PATH", KEY(KEY_FS_WRITE), .group = GROUP_FILES, .verbs = FOR_ALL, .help = "one more writable path"},
	{"deny", 0, "PATH", KEY(KEY_FS_DENY), FILES, .help = "hide a path or pattern: secrets, '*.key', @sensitive, '!a.key'"},
	{"protect", 0, "PATH", KEY(KEY_FS_PROTECT), FILES, .help = "make a path or pattern read-only, also if it does not exist"},
	{"cow", 0, NULL, KEY(KEY_FS_COW), .fixed = "true", FILES, .help = "copy-on-write workspace: review with corral diff, corral apply"},
	{"home", 0, "KIND", KEY(KEY_FS_HOME), FILES, .help = "HOME: persistent (default), ephemeral, or workspace"},
	{"no-toolchains", 0, NULL, KEY(KEY_FS_TOOLCHAINS), .fixed = "false", FILES, .help = "do not mount the toolchains of your HOME"},
	{"agent-dir", 0, "DIR", KEY(KEY_FS_AGENT), FILES, .help = "a directory that appears read-only at /agent"},
	{"chdir", 0, "DIR", KEY(KEY_CHDIR), FILES, .help = "start the command in DIR"},

	{"uid", 0, "N", KEY(KEY_UID), BOUNDARY, .help = "the user id inside (default: yours)"},
	{"gid", 0, "N", KEY(KEY_GID), BOUNDARY, .help = "the group id inside (default: yours)"},
	{"profile", 0, "NAME", KEY(KEY_PROFILE), BOUNDARY, .help = "start from a profile:"},
	{"agent", 0, "ID", KEY(KEY_ENV_AGENT), BOUNDARY, .help = "the agent: its table [agent.ID] narrows the policy; its secrets"},
	{"skill", 0, "PATH", KEY(KEY_SKILL), BOUNDARY, .help = "give the command only what this skill.toml, or its DIR, requests"},
	{"backend", 0, "NAME", KEY(KEY_BACKEND), BOUNDARY, .help = "what enforces: auto (default), linux, docker, podman"},
	{"image", 0, "DIGEST", KEY(KEY_DOCKER_IMAGE), BOUNDARY, .help = "the image of docker and podman: NAME@sha256:... or sha256:..."},
	{"level", 0, "LEVEL", KEY(KEY_LEVEL), BOUNDARY, .help = "the level of enforcement to use (default: auto, the highest)"},
	{"min-level", 0, "LEVEL", KEY(KEY_MIN_LEVEL), BOUNDARY, .help = "refuse to run below this level"},
	{"require", 0, "NAME[,NAME]", KEY(KEY_REQUIRE), .commas = true, BOUNDARY, .help = "refuse to run unless these guarantees are enforced"},
	{"allow-degraded", 0, "NAME[,NAME]", KEY(KEY_ALLOW_DEGRADED), .commas = true, BOUNDARY, .help = "run although this host cannot give these guarantees"},
	{"accept-no-sandbox", 0, NULL, KEY(KEY_ACCEPT_NO_SANDBOX), .fixed = "true", BOUNDARY, .help = "accept --level none: only limits are enforced"},
	{"dangerously-allow-full-access", 0, NULL, KEY(KEY_ACCEPT_FULL_ACCESS), .fixed = ACCEPTED_NOW, BOUNDARY, .help = "accept --mode full-access: NOTHING is protected"},
	{"allow-nested", 0, NULL, KEY(KEY_NESTED), .fixed = "true", BOUNDARY, .help = "let the command start a sandbox of its own inside"},
	{"allow-command", 0, "NAME", KEY(KEY_COMMANDS), BOUNDARY, .help = "list a command, for commands.default = deny"},
	{"denials", 0, "WHICH", KEY(KEY_DENIALS), BOUNDARY, .help = "refusals that the result lists: changes (default), all, or off"},
	{"lock", 0, NULL, KEY(KEY_LOCK), .fixed = "workspace", BOUNDARY, .help = "have the workspace alone, among runs and sessions with --lock"},
	{"lock-wait", 0, "TIME", KEY(KEY_LOCK_WAIT), BOUNDARY, .help = "wait this long for the lock: 30, 2m, none (no limit)"},
	{"policy", 0, "FILE", .id = OPTION_POLICY_FILE, BOUNDARY, .help = "a policy file; - for stdin, fd:N for a descriptor"},
	{"no-config", 0, NULL, .id = OPTION_NO_CONFIG, BOUNDARY, .help = "ignore user and project policy files; the floor of /etc holds"},
	{"set", 0, "KEY=VALUE", .id = OPTION_SET, BOUNDARY, .help = "set a policy key; for lists, one element per option"},

	{"net", 0, "MODE", KEY(KEY_NET_MODE), NETWORK, .help = "the network: none (default), filtered, restricted or full"},
	{"allow-host", 0, "HOST[:PORT]", KEY(KEY_NET_ALLOW), NETWORK, .help = "allow HOST: a name, *.name, address, network, @registries, @remotes"},
	{"deny-host", 0, "HOST[:PORT]", KEY(KEY_NET_DENY), NETWORK, .help = "deny HOST, also if another rule allows it"},
	{"allow-private", 0, "NETWORK", KEY(KEY_NET_PRIVATE), NETWORK, .help = "let allowed names resolve to this private network: 10.0.0.0/8"},
	{"proxy", 0, NULL, KEY(KEY_NET_PROXY), .fixed = "true", NETWORK, .help = "offer HTTP and SOCKS proxies too, and set http_proxy etc."},
	{"publish", 'p', "PORT[:HOSTPORT]", KEY(KEY_NET_PUBLISH), NETWORK, .help = "publish a port of the command on this host's loopback"},
	{"host-port", 0, "PORT", KEY(KEY_NET_HOST_PORTS), NETWORK, .help = "let the command connect to this port of the host's loopback"},
	{"socket", 0, "PATH[:DEST]", KEY(KEY_NET_SOCKETS), NETWORK, .help = "let the command connect to this unix socket of the host"},

	{"pass-env", 0, "NAME", KEY(KEY_ENV_PASS), ENVIRONMENT, .help = "pass one of your variables to the command"},
	{"env", 0, "NAME=VALUE", KEY(KEY_ENV_SET), ENVIRONMENT, .help = "set a variable for the command"},
	{"tool", 0, "NAME", KEY(KEY_ENV_TOOLS), ENVIRONMENT, .help = "put an installed tool before all of PATH, after its hash is checked"},
	{"allow-dangerous-env", 0, "NAME", KEY(KEY_ENV_ALLOW_DANGEROUS), ENVIRONMENT, .help = "permit a variable that changes how code is loaded"},

	{"secret", 0, "NAME[=VAR]", KEY(KEY_ENV_SECRETS), .group = GROUP_SECRETS, .verbs = WITH_SECRETS, .help = "give the command a secret of the vault, as a variable"},
	{"provider", 0, "NAME[,NAME]", KEY(KEY_PROVIDERS), .commas = true, SECRETS, .help = "work with a model provider or agent: its hosts, key, settings"},
	{"scan-args", 0, "ACTION", KEY(KEY_SCAN_ARGS), SECRETS, .help = "a secret in the arguments or in --env: off, warn, block"},
	{"scan-net", 0, "ACTION", KEY(KEY_SCAN_NET), SECRETS, .help = "a secret in a plain HTTP request: off, warn, block, kill"},
	{"scan-output", 0, "ACTION", KEY(KEY_SCAN_OUTPUT), SECRETS, .help = "a secret in the output: off, warn, redact, block, kill"},

	{"timeout", 't', "TIME", KEY(KEY_LIMITS_TIMEOUT), LIMITS, .help = "end after this long: 30, 500ms, 2m, none"},
	{"idle-timeout", 0, "TIME", KEY(KEY_LIMITS_IDLE_TIMEOUT), LIMITS, .help = "end after this long without output"},
	{"grace", 0, "TIME", KEY(KEY_LIMITS_GRACE), LIMITS, .help = "between SIGTERM and SIGKILL (default: 2s)"},
	{"max-output", 0, "SIZE", KEY(KEY_LIMITS_OUTPUT), LIMITS, .help = "captured bytes per stream; head and tail are kept"},
	{"memory", 'm', "SIZE", KEY(KEY_LIMITS_MEMORY), LIMITS, .help = "memory of all processes together"},
	{"processes", 0, "N", KEY(KEY_LIMITS_PROCESSES), LIMITS, .help = "processes and threads at once"},
	{"cpus", 0, "N", KEY(KEY_LIMITS_CPUS), LIMITS, .help = "processors, such as 1.5"},
	{"cpu-time", 0, "TIME", KEY(KEY_LIMITS_CPU_TIME), LIMITS, .help = "processor time of each process"},
	{"open-files", 0, "N", KEY(KEY_LIMITS_OPEN_FILES), LIMITS, .help = "open files of each process"},
	{"max-file-size", 0, "SIZE", KEY(KEY_LIMITS_FILE_SIZE), LIMITS, .help = "size of each file that is written"},
	{"disk", 0, "SIZE", KEY(KEY_LIMITS_DISK), LIMITS, .help = "growth of the writable directories"},
	{"tmp-size", 0, "SIZE", KEY(KEY_LIMITS_TMP_SIZE), LIMITS, .help = "size of the private /tmp"},

	{NULL, 'c', "STRING", .id = OPTION_COMMAND_STRING, .group = GROUP_RUN, .verbs = FOR_RUN | FOR_SESSION_EXEC | FOR_EXPLAIN | FOR_CHECK | FOR_WHY | FOR_LEARN, .help = "run /bin/sh -c STRING; further arguments become $0, $1, ..."},
	{"shell", 0, "PATH", .id = OPTION_SHELL, .group = GROUP_RUN, .verbs = FOR_RUN | FOR_EXPLAIN | FOR_SHELL | FOR_MCP, .help = "the shell of -c, of `corral shell`, of mcp: an absolute path"},
	{"json", 0, NULL, .id = OPTION_JSON, .group = GROUP_RUN, .verbs = FOR_SESSIONS | FOR_RUN | FOR_EXPLAIN | FOR_POLICY | FOR_TEST | FOR_STATUS | FOR_CHECK | FOR_WHY | FOR_DIFF | FOR_APPLY | FOR_LIST | FOR_CLEAN | FOR_SCAN | FOR_SECRET_LIST | FOR_SECRET_EXPORT | FOR_AUDIT_LIST | FOR_AUDIT_TAIL, .help = "one JSON object on stdout; for run: a tool call"},
	{"stdin", 0, NULL, .id = OPTION_STDIN, .group = GROUP_RUN, .verbs = FOR_RUN, .help = "with --json: pass stdin on instead of /dev/null"},
	{"timings", 0, NULL, .id = OPTION_TIMINGS, .group = GROUP_RUN, .verbs = FOR_RUN, .help = "print the time of each step of the run on stderr, or with --json in its result"},
	{"write", 0, NULL, .id = OPTION_FOR_WRITE, .group = GROUP_RUN, .verbs = FOR_CHECK | FOR_WHY, .help = "check writing instead of reading (to grant: --set fs.write=PATH)"},
	{"exec", 0, NULL, .id = OPTION_FOR_EXEC, .group = GROUP_RUN, .verbs = FOR_WHY, .help = "check execution instead of reading"},
	{"path", 0, NULL, .id = OPTION_AS_PATH, .group = GROUP_RUN, .verbs = FOR_WHY, .help = "the argument is a path"},
	{"host", 0, NULL, .id = OPTION_AS_HOST, .group = GROUP_RUN, .verbs = FOR_WHY, .help = "the argument is a host: NAME, NAME:PORT, address or URL"},
	{"command", 0, NULL, .id = OPTION_AS_COMMAND, .group = GROUP_RUN, .verbs = FOR_WHY, .help = "the arguments are a command, as after --"},
	{"replay", 0, NULL, .id = OPTION_REPLAY, .group = GROUP_RUN, .verbs = FOR_LEARN, .help = "run it again with the learned grants, until it passes"},
	{"last", 0, NULL, .id = OPTION_LAST_RUN, .group = GROUP_RUN, .verbs = FOR_WHY, .help = "what the last run was refused, from the audit log"},
	{"run", 0, "ID", .id = OPTION_RUN_ID, .group = GROUP_RUN, .verbs = FOR_WHY, .help = "what the run with this id was refused"},
	{"prompt", 0, NULL, .id = OPTION_PROMPT, .group = GROUP_RUN, .verbs = FOR_EXPLAIN | FOR_WHY, .help = "one paragraph of plain words for a language model"},
	{"seatbelt", 0, NULL, .id = OPTION_SEATBELT, .group = GROUP_RUN, .verbs = FOR_EXPLAIN, .help = "the profile for macOS; its enforcement has not been run"},
	{"ask", 0, NULL, .id = OPTION_ASK, .group = GROUP_RUN, .verbs = FOR_RUN, .help = "ask on this terminal before a file or host is refused; without one, by the daemon"},
	{"ask-daemon", 0, NULL, .id = OPTION_ASK_DAEMON, .group = GROUP_RUN, .verbs = FOR_RUN, .help = "questions for the daemon: corral daemon questions"},
	{"ask-fd", 0, "N", .id = OPTION_ASK_FD, .group = GROUP_RUN, .verbs = FOR_RUN, .help = "the same for a program: lines of JSON on socket N"},
	{"result-fd", 0, "N", .id = OPTION_RESULT_FD, .group = GROUP_RUN, .verbs = FOR_RUN | FOR_SESSION_EXEC, .help = "the JSON object on descriptor N; stdout stays the command's"},
	{"tty", 0, "WHEN", .id = OPTION_TTY, .choices = tty_choices, .group = GROUP_RUN, .verbs = FOR_RUN, .help = "give the command its own terminal: auto (default), always, never"},
	{"verbose", 'v', NULL, .id = OPTION_VERBOSE, .group = GROUP_RUN, .verbs = FOR_RUN | FOR_SHELL, .help = "print on stderr which guarantees are enforced, and the result"},
	{"force", 0, NULL, .id = OPTION_FORCE, .group = GROUP_RUN, .verbs = FOR_APPLY, .help = "apply also over changes on the host and to protected names"},
	{"all", 0, NULL, .id = OPTION_EVERY, .group = GROUP_RUN, .verbs = FOR_DISCARD | FOR_CLEAN | FOR_SESSION_LIST, .help = "all of them: every pending change, or every private home"},
	{"yes", 'y', NULL, .id = OPTION_YES, .group = GROUP_RUN, .verbs = FOR_CLEAN | FOR_SECRET_EXPORT | FOR_AGENTS, .help = "do not ask for confirmation; needed without a terminal"},
	{"dry-run", 0, NULL, .id = OPTION_DRY_RUN, .group = GROUP_RUN, .verbs = FOR_CLEAN | FOR_AGENTS, .help = "print what would be done, and do nothing"},
	{"mcp", 0, NULL, .id = OPTION_MCP, .group = GROUP_RUN, .verbs = FOR_AGENTS, .help = "the MCP server, also for an agent that has a hook"},
	{"redact", 0, NULL, .id = OPTION_REDACT, .group = GROUP_RUN, .verbs = FOR_SCAN, .help = "stdin to stdout: replace each secret by [redacted:KIND]"},
	{"staged", 0, NULL, .id = OPTION_STAGED, .group = GROUP_RUN, .verbs = FOR_SCAN, .help = "scan the files of the staged change of this git repository"},
	{"sarif", 0, NULL, .id = OPTION_SARIF, .group = GROUP_RUN, .verbs = FOR_SCAN, .help = "findings on stdout as SARIF 2.1.0"},
	{"allow", 0, "FINGERPRINT", .id = OPTION_ALLOW, .group = GROUP_RUN, .verbs = FOR_SCAN, .help = "add a finding to your allow list; scans nothing"},
	{"list-kinds", 0, NULL, .id = OPTION_LIST_KINDS, .group = GROUP_RUN, .verbs = FOR_SCAN, .help = "list the kinds of secrets; scans nothing"},
	{"host", 0, "FILE", .id = OPTION_HOST, .group = GROUP_RUN, .verbs = FOR_EXPLAIN, .help = "plan for another host: a file that status --snapshot wrote"},
	{"snapshot", 0, NULL, .id = OPTION_SNAPSHOT, .group = GROUP_RUN, .verbs = FOR_STATUS, .help = "print the facts for explain --host, with the options to explain"},
	{"agent", 0, "ID", .id = OPTION_SECRET_AGENT, .group = GROUP_RUN, .verbs = FOR_SECRETS & ~FOR_SECRET_REKEY, .help = "the secret of this agent instead of the shared one"},
	{"workspace", 0, "DIR", .id = OPTION_SECRET_WORKSPACE, .group = GROUP_RUN, .verbs = FOR_SECRET_SET | FOR_SECRET_IMPORT, .help = "only for runs whose workspace is DIR or beneath it"},
	{"host", 0, "NAME", .id = OPTION_SECRET_HOST, .group = GROUP_RUN, .verbs = FOR_SECRET_SET | FOR_SECRET_IMPORT, .help = "only for runs on the host of this name (uname -n)"},
	{"expose", 0, "HOW", .id = OPTION_SECRET_EXPOSE, .choices = expose_choices, .group = GROUP_RUN, .verbs = FOR_SECRET_SET | FOR_SECRET_IMPORT, .help = "env (default): a variable; file: NAME_FILE; never"},
	{"from-file", 0, "FILE", .id = OPTION_FROM_FILE, .group = GROUP_RUN, .verbs = FOR_SECRET_SET, .help = "read the value from FILE, byte for byte, instead of stdin"},
	{"key", 0, "KIND", .id = OPTION_SECRET_KEY, .choices = key_choices, .group = GROUP_RUN, .verbs = FOR_SECRET_SET | FOR_SECRET_IMPORT | FOR_SECRET_REKEY, .help = "the vault's key: file (default), keyring or passphrase"},
	{"passphrase-fd", 0, "N", .id = OPTION_PASSPHRASE_FD, .group = GROUP_RUN, .verbs = FOR_SECRETS | FOR_RUN | FOR_SHELL | FOR_EXPLAIN, .help = "read the vault's passphrase from descriptor N, a line each"},
	{"since", 0, "TIME", .id = OPTION_AUDIT_SINCE, .group = GROUP_RUN, .verbs = FOR_AUDIT, .help = "records from TIME on: 2026-11-17T09:30 (UTC), 2h, 7d"},
	{"until", 0, "TIME", .id = OPTION_AUDIT_UNTIL, .group = GROUP_RUN, .verbs = FOR_AUDIT, .help = "records before TIME"},
	{"session", 0, "ID", .id = OPTION_AUDIT_SESSION, .group = GROUP_RUN, .verbs = FOR_AUDIT, .help = "records of this session (label SESSION_ID)"},
	{"agent", 0, "ID", .id = OPTION_SECRET_AGENT, .group = GROUP_RUN, .verbs = FOR_POLICY_IMPORT, .help = "the agent of the file whose sandbox is imported"},
	{"agent", 0, "ID", .id = OPTION_SECRET_AGENT, .group = GROUP_RUN, .verbs = FOR_AUDIT, .help = "records of this agent"},
	{"verdict", 0, "WORD", .id = OPTION_AUDIT_VERDICT, .choices = verdict_choices, .group = GROUP_RUN, .verbs = FOR_AUDIT, .help = "records with this verdict: allowed, denied, failed, redacted, ..."},
	{"kind", 0, "KIND", .id = OPTION_AUDIT_KIND, .group = GROUP_RUN, .verbs = FOR_AUDIT, .help = "records of this kind: run, deny, deny.net, leak, trust, ..."},
	{"path", 0, "PATH", .id = OPTION_AUDIT_PATH, .group = GROUP_RUN, .verbs = FOR_AUDIT, .help = "refusals of PATH or beneath it, and runs in it"},
	{"host", 0, "NAME", .id = OPTION_SECRET_HOST, .group = GROUP_RUN, .verbs = FOR_AUDIT, .help = "refusals of this host and its subdomains"},
	{"format", 0, "FORMAT", .id = OPTION_AUDIT_FORMAT, .choices = format_choices, .group = GROUP_RUN, .verbs = FOR_AUDIT_EXPORT, .help = "otlp: one ExportLogsServiceRequest; ocsf: one event a line"},
	{"follow", 'f', NULL, .id = OPTION_AUDIT_FOLLOW, .group = GROUP_RUN, .verbs = FOR_AUDIT_TAIL | FOR_SESSION_ACTIVITY, .help = "wait for new records"},
	{"tools", 0, "NAME[,NAME]", .id = OPTION_TOOLS, .group = GROUP_RUN, .verbs = FOR_MCP | FOR_SESSION_CREATE, .help = "offer only these tools (default: all)"},
	{"session", 0, "SESSION", .id = OPTION_AUDIT_SESSION, .group = GROUP_RUN, .verbs = FOR_MCP, .help = "use the sandbox of this session of the daemon, with its policy"},
	{"http", 0, "PORT", .id = OPTION_HTTP, .group = GROUP_RUN, .verbs = FOR_MCP, .help = "serve http://127.0.0.1:PORT/mcp instead of stdin; 0: a free port"},
	{"name", 0, "NAME", .id = OPTION_SESSION_NAME, .group = GROUP_RUN, .verbs = FOR_SESSION_CREATE, .help = "a name for the session, besides its id"},
	{"session-timeout", 0, "TIME", KEY(KEY_SESSION_TIMEOUT), .group = GROUP_RUN, .verbs = FOR_SESSION_CREATE, .help = "end the session after TIME: 30s, 10m, 8h, 2d"},
	{"session-idle-timeout", 0, "TIME", KEY(KEY_SESSION_IDLE_TIMEOUT), .group = GROUP_RUN, .verbs = FOR_SESSION_CREATE, .help = "end the session when no command has run in it for TIME"},
	{"cpu-total", 0, "TIME", KEY(KEY_SESSION_CPU_TOTAL), .group = GROUP_RUN, .verbs = FOR_SESSION_CREATE, .help = "end the session when its processes have used this processor time together"},
	{"serial", 0, NULL, .id = OPTION_SERIAL, .group = GROUP_RUN, .verbs = FOR_SESSION_CREATE, .help = "run one command at a time, in the order of the requests"},
	{"token-file", 0, "FILE", .id = OPTION_TOKEN_FILE, .group = GROUP_RUN, .verbs = FOR_SESSION_CREATE | FOR_SESSION_EXEC | FOR_MCP, .help = "create: write the token to FILE; exec: read it (- is stdin); mcp: either"},
	{"token-lifetime", 0, "TIME", .id = OPTION_TOKEN_TIME, .group = GROUP_RUN, .verbs = FOR_SESSION_CREATE, .help = "the token expires after TIME (default: 7d)"},
	{"timeout", 't', "TIME", .id = OPTION_EXEC_TIME, .group = GROUP_RUN, .verbs = FOR_SESSION_EXEC, .help = "kill the command after TIME, if the policy has no shorter one"},
	{"chdir", 0, "DIR", .id = OPTION_EXEC_DIR, .group = GROUP_RUN, .verbs = FOR_SESSION_EXEC, .help = "start the command in DIR, a path in the sandbox"},
	{"env", 0, "NAME=VALUE", .id = OPTION_EXEC_ENV, .group = GROUP_ENV, .verbs = FOR_SESSION_EXEC, .help = "set a variable for this command alone"},
	{"pass-env", 0, "NAME", .id = OPTION_EXEC_PASS, .group = GROUP_ENV, .verbs = FOR_SESSION_EXEC, .help = "the same with the value that you have, if you have one"},
	{"terminal", 'T', NULL, .id = OPTION_TERMINAL, .group = GROUP_RUN, .verbs = FOR_SESSION_EXEC, .help = "give the command a terminal; ^] d leaves it running: session attach"},
	{"detach", 'd', NULL, .id = OPTION_DETACH, .group = GROUP_RUN, .verbs = FOR_SESSION_EXEC, .help = "start the command with a terminal, and leave it running"},
	{"idle-exit", 0, "TIME", .id = OPTION_IDLE_EXIT, .group = GROUP_RUN, .verbs = FOR_DAEMON, .help = "end after TIME without a session and without a client"},
	{"open", 0, NULL, .id = OPTION_UI_OPEN, .group = GROUP_RUN, .verbs = FOR_UI, .help = "open the page in your browser (xdg-open)"},
	{"print", 0, NULL, .id = OPTION_UI_PRINT, .group = GROUP_RUN, .verbs = FOR_UI, .help = "print the address alone, without a note"},
	{"runtime", 0, "PATH", .id = OPTION_OCI_RUNTIME, .group = GROUP_RUN, .verbs = FOR_OCI, .help = "the OCI runtime that starts the containers (default: crun, else runc)"},
	{"pods", 0, NULL, .id = OPTION_OCI_PODS, .group = GROUP_RUN, .verbs = FOR_OCI, .help = "leave a pod's own container, which its annotation marks, without a sandbox"},
	{"container-policy", 0, "FILE", .id = OPTION_OCI_POLICY, .group = GROUP_RUN, .verbs = FOR_OCI, .help = "the policy in containers (default: /etc/corral/oci.toml, if it exists)"},
	{"bridge", 0, "STRING", .id = OPTION_BRIDGE, .group = GROUP_RUN, .verbs = FOR_SESSION_CREATE, .help = "keep /bin/sh -c STRING running; its socket: CORRAL_BRIDGE_PATH"},
	{"copy", 0, "DIR", .id = OPTION_COPY, .group = GROUP_RUN, .verbs = FOR_SESSION_CREATE, .help = "give the session a copy of DIR to change: CORRAL_COPY_PATH"},
	{"help", 'h', NULL, .id = OPTION_HELP, .group = GROUP_RUN, .verbs = FOR_EVERY_VERB, .help = "this text"},
};
/* clang-format on */

const size_t options_count = ARRAY_LEN(options);

const char *const *option_choices(const struct option_row *row) {
	if (row->choices != NULL || row->id != OPTION_SETS_KEY || row->argument == NULL) {
		return row->choices;
	}
	return keys[row->key].choices;
}
