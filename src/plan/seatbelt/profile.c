/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the profile of a plan: processes, files, programs, names, devices, network.
 *
 * Should:   start with (deny default) and allow the accesses of the plan and of data/seatbelt.c.
 * Must not: copy a byte of a policy into the text outside a quoted string (I1).
 * Fails:    closed: a port that would need another number inside is an error. */
#include "plan/seatbelt/seatbelt.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/seatbelt.h"
#include "plan/seatbelt/internal.h"

#include <stdlib.h>
#include <string.h>

#define WHERE "seatbelt"

/* ---- strings and parameters (I1) ---- */

void seatbelt_string(struct writer *w, const char *bytes, size_t len) {
	buf_puts(&w->out, "\"");
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '"' || bytes[i] == '\\') {
			buf_puts(&w->out, "\\");
		}
		buf_add(&w->out, &bytes[i], 1);
	}
	buf_puts(&w->out, "\"");
}

static const struct seatbelt_param *find_param(const struct seatbelt_profile *p, const char *path) {
	for (size_t i = 0; i < p->nparams; i++) {
		if (streq(p->params[i].value, path)) {
			return &p->params[i];
		}
	}
	return NULL;
}

enum param_kind { PARAM_READABLE, PARAM_WRITABLE, PARAM_DENIED };

static enum param_kind kind_of(const struct plan *plan, const char *path) {
	switch (plan_mount_visibility(plan, path)) {
	case VISIBILITY_WRITE:
	case VISIBILITY_PRIVATE:
		return PARAM_WRITABLE;
	case VISIBILITY_READ:
		return PARAM_READABLE;
	case VISIBILITY_NONE:
	case VISIBILITY_DENIED:
		break;
	}
	return PARAM_DENIED;
}

static const char *param_for(struct writer *w, const char *path) {
	static const char *const words[] = {
		[PARAM_READABLE] = "READABLE",
		[PARAM_WRITABLE] = "WRITABLE",
		[PARAM_DENIED] = "OTHER",
	};
	struct seatbelt_profile *p = w->profile;
	const struct seatbelt_param *known = find_param(p, path);
	if (known != NULL) {
		return known->name;
	}
	enum param_kind kind = kind_of(w->plan, path);
	const char *name = streq(path, w->plan->workspace)
				   ? "WORKSPACE"
				   : arena_printf(w->a, "%s_%zu", words[kind], w->counts[kind]++);
	if (name == NULL ||
	    arena_grow(w->a, &p->params, p->nparams, &p->cap, sizeof *p->params) != 0) {
		w->out_of_memory = true;
		return "";
	}
	p->params[p->nparams++] = (struct seatbelt_param){name, path};
	return name;
}

void seatbelt_path(struct writer *w, const char *filter, const char *path) {
	buf_printf(&w->out, "(%s (param \"%s\"))", filter, param_for(w, path));
}

/* ---- lists ---- */

static int text_order(const void *a, const void *b) {
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void seatbelt_texts_add(struct writer *w, struct texts *t, const char *text) {
	if (text == NULL || arena_grow(w->a, &t->list, t->count, &t->cap, sizeof *t->list) != 0) {
		w->out_of_memory = true;
		return;
	}
	t->list[t->count++] = text;
}

void seatbelt_texts_settle(struct texts *t) {
	size_t kept = 0;
	if (t->count > 1) {
		qsort(t->list, t->count, sizeof *t->list, text_order);
	}
	for (size_t i = 0; i < t->count; i++) {
		if (kept == 0 || !streq(t->list[kept - 1], t->list[i])) {
			t->list[kept++] = t->list[i];
		}
	}
	t->count = kept;
}

struct own_dirs seatbelt_own_dirs(const struct plan *plan) {
	bool kept = plan->home_source != NULL; /* a private home that outlives the run */
	return (struct own_dirs){{plan->run_dir, kept ? plan->home_at : NULL}};
}

/* ---- fixed rules ---- */

static bool applies(const struct writer *w, enum seatbelt_when when) {
	return when == SEATBELT_ALWAYS || !w->plan->own_net;
}

static void write_lines(struct writer *w, const struct seatbelt_line *lines, size_t count) {
	for (size_t i = 0; i < count; i++) {
		if (!applies(w, lines[i].when)) {
			continue;
		}
		if (lines[i].reason != NULL) {
			buf_printf(&w->out, "; %s\n", lines[i].reason);
		}
		buf_printf(&w->out, "%s\n", lines[i].text);
	}
}

static void write_services(struct writer *w) {
	for (size_t i = 0; i < seatbelt_services_count; i++) {
		const struct seatbelt_service *s = &seatbelt_services[i];
		if (applies(w, s->when)) {
			buf_printf(&w->out, "; %s\n(allow mach-lookup (global-name \"%s\"))\n",
				   s->reason, s->name);
		}
	}
}

/* A device of the plan is one only as a character device. */
static void write_devices(struct writer *w) {
	for (size_t i = 0; i < w->plan->nmounts; i++) {
		const struct mount *m = &w->plan->mounts[i];
		if (m->kind != MOUNT_DEVICE) {
			continue;
		}
		buf_puts(&w->out, "(allow file-write-data\n  (require-all ");
		seatbelt_path(w, "literal", m->target);
		buf_puts(&w->out, " (vnode-type CHARACTER-DEVICE)))\n");
	}
}

/* ---- network ---- */

static void allow_port(struct writer *w, uint16_t port) {
	if (port != 0) {
		buf_printf(&w->out, "(allow network-outbound (remote ip \"localhost:%u\"))\n",
			   (unsigned)port);
	}
}

static void write_unix_sockets(struct writer *w) {
	const struct plan *plan = w->plan;
	const struct own_dirs own = seatbelt_own_dirs(plan);
	buf_puts(&w->out, "(allow system-socket (socket-domain AF_UNIX))\n");
	for (size_t i = 0; i < ARRAY_LEN(own.list); i++) {
		if (own.list[i] == NULL) {
			continue;
		}
		buf_puts(&w->out, "(allow network-bind (local unix-socket ");
		seatbelt_path(w, "subpath", own.list[i]);
		buf_puts(&w->out, "))\n(allow network-outbound (remote unix-socket ");
		seatbelt_path(w, "subpath", own.list[i]);
		buf_puts(&w->out, "))\n");
	}
	for (size_t i = 0; i < plan->net.nsockets; i++) {
		if (plan_passes_socket(plan, plan->net.sockets[i].target)) {
			buf_puts(&w->out, "(allow network-outbound (remote unix-socket ");
			seatbelt_path(w, "literal", plan->net.sockets[i].source);
			buf_puts(&w->out, "))\n");
		}
	}
}

static void write_network(struct writer *w, struct seatbelt_ports ports) {
	const struct net_plan *net = &w->plan->net;
	if (!w->plan->own_net) {
		buf_puts(&w->out, "(allow network*)\n");
		return;
	}
	if (net_has_names(net)) {
		allow_port(w, ports.http);
		allow_port(w, ports.socks);
	}
	for (size_t i = 0; i < net->nhost_ports; i++) {
		allow_port(w, net->host_ports[i]);
	}
	for (size_t i = 0; i < net->npublish; i++) {
		unsigned port = net->publish[i].inside;
		buf_printf(&w->out,
			   "(allow network-bind (local ip \"localhost:%u\"))\n"
			   "(allow network-inbound (local ip \"localhost:%u\"))\n",
			   port, port);
	}
	write_unix_sockets(w);
}

static int check_ports(const struct plan *plan, struct err *e) {
	for (size_t i = 0; i < plan->net.npublish; i++) {
		const struct net_publish *p = &plan->net.publish[i];
		if (p->inside != p->outside) {
			err_set(e, ERR_SETUP, WHERE,
				"net.publish %u:%u needs a network of its own, which macOS does "
				"not have",
				(unsigned)p->inside, (unsigned)p->outside);
			return err_fix(e, "publish %u under the same number", (unsigned)p->inside);
		}
	}
	return 0;
}

/* ---- the whole ---- */

int seatbelt_profile_make(struct arena *a, const struct plan *plan, struct seatbelt_ports ports,
			  struct seatbelt_profile *ret, struct err *e) {
	struct seatbelt_profile profile = {0};
	struct writer w = {.a = a, .plan = plan, .profile = &profile};
	if (check_ports(plan, e) != 0) {
		return -1;
	}
	buf_init(&w.out);
	buf_puts(&w.out, "(version 1)\n(deny default)\n\n; programs\n");
	seatbelt_write_programs(&w);
	buf_puts(&w.out, "\n; processes\n");
	write_lines(&w, seatbelt_processes, seatbelt_processes_count);
	buf_puts(&w.out, "\n; directories above a path that is shown\n");
	seatbelt_write_metadata(&w);
	buf_puts(&w.out, "\n; files: the last rule that matches decides\n");
	seatbelt_write_files(&w);
	buf_puts(&w.out, "\n; names\n");
	seatbelt_write_rules(&w);
	buf_puts(&w.out, "\n; devices and the system\n");
	write_lines(&w, seatbelt_basics, seatbelt_basics_count);
	write_devices(&w);
	write_services(&w);
	buf_puts(&w.out, "\n; network\n");
	write_network(&w, ports);
	profile.text = w.out.failed ? NULL : arena_strdup(a, w.out.data);
	buf_done(&w.out);
	if (profile.text == NULL || w.out_of_memory) {
		return err_memory(e, WHERE);
	}
	*ret = profile;
	return 0;
}

/* As a comment: a control character must not end it (I1). */
static void print_param(const struct seatbelt_param *p, struct buf *out) {
	buf_printf(out, "; -D %s=", p->name);
	for (const char *at = p->value; *at != '\0'; at++) {
		unsigned char c = (unsigned char)*at;
		if (c < 0x20 || c == 0x7f) {
			buf_printf(out, "\\x%02x", c);
		} else {
			buf_add(out, at, 1);
		}
	}
	buf_puts(out, "\n");
}

void seatbelt_profile_print(const struct seatbelt_profile *profile, struct buf *out) {
	for (size_t i = 0; i < profile->nparams; i++) {
		print_param(&profile->params[i], out);
	}
	buf_puts(out, profile->text);
}
