/* SPDX-License-Identifier: Apache-2.0 */
/* Records the changes of a run on this machine, and undoes them.
 *
 * Should:   write a record to the disk before the change (X1).
 * Must not: follow a junction while it removes a directory: the command may have planted one.
 * Fails:    closed for a change that cannot be recorded; a change that cannot be undone
 *           stays in the journal. */
#include "windows/undo.h"

#include "base/auto.h"
#include "base/str.h"
#include "windows/acl.h"
#include "windows/container.h"
#include "windows/wide.h"

#include <stdlib.h>

#define WHERE "undo"

/* A journal has a few lines; a larger file is not one. */
#define JOURNAL_BYTES_MAX ((size_t)16 << 20)

static int make_dir(struct arena *a, const char *path, struct err *e) {
	wchar_t *wide = wide_path(a, path);

	if (wide == NULL) {
		return err_memory(e, WHERE);
	}
	if (!CreateDirectoryW(wide, NULL) && GetLastError() != ERROR_ALREADY_EXISTS) {
		return wide_fail(e, WHERE, "cannot create", path, GetLastError());
	}
	return 0;
}

int undo_state_dir(struct arena *a, const char **ret, struct err *e) {
	wchar_t local[MAX_PATH];
	DWORD n = GetEnvironmentVariableW(L"LOCALAPPDATA", local, ARRAY_LEN(local));
	const char *base = n == 0 || n >= ARRAY_LEN(local) ? NULL : wide_narrow(a, local);
	const char *state = base == NULL ? NULL : arena_printf(a, "%s\\Corral", base);

	if (state == NULL || !grants_is_absolute(state)) {
		return err_set(e, ERR_SETUP, WHERE, "LOCALAPPDATA is not an absolute path");
	}
	const char *journals = arena_printf(a, "%s\\journal", state);
	const char *runs = arena_printf(a, "%s\\runs", state);
	if (journals == NULL || runs == NULL) {
		return err_memory(e, WHERE);
	}
	*ret = state;
	return make_dir(a, state, e) != 0 || make_dir(a, journals, e) != 0 ||
			       make_dir(a, runs, e) != 0
		       ? -1
		       : 0;
}

/* Alone (X4), and removable through the handle. */
static HANDLE open_journal(struct arena *a, const char *path, DWORD disposition) {
	wchar_t *wide = wide_path(a, path);
	return wide == NULL ? INVALID_HANDLE_VALUE
			    : CreateFileW(wide, GENERIC_READ | GENERIC_WRITE | DELETE, 0, NULL,
					  disposition, FILE_ATTRIBUTE_NORMAL, NULL);
}

int undo_begin(struct arena *a, const char *id, struct undo *ret, struct err *e) {
	const struct journal_record run = {.kind = JOURNAL_RUN, .fields = {id}};

	*ret = (struct undo){.a = a, .file = INVALID_HANDLE_VALUE};
	if (undo_state_dir(a, &ret->state, e) != 0) {
		return -1;
	}
	const char *path = arena_printf(a, "%s\\journal\\%s.journal", ret->state, id);
	if (path == NULL) {
		return err_memory(e, WHERE);
	}
	ret->file = open_journal(a, path, CREATE_NEW);
	if (ret->file == INVALID_HANDLE_VALUE) {
		return wide_fail(e, WHERE, "cannot create", path, GetLastError());
	}
	return undo_note(ret, &run, e);
}

int undo_note(struct undo *u, const struct journal_record *record, struct err *e) {
	struct buf line;
	DWORD written = 0;

	if (arena_grow(u->a, &u->done.records, u->done.count, &u->done.cap, sizeof *record) != 0) {
		return err_memory(e, WHERE);
	}
	buf_init(&line);
	undo_journal_write(&line, record);
	bool failed = buf_failed(&line) ||
		      !WriteFile(u->file, line.data, (DWORD)line.len, &written, NULL) ||
		      written != line.len || !FlushFileBuffers(u->file);
	buf_done(&line);
	if (failed) {
		return wide_fail(e, WHERE, "cannot write the journal", "", GetLastError());
	}
	u->done.records[u->done.count++] = *record;
	return 0;
}

int undo_directory(struct undo *u, const char *id, const char **ret_path, struct err *e) {
	const char *path = arena_printf(u->a, "%s\\runs\\%s", u->state, id);
	const struct journal_record record = {.kind = JOURNAL_DIRECTORY, .fields = {path}};

	if (path == NULL) {
		return err_memory(e, WHERE);
	}
	if (undo_note(u, &record, e) != 0 || make_dir(u->a, path, e) != 0) {
		return -1;
	}
	*ret_path = path;
	return 0;
}

int undo_grant(struct undo *u, const struct path_grant *g, const char *sid, struct err *e) {
	struct journal_record record = {.kind = JOURNAL_GRANT, .fields = {g->path, sid}};

	return acl_text(u->a, g->path, &record.fields[2], e) != 0 || undo_note(u, &record, e) != 0
		       ? -1
		       : acl_grant(u->a, g, sid, e);
}

/* ---- removal ---- */

static int remove_one(struct arena *a, const char *path, DWORD attributes, struct err *e);

static int remove_entries(struct arena *a, const char *path, struct err *e) {
	const char *pattern = arena_printf(a, "%s\\*", path);
	wchar_t *wide = pattern == NULL ? NULL : wide_path(a, pattern);
	WIN32_FIND_DATAW found;
	int rc = 0;

	if (wide == NULL) {
		return err_memory(e, WHERE);
	}
	HANDLE search = FindFirstFileW(wide, &found);
	if (search == INVALID_HANDLE_VALUE) {
		return GetLastError() == ERROR_FILE_NOT_FOUND
			       ? 0
			       : wide_fail(e, WHERE, "cannot list", path, GetLastError());
	}
	do {
		bool dots =
			wcscmp(found.cFileName, L".") == 0 || wcscmp(found.cFileName, L"..") == 0;
		const char *name = dots ? NULL : wide_narrow(a, found.cFileName);
		const char *child = name == NULL ? NULL : arena_printf(a, "%s\\%s", path, name);
		if (!dots && child == NULL) {
			rc = err_set(e, ERR_SETUP, WHERE, "%s has a name that is not Unicode",
				     path);
		} else if (!dots && remove_one(a, child, found.dwFileAttributes, e) != 0) {
			rc = -1;
		}
	} while (FindNextFileW(search, &found));
	(void)FindClose(search); /* it only reads */
	return rc;
}

/* A junction is removed itself, and never entered. */
static int remove_one(struct arena *a, const char *path, DWORD attributes, struct err *e) {
	wchar_t *wide = wide_path(a, path);
	bool dir = (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
	bool link = (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;

	if (wide == NULL) {
		return err_memory(e, WHERE);
	}
	if (dir && !link && remove_entries(a, path, e) != 0) {
		return -1;
	}
	if (!link) {
		(void)SetFileAttributesW(wide, FILE_ATTRIBUTE_NORMAL); /* the removal reports it */
	}
	if (dir ? RemoveDirectoryW(wide) : DeleteFileW(wide)) {
		return 0;
	}
	DWORD code = GetLastError();
	return code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND
		       ? 0
		       : wide_fail(e, WHERE, "cannot remove", path, code);
}

/* Only beneath Corral's own directory, for every journal. */
static int remove_private(struct arena *a, const char *state, const char *path, struct err *e) {
	const char *runs = arena_printf(a, "%s\\runs", state);
	wchar_t *wide = wide_path(a, path);

	if (runs == NULL || wide == NULL) {
		return err_memory(e, WHERE);
	}
	if (!grants_is_absolute(path) || !grants_within(path, runs) || grants_within(runs, path)) {
		return err_set(e, ERR_SETUP, WHERE, "%s is not a directory of a run", path);
	}
	DWORD attributes = GetFileAttributesW(wide);
	return attributes == INVALID_FILE_ATTRIBUTES ? 0 : remove_one(a, path, attributes, e);
}

/* ---- undoing ---- */

static int undo_record(struct arena *a, const char *state, const struct journal_record *r,
		       size_t *changed, struct err *e) {
	bool other = false;
	int rc = 0;

	switch (r->kind) {
	case JOURNAL_GRANT:
		rc = acl_revoke(a, r->fields[0], r->fields[1], r->fields[2], &other, e);
		*changed += other;
		break;
	case JOURNAL_PROFILE:
		rc = container_delete(r->fields[0], e);
		break;
	case JOURNAL_DIRECTORY:
		rc = remove_private(a, state, r->fields[0], e);
		break;
	case JOURNAL_RUN:
	case JOURNAL_KIND_COUNT:
		break;
	}
	return rc;
}

/* The last change first; all of them, also after a failure. */
static int undo_records(struct arena *a, const char *state, const struct undo_journal *j,
			size_t *changed, struct err *e) {
	int rc = 0;

	for (size_t i = j->count; i-- > 0;) {
		if (undo_record(a, state, &j->records[i], changed, e) != 0) {
			rc = -1;
		}
	}
	return rc;
}

static int remove_journal(HANDLE file, struct err *e) {
	FILE_DISPOSITION_INFO gone = {.DeleteFile = TRUE};
	return SetFileInformationByHandle(file, FileDispositionInfo, &gone, sizeof gone)
		       ? 0
		       : wide_fail(e, WHERE, "cannot remove the journal", "", GetLastError());
}

int undo_end(struct undo *u, size_t *ret_changed, struct err *e) {
	auto_handle file = u->file;
	size_t changed = 0;
	int rc = undo_records(u->a, u->state, &u->done, &changed, e);

	u->file = INVALID_HANDLE_VALUE;
	*ret_changed = changed;
	return rc != 0 ? -1 : remove_journal(file, e);
}

static int read_journal(struct arena *a, HANDLE file, struct undo_journal *ret, struct err *e) {
	LARGE_INTEGER size;
	DWORD got = 0;

	if (!GetFileSizeEx(file, &size) || (size_t)size.QuadPart > JOURNAL_BYTES_MAX) {
		return err_set(e, ERR_SETUP, WHERE, "a journal is too large");
	}
	char *text = arena_alloc(a, (size_t)size.QuadPart + 1);
	if (text == NULL) {
		return err_memory(e, WHERE);
	}
	if (!ReadFile(file, text, (DWORD)size.QuadPart, &got, NULL)) {
		return wide_fail(e, WHERE, "cannot read a journal", "", GetLastError());
	}
	return undo_journal_read(a, text, got, ret, e);
}

static int replay_one(struct arena *a, const char *state, const char *name,
		      struct undo_summary *sum, struct err *e) {
	const char *path = arena_printf(a, "%s\\journal\\%s", state, name);
	struct undo_journal j;

	if (path == NULL) {
		return err_memory(e, WHERE);
	}
	auto_handle file = open_journal(a, path, OPEN_EXISTING);
	if (file == INVALID_HANDLE_VALUE) {
		DWORD code = GetLastError();
		sum->alive += code == ERROR_SHARING_VIOLATION;
		return code == ERROR_SHARING_VIOLATION || code == ERROR_FILE_NOT_FOUND
			       ? 0
			       : wide_fail(e, WHERE, "cannot open", path, code);
	}
	if (read_journal(a, file, &j, e) != 0 ||
	    undo_records(a, state, &j, &sum->changed, e) != 0) {
		return -1;
	}
	if (j.damaged > 0) {
		sum->damaged += j.damaged;
		(void)err_set(e, ERR_SETUP, WHERE, "%s has %u damaged lines", path,
			      (unsigned)j.damaged);
		return err_fix(e, "check the permissions of the workspaces, then delete that file");
	}
	sum->replayed++;
	return remove_journal(file, e);
}

int undo_replay(struct undo_summary *ret, struct err *e) {
	struct arena a;
	const char *state;
	WIN32_FIND_DATAW found;
	int rc = 0;

	*ret = (struct undo_summary){0};
	arena_init(&a);
	if (undo_state_dir(&a, &state, e) != 0) {
		arena_done(&a);
		return -1;
	}
	const char *pattern = arena_printf(&a, "%s\\journal\\*.journal", state);
	wchar_t *wide = pattern == NULL ? NULL : wide_path(&a, pattern);
	HANDLE search = wide == NULL ? INVALID_HANDLE_VALUE : FindFirstFileW(wide, &found);
	bool more = search != INVALID_HANDLE_VALUE;
	while (more) {
		const char *name = wide_narrow(&a, found.cFileName);
		if (name != NULL && replay_one(&a, state, name, ret, e) != 0) {
			rc = -1;
		}
		more = FindNextFileW(search, &found);
	}
	if (search != INVALID_HANDLE_VALUE) {
		(void)FindClose(search); /* it only reads */
	}
	arena_done(&a);
	return rc;
}
