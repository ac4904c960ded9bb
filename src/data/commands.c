/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of data/commands.h.
 *
 * Should:   hold one row a program, option or equivalent.
 * Must not: decide about a command; src/command does.
 * Fails:    closed: an option without a row may or may not take an argument, and src/command then
 *           checks both. */
#include "data/commands.h"

#include "base/auto.h"

#include <string.h>

static const char *const none[] = {NULL};
/* clang-format off */
static const char *const env_longs[] = {"--unset", "--chdir", "--argv0", NULL};
static const char *const env_flags[] = {"--ignore-environment", "--null", "--debug", "--block-signal",
	"--default-signal", "--ignore-signal", "--list-signal-handling", "--help", "--version", NULL};
static const char *const sudo_longs[] = {"--user", "--group", "--host", "--prompt", "--chdir", "--chroot",
	"--close-from", "--command-timeout", "--role", "--type", "--other-user", NULL};
static const char *const sudo_flags[] = {"--askpass", "--background", "--bell", "--preserve-env",
	"--set-home", "--remove-timestamp", "--reset-timestamp", "--list", "--non-interactive",
	"--no-update", "--preserve-groups", "--stdin", "--validate", "--version", NULL};
static const char *const xargs_longs[] = {"--arg-file", "--delimiter", "--max-args", "--max-procs",
	"--max-chars", "--process-slot-var", NULL};
static const char *const xargs_flags[] = {"--replace", "--eof", "--max-lines", "--null",
	"--no-run-if-empty", "--interactive", "--verbose", "--exit", "--open-tty", "--show-limits", NULL};
static const char *const timeout_longs[] = {"--signal", "--kill-after", NULL};
static const char *const timeout_flags[] = {"--foreground", "--preserve-status", "--verbose", NULL};
static const char *const nice_longs[] = {"--adjustment", NULL};
static const char *const stdbuf_longs[] = {"--input", "--output", "--error", NULL};
static const char *const ionice_longs[] = {"--class", "--classdata", NULL};
static const char *const ionice_flags[] = {"--ignore", NULL};
static const char *const chroot_longs[] = {"--groups", "--userspec", NULL};
static const char *const chroot_flags[] = {"--skip-chdir", NULL};
static const char *const setsid_flags[] = {"--ctty", "--fork", "--wait", NULL};
static const char *const taskset_flags[] = {"--all-tasks", "--cpu-list", NULL};
static const char *const time_longs[] = {"--format", "--output", NULL};
static const char *const time_flags[] = {"--append", "--portability", "--quiet", "--verbose", NULL};
static const char *const flock_longs[] = {"--wait", "--timeout", "--conflict-exit-code", NULL};
static const char *const flock_flags[] = {"--shared", "--exclusive", "--unlock", "--nonblock", "--nb",
	"--close", "--no-fork", "--verbose", NULL};
static const char *const unshare_longs[] = {"--root", "--wd", "--setuid", "--setgid", "--propagation",
	"--setgroups", "--map-user", "--map-group", NULL};
static const char *const unshare_flags[] = {"--mount", "--uts", "--ipc", "--net", "--pid", "--user",
	"--cgroup", "--time", "--fork", "--map-root-user", "--map-current-user", "--mount-proc",
	"--kill-child", "--keep-caps", NULL};

const struct command_prefix command_prefixes[] = {
	{.name = "builtin", .letters = "", .longs = none, .builtin = true},
	{.name = "busybox", .letters = "", .longs = none},
	{.name = "chroot", .letters = "", .longs = chroot_longs, .flags = chroot_flags, .operands = 1},
	{.name = "chrt", .letters = "TPD", .flag_letters = "afrRv", .longs = none, .operands = 1},
	{.name = "command", .letters = "", .flag_letters = "pvV", .longs = none, .builtin = true},
	{.name = "doas", .letters = "Cu", .flag_letters = "nL", .longs = none},
	{.name = "env", .letters = "uCa", .flag_letters = "i0v", .longs = env_longs, .flags = env_flags,
	 .assignments = true},
	{.name = "exec", .letters = "a", .flag_letters = "cl", .longs = none, .builtin = true},
	{.name = "flock", .letters = "wE", .flag_letters = "sxeunoFv", .longs = flock_longs,
	 .flags = flock_flags, .operands = 1, .script_letter = "c"},
	{.name = "ionice", .letters = "cnpPu", .flag_letters = "t", .longs = ionice_longs,
	 .flags = ionice_flags},
	{.name = "nice", .letters = "n", .flag_letters = "0123456789", .longs = nice_longs},
	{.name = "nohup", .letters = "", .longs = none},
	{.name = "setsid", .letters = "", .flag_letters = "cfw", .longs = none, .flags = setsid_flags},
	{.name = "stdbuf", .letters = "ioe", .longs = stdbuf_longs},
	{.name = "strace", .letters = "eoOpPsuEXaIbSU", .flag_letters = "ACcdDfFhiknqrtTvVwxyYzZ",
	 .longs = none},
	{.name = "sudo", .letters = "ugpCrtTUDhR", .flag_letters = "AbBEHKklnNPSvV", .longs = sudo_longs,
	 .flags = sudo_flags, .assignments = true},
	{.name = "taskset", .letters = "", .flag_letters = "ac", .longs = none, .flags = taskset_flags,
	 .operands = 1},
	{.name = "time", .letters = "fo", .flag_letters = "apqv", .longs = time_longs, .flags = time_flags,
	 .builtin = true},
	{.name = "timeout", .letters = "sk", .flag_letters = "fpv", .longs = timeout_longs,
	 .flags = timeout_flags, .operands = 1},
	{.name = "toybox", .letters = "", .longs = none},
	{.name = "unshare", .letters = "RSGw", .flag_letters = "muinpUCTfrc", .longs = unshare_longs,
	 .flags = unshare_flags},
	{.name = "xargs", .letters = "adEILnPs", .attached = "eil", .flag_letters = "0oprtx",
	 .longs = xargs_longs, .flags = xargs_flags, .appends = true},
};
/* clang-format on */
const size_t command_prefixes_count = ARRAY_LEN(command_prefixes);

static const char *const git_longs[] = {
	"--git-dir",     "--work-tree",    "--namespace", "--config-env",
	"--attr-source", "--shallow-file", NULL};
static const char *const git_flags[] = {"--bare",
					"--glob-pathspecs",
					"--help",
					"--html-path",
					"--icase-pathspecs",
					"--info-path",
					"--literal-pathspecs",
					"--man-path",
					"--no-advice",
					"--no-lazy-fetch",
					"--no-optional-locks",
					"--no-pager",
					"--no-replace-objects",
					"--noglob-pathspecs",
					"--paginate",
					"--version",
					NULL};
static const char *const cargo_flags[] = {"--frozen",  "--help",    "--list",
					  "--locked",  "--offline", "--quiet",
					  "--verbose", "--version", NULL};
static const char *const docker_flags[] = {"--debug",     "--help",    "--tls",
					   "--tlsverify", "--version", NULL};
static const char *const make_longs[] = {
	"--directory", "--file",     "--makefile",   "--include-dir", "--old-file", "--assume-old",
	"--what-if",   "--new-file", "--assume-new", "--eval",        NULL};
static const char *const make_flags[] = {"--always-make",
					 "--debug",
					 "--dry-run",
					 "--environment-overrides",
					 "--help",
					 "--ignore-errors",
					 "--jobs",
					 "--just-print",
					 "--keep-going",
					 "--load-average",
					 "--no-builtin-rules",
					 "--no-builtin-variables",
					 "--no-print-directory",
					 "--no-silent",
					 "--output-sync",
					 "--print-data-base",
					 "--print-directory",
					 "--question",
					 "--quiet",
					 "--recon",
					 "--silent",
					 "--touch",
					 "--trace",
					 "--version",
					 "--warn-undefined-variables",
					 NULL};
static const char *const git_push_longs[] = {"--repo", "--push-option",        "--receive-pack",
					     "--exec", "--recurse-submodules", NULL};
static const char *const git_clean_longs[] = {"--exclude", NULL};
static const char *const npm_longs[] = {"--prefix",   "--userconfig", "--registry", "--workspace",
					"--loglevel", "--cache",      NULL};
static const char *const docker_longs[] = {"--config",    "--context", "--host",   "--log-level",
					   "--tlscacert", "--tlscert", "--tlskey", NULL};
static const char *const cargo_longs[] = {"--color", "--config", NULL};
static const char *const kubectl_longs[] = {"--namespace", "--context", "--kubeconfig", "--cluster",
					    "--user",      "--server",  "--token",      NULL};

const struct command_options command_options[] = {
	{"cargo", NULL, "CZ", cargo_longs, "hqvV", cargo_flags},
	{"docker", NULL, "cHl", docker_longs, "Dv", docker_flags},
	{"git", NULL, "Cc", git_longs, "hpPv", git_flags},
	{"git", "clean", "e", git_clean_longs, "dfinqxX", none},
	{"git", "push", "o", git_push_longs, "46dfnquv", none},
	{"git", "reset", "", none, "Npq", none},
	{"go", NULL, "C", none, "", none},
	{"kubectl", NULL, "ns", kubectl_longs, "", none},
	{"make", NULL, "CfIoW", make_longs, "bBdeiknpqrRsStvw", make_flags},
	{"npm", NULL, "Cw", npm_longs, "", none},
	{"podman", NULL, "cH", docker_longs, "", docker_flags},
};
const size_t command_options_count = ARRAY_LEN(command_options);

const struct command_equal command_equals[] = {
	{"git", "clean", "-f", "--force", false},
	{"git", "push", "--force", "-f", false},
	{"git", "push", "--force", "--force-with-lease", false},
	{"git", "push", "--force", "--mirror", false},
	{"git", "push", "--force", "+", true},
	{"npm", NULL, "--global", "-g", false},
	{"npm", NULL, "-g", "--global", false},
};
const size_t command_equals_count = ARRAY_LEN(command_equals);

static const char *const shells[] = {"ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"};

/* They change the shell itself, or print; and test files. */
static const char *const builtins[] = {
	":",       "[",    "bg",       "break",   "cd",     "continue", "declare", "dirs",
	"disown",  "echo", "exit",     "export",  "false",  "fg",       "getopts", "hash",
	"history", "jobs", "kill",     "let",     "local",  "popd",     "printf",  "pushd",
	"pwd",     "read", "readonly", "return",  "set",    "shift",    "shopt",   "test",
	"times",   "true", "type",     "typeset", "ulimit", "umask",    "unset",   "wait",
};

static const char *const opaques[] = {".",      "alias", "bind",    "compgen",   "complete",
				      "enable", "fc",    "mapfile", "readarray", "source"};

/* Their options, or the place of the command, differ too much between versions. */
static const char *const runners[] = {
	"catchsegv", "cgexec",      "choom",    "chpst",     "dbus-run-session",
	"dumb-init", "fakeroot",    "gosu",     "i386",      "linux32",
	"linux64",   "ltrace",      "newgrp",   "nsenter",   "numactl",
	"parallel",  "pkexec",      "prlimit",  "runuser",   "script",
	"setarch",   "setpriv",     "sg",       "ssh-agent", "start-stop-daemon",
	"su",        "systemd-run", "tini",     "uname26",   "unbuffer",
	"watch",     "x86_64",      "xvfb-run",
};

/* How a distribution arranges the files of programs that consist of several. */
const struct command_tree command_trees[] = {
	{"cc", "/usr/lib/gcc", true, "gcc runs cc1, collect2 and lto1"},
	{"cc", "/usr/libexec/gcc", true, "gcc runs cc1, collect2 and lto1"},
	{"g++*", "/usr/lib/gcc", true, "gcc runs cc1plus and collect2"},
	{"g++*", "/usr/libexec/gcc", true, "gcc runs cc1plus and collect2"},
	{"gcc*", "/usr/lib/gcc", true, "gcc runs cc1, collect2 and lto1"},
	{"gcc*", "/usr/libexec/gcc", true, "gcc runs cc1, collect2 and lto1"},
	{"git", "/usr/lib/git-core", true, "git runs its subcommands there"},
	{"git", "/usr/libexec/git-core", true, "git runs its subcommands there"},
	{"go", "/usr/lib/go", true, "go runs its compiler and linker there"},
	{"node*", "/usr/share/nodejs", false, "modules with native code"},
	{"perl*", "/usr/lib/perl5", false, "modules with native code"},
	{"python3*", "/usr/lib/python3", false, "modules with native code"},
	{"python3*", "/usr/lib/python3.11", false, "modules with native code"},
	{"python3*", "/usr/lib/python3.12", false, "modules with native code"},
	{"python3*", "/usr/lib/python3.13", false, "modules with native code"},
	{"python3*", "/usr/local/lib", false, "modules with native code"},
	{"ruby*", "/usr/lib/ruby", false, "modules with native code"},
};
const size_t command_trees_count = ARRAY_LEN(command_trees);

static bool has(const char *const *list, size_t n, const char *name) {
	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i], name) == 0) {
			return true;
		}
	}
	return false;
}

bool command_is_shell(const char *name) {
	return has(shells, ARRAY_LEN(shells), name);
}

bool command_is_builtin(const char *name) {
	return has(builtins, ARRAY_LEN(builtins), name);
}

bool command_is_opaque(const char *name) {
	return has(opaques, ARRAY_LEN(opaques), name);
}

bool command_is_runner(const char *name) {
	return has(runners, ARRAY_LEN(runners), name);
}

const struct command_prefix *command_prefix_find(const char *name) {
	for (size_t i = 0; i < command_prefixes_count; i++) {
		if (strcmp(command_prefixes[i].name, name) == 0) {
			return &command_prefixes[i];
		}
	}
	return NULL;
}

const struct command_options *command_options_find(const char *name, const char *subcommand) {
	for (size_t i = 0; i < command_options_count; i++) {
		const struct command_options *o = &command_options[i];
		bool same = subcommand == NULL ? o->subcommand == NULL
					       : o->subcommand != NULL &&
							 strcmp(o->subcommand, subcommand) == 0;
		if (same && strcmp(o->name, name) == 0) {
			return o;
		}
	}
	return NULL;
}
