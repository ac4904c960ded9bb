/* SPDX-License-Identifier: Apache-2.0 */
/* Finds registry URLs in the settings files of package managers. */
#ifndef CORRAL_PLAN_NET_REGISTRY_FILES_H
#define CORRAL_PLAN_NET_REGISTRY_FILES_H

#include "base/arena.h"

enum registry_format {
	REGISTRY_NPM,     /* .npmrc */
	REGISTRY_YARN_1,  /* .yarnrc */
	REGISTRY_YARN,    /* .yarnrc.yml */
	REGISTRY_PIP,     /* pip.conf */
	REGISTRY_UV,      /* uv.toml */
	REGISTRY_CARGO,   /* config.toml */
	REGISTRY_GO,      /* go/env */
	REGISTRY_MAVEN,   /* settings.xml */
	REGISTRY_GEM,     /* .gemrc */
	REGISTRY_APT,     /* sources.list */
	REGISTRY_SOURCES, /* *.sources */
	REGISTRY_MIRRORS, /* the file after "mirror+file:" */
	REGISTRY_LIST,    /* the value of a variable: URLs, separated by blanks, "," or "|" */
	REGISTRY_SUMDB,   /* the value of GOSUMDB */
	REGISTRY_FORMAT_COUNT
};

/* `found` is called with each word that may be the URL of a registry. */
struct registry_reader {
	struct arena *a; /* for the parsed document */
	void (*found)(void *arg, const char *word, size_t len);
	void *arg;
};

/* A text that cannot be parsed names no registry. */
void registry_read(const struct registry_reader *r, enum registry_format format, const char *text);

#endif
