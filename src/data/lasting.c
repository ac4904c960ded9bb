/* SPDX-License-Identifier: Apache-2.0 */
/* File names that programs on the host run or read as settings, in any directory.
 *
 * Should:   hold one row a name, each with its reason.
 * Must not: name files that every build creates or that packages contain: a user does not
 *           read a list that is long after every run.
 * Fails:    open: a new file without a row is not reported, unless it is executable. */
#include "data/lasting.h"

#include "base/auto.h"
#include "base/str.h"

static const char *const names[] = {
	[LASTING_SETUID] = "setuid",         [LASTING_HOOK] = "hook",
	[LASTING_STARTUP] = "startup",       [LASTING_REPOSITORY] = "repository",
	[LASTING_EXECUTABLE] = "executable", [LASTING_SYMLINK] = "symlink",
	[LASTING_SOCKET] = "socket",         [LASTING_FIFO] = "fifo",
};

const char *lasting_name(enum lasting kind) {
	return names[kind];
}

/* clang-format off */
const struct lasting_row lasting_rows[] = {
	{NULL, ".git", LASTING_REPOSITORY, "its configuration names programs, and its hooks run"},
	{".githooks", NULL, LASTING_HOOK, "a usual value of core.hooksPath"},
	{".husky", NULL, LASTING_HOOK, "husky sets core.hooksPath to it"},
	{"hooks", NULL, LASTING_HOOK, "git runs it"},

	{"autostart", NULL, LASTING_STARTUP, "a desktop starts the program that it names"},
	{NULL, "*.desktop", LASTING_STARTUP, "a desktop starts the program that it names"},
	{NULL, "*.service", LASTING_STARTUP, "systemd starts the program that it names"},
	{NULL, "*.timer", LASTING_STARTUP, "systemd starts the program that it names"},
	{NULL, ".Rprofile", LASTING_STARTUP, "R runs it when it starts there"},
	{NULL, ".bash_login", LASTING_STARTUP, "a shell runs it"},
	{NULL, ".bash_profile", LASTING_STARTUP, "a shell runs it"},
	{NULL, ".bashrc", LASTING_STARTUP, "a shell runs it"},
	{NULL, ".envrc", LASTING_STARTUP, "direnv runs it at cd"},
	{NULL, ".exrc", LASTING_STARTUP, "vi runs its commands"},
	{NULL, ".gdbinit", LASTING_STARTUP, "gdb runs it when it starts there"},
	{NULL, ".gitconfig", LASTING_STARTUP, "git runs programs that it names"},
	{NULL, ".lldbinit", LASTING_STARTUP, "lldb runs it when it starts there"},
	{NULL, ".mcp.json", LASTING_STARTUP, "names programs that agents start"},
	{NULL, ".nvimrc", LASTING_STARTUP, "Neovim runs its commands"},
	{NULL, ".profile", LASTING_STARTUP, "a shell runs it"},
	{NULL, ".tmux.conf", LASTING_STARTUP, "tmux runs the commands in it"},
	{NULL, ".vimrc", LASTING_STARTUP, "vim runs its commands"},
	{NULL, ".zprofile", LASTING_STARTUP, "a shell runs it"},
	{NULL, ".zshenv", LASTING_STARTUP, "a shell runs it"},
	{NULL, ".zshrc", LASTING_STARTUP, "a shell runs it"},
};
/* clang-format on */
const size_t lasting_rows_count = ARRAY_LEN(lasting_rows);

/* The name before the one at `end`, and its length. */
static const char *name_before(const char *path, const char *end, size_t *ret_len) {
	const char *from = end;
	while (from > path && from[-1] != '/') {
		from--;
	}
	*ret_len = (size_t)(end - from);
	return from;
}

static bool is_name(const char *name, size_t len, const char *text) {
	return strlen(text) == len && memcmp(name, text, len) == 0;
}

static bool ends(const char *name, size_t len, const char *ending) {
	size_t n = strlen(ending);
	return len > n && memcmp(name + len - n, ending, n) == 0;
}

/* Many directories are called "hooks": the row is about those in a git repository. */
static bool in_repository(const char *path, const char *end) {
	while (end > path) {
		size_t len;
		const char *name = name_before(path, end, &len);
		if (is_name(name, len, ".git") || ends(name, len, ".git")) {
			return true;
		}
		end = name > path ? name - 1 : path;
	}
	return false;
}

/* The last two names of a path. */
struct tail {
	const char *name, *dir;
	size_t len, dir_len;
};

static bool tail_of(const char *path, struct tail *ret) {
	ret->name = name_before(path, path + strlen(path), &ret->len);
	if (ret->name == path || ret->len == 0) {
		return false;
	}
	ret->dir = name_before(path, ret->name - 1, &ret->dir_len);
	return true;
}

static bool applies(const struct lasting_row *row, const char *path, const struct tail *t) {
	if (row->dir != NULL && !is_name(t->dir, t->dir_len, row->dir)) {
		return false;
	}
	if (row->dir != NULL && streq(row->dir, "hooks") && !in_repository(path, t->dir)) {
		return false;
	}
	return row->name == NULL || (row->name[0] == '*' ? ends(t->name, t->len, row->name + 1)
							 : is_name(t->name, t->len, row->name));
}

const struct lasting_row *lasting_find(const char *path) {
	struct tail tail;

	if (!tail_of(path, &tail) || lasting_is_sample(path)) {
		return NULL;
	}
	for (size_t i = 0; i < ARRAY_LEN(lasting_rows); i++) {
		if (applies(&lasting_rows[i], path, &tail)) {
			return &lasting_rows[i];
		}
	}
	return NULL;
}

bool lasting_is_sample(const char *path) {
	return ends(path, strlen(path), ".sample") && strstr(path, "/hooks/") != NULL;
}
