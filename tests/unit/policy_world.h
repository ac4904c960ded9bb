/* SPDX-License-Identifier: Apache-2.0 */
/* A world for tests of the policy: directories and files of its own, settings, and the
 * policy or the error that comes out. */
#ifndef CORRAL_TESTS_UNIT_POLICY_WORLD_H
#define CORRAL_TESTS_UNIT_POLICY_WORLD_H

#include "test.h"

#include "base/arena.h"
#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"
#include "policy/internal.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
	struct arena a;
	char dir[64], ws[96], home[96], admin[96], user[96], project[128], trust[128], extra[96];
	struct setting settings[16];
	struct policy_inputs in;
	struct policy p;
	struct err e;
};

static inline void write_file(const char *path, const char *text) {
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_all(fd, text, strlen(text)) != 0 || close(fd) != 0) {
		perror(path);
		abort();
	}
}

static inline void make_dir(const char *path) {
	if (mkdir(path, 0700) != 0) {
		perror(path);
		abort();
	}
}

#define PATH_IN(w, member, name)                                                                   \
	(void)snprintf((w)->member, sizeof(w)->member, "%s/%s", (w)->dir, name)

static inline void world_init(struct world *w) {
	memset(w, 0, sizeof *w);
	arena_init(&w->a);
	memcpy(w->dir, "/tmp/corral-policy-XXXXXX", sizeof "/tmp/corral-policy-XXXXXX");
	if (mkdtemp(w->dir) == NULL) {
		abort();
	}
	PATH_IN(w, ws, "ws");
	PATH_IN(w, home, "home");
	PATH_IN(w, admin, "system.toml");
	PATH_IN(w, user, "user.toml");
	PATH_IN(w, extra, "extra.toml");
	PATH_IN(w, project, "ws/" PROJECT_FILE);
	PATH_IN(w, trust, "state/corral/trust");
	make_dir(w->ws);
	make_dir(w->home);
	w->in = (struct policy_inputs){
		.cwd = w->ws,
		.home = w->home,
		.system_file = w->admin,
		.user_file = w->user,
		.trust_file = w->trust,
		.settings = w->settings,
	};
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static inline void world_done(struct world *w) {
	(void)nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	arena_done(&w->a);
}

static inline void world_done_(struct world *w) {
	world_done(w);
}

#define WORLD(w)                                                                                   \
	__attribute__((cleanup(world_done_))) struct world w;                                      \
	world_init(&(w))

static inline void set(struct world *w, const char *key, const char *value, const char *origin) {
	w->settings[w->in.nsettings++] = (struct setting){key, value, origin};
}

static inline int resolve(struct world *w) {
	memset(&w->p, 0, sizeof w->p);
	memset(&w->e, 0, sizeof w->e);
	return policy_resolve(&w->a, &w->in, &w->p, &w->e);
}

/* One setting on its own: the outcome, and nothing left behind. */
static inline int try(struct world *w, const char *key, const char *value) {
	w->in.nsettings = 0;
	set(w, key, value, "--try");
	int done = resolve(w);
	w->in.nsettings = 0;
	return done;
}

static inline bool says(const struct world *w, const char *words) {
	const char *sys = w->e.sys != 0 ? strerror(w->e.sys) : "";
	bool found = strstr(w->e.what, words) != NULL || strstr(w->e.fix, words) != NULL ||
		     strstr(sys, words) != NULL;
	if (!found) {
		printf("# no \"%s\" in: %s: %s | %s\n", words, w->e.what, sys, w->e.fix);
	}
	return found;
}

#define CHECK_OK(w, expr)                                                                          \
	do {                                                                                       \
		int done_ = (expr);                                                                \
		CHECK(done_ == 0);                                                                 \
		if (done_ != 0) {                                                                  \
			printf("# %s | %s\n", (w)->e.what, (w)->e.fix);                            \
		}                                                                                  \
	} while (0)

#define CHECK_FAILS(w, expr, why, ...)                                                             \
	do {                                                                                       \
		CHECK((expr) == -1);                                                               \
		CHECK_INT((w)->e.kind, why);                                                       \
		CHECK_STR((w)->e.where, "policy");                                                 \
		const char *const words_[] = {__VA_ARGS__};                                        \
		for (size_t i_ = 0; i_ < ARRAY_LEN(words_); i_++) {                                \
			CHECK(says(w, words_[i_]));                                                \
		}                                                                                  \
	} while (0)

static inline const char *origin_of(const struct world *w, enum key_id key) {
	static char text[300];
	return policy_origin_text(&w->p.values[key].origin, text, sizeof text);
}

#endif
