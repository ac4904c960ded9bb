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
static const char *const env_longs[] = {"--unset", "--chdir", "--split-string", "--argv0", NULL};
static const char *const sudo_longs[] = {
	"--user",       "--group",           "--host", "--prompt", "--chdir",
	"--close-from", "--command-timeout", NULL};
static const char *const xargs_longs[] = {
	"--arg-file",  "--delimiter", "--max-args", "--max-procs",        "--max-lines",
	"--max-chars", "--replace",   "--eof",      "--process-slot-var", NULL};
static const char *const timeout_longs[] = {"--signal", "--kill-after", NULL};
static const char *const nice_longs[] = {"--adjustment", NULL};
static const char *const stdbuf_longs[] = {"--input", "--output", "--error", NULL};
static const char *const ionice_longs[] = {"--class", "--classdata", NULL};
static const char *const chroot_longs[] = {"--groups", "--userspec", NULL};
static const char *const time_longs[] = {"--format", "--output", NULL};
static const char *const flock_longs[] = {"--wait", "--timeout", "--conflict-exit-code",
					  "--command", NULL};

/* clang-format off */
const struct command_prefix command_prefixes[] = {
	{.name = "builtin", .letters = "", .longs = none, .builtin = true},
	{.name = "busybox", .letters = "", .longs = none},
	{.name = "chroot", .letters = "", .longs = chroot_longs, .operands = 1},
	{.name = "chrt", .letters = "TPD", .longs = none, .operands = 1},
	{.name = "command", .letters = "", .longs = none, .builtin = true},
	{.name = "doas", .letters = "Cu", .longs = none},
	{.name = "env", .letters = "uCSa", .longs = env_longs, .assignments = true},
	{.name = "exec", .letters = "a", .longs = none, .builtin = true},
	{.name = "flock", .letters = "wEc", .longs = flock_longs, .operands = 1, .script_letter = "c"},
	{.name = "ionice", .letters = "cn", .longs = ionice_longs},
	{.name = "nice", .letters = "n", .longs = nice_longs},
	{.name = "nohup", .letters = "", .longs = none},
	{.name = "setsid", .letters = "", .longs = none},
	{.name = "stdbuf", .letters = "ioe", .longs = stdbuf_longs},
	{.name = "strace", .letters = "eoOpPsuEXaI", .longs = none},
	{.name = "sudo", .letters = "ugpCrtTUDhR", .longs = sudo_longs, .assignments = true},
	{.name = "taskset", .letters = "", .longs = none, .operands = 1},
	{.name = "time", .letters = "fo", .longs = time_longs, .builtin = true},
	{.name = "timeout", .letters = "sk", .longs = timeout_longs, .operands = 1},
	{.name = "toybox", .letters = "", .longs = none},
	{.name = "unshare", .letters = "RSGw", .longs = none},
	{.name = "xargs", .letters = "adEILnPsi", .longs = xargs_longs, .appends = true},
};
/* clang-format on */
const size_t command_prefixes_count = ARRAY_LEN(command_prefixes);

static const char *const git_longs[] = {"--git-dir",      "--work-tree", "--namespace",
					"--super-prefix", "--exec-path", "--config-env",
					"--attr-source",  "--list-cmds", NULL};
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
	{"cargo", NULL, "CZ", cargo_longs},
	{"docker", NULL, "cHl", docker_longs},
	{"git", NULL, "Cc", git_longs},
	{"git", "clean", "e", git_clean_longs},
	{"git", "push", "o", git_push_longs},
	{"git", "reset", "", none},
	{"go", NULL, "C", none},
	{"kubectl", NULL, "ns", kubectl_longs},
	{"make", NULL, "CfIjloW", none},
	{"npm", NULL, "Cw", npm_longs},
	{"podman", NULL, "cH", docker_longs},
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

static const char *const opaques[] = {".",       "alias",     "enable", "fc",
				      "mapfile", "readarray", "source"};

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
