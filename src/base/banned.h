/* Calls that this house does not make: unbounded, racy, or a shell in disguise.
 * Force-included by the build; using one is a compile error. */
#ifndef CORRAL_BASE_BANNED_H
#define CORRAL_BASE_BANNED_H

#if defined(__GNUC__)
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#undef alloca
#undef strcpy
#undef strcat
#undef strtok
#pragma GCC poison strcpy strcat sprintf vsprintf strtok gets mktemp tmpnam system popen alloca    \
	atoi atol
#endif

#endif
