/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the program of a command and the real paths of its grants.
 *
 * Should:   name one file, so that CreateProcessW does not search.
 * Must not: search the current directory, which Windows would do first.
 * Fails:    closed: a missing program, and a workspace that is a system directory, is an error. */
#include "windows/program.h"

#include "base/auto.h"
#include "base/str.h"
#include "windows/grants.h"
#include "windows/quote.h"
#include "windows/wide.h"

#include <stdlib.h>

#define WHERE "program"

int program_real_path(struct arena *a, const char *path, const char **ret, bool *ret_directory,
		      struct err *e) {
	wchar_t *wide = wide_text(a, path);
	wchar_t *found = arena_array(a, 32768, sizeof *found); /* the longest path of Windows */
	BY_HANDLE_FILE_INFORMATION info;

	if (wide == NULL || found == NULL) {
		return err_memory(e, WHERE);
	}
	auto_handle h = CreateFileW(wide, READ_CONTROL,
				    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
				    OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
	if (h == INVALID_HANDLE_VALUE || !GetFileInformationByHandle(h, &info)) {
		(void)wide_fail(e, WHERE, "cannot open", path, GetLastError());
		e->kind = ERR_NOT_FOUND;
		return -1;
	}
	DWORD n =
		GetFinalPathNameByHandleW(h, found, 32768, FILE_NAME_NORMALIZED | VOLUME_NAME_DOS);
	if (n == 0 || n >= 32768) {
		return wide_fail(e, WHERE, "cannot resolve", path, GetLastError());
	}
	bool share = wcsncmp(found, L"\\\\?\\UNC\\", 8) == 0;
	size_t skip = share ? 7 : wcsncmp(found, L"\\\\?\\", 4) == 0 ? 4 : 0;
	const char *rest = wide_narrow(a, found + skip);
	*ret = rest == NULL ? NULL : share ? arena_printf(a, "\\%s", rest) : rest;
	*ret_directory = (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
	return *ret == NULL ? err_set(e, ERR_SETUP, WHERE, "%s has no Unicode name", path) : 0;
}

static bool is_file(struct arena *a, const char *path) {
	wchar_t *wide = wide_text(a, path);
	DWORD attributes = wide == NULL ? INVALID_FILE_ATTRIBUTES : GetFileAttributesW(wide);
	return attributes != INVALID_FILE_ATTRIBUTES &&
	       (attributes & FILE_ATTRIBUTE_DIRECTORY) == 0;
}

/* The name, or the name with an ending that CreateProcessW executes. */
static const char *with_ending(struct arena *a, const char *path) {
	static const char *const endings[] = {"", ".exe", ".com"};

	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		const char *one = arena_printf(a, "%s%s", path, endings[i]);
		if (one != NULL && is_file(a, one)) {
			return one;
		}
	}
	return NULL;
}

static const char *in_path(struct arena *a, const char *name, const char *path) {
	while (*path != '\0') {
		size_t n = strcspn(path, ";");
		const char *dir = arena_strndup(a, path, n);
		const char *full =
			dir == NULL || n == 0 ? NULL : arena_printf(a, "%s\\%s", dir, name);
		const char *found = full == NULL ? NULL : with_ending(a, full);
		if (found != NULL) {
			return found;
		}
		path += n + (path[n] != '\0');
	}
	return NULL;
}

int program_find(struct arena *a, const char *name, const struct environment *env,
		 const char *directory, const char **ret, struct err *e) {
	bool plain = name[strcspn(name, "/\\:")] == '\0';
	const char *path = environment_get(env, "PATH"), *found = NULL, *real;
	bool dir;

	if (quote_check_program(name, e) != 0) {
		return -1;
	}
	if (plain) {
		found = in_path(a, name, path == NULL ? "" : path);
	} else if (grants_is_absolute(name)) {
		found = with_ending(a, name);
	} else {
		const char *joined = arena_printf(a, "%s\\%s", directory, name);
		found = joined == NULL ? NULL : with_ending(a, joined);
	}
	if (found == NULL) {
		(void)err_set(e, ERR_NOT_FOUND, WHERE, "%s was not found%s", name,
			      plain ? " in PATH" : "");
		return err_fix(e, "name it with its path, or pass PATH: --env PATH=...");
	}
	/* CreateProcessW decides by the name of the link, so both names are checked. */
	if (quote_check_program(found, e) != 0 ||
	    program_real_path(a, found, &real, &dir, e) != 0 || quote_check_program(real, e) != 0) {
		return -1;
	}
	*ret = real;
	return 0;
}

/* True when the workspace is the variable's directory or contains it, or lies in it. */
static bool overlaps(struct arena *a, const char *workspace, const wchar_t *variable, bool within) {
	wchar_t value[MAX_PATH];
	DWORD n = GetEnvironmentVariableW(variable, value, ARRAY_LEN(value));
	const char *dir = n == 0 || n >= ARRAY_LEN(value) ? NULL : wide_narrow(a, value);

	return dir != NULL &&
	       (grants_within(dir, workspace) || (within && grants_within(workspace, dir)));
}

int program_check_workspace(struct arena *a, const char *workspace, struct err *e) {
	static const struct {
		const wchar_t *variable;
		bool within;
		const char *what;
	} rows[] = {
		{L"SystemRoot", true, "the directory of Windows"},
		{L"ProgramFiles", true, "the directory of programs"},
		{L"ProgramFiles(x86)", true, "the directory of programs"},
		{L"ProgramData", true, "the data of programs"},
		{L"USERPROFILE", false, "your home"},
		{L"APPDATA", true, "the settings of your programs"},
		{L"LOCALAPPDATA", false, "the data of your programs"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (overlaps(a, workspace, rows[i].variable, rows[i].within)) {
			(void)err_set(e, ERR_REFUSED, WHERE, "the workspace %s is or contains %s",
				      workspace, rows[i].what);
			return err_fix(e,
				       "choose a project with --workspace DIR, or accept it with "
				       "--any-workspace");
		}
	}
	return 0;
}
