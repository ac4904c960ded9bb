/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of Windows, before banned.h: they use names that it bans.  The build includes this
 * header first in every file that calls Windows; the other files of this room compile anywhere. */
#ifndef CORRAL_WINDOWS_API_H
#define CORRAL_WINDOWS_API_H

#ifdef _WIN32

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#ifndef UNICODE
#define UNICODE
#endif

#include <windows.h>

#include <aclapi.h>
#include <sddl.h>

#endif

#endif
