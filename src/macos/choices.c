/* SPDX-License-Identifier: Apache-2.0 */
/* The options and keys that work in corral for macOS.
 *
 * Should:   read each value with the same checks as on Linux.
 * Must not: accept a key that this program does not enforce, or read a policy file.
 * Fails:    closed: nothing runs after a word that was not understood. */
#include "macos/choices.h"

#include "base/auto.h"

#include <string.h>

#define WHERE "usage"

static const struct subset_key known[] = {
	{KEY_MODE},
	{KEY_WORKSPACE},
	{KEY_ANY_WORKSPACE},
	{KEY_CHDIR},
	{KEY_LEVEL},
	{KEY_MIN_LEVEL},
	{KEY_REQUIRE},
	{KEY_ALLOW_DEGRADED},
	{KEY_FS_VIEW},
	{KEY_FS_READ},
	{KEY_FS_WRITE},
	{KEY_FS_DENY},
	{KEY_FS_PROTECT},
	{KEY_FS_PROTECT_NAMES},
	{KEY_FS_HOME},
	{KEY_FS_TOOLCHAINS},
	/* Every other value needs the gate, which runs on Linux only. */
	{KEY_NET_MODE, .only = (const char *const[]){"none", "full", NULL},
	 .fix = "use --net none with --host-port PORT and a proxy of your own there"},
	{KEY_NET_HOST_PORTS},
	{KEY_NET_PUBLISH},
	{KEY_NET_SOCKETS},
	{KEY_ENV_PASS},
	{KEY_ENV_SET},
	{KEY_ENV_ALLOW_DANGEROUS},
	{KEY_COMMANDS},
	{KEY_COMMANDS_DEFAULT},
	{KEY_LIMITS_TIMEOUT},
	{KEY_LIMITS_IDLE_TIMEOUT},
	{KEY_LIMITS_GRACE},
	{KEY_LIMITS_OUTPUT},
	{KEY_LIMITS_MEMORY},
	{KEY_LIMITS_PROCESSES},
	{KEY_LIMITS_CPU_TIME},
	{KEY_LIMITS_FILE_SIZE},
	{KEY_LIMITS_OPEN_FILES},
};

static const struct subset_option without_key[] = {
	{OPTION_HELP}, {OPTION_JSON}, {OPTION_NO_CONFIG}, {OPTION_SEATBELT}, {OPTION_SET},
};

static const struct subset subset = {
	.name = "macOS",
	.fix = "`corral run --help` lists the options that work here",
	.keys = known,
	.nkeys = ARRAY_LEN(known),
	.options = without_key,
	.noptions = ARRAY_LEN(without_key),
	.every_default = true,
};

/* The defaults are those for a program: agents call this one.  They come first, so that an option
 * adds to a list. */
int choices_read(struct arena *a, const struct host *h, const char *const *words, size_t n,
		 struct choices *ret, struct err *e) {
	const struct where from = {.a = a, .cwd = h->cwd, .base = h->cwd, .home = h->home};

	*ret = (struct choices){0};
	if (subset_default(&subset, &from, true, &ret->run, e) != 0) {
		return -1;
	}
	ret->run.values[KEY_WORKSPACE] =
		(struct value){.set = true, .str = h->cwd, .origin = {.kind = ORIGIN_BUILTIN}};
	if (subset_read(&subset, &from, words, n, &ret->run, e) != 0) {
		return -1;
	}
	memcpy(ret->policy.values, ret->run.values, sizeof ret->policy.values);
	if (ret->run.argc == 0 && !ret->run.seatbelt && !ret->run.help) {
		(void)err_set(e, ERR_USAGE, WHERE, "there is no command");
		return err_fix(e, "example: corral run -- make test");
	}
	return 0;
}

void choices_help(struct buf *out) {
	subset_help(&subset, out);
}
