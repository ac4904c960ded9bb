/* SPDX-License-Identifier: Apache-2.0 */
/* The files of ui/assets, which ui/embed.c turns into C while the project is built. */
#ifndef CORRAL_UI_ASSETS_H
#define CORRAL_UI_ASSETS_H

#include <stddef.h>

struct asset {
	const char *name, *type;
	const char *data;
	size_t len;
};

extern const struct asset ui_assets[];
extern const size_t ui_assets_count;

#endif
