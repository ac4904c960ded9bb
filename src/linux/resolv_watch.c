/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the host's resolv.conf and hosts file to the gate when they have changed.
 *
 * Should:   answer each request of the gate at once, with the files that differ from its copy.
 * Must not: read the files without a request; send a file that is being written.
 * Fails:    to the gate's copy: a file that is missing, empty, too long or has no name server
 *           changes nothing. */
#include "linux/resolv_watch.h"

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "gate/dns/resolv_conf.h"

#include <string.h>
#include <sys/stat.h>

/* A file that changed within this time may change again with the same mtime, which has a
 * resolution of a few milliseconds, and an incomplete last line may be completed. */
#define YOUNG_MS 1000

static const struct {
	const char *path;
	size_t max;
	uint8_t message;
} rows[RESOLV_WATCH_FILES] = {
	[RESOLV_WATCH_RESOLV_CONF] = {"/etc/resolv.conf", NET_RESOLV_CONF_MAX,
				      DNS_UPDATE_RESOLV_CONF},
	[RESOLV_WATCH_HOSTS] = {"/etc/hosts", NET_HOSTS_MAX, DNS_UPDATE_HOSTS},
};

static struct resolv_watch_stamp stamp_of(const struct stat *st) {
	return (struct resolv_watch_stamp){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = st->st_size,
		.written = st->st_mtim,
		.changed = st->st_ctim,
	};
}

static bool same_time(struct timespec a, struct timespec b) {
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same(const struct resolv_watch_stamp *a, const struct resolv_watch_stamp *b) {
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       same_time(a->written, b->written) && same_time(a->changed, b->changed);
}

static bool is_young(const struct resolv_watch_stamp *s) {
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
	int64_t age = ((int64_t)now.tv_sec - s->changed.tv_sec) * 1000 +
		      (now.tv_nsec - s->changed.tv_nsec) / 1000000;
	return age > -YOUNG_MS && age < YOUNG_MS;
}

static bool names_server(const char *text) {
	struct resolv_conf s;
	resolv_conf_read(&s, text, YOUNG_MS); /* the time-out is not used */
	return s.named;
}

/* Whether the file looks completely written. */
static bool is_whole(enum resolv_watch_file which, const char *text, bool young) {
	size_t len = strlen(text);
	return len > 0 && (!young || text[len - 1] == '\n') &&
	       (which != RESOLV_WATCH_RESOLV_CONF || names_server(text));
}

static const char *known(const struct resolv_watch *w, enum resolv_watch_file which) {
	bool conf = which == RESOLV_WATCH_RESOLV_CONF;
	if (w->files[which].sent) {
		return conf ? w->update->resolv_conf : w->update->hosts;
	}
	return conf ? w->net->resolv_conf : w->net->hosts;
}

static bool take(struct resolv_watch *w, enum resolv_watch_file which, const char *text) {
	bool conf = which == RESOLV_WATCH_RESOLV_CONF;
	/* The gate can write to the shared copy; the comparison ends with `text`. */
	if (streq(text, known(w, which))) {
		return false;
	}
	memcpy(conf ? w->update->resolv_conf : w->update->hosts, text, strlen(text) + 1);
	w->files[which].sent = true;
	return true;
}

static bool look(struct resolv_watch *w, enum resolv_watch_file which) {
	struct stat st;
	struct buf text;
	bool changed = false;

	if (stat(rows[which].path, &st) != 0 || !S_ISREG(st.st_mode)) {
		return false;
	}
	struct resolv_watch_stamp now = stamp_of(&st);
	if (w->files[which].settled && same(&now, &w->files[which].stamp)) {
		return false;
	}
	bool young = is_young(&now);
	buf_init(&text);
	if (fd_read_file(rows[which].path, rows[which].max, &text) == 0 && text.data != NULL &&
	    is_whole(which, text.data, young)) {
		changed = take(w, which, text.data);
	}
	buf_done(&text);
	w->files[which].stamp = now;
	w->files[which].settled = !young;
	return changed;
}

static void answer(struct resolv_watch *w) {
	uint8_t message = 0;
	for (enum resolv_watch_file i = 0; i < RESOLV_WATCH_FILES; i++) {
		message |= look(w, i) ? rows[i].message : 0;
	}
	/* The gate has one request at a time, so the send does not block; if the gate has ended,
	 * the next receive fails. */
	(void)dns_update_send(w->line, message);
}

void resolv_watch_poll(const struct resolv_watch *w, struct pollfd *slot) {
	*slot = (struct pollfd){.fd = w->gate_ended ? -1 : w->line, .events = POLLIN};
}

void resolv_watch_step(struct resolv_watch *w, const struct pollfd *slot) {
	uint8_t message = 0;
	if (slot->revents == 0) {
		return;
	}
	int got = dns_update_receive(w->line, &message);
	w->gate_ended = got < 0;
	if (got > 0) {
		answer(w);
	}
}
