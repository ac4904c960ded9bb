/* SPDX-License-Identifier: Apache-2.0 */
/* libc functions that are compile errors here: they write without a bound, race, or run a shell.
 * The build includes this header in every file. */
#ifndef CORRAL_BASE_BANNED_H
#define CORRAL_BASE_BANNED_H

#if defined(__GNUC__)
#ifdef _WIN32
#include <io.h>
#include <malloc.h>
#else
#include <alloca.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* With clang and _FORTIFY_SOURCE some of them are macros, which cannot be poisoned. */
#undef alloca
#undef popen
#undef sprintf
#undef strcat
#undef strcpy
#undef strtok
#undef vsprintf
#pragma GCC poison strcpy strcat sprintf vsprintf strtok gets mktemp tmpnam system popen alloca    \
	atoi atol
#endif

#endif
