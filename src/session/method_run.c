/* SPDX-License-Identifier: Apache-2.0 */
/* The requests that start something: session.create, session.exec and the tools file.*.
 *
 * Should:   record a session before its first process exists; accept no descriptor from a
 *           sandbox but pipes.
 * Must not: store settings or variables, which may hold secrets (session/store.h).
 * Fails:    with a fault; a session that cannot start is FAILED in the database. */
#include "session/mcp_conn.h"

#include "base/auto.h"
#include "base/errno_name.h"
#include "base/str.h"
#include "session/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

struct create {
	const char *name, *cwd, *file, *bridge, *tools, *copy;
	json_t *settings, *environment;
	int serial, no_config;
	json_int_t timeout, token, cpu, idle;
};

/* The value of a setting; "" if none has this key. */
static const char *setting(const struct create *c, const char *key) {
	const char *value = "";
	size_t i;
	json_t *row;

	json_array_foreach(c->settings, i, row) {
		if (streq(json_string_value(json_array_get(row, 0)), key)) {
			value = json_string_value(json_array_get(row, 1));
		}
	}
	return value;
}

/* Pairs of texts, or with the origin triples. */
static int check_settings(const json_t *settings, struct fault *f) {
	size_t i, j;
	json_t *row, *text;

	json_array_foreach(settings, i, row) {
		bool good = json_array_size(row) == 2 || json_array_size(row) == 3;
		json_array_foreach(row, j, text) {
			good = good && json_is_string(text) &&
			       strlen(json_string_value(text)) == json_string_length(text);
		}
		if (!good) {
			return fault_set(f, MESSAGE_INVALID_PARAMS,
					 "params: \"settings\" has to be a list of [key, value]");
		}
	}
	return 0;
}

static int check_environment(json_t *environment, struct fault *f) {
	const char *name;
	json_t *value;

	json_object_foreach(environment, name, value) {
		if (name[0] == '\0' || strchr(name, '=') != NULL || !json_is_string(value) ||
		    strlen(json_string_value(value)) != json_string_length(value)) {
			return fault_set(f, MESSAGE_INVALID_PARAMS,
					 "params: \"environment\" has to map names to texts");
		}
	}
	return 0;
}

static int check_create(const struct create *c, struct fault *f) {
	if (c->name[0] != '\0' && !session_name_is_valid(c->name)) {
		(void)fault_set(f, MESSAGE_INVALID_PARAMS,
				"the name of a session has at most %d letters, digits, \".\", "
				"\"_\", \"-\", and does not begin with sess_",
				SESSION_NAME_MAX);
		return err_fix(&f->e, "example: --name build-1");
	}
	char unknown[64];
	if (mcp_tools_check(c->tools, unknown, sizeof unknown) != 0) {
		(void)fault_set(f, MESSAGE_INVALID_PARAMS, "--tools: there is no tool \"%s\"",
				unknown);
		return err_fix(&f->e, "example: --tools shell,read_file");
	}
	if (c->bridge != NULL && c->bridge[0] == '\0') {
		(void)fault_set(f, MESSAGE_INVALID_PARAMS, "--bridge: there is no command to run");
		return err_fix(&f->e, "example: --bridge 'exec ./server'");
	}
	if (c->cwd[0] != '/') {
		return fault_set(f, MESSAGE_INVALID_PARAMS, "params: \"cwd\" is not absolute");
	}
	const json_int_t times[] = {c->timeout, c->cpu, c->idle};
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		if (times[i] < 0 || times[i] > DURATION_MAX_MS) {
			return fault_set(f, MESSAGE_INVALID_PARAMS,
					 "params: a time is negative, or longer than a year");
		}
	}
	return session_token_lifetime(c->token, f) != 0 || check_settings(c->settings, f) != 0
		       ? -1
		       : check_environment(c->environment, f);
}

static int read_create(struct request *r, struct create *c, struct fault *f) {
	*c = (struct create){.name = "", .cwd = "", .token = TOKEN_LIFETIME_MS};
	if (request_unpack(r, f,
			   "{s?s, s:s, s?s, s?s, s?s, s?s, s?o, s?o, s?b, s?b, s?I, s?I, s?I, s?I}",
			   "name", &c->name, "cwd", &c->cwd, "file", &c->file, "bridge", &c->bridge,
			   "tools", &c->tools, "copy", &c->copy, "settings", &c->settings,
			   "environment", &c->environment, "serial", &c->serial, "no_config",
			   &c->no_config, "timeout_ms", &c->timeout, "token_lifetime_ms", &c->token,
			   "cpu_total_ms", &c->cpu, "idle_timeout_ms", &c->idle) != 0) {
		return -1;
	}
	if ((c->settings != NULL && !json_is_array(c->settings)) ||
	    (c->environment != NULL && !json_is_object(c->environment))) {
		return fault_set(
			f, MESSAGE_INVALID_PARAMS,
			"params: \"settings\" is not a list, or \"environment\" no object");
	}
	return check_create(c, f);
}

static struct session_row create_row(const struct create *c, int64_t now, char *workspace,
				     size_t cap) {
	const char *named = setting(c, "workspace");
	struct session_row row = {.name = c->name,
				  .profile = setting(c, "profile"),
				  .agent = setting(c, "env.agent"),
				  .provider = setting(c, "providers"),
				  .level = "",
				  .reason = "",
				  .serial = c->serial != 0,
				  .created = now,
				  .deadline = c->timeout == 0 ? 0 : now + c->timeout};

	(void)snprintf(workspace, cap, "%s%s%s", named[0] == '/' ? "" : c->cwd,
		       named[0] == '/' || named[0] == '\0' ? "" : "/", named);
	row.workspace = workspace;
	session_id_make(now, row.id);
	return row;
}

static int check_room(const struct daemon *d, struct fault *f) {
	if (d->stopping) {
		return fault_set(f, FAULT_LIMIT, "the daemon ends");
	}
	if (d->nlives < SESSIONS_MAX) {
		return 0;
	}
	(void)fault_set(f, FAULT_LIMIT, "%d sessions are alive, and the daemon keeps no more",
			SESSIONS_MAX);
	return err_fix(&f->e, "stop one: corral session list, corral session stop SESSION");
}

int method_create(struct request *r, json_t **ret, struct fault *f) {
	struct daemon *d = r->conn->daemon;
	struct create c;
	char token[TOKEN_TEXT_LENGTH + 1], workspace[PATH_MAX * 2 + 2];
	struct token_hash hash;
	struct live *live = NULL;
	int64_t now = daemon_now();

	(void)ret;
	if (read_create(r, &c, f) != 0) {
		return -1;
	}
	if (check_room(d, f) != 0) {
		return -1;
	}
	struct session_row row = create_row(&c, now, workspace, sizeof workspace);
	token_make(token, &hash);
	if (store_add_session(d->store, &row, &hash, now + c.token, &f->e) != 0 ||
	    live_start(d, &row, token, r->params, &live, &f->e) != 0) {
		return -1;
	}
	live->tools = c.tools == NULL ? NULL : strdup(c.tools);
	if ((c.tools != NULL && live->tools == NULL) || live_call(live, r) == NULL) {
		live_stop(live, "out of memory");
		return fault_set(f, FAULT_FAILED, "out of memory");
	}
	r->deferred = true;
	return 0;
}

/* ---- exec ---- */

/* The supervisor relays the bytes with its own rights, and some files of /proc and /sys check the
 * rights of the writer: of a process of the sandbox only pipes are accepted. */
static int check_stream(const struct conn *c, int fd, int number, struct fault *f) {
	struct stat st;
	int flags = fcntl(fd, F_GETFL);
	bool open = fstat(fd, &st) == 0 && flags >= 0 && (flags & O_PATH) == 0;

	if (open && (!c->inside || S_ISFIFO(st.st_mode) ||
		     (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)))) {
		return 0;
	}
	(void)fault_set(f, MESSAGE_INVALID_PARAMS, "descriptor %d cannot be relayed%s", number,
			open ? ": it is not a pipe or /dev/null" : "");
	return err_fix(&f->e, "pass a pipe, and relay its bytes");
}

/* Moves descriptors of the request to the message. */
static int take_descriptors(struct conn *c, size_t n, struct wire_message *m, struct fault *f) {
	if (c->nfds < n) {
		return fault_set(f, MESSAGE_INVALID_PARAMS,
				 "%zu of %zu descriptors arrived with the request", c->nfds, n);
	}
	memcpy(m->fds, c->fds, n * sizeof *m->fds);
	m->nfds = n;
	c->nfds -= n;
	memmove(c->fds, c->fds + n, c->nfds * sizeof *c->fds);
	return 0;
}

static int take_streams(struct conn *c, struct wire_message *m, struct fault *f) {
	if (take_descriptors(c, WIRE_FDS, m, f) != 0) {
		return -1;
	}
	for (int i = 0; i < WIRE_FDS; i++) {
		if (check_stream(c, m->fds[i], i, f) != 0) {
			return -1;
		}
	}
	return 0;
}

/* The client's end of a terminal (session/terminal_relay.h). */
static int take_terminal(struct conn *c, struct wire_message *m, struct fault *f) {
	int domain = 0, type = 0;
	socklen_t len = sizeof domain;

	if (take_descriptors(c, 1, m, f) != 0) {
		return -1;
	}
	if (getsockopt(m->fds[0], SOL_SOCKET, SO_DOMAIN, &domain, &len) != 0 ||
	    getsockopt(m->fds[0], SOL_SOCKET, SO_TYPE, &type, &len) != 0 || domain != AF_UNIX ||
	    type != SOCK_SEQPACKET) {
		return fault_set(f, MESSAGE_INVALID_PARAMS,
				 "the terminal's descriptor is not a SOCK_SEQPACKET of AF_UNIX");
	}
	return 0;
}

static int check_argv(const json_t *argv, struct fault *f) {
	size_t i;
	json_t *word;
	bool good = json_array_size(argv) > 0;

	json_array_foreach(argv, i, word) {
		good = good && json_is_string(word) &&
		       strlen(json_string_value(word)) == json_string_length(word);
	}
	return good ? 0
		    : fault_set(f, MESSAGE_INVALID_PARAMS,
				"params: \"argv\" has to be a list of texts, not empty");
}

struct call *method_run_send(struct request *r, struct wire_message *m, struct fault *f) {
	if (m->len > PENDING_MAX_BYTES - r->live->pending_bytes) { /* H7 */
		(void)fault_set(f, FAULT_LIMIT, "the session has %zu bytes of pending requests",
				r->live->pending_bytes);
		(void)err_fix(&f->e, "wait for their answers, or pass long input in a file");
		return NULL;
	}
	if (m->nfds > DESCRIPTORS_MAX - r->live->pending_fds) {
		(void)fault_set(f, FAULT_LIMIT,
				"the pending commands of this session hold %zu descriptors, the "
				"limit is %d",
				r->live->pending_fds, DESCRIPTORS_MAX);
		(void)err_fix(&f->e, "wait for their answers, or let the daemon capture the "
				     "output (\"streams\": \"capture\")");
		return NULL;
	}
	struct call *call = r->conn->calls >= CALLS_MAX ? NULL : live_call(r->live, r);
	if (call == NULL) {
		(void)fault_set(f, FAULT_LIMIT, "this connection has %d pending commands already",
				CALLS_MAX);
		return NULL;
	}
	call->bytes = m->len;
	r->live->pending_bytes += m->len;
	call->fds = m->nfds;
	r->live->pending_fds += m->nfds;
	call->number = direct_socket_number(r->live->counts);
	m->call = call->number;
	bool counts = m->kind == WIRE_EXEC; /* live_send() takes the message */
	int rc = live_send(r->live, m);
	if (rc != 0) {
		live_drop_call(r->live, call);
		(void)fault_set(f, FAULT_LIMIT, "the session is busy (%s)", errno_name(-rc));
		return NULL;
	}
	r->conn->daemon->counters.execs += counts;
	r->deferred = true;
	return call;
}

/* Refuses a tool that --tools of `session create` does not name; the admin socket has them all. */
static int check_offer(const struct request *r, const char *tool, struct fault *f) {
	if (r->conn->scope == SCOPE_ADMIN || mcp_tools_offers(r->live->tools, tool)) {
		return 0;
	}
	(void)fault_set(f, FAULT_FORBIDDEN, "this session does not offer the tool %s", tool);
	return err_fix(&f->e, "create the session with --tools %s", tool);
}

struct exec {
	json_t *argv, *environment, *modes;
	const char *streams, *cwd;
	json_int_t timeout, rows, columns;
	int detach, result;
	bool passes, terminal;
};

static int check_streams(const struct request *r, struct exec *x, struct fault *f) {
	x->passes = streq(x->streams, "pass");
	x->terminal = streq(x->streams, "terminal");
	if (!streq(x->streams, "capture") && !x->passes && !x->terminal) {
		return fault_set(f, MESSAGE_INVALID_PARAMS,
				 "params: \"streams\" is \"capture\", \"pass\" or \"terminal\"");
	}
	if (x->terminal && r->conn->inside) {
		return fault_set(f, FAULT_FORBIDDEN,
				 "a process of the sandbox cannot request a terminal");
	}
	return x->detach && !x->terminal
		       ? fault_set(f, MESSAGE_INVALID_PARAMS,
				   "params: \"detach\" needs \"streams\": \"terminal\"")
		       : 0;
}

static int read_exec(struct request *r, struct exec *x, struct fault *f) {
	*x = (struct exec){.streams = "capture", .result = 1};
	if (request_unpack(r, f, "{s:o, s?s, s?s, s?o, s?I, s?I, s?I, s?o, s?b, s?b}", "argv",
			   &x->argv, "streams", &x->streams, "cwd", &x->cwd, "environment",
			   &x->environment, "timeout_ms", &x->timeout, "rows", &x->rows, "columns",
			   &x->columns, "modes", &x->modes, "detach", &x->detach, "result",
			   &x->result) != 0 ||
	    check_argv(x->argv, f) != 0 || check_streams(r, x, f) != 0 ||
	    check_offer(r, "exec", f) != 0) {
		return -1;
	}
	if (x->timeout < 0 || x->timeout > DURATION_MAX_MS) {
		return fault_set(f, MESSAGE_INVALID_PARAMS, "params: timeout_ms is out of range");
	}
	if (x->environment != NULL &&
	    (!json_is_object(x->environment) || check_environment(x->environment, f) != 0)) {
		return fault_set(f, MESSAGE_INVALID_PARAMS,
				 "params: \"environment\" has to map names to texts");
	}
	return 0;
}

static void note_command(const struct request *r, const struct call *call, uint32_t kind) {
	if (kind == WIRE_EXEC) { /* WIRE_ATTACH is no command */
		commands_started(r->live, call->number, r->params);
	}
}

/* How the daemon treats the call that a request becomes. */
struct treatment {
	bool keeps, brief;
};

/* Sends the request to the supervisor, unless its descriptors were refused (rc). */
static int forward(struct request *r, struct wire_message *m, struct treatment how, int rc,
		   struct fault *f) {
	uint32_t kind = m->kind;

	if (rc == 0) {
		m->text = json_dumps(r->params, JSON_COMPACT);
		m->len = m->text == NULL ? 0 : strlen(m->text);
		if (m->text == NULL) {
			rc = fault_set(f, FAULT_FAILED, "out of memory");
		} else {
			struct call *call = method_run_send(r, m, f);
			rc = call == NULL ? -1 : 0;
			if (call != NULL) {
				call->keeps = how.keeps;
				call->brief = how.brief;
				note_command(r, call, kind);
			}
		}
	}
	if (m->nfds > 0) { /* refused */
		daemon_closes();
	}
	bool closes = m->nfds > 0;
	session_wire_done(m);
	if (closes) {
		daemon_closed();
	}
	return rc;
}

int method_exec(struct request *r, json_t **ret, struct fault *f) {
	struct wire_message m = {.kind = WIRE_EXEC};
	struct exec x;
	int rc = 0;

	(void)ret;
	if (read_exec(r, &x, f) != 0) {
		return -1;
	}
	if (x.passes) {
		rc = take_streams(r->conn, &m, f);
	} else if (x.terminal && !x.detach) {
		rc = take_terminal(r->conn, &m, f);
	}
	return forward(r, &m, (struct treatment){x.terminal, !x.result}, rc, f);
}

int method_attach(struct request *r, json_t **ret, struct fault *f) {
	json_int_t command = 0, rows = 0, columns = 0;
	struct wire_message m = {.kind = WIRE_ATTACH};

	(void)ret;
	if (request_unpack(r, f, "{s?I, s?I, s?I}", "command", &command, "rows", &rows, "columns",
			   &columns) != 0) {
		return -1;
	}
	if (command < 0 || command > UINT32_MAX) {
		return fault_set(f, MESSAGE_INVALID_PARAMS, "params: \"command\" is a number");
	}
	struct treatment how = {.keeps = true};
	return forward(r, &m, how, take_terminal(r->conn, &m, f), f);
}

/* ---- tools ---- */

int method_tool(struct request *r, json_t **ret, struct fault *f) {
	const struct mcp_tool *tool = mcp_tools_find(NULL, r->tool);
	struct buf why;

	(void)ret;
	if (check_offer(r, r->tool, f) != 0) {
		return -1;
	}
	buf_init(&why);
	int rc = mcp_schema_check(tool, r->params, &why);
	if (rc != 0) {
		rc = fault_set(f, MESSAGE_INVALID_PARAMS, "%s",
			       buf_failed(&why) ? "invalid params" : why.data);
	}
	buf_done(&why);
	if (rc == 0 && tool_call_send(r, tool->name, json_incref(r->params), false, f) == NULL) {
		rc = -1;
	}
	return rc;
}
