/* SPDX-License-Identifier: Apache-2.0 */
/* Paths in the HOME that hold no credential, in directories where many programs keep theirs.
 *
 * Should:   hold one row a path, sorted, each with the kind of its content.
 * Must not: name a file that any program writes a token or a password to.
 * Fails:    closed: a path without a row counts as a credential. */
#include "data/paths.h"

#include "base/auto.h"

static const struct path_row harmless_paths_rows[] = {
	{.path = ".config/bat", .reason = "options of a pager"},
	{.path = ".config/black", .reason = "options of a formatter"},
	{.path = ".config/clangd", .reason = "options of a language server"},
	{.path = ".config/fd", .reason = "options of a search tool"},
	{.path = ".config/flake8", .reason = "options of a linter"},
	{.path = ".config/fontconfig", .reason = "fonts"},
	{.path = ".config/git/attributes", .reason = "git's attributes of all projects"},
	{.path = ".config/git/ignore", .reason = "git's ignored names of all projects"},
	{.path = ".config/gtk-2.0", .reason = "looks of the desktop"},
	{.path = ".config/gtk-3.0", .reason = "looks of the desktop"},
	{.path = ".config/gtk-4.0", .reason = "looks of the desktop"},
	{.path = ".config/htop", .reason = "options of a monitor"},
	{.path = ".config/locale.conf", .reason = "the language"},
	{.path = ".config/matplotlib", .reason = "options of a plot library"},
	{.path = ".config/mimeapps.list", .reason = "which program opens which file"},
	{.path = ".config/mypy", .reason = "options of a checker"},
	{.path = ".config/pep8", .reason = "options of a linter"},
	{.path = ".config/pycodestyle", .reason = "options of a linter"},
	{.path = ".config/pylintrc", .reason = "options of a linter"},
	{.path = ".config/ripgrep", .reason = "options of a search tool"},
	{.path = ".config/ruff", .reason = "options of a linter"},
	{.path = ".config/rustfmt", .reason = "options of a formatter"},
	{.path = ".config/tmux/tmux.conf", .reason = "options of a terminal"},
	{.path = ".config/user-dirs.dirs", .reason = "names of directories"},
	{.path = ".config/user-dirs.locale", .reason = "the language"},
	{.path = ".config/yamllint", .reason = "options of a linter"},
	{.path = ".local/share/applications", .reason = "menu entries"},
	{.path = ".local/share/bash-completion", .reason = "completions of a shell"},
	{.path = ".local/share/fonts", .reason = "fonts"},
	{.path = ".local/share/icons", .reason = "looks of the desktop"},
	{.path = ".local/share/man", .reason = "manuals"},
	{.path = ".local/share/mime", .reason = "file types"},
	{.path = ".local/share/themes", .reason = "looks of the desktop"},
};
const struct path_table harmless_paths = {"harmless_paths", harmless_paths_rows,
					  ARRAY_LEN(harmless_paths_rows)};
