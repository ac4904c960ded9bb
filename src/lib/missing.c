/* SPDX-License-Identifier: Apache-2.0 */
/* Explains an ENOENT or EACCES of execve(2): the sandbox does not show the command, or the
 * interpreter of a script is missing.
 *
 * execve(2) returns ENOENT for a script whose "#!" names no program, and the child
 * may not open files once the filter is loaded; so the supervisor checks afterwards.
 *
 * Should:   name the rule that hides the command, with its remedy; name the interpreter, and a
 *           carriage return at its end.
 * Must not: follow a symlink, or open anything but a regular file.
 * Fails:    open: the error stays unchanged. */
#include "lib/internal.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/refusal.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel reads no more of a "#!" line (BINPRM_BUF_SIZE). */
#define FIRST_LINE 256

static bool first_line(const char *path, char out[FIRST_LINE]) {
	struct stat st;
	auto_fd fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t n = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)
			    ? read(fd, out, FIRST_LINE - 1)
			    : -1;
	if (n < 2) {
		return false;
	}
	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return out[0] == '#' && out[1] == '!';
}

/* True when a rule hides the path; fills *e with the reason of `corral check path`, which does not
 * reveal whether the host has the file. */
static bool explain_unseen(const struct prepared *p, const char *inside, struct err *e) {
	char host[PATH_MAX];
	bool there = plan_host_path(&p->plan, inside, host) &&
		     faccessat(AT_FDCWD, host, F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0;
	struct refusal_question q = {.plan = &p->plan,
				     .policy = &p->policy,
				     .path = inside,
				     .missing = e->kind == ERR_NOT_FOUND && !there};
	struct verdict v;

	refusal_judge(&q, &v);
	if (v.kind == ERR_NONE) {
		return false;
	}
	(void)err_set(e, e->kind, "exec", "cannot execute the command: %s", v.reason);
	if (strlen(v.remedy) < sizeof e->fix) { /* a truncated path would name another file */
		(void)err_fix(e, "%s", v.remedy);
	}
	return true;
}

static void explain_script(const struct plan *plan, const char *command, const char *inside,
			   struct err *e) {
	char host[PATH_MAX], line[FIRST_LINE];

	if (!plan_host_path(plan, inside, host) || !first_line(host, line)) {
		return;
	}
	char *interpreter = line + 2 + strspn(line + 2, " \t");
	interpreter[strcspn(interpreter, " \t")] = '\0';
	size_t end = strcspn(interpreter, "\r");
	bool carriage = interpreter[end] == '\r';
	interpreter[end] = '\0';
	(void)err_set(e, ERR_NOT_FOUND, "exec",
		      carriage
			      ? "%s cannot start: its first line ends with a carriage return, and "
				"there is no program %s\\r"
			      : "%s cannot start: its interpreter %s does not exist in the sandbox",
		      command, interpreter);
	(void)err_fix(e,
		      carriage ? "convert the line ends: sed -i 's/\\r$//' %s"
			       : "install it, correct the first line, or add --read %s",
		      carriage ? command : interpreter);
}

void missing_explain(struct prepared *p, const char *command, struct err *e) {
	bool refused = e->kind == ERR_NOT_FOUND || e->kind == ERR_NO_EXEC;

	if (!refused || p->plan.cwd == NULL || strchr(command, '/') == NULL) {
		return;
	}
	const char *inside = path_join(&p->arena, p->plan.cwd, command);
	if (inside != NULL && !explain_unseen(p, inside, e) && e->kind == ERR_NOT_FOUND) {
		explain_script(&p->plan, command + (str_starts(command, "./") ? 2 : 0), inside, e);
	}
}
