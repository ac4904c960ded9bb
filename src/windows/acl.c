/* SPDX-License-Identifier: Apache-2.0 */
/* Adds and removes access-control entries of one SID.
 *
 * Should:   leave every other entry as it is, and the DACL after a run as it was before.
 * Must not: follow a reparse point: the entry would be in the DACL of another directory.
 * Fails:    closed: a path that cannot get its entries stops the run. */
#include "windows/acl.h"

#include "base/auto.h"
#include "base/str.h"
#include "windows/undo_journal.h"
#include "windows/wide.h"

#include <stdlib.h>

#define WHERE "acl"
#define DACL_ONLY DACL_SECURITY_INFORMATION

static int open_object(struct arena *a, const char *path, DWORD access, HANDLE *ret,
		       struct err *e) {
	wchar_t *wide = wide_path(a, path);
	BY_HANDLE_FILE_INFORMATION info;

	if (wide == NULL) {
		return err_memory(e, WHERE);
	}
	auto_handle h = CreateFileW(
		wide, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
		OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	if (h == INVALID_HANDLE_VALUE || !GetFileInformationByHandle(h, &info)) {
		DWORD code = GetLastError();
		(void)wide_fail(e, WHERE, "cannot open", path, code);
		e->kind = code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND
				  ? ERR_NOT_FOUND
				  : ERR_SETUP;
		return code == ERROR_ACCESS_DENIED && (access & WRITE_DAC) != 0
			       ? err_fix(e, "only the owner can grant a path; Windows and Program "
					    "Files need no grant")
			       : -1;
	}
	if ((info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {
		return err_set(e, ERR_SETUP, WHERE, "%s is a symlink or a junction", path);
	}
	*ret = take_ptr(h);
	return 0;
}

static int text_of(struct arena *a, HANDLE h, const char *path, const char **ret, struct err *e) {
	auto_local PSECURITY_DESCRIPTOR sd = NULL;
	auto_local LPWSTR text = NULL;
	DWORD code = GetSecurityInfo(h, SE_FILE_OBJECT, DACL_ONLY, NULL, NULL, NULL, NULL, &sd);

	if (code == ERROR_SUCCESS && !ConvertSecurityDescriptorToStringSecurityDescriptorW(
					     sd, SDDL_REVISION_1, DACL_ONLY, &text, NULL)) {
		code = GetLastError();
	}
	if (code != ERROR_SUCCESS) {
		return wide_fail(e, WHERE, "cannot read the DACL of", path, code);
	}
	*ret = wide_narrow(a, text);
	return *ret == NULL ? err_memory(e, WHERE) : 0;
}

int acl_text(struct arena *a, const char *path, const char **ret, struct err *e) {
	auto_handle h = NULL;
	return open_object(a, path, READ_CONTROL, &h, e) != 0 ? -1 : text_of(a, h, path, ret, e);
}

static PSID sid_of(ACE_HEADER *ace) {
	/* Entries with an object have their SID elsewhere; files have none of them. */
	bool plain =
		ace->AceType == ACCESS_ALLOWED_ACE_TYPE || ace->AceType == ACCESS_DENIED_ACE_TYPE;
	return plain ? (PSID) & ((ACCESS_ALLOWED_ACE *)(void *)ace)->SidStart : NULL;
}

/* Copies the entries of `from` that are inherited, or those that are not, without those of sid. */
static bool copy_entries(PACL from, PACL to, bool inherited, PSID without) {
	for (DWORD i = 0; i < from->AceCount; i++) {
		ACE_HEADER *ace;
		if (!GetAce(from, i, (void **)&ace)) {
			return false;
		}
		PSID sid = sid_of(ace);
		bool skip = ((ace->AceFlags & INHERITED_ACE) != 0) != inherited ||
			    (without != NULL && sid != NULL && EqualSid(sid, without));
		if (!skip && !AddAce(to, ACL_REVISION, MAXDWORD, ace, ace->AceSize)) {
			return false;
		}
	}
	return true;
}

/* Explicit entries come before inherited ones, as Windows orders them. */
static DWORD change(HANDLE h, PSID sid, const struct grant_entry *entries, size_t n) {
	auto_local PSECURITY_DESCRIPTOR sd = NULL;
	PACL old = NULL;
	DWORD code = GetSecurityInfo(h, SE_FILE_OBJECT, DACL_ONLY, NULL, NULL, &old, NULL, &sd);

	if (code != ERROR_SUCCESS) {
		return code;
	}
	if (old == NULL) {
		return ERROR_INVALID_ACL; /* NULL: full access for everyone */
	}
	DWORD size =
		old->AclSize + (DWORD)n * (DWORD)(sizeof(ACCESS_ALLOWED_ACE) + GetLengthSid(sid));
	auto_free PACL new = calloc(1, size);
	if (new == NULL) {
		return ERROR_NOT_ENOUGH_MEMORY;
	}
	bool done = InitializeAcl(new, size, ACL_REVISION) &&
		    copy_entries(old, new, false, n == 0 ? sid : NULL);
	for (size_t i = 0; done && i < n; i++) {
		done = AddAccessAllowedAceEx(new, ACL_REVISION, entries[i].flags, entries[i].mask,
					     sid);
	}
	if (!done || !copy_entries(old, new, true, NULL)) {
		return GetLastError();
	}
	/* Propagates to the entries of a directory. */
	return SetSecurityInfo(h, SE_FILE_OBJECT, DACL_ONLY, NULL, NULL, new, NULL);
}

static int parse_sid(struct arena *a, const char *text, PSID *ret, struct err *e) {
	wchar_t *wide = wide_text(a, text);

	if (wide == NULL || !ConvertStringSidToSidW(wide, ret)) {
		return err_set(e, ERR_SETUP, WHERE, "%s is not a SID", text);
	}
	return 0;
}

int acl_grant(struct arena *a, const struct path_grant *g, const char *sid, struct err *e) {
	struct grant_entry entries[GRANT_ENTRIES_MAX];
	auto_handle h = NULL;
	auto_local PSID parsed = NULL;
	const char *after;

	if (open_object(a, g->path, READ_CONTROL | WRITE_DAC, &h, e) != 0 ||
	    parse_sid(a, sid, &parsed, e) != 0) {
		return -1;
	}
	DWORD code = change(h, parsed, entries, grants_entries(g, entries));
	if (code != ERROR_SUCCESS) {
		return wide_fail(e, WHERE, "cannot change the DACL of", g->path, code);
	}
	if (text_of(a, h, g->path, &after, e) != 0) {
		return -1;
	}
	return strstr(after, sid) != NULL
		       ? 0
		       : err_set(e, ERR_SETUP, WHERE, "the file system of %s does not keep DACLs",
				 g->path);
}

/* The flags of the DACL ("AI", "PAI"), which SetSecurityInfo() may have changed. */
static void restore_flags(struct arena *a, HANDLE h, const char *before) {
	wchar_t *wide = wide_text(a, before);
	auto_local PSECURITY_DESCRIPTOR sd = NULL;

	if (wide != NULL && ConvertStringSecurityDescriptorToSecurityDescriptorW(
				    wide, SDDL_REVISION_1, &sd, NULL)) {
		(void)SetKernelObjectSecurity(h, DACL_ONLY, sd); /* *ret_changed reports it */
	}
}

int acl_revoke(struct arena *a, const char *path, const char *sid, const char *before,
	       bool *ret_changed, struct err *e) {
	auto_handle h = NULL;
	auto_local PSID parsed = NULL;
	const char *after;

	*ret_changed = false;
	if (open_object(a, path, READ_CONTROL | WRITE_DAC, &h, e) != 0) {
		return e->kind == ERR_NOT_FOUND ? 0 : -1;
	}
	if (parse_sid(a, sid, &parsed, e) != 0 || text_of(a, h, path, &after, e) != 0) {
		return -1;
	}
	if (strstr(after, sid) == NULL) {
		*ret_changed = !streq(after, before);
		return 0; /* X2: it was not granted, or was revoked before */
	}
	DWORD code = change(h, parsed, NULL, 0);
	if (code != ERROR_SUCCESS) {
		return wide_fail(e, WHERE, "cannot change the DACL of", path, code);
	}
	if (text_of(a, h, path, &after, e) != 0) {
		return -1;
	}
	if (!streq(after, before) &&
	    streq(undo_journal_entries(after), undo_journal_entries(before))) {
		restore_flags(a, h, before);
		if (text_of(a, h, path, &after, e) != 0) {
			return -1;
		}
	}
	*ret_changed = !streq(after, before);
	return 0;
}
