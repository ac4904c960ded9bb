/* SPDX-License-Identifier: Apache-2.0 */
/* Files with a token: never an argument or a variable, which other processes can read. */
#ifndef CORRAL_RPC_TOKEN_FILE_H
#define CORRAL_RPC_TOKEN_FILE_H

#include "corral.h"

#include "rpc/token.h"

/* Reads the token from a file that only its owner can read, or with "-" from stdin.  -1 with *err;
 * err->sys_errno is ENOENT for a file that does not exist. */
int token_file_read(const char *path, char ret[TOKEN_TEXT_LENGTH + 1], struct corral_error *err);

/* Creates the file, which must not exist: an old one could belong to others. */
int token_file_write(const char *path, const char *token, struct corral_error *err);

/* The same in two steps, for a token that is made only when its file exists. */
int token_file_create(const char *path, int *ret, struct corral_error *err);
int token_file_fill(int fd, const char *path, const char *token, struct corral_error *err);

#endif
