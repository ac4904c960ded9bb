/* SPDX-License-Identifier: Apache-2.0 */
/* The operations that a denial record can be about, and the rights that each needs on the host. */
#ifndef CORRAL_DATA_DENIAL_OPS_H
#define CORRAL_DATA_DENIAL_OPS_H

#include <stdbool.h>

enum denial_op {
	DENIAL_READ,
	DENIAL_WRITE,
	DENIAL_CREATE,
	DENIAL_MKDIR,
	DENIAL_MKNOD,
	DENIAL_SYMLINK,
	DENIAL_LINK,
	DENIAL_RENAME,
	DENIAL_UNLINK,
	DENIAL_RMDIR,
	DENIAL_CHMOD,
	DENIAL_CHOWN,
	DENIAL_UTIME,
	DENIAL_XATTR,
	DENIAL_TRUNCATE,
	DENIAL_STAT,
	DENIAL_CONNECT,
	DENIAL_DATAGRAM, /* connect(2) of a socket for datagrams */
	DENIAL_SEND,     /* a datagram */
	DENIAL_BIND,
	DENIAL_EXEC,
	DENIAL_LIMIT,   /* a limit that was reached */
	DENIAL_SYSCALL, /* refused by the filter, whatever its arguments */
	DENIAL_COUNT
};

/* The right that the caller needs on the host for the same operation. */
enum denial_need {
	NEED_EXISTS,     /* the file exists */
	NEED_READ,       /* it can be read */
	NEED_WRITE,      /* it can be written */
	NEED_DIRECTORY,  /* names in its directory can be created and removed */
	NEED_ENTRY,      /* … and it exists */
	NEED_OWNER,      /* it belongs to the caller */
	NEED_CAPABILITY, /* for most such calls */
	NEED_EXECUTE,    /* a program that can be executed */
	NEED_SOCKET,     /* a socket that can be connected to */
};

struct denial_op_row {
	const char *op;     /* the field "op" of a record */
	const char *access; /* the field "access" */
	enum denial_need need;
	bool changes; /* the path has to be writable */
};

extern const struct denial_op_row denial_ops[DENIAL_COUNT];

#endif
