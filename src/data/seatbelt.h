/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the macOS backend: directories of the system, Mach services, and the rules that
 * every Seatbelt profile has.
 *
 * Pure data, compiled on every system: the profile is generated and tested on Linux as well. */
#ifndef CORRAL_DATA_SEATBELT_H
#define CORRAL_DATA_SEATBELT_H

#include "data/paths.h"

/* Instead of system_roots, in the system view. */
extern const struct path_table macos_roots;
/* Instead of sensitive_paths: hidden in every tree that contains them. */
extern const struct path_table macos_hidden;
/* In addition to credential_paths, relative to the caller's home. */
extern const struct path_table macos_credentials;

/* The network that a row is for. */
enum seatbelt_when {
	SEATBELT_ALWAYS,
	SEATBELT_NET_FULL, /* net.mode is full */
};

/* A Mach service that the command may look up. */
struct seatbelt_service {
	const char *name;
	const char *reason;
	enum seatbelt_when when;
};

extern const struct seatbelt_service seatbelt_services[];
extern const size_t seatbelt_services_count;

/* Rules of the profile, as text: they contain no path of a policy. */
struct seatbelt_line {
	const char *reason; /* a comment; NULL: the one before */
	const char *text;
	enum seatbelt_when when;
};

extern const struct seatbelt_line seatbelt_processes[]; /* before the files */
extern const size_t seatbelt_processes_count;
extern const struct seatbelt_line seatbelt_basics[]; /* after the files */
extern const size_t seatbelt_basics_count;

#endif
