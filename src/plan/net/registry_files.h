/* The settings of package managers, as far as they name registries. */
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
	REGISTRY_MIRRORS, /* what "mirror+file:" leads to */
	REGISTRY_LIST,    /* the value of a variable: addresses, separated by blanks, "," or "|" */
	REGISTRY_SUMDB,   /* and that of GOSUMDB */
	REGISTRY_FORMAT_COUNT
};

/* Called with each word that may be the address of a registry. */
struct registry_reader {
	struct arena *a; /* for what is taken apart */
	void (*found)(void *arg, const char *word, size_t len);
	void *arg;
};

/* What cannot be understood names nothing. */
void registry_read(const struct registry_reader *r, enum registry_format format, const char *text);

#endif
