/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of denial records: names for the result, and the rights that each needs.
 *
 * Should:   have one row an operation.
 * Must not: decide anything: the rows describe calls that were refused.
 * Fails:    never. */
#include "data/denial_ops.h"

/* clang-format off */
const struct denial_op_row denial_ops[DENIAL_COUNT] = {
	[DENIAL_READ] = {"open", "read", NEED_READ, false},
	[DENIAL_WRITE] = {"open", "write", NEED_WRITE, true},
	[DENIAL_CREATE] = {"open", "create", NEED_DIRECTORY, true},
	[DENIAL_MKDIR] = {"mkdir", "create", NEED_DIRECTORY, true},
	[DENIAL_MKNOD] = {"mknod", "create", NEED_DIRECTORY, true},
	[DENIAL_SYMLINK] = {"symlink", "create", NEED_DIRECTORY, true},
	[DENIAL_LINK] = {"link", "create", NEED_ENTRY, true},
	[DENIAL_RENAME] = {"rename", "rename", NEED_ENTRY, true},
	[DENIAL_UNLINK] = {"unlink", "delete", NEED_ENTRY, true},
	[DENIAL_RMDIR] = {"rmdir", "delete", NEED_ENTRY, true},
	[DENIAL_CHMOD] = {"chmod", "mode", NEED_OWNER, true},
	[DENIAL_CHOWN] = {"chown", "owner", NEED_OWNER, true},
	[DENIAL_UTIME] = {"utime", "times", NEED_OWNER, true},
	[DENIAL_XATTR] = {"setxattr", "attributes", NEED_OWNER, true},
	[DENIAL_TRUNCATE] = {"truncate", "write", NEED_WRITE, true},
	[DENIAL_STAT] = {"stat", "read", NEED_EXISTS, false},
	[DENIAL_CONNECT] = {"connect", "connect", NEED_SOCKET, false},
	[DENIAL_EXEC] = {"execve", "execute", NEED_EXECUTE, false},
	[DENIAL_LIMIT] = {"limit", "limit", NEED_CAPABILITY, false},
	[DENIAL_DATAGRAM] = {"connect", "datagram", NEED_SOCKET, false},
	[DENIAL_SEND] = {"sendto", "datagram", NEED_SOCKET, false},
	[DENIAL_SYSCALL] = {"syscall", "syscall", NEED_CAPABILITY, false},
	[DENIAL_BIND] = {"bind", "create", NEED_DIRECTORY, true},
};
/* clang-format on */
