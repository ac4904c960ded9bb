/* SPDX-License-Identifier: Apache-2.0 */
/* Judges refused connections: to other hosts where no gate decides, to servers on this host's
 * loopback, to abstract unix sockets of this host; and datagrams without a route.
 *
 * Should:   name the option that allows the connection; list a server of this host only if it has
 *           one at that port or name.
 * Must not: connect to anything.
 * Fails:    open: out of memory, or without /proc, there is no denial. */
#include "run/denials_judge.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- servers of this host ---- */

/* One line of a table of /proc/net. */
#define LINE_MAX_ 512

typedef bool line_fn(const char *line, const void *wanted);

static bool has_line(const char *file, line_fn *matches, const void *wanted) {
	char line[LINE_MAX_];
	FILE *f = fopen(file, "re");
	bool found = false;

	while (f != NULL && !found && fgets(line, sizeof line, f) != NULL) {
		found = matches(line, wanted);
	}
	if (f != NULL) {
		(void)fclose(f); /* it was only read */
	}
	return found;
}

/* "  0: 0100007F:1538 00000000:0000 0A …": a listener on the loopback or on every address. */
static bool is_listener(const char *line, const void *wanted) {
	static const char *const addresses[] = {
		"0100007F", "00000000", "00000000000000000000000000000000",
		"00000000000000000000000001000000", "0000000000000000FFFF00000100007F"};
	const unsigned *port = wanted;
	char address[33], number[5], state[3];

	if (sscanf(line, " %*u: %32[0-9A-F]:%4[0-9A-F] %*[0-9A-F]:%*x %2s", address, number,
		   state) != 3 ||
	    strtoul(number, NULL, 16) != *port || !streq(state, "0A")) {
		return false;
	}
	for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
		if (streq(address, addresses[i])) {
			return true;
		}
	}
	return false;
}

/* "0000000000000000: 00000002 00000000 00010000 0001 01 12345 @name" */
static bool is_abstract(const char *line, const void *wanted) {
	const char *at = strchr(line, '@'), *name = wanted;
	size_t len = strlen(name);

	return at != NULL && at > line && at[-1] == ' ' && strncmp(at, name, len) == 0 &&
	       at[len] == '\n';
}

static bool host_listens(unsigned port) {
	return has_line("/proc/net/tcp", is_listener, &port) ||
	       has_line("/proc/net/tcp6", is_listener, &port);
}

/* ---- verdicts ---- */

static unsigned port_of(const char *address) {
	return (unsigned)strtoul(strrchr(address, ':') + 1, NULL, 10);
}

static bool is_loopback(const char *address) {
	return str_starts(address, "127.") || str_starts(address, "[::1]:");
}

/* Of the loopback, net.host_ports passes these addresses alone. */
static bool is_served(const char *address) {
	return str_starts(address, "127.0.0.1:") || str_starts(address, "[::1]:");
}

static bool is_whole(const struct denial *d) {
	return (d->host != NULL || d->path != NULL) && d->origin != NULL && d->why != NULL &&
	       d->remedy != NULL;
}

/* A floor about the network leaves no option. */
static void offer(const struct judging *g, const char *origin, const char *option,
		  struct denial *ret) {
	bool floor = policy_floor(g->policy, KEY_NET_MODE) != NULL ||
		     policy_floor(g->policy, KEY_NET_HOST_PORTS) != NULL;

	ret->allow_with = floor ? NULL : option;
	ret->remedy = floor || option == NULL
			      ? arena_printf(g->a,
					     "no option allows it: change the rule where it "
					     "is written (%s)",
					     origin)
			      : arena_printf(g->a, "allow it: %s", option);
}

static const char *origin_of(const struct judging *g, enum key_id key) {
	char text[128];

	policy_origin_text(&g->policy->values[key].origin, text, sizeof text);
	return arena_strdup(g->a, text);
}

static bool judge_loopback(const struct judging *g, const struct journal_refusal *r,
			   struct denial *ret) {
	unsigned port = port_of(r->named[0]);
	const char *origin = origin_of(g, KEY_NET_HOST_PORTS);

	if (r->op != DENIAL_CONNECT || origin == NULL || !host_listens(port) ||
	    (is_served(r->named[0]) && net_passes_port(&g->plan->net, (uint16_t)port))) {
		return false;
	}
	*ret = (struct denial){
		.op = r->op,
		.host = arena_strdup(g->a, r->named[0]),
		.error = r->error,
		.rule = "net.host_ports",
		.origin = origin,
		.why = arena_printf(g->a,
				    is_served(r->named[0])
					    ? "port %u of this host's loopback is not passed "
					      "(net.host_ports, %s)"
					    : "port %u is at an address of this host's loopback "
					      "that is never passed (net.host_ports, %s)",
				    port, origin),
		.count = r->count,
	};
	offer(g, origin, arena_printf(g->a, "--host-port %u", port), ret);
	if (!is_served(r->named[0]) && ret->allow_with != NULL) {
		ret->allow_with = NULL;
		ret->remedy = arena_printf(g->a,
					   "no option passes this address: connect to "
					   "127.0.0.1:%u, and use --host-port %u",
					   port, port);
	}
	return is_whole(ret);
}

static bool judge_abstract(const struct judging *g, const struct journal_refusal *r,
			   struct denial *ret) {
	if (!has_line("/proc/net/unix", is_abstract, r->named[0])) {
		return false;
	}
	*ret = (struct denial){
		.op = r->op,
		.path = arena_strdup(g->a, r->named[0]),
		.error = r->error,
		.rule = "net.sockets",
		.origin = origin_of(g, KEY_NET_SOCKETS),
		.why = arena_printf(g->a,
				    "%s is an abstract unix socket of this host, which the sandbox "
				    "does not reach",
				    r->named[0]),
		.remedy = "no option allows it: pass a socket file of the same server "
			  "(--socket PATH)",
		.count = r->count,
	};
	return is_whole(ret);
}

/* The name is not known, and an option for the address of the server would not help. */
static bool is_lookup(const char *address) {
	return port_of(address) == 53;
}

static bool judge_outside(const struct judging *g, const struct journal_refusal *r,
			  struct denial *ret) {
	bool datagram = r->op != DENIAL_CONNECT;
	const char *mode = g->plan->net.gate ? "filtered" : "none";
	const char *origin = origin_of(g, KEY_NET_MODE);

	if (r->error == ECONNREFUSED || is_lookup(r->named[0]) || origin == NULL) {
		return false;
	}
	*ret = (struct denial){
		.op = r->op,
		.host = arena_strdup(g->a, r->named[0]),
		.error = r->error,
		.rule = arena_printf(g->a, "net.mode %s", mode),
		.origin = origin,
		.count = r->count,
	};
	if (datagram) {
		ret->why = arena_printf(
			g->a, "the sandbox sends no datagrams to other hosts (net.mode %s, %s)",
			mode, origin);
		ret->remedy = "no option forwards datagrams: use TCP; --net full opens the whole "
			      "network";
	} else {
		ret->why = arena_printf(g->a, "the sandbox has no network (net.mode %s, %s)", mode,
					origin);
		offer(g, origin, arena_printf(g->a, "--allow-host %s", r->named[0]), ret);
	}
	return ret->rule != NULL && is_whole(ret);
}

bool denied_net_judge(const struct judging *g, const struct journal_refusal *r,
		      struct denial *ret) {
	if (r->named[0][0] == '@') {
		return judge_abstract(g, r, ret);
	}
	if (!g->plan->own_net || r->op == DENIAL_BIND || strrchr(r->named[0], ':') == NULL) {
		return false;
	}
	return is_loopback(r->named[0]) ? judge_loopback(g, r, ret) : judge_outside(g, r, ret);
}
