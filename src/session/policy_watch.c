/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the directories of the policy files (session/policy_watch.h).
 *
 * Should:   notice a file that is written, replaced, created or removed, also with its directory,
 *           and a change of the target of a symlink.
 * Must not: wait; reload because of any other name in these directories.
 * Fails:    open: files that cannot be watched are reloaded on request; the log says so. */
#include "session/policy_watch.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "session/daemon.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/inotify.h>

/* Longer than the steps of one save, shorter than a person notices. */
#define SETTLE_MS 150
#define EVENTS                                                                                     \
	(IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB |        \
	 IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

static void add_path(struct policy_watch *w, char *path) {
	if (path != NULL && w->npaths < POLICY_WATCH_PATHS) {
		w->paths[w->npaths++] = path;
	} else {
		free(path);
	}
}

static void drop_paths(struct policy_watch *w) {
	while (w->npaths > 0) {
		free(w->paths[--w->npaths]);
	}
}

/* The files of the version in force, which exist or not. */
static void find_paths(struct daemon *d) {
	auto_free char *text = NULL;
	struct corral_error err = {0};
	size_t i;
	json_t *file;

	if (corral_config_show(d->config, &text, &err) != 0) {
		return; /* out of memory: the old paths stay */
	}
	json_t *files = json_loads(text, 0, NULL);
	drop_paths(&d->policy);
	json_array_foreach(files, i, file) {
		const char *path = json_string_value(json_object_get(file, "path"));
		char *real = path == NULL ? NULL : realpath(path, NULL);
		add_path(&d->policy, path == NULL ? NULL : strdup(path));
		add_path(&d->policy, real);
	}
	json_decref(files);
}

/* Watches the deepest directory above the path that exists.  A watch that exists stays. */
static void watch_above(struct policy_watch *w, const char *path) {
	char dir[PATH_MAX];

	(void)snprintf(dir, sizeof dir, "%s",
		       path); /* of realpath(3), or of a file that was opened */
	for (char *slash; (slash = strrchr(dir, '/')) != NULL;) {
		slash[slash == dir] = '\0';
		if (inotify_add_watch(w->watch.fd, dir, EVENTS) >= 0 || slash == dir) {
			return;
		}
	}
}

static void watch_all(struct daemon *d) {
	find_paths(d);
	for (size_t i = 0; i < d->policy.npaths; i++) {
		watch_above(&d->policy, d->policy.paths[i]);
	}
}

/* Whether the name is that of a policy file, or of a directory above one. */
static bool is_part(const struct policy_watch *w, const char *name) {
	size_t len = strlen(name);

	for (size_t i = 0; i < w->npaths; i++) {
		for (const char *p = w->paths[i]; (p = strchr(p, '/')) != NULL;) {
			p++;
			if (strncmp(p, name, len) == 0 && (p[len] == '/' || p[len] == '\0')) {
				return true;
			}
		}
	}
	return false;
}

/* An event without a name is about a watched directory itself, or says that events were lost. */
static bool concerns(const struct policy_watch *w, const struct inotify_event *event) {
	return event->len == 0 ? (event->mask & IN_IGNORED) == 0 : is_part(w, event->name);
}

static void watch_ready(struct watch *w, uint32_t events) {
	struct daemon *d = w->owner;
	_Alignas(struct inotify_event) char buffer[4096];
	ssize_t n = read(w->fd, buffer, sizeof buffer);
	bool changed = false;

	(void)events;
	for (const char *at = buffer; n > 0 && at < buffer + n;) {
		const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
		changed = changed || concerns(&d->policy, event);
		at += sizeof *event + event->len;
	}
	if (changed && d->policy.due == 0) {
		d->policy.due = clock_ms() + SETTLE_MS;
	}
}

void policy_watch_begin(struct daemon *d) {
	struct err e = {0};

	d->policy.watch = (struct watch){
		.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .ready = watch_ready, .owner = d};
	if (d->policy.watch.fd < 0 ||
	    daemon_loop_watch(&d->loop, &d->policy.watch, EPOLLIN, &e) != 0) {
		daemon_log("changes of the policy files are not noticed; use `corral daemon "
			   "reload`");
		drop_fd(&d->policy.watch.fd);
		return;
	}
	watch_all(d);
}

void policy_watch_end(struct daemon *d) {
	drop_fd(&d->policy.watch.fd);
	drop_paths(&d->policy);
}

int64_t policy_watch_check(struct daemon *d, int64_t now) {
	if (d->policy.due == 0 || now < d->policy.due) {
		return d->policy.due;
	}
	d->policy.due = 0;
	watch_all(d);           /* first: a change during the reload is an event */
	(void)daemon_reload(d); /* a failure is logged, and in `daemon status` */
	return 0;
}
