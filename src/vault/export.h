/* SPDX-License-Identifier: Apache-2.0 */
/* Writes secrets as a .env file or a JSON object that vault/import.h reads. */
#ifndef CORRAL_VAULT_EXPORT_H
#define CORRAL_VAULT_EXPORT_H

#include "vault/vault.h"

/* The secrets of one agent, "" for the shared ones; *ret is freed with sodium_free(). */
int export_text(const struct vault *v, const char *agent, bool json, char **ret, struct err *e);

#endif
