/* SPDX-License-Identifier: Apache-2.0 */
/* Unix sockets that let a command act outside of the sandbox. */
#ifndef CORRAL_DATA_SOCKETS_H
#define CORRAL_DATA_SOCKETS_H

#include <stddef.h>

struct socket_row {
	const char *pattern; /* fnmatch(3) with FNM_PATHNAME, of a canonical path */
	const char *what;    /* "Docker's" */
	const char *meaning; /* the power that access to it gives: "it gives root on this host" */
};

extern const struct socket_row socket_rows[];
extern const size_t socket_rows_count;

/* The first row that matches, or NULL. */
const struct socket_row *socket_row_for(const char *path);

#endif
