/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the restricted token of a command, and looks at the token that a process has.
 *
 * Should:   remove every privilege, disable the groups that make an administrator, and lower the
 *           integrity level.
 * Must not: add a restricting SID: the workspace would need an entry for it, too.
 * Fails:    closed; token_look() reports a fact only if the system says so. */
#include "windows/token.h"

#include "base/auto.h"
#include "windows/wide.h"

#include <stdlib.h>

#define WHERE "token"

/* Groups whose members can change the machine. */
static const WELL_KNOWN_SID_TYPE powerful[] = {
	WinBuiltinAdministratorsSid,   WinBuiltinPowerUsersSid,      WinBuiltinBackupOperatorsSid,
	WinBuiltinAccountOperatorsSid, WinBuiltinSystemOperatorsSid,
};

struct powerful_sid {
	_Alignas(8) BYTE bytes[SECURITY_MAX_SID_SIZE];
};

static int lower_integrity(HANDLE token, struct err *e) {
	struct powerful_sid sid;
	DWORD size = sizeof sid.bytes;
	TOKEN_MANDATORY_LABEL label = {
		.Label = {.Sid = sid.bytes, .Attributes = SE_GROUP_INTEGRITY}};

	if (!CreateWellKnownSid(WinLowLabelSid, NULL, sid.bytes, &size) ||
	    !SetTokenInformation(token, TokenIntegrityLevel, &label, sizeof label + size)) {
		return wide_fail(e, WHERE, "cannot lower the integrity level", "", GetLastError());
	}
	return 0;
}

int token_restricted(HANDLE *ret, struct err *e) {
	struct powerful_sid sids[ARRAY_LEN(powerful)];
	SID_AND_ATTRIBUTES disabled[ARRAY_LEN(powerful)];
	auto_handle own = NULL, made = NULL;
	DWORD n = 0;

	for (size_t i = 0; i < ARRAY_LEN(powerful); i++) {
		DWORD size = sizeof sids[n].bytes;
		if (CreateWellKnownSid(powerful[i], NULL, sids[n].bytes, &size)) {
			disabled[n] = (SID_AND_ATTRIBUTES){.Sid = sids[n].bytes};
			n++;
		}
	}
	if (n == 0 ||
	    !OpenProcessToken(GetCurrentProcess(),
			      TOKEN_DUPLICATE | TOKEN_QUERY | TOKEN_ASSIGN_PRIMARY |
				      TOKEN_ADJUST_DEFAULT,
			      &own) ||
	    !CreateRestrictedToken(own, DISABLE_MAX_PRIVILEGE, n, disabled, 0, NULL, 0, NULL,
				   &made)) {
		return wide_fail(e, WHERE, "cannot make a restricted token", "", GetLastError());
	}
	if (lower_integrity(made, e) != 0) {
		return -1;
	}
	*ret = take_ptr(made);
	return 0;
}

/* A piece of information of any size; NULL: the system does not have it. */
static void *query(HANDLE token, TOKEN_INFORMATION_CLASS class) {
	DWORD size = 0;

	(void)GetTokenInformation(token, class, NULL, 0, &size); /* it fails and sets the size */
	void *found = size == 0 ? NULL : calloc(1, size);
	if (found != NULL && !GetTokenInformation(token, class, found, size, &size)) {
		free(found);
		return NULL;
	}
	return found;
}

static bool without_privileges(HANDLE token) {
	auto_free TOKEN_PRIVILEGES *list = query(token, TokenPrivileges);
	LUID harmless;

	if (list == NULL || !LookupPrivilegeValueW(NULL, SE_CHANGE_NOTIFY_NAME, &harmless)) {
		return false;
	}
	for (DWORD i = 0; i < list->PrivilegeCount; i++) {
		LUID have = list->Privileges[i].Luid;
		if (have.LowPart != harmless.LowPart || have.HighPart != harmless.HighPart) {
			return false;
		}
	}
	return true;
}

static bool is_low(HANDLE token) {
	auto_free TOKEN_MANDATORY_LABEL *label = query(token, TokenIntegrityLevel);

	if (label == NULL || *GetSidSubAuthorityCount(label->Label.Sid) == 0) {
		return false;
	}
	DWORD last = *GetSidSubAuthorityCount(label->Label.Sid) - 1U;
	return *GetSidSubAuthority(label->Label.Sid, last) <= SECURITY_MANDATORY_LOW_RID;
}

void token_look(HANDLE token, struct token_facts *ret) {
	DWORD container = 0, size = 0;
	auto_free TOKEN_GROUPS *capabilities = query(token, TokenCapabilities);

	*ret = (struct token_facts){
		.restricted = without_privileges(token),
		.low = is_low(token),
	};
	if (GetTokenInformation(token, TokenIsAppContainer, &container, sizeof container, &size)) {
		ret->appcontainer = size == sizeof container && container != 0;
	}
	ret->capabilities = capabilities == NULL ? 0 : capabilities->GroupCount;
}
