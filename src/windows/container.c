/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and deletes AppContainer profiles.
 *
 * Should:   give a container without capabilities, which has no network, unless the policy has
 *           net.mode full.
 * Must not: need the functions at load time: versions before Windows 8, and wine, have none.
 * Fails:    closed: without a profile there is no container, and the plan says so. */
#include "windows/container.h"

#include "base/auto.h"
#include "windows/wide.h"

#include <stdio.h>

#define WHERE "appcontainer"
#define PROBE_NAME L"corral.probe"

typedef HRESULT(WINAPI *create_fn)(PCWSTR, PCWSTR, PCWSTR, PSID_AND_ATTRIBUTES, DWORD, PSID *);
typedef HRESULT(WINAPI *delete_fn)(PCWSTR);

/* GetProcAddress() returns one type for all functions. */
union function {
	FARPROC any;
	create_fn create;
	delete_fn delete;
};

static union function find(const char *name) {
	HMODULE library = LoadLibraryExW(L"userenv.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
	return (union function){.any = library == NULL ? NULL : GetProcAddress(library, name)};
}

bool container_probe(const char **ret_why) {
	create_fn create = find("CreateAppContainerProfile").create;
	delete_fn delete = find("DeleteAppContainerProfile").delete;
	PSID sid = NULL;

	*ret_why = "this version of Windows has no AppContainer";
	if (create == NULL || delete == NULL) {
		return false;
	}
	HRESULT made = create(PROBE_NAME, PROBE_NAME, PROBE_NAME, NULL, 0, &sid);
	if (made == HRESULT_FROM_WIN32(ERROR_ALREADY_EXISTS)) {
		return true; /* another run probes now */
	}
	if (FAILED(made)) {
		*ret_why = made == E_NOTIMPL ? "CreateAppContainerProfile is not implemented here"
					     : "CreateAppContainerProfile fails here";
		return false;
	}
	(void)FreeSid(sid);
	(void)delete (PROBE_NAME); /* it holds nothing */
	return true;
}

static int add_capability(struct appcontainer *c, WELL_KNOWN_SID_TYPE kind, struct err *e) {
	DWORD size = SECURITY_MAX_SID_SIZE;
	PSID sid = calloc(1, size);

	if (sid == NULL) {
		return err_memory(e, WHERE);
	}
	c->capabilities[c->ncapabilities++] =
		(SID_AND_ATTRIBUTES){.Sid = sid, .Attributes = SE_GROUP_ENABLED};
	return CreateWellKnownSid(kind, NULL, sid, &size)
		       ? 0
		       : wide_fail(e, WHERE, "cannot make the SID of a capability", "",
				   GetLastError());
}

int container_create(const char *name, bool network, struct appcontainer *ret, struct err *e) {
	static const WELL_KNOWN_SID_TYPE kinds[] = {
		WinCapabilityInternetClientSid,
		WinCapabilityInternetClientServerSid,
		WinCapabilityPrivateNetworkClientServerSid,
	};
	create_fn create = find("CreateAppContainerProfile").create;
	wchar_t wide[CONTAINER_NAME_MAX];

	*ret = (struct appcontainer){0};
	for (size_t i = 0; network && i < ARRAY_LEN(kinds); i++) {
		if (add_capability(ret, kinds[i], e) != 0) {
			container_done(ret);
			return -1;
		}
	}
	(void)swprintf(wide, ARRAY_LEN(wide), L"%hs", name); /* ASCII, and short */
	HRESULT made = create == NULL ? E_NOTIMPL
				      : create(wide, wide, L"a run of Corral",
					       ret->ncapabilities == 0 ? NULL : ret->capabilities,
					       ret->ncapabilities, &ret->sid);
	if (FAILED(made)) {
		container_done(ret);
		return wide_fail(e, WHERE, "cannot create the profile", name, (uint32_t)made);
	}
	return 0;
}

void container_done(struct appcontainer *c) {
	if (c->sid != NULL) {
		(void)FreeSid(c->sid);
	}
	for (DWORD i = 0; i < c->ncapabilities; i++) {
		free(c->capabilities[i].Sid);
	}
	*c = (struct appcontainer){0};
}

int container_delete(const char *name, struct err *e) {
	delete_fn delete = find("DeleteAppContainerProfile").delete;
	wchar_t wide[CONTAINER_NAME_MAX];

	if (delete == NULL) {
		return 0; /* then it was not created either */
	}
	(void)swprintf(wide, ARRAY_LEN(wide), L"%hs", name);
	HRESULT done = delete (wide);
	bool missing = done == HRESULT_FROM_WIN32(ERROR_NOT_FOUND) ||
		       done == HRESULT_FROM_WIN32(ERROR_FILE_NOT_FOUND) ||
		       done == HRESULT_FROM_WIN32(ERROR_PATH_NOT_FOUND) || done == E_NOTIMPL;
	return SUCCEEDED(done) || missing
		       ? 0
		       : wide_fail(e, WHERE, "cannot delete the profile", name, (uint32_t)done);
}
