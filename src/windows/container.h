/* SPDX-License-Identifier: Apache-2.0 */
/* AppContainer: a profile, and so a SID, of its own for each run. */
#ifndef CORRAL_WINDOWS_CONTAINER_H
#define CORRAL_WINDOWS_CONTAINER_H

#include "windows/api.h"

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether this machine can create a profile; else why not.  It creates one and deletes it. */
bool container_probe(const char **ret_why);

/* "corral." and the id of the run: a name that no other run has. */
#define CONTAINER_NAME_MAX 64

#ifdef _WIN32
#define CONTAINER_CAPABILITIES_MAX 3

struct appcontainer {
	PSID sid; /* of the profile; NULL: none */
	SID_AND_ATTRIBUTES capabilities[CONTAINER_CAPABILITIES_MAX];
	DWORD ncapabilities;
};

/* network: the capabilities of net.mode full; without, the container has none. */
int container_create(const char *name, bool network, struct appcontainer *ret, struct err *e);
void container_done(struct appcontainer *c);
#endif

/* Deletes the profile with its directory and registry; one that does not exist is no error (X2). */
int container_delete(const char *name, struct err *e);

#endif
