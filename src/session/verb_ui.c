/* SPDX-License-Identifier: Apache-2.0 */
/* `corral ui`: the address of the page, with a token of one use.
 *
 * Should:   print the address alone on stdout, so that a script can use it.
 * Must not: give the token to another program as an argument: other users can read those.
 * Fails:    through the error of the daemon. */
#include "session/verbs.h"

#include "base/auto.h"
#include "client/places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define OPENER "xdg-open"

static int file_error(struct corral_error *err, const char *path) {
	*err = (struct corral_error){.kind = CORRAL_E_SETUP, .sys_errno = errno};
	(void)snprintf(err->layer, sizeof err->layer, "ui");
	(void)snprintf(err->message, sizeof err->message, "cannot write %.300s", path);
	(void)snprintf(err->remedy, sizeof err->remedy,
		       "open the address yourself: corral ui --print");
	return -1;
}

/* Writes a file that only the user can read, and that redirects the browser to the address. */
static int write_start(const char *path, const char *url, struct corral_error *err) {
	struct buf text;
	int rc = -1;

	(void)unlink(path); /* of the last time */
	auto_fd fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	buf_init(&text);
	buf_printf(&text,
		   "<!doctype html><meta charset=utf-8><title>Corral</title>"
		   "<meta http-equiv=refresh content=\"0;url=%s\"><a href=\"%s\">Corral</a>\n",
		   url, url);
	if (fd >= 0 && !buf_failed(&text) && write(fd, text.data, text.len) == (ssize_t)text.len) {
		rc = 0;
	}
	buf_done(&text);
	return rc == 0 ? 0 : file_error(err, path);
}

static int start_browser(const char *path, struct corral_error *err) {
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execlp(OPENER, OPENER, path, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		return setup_error(err, "open the address yourself: corral ui --print",
				   OPENER " did not open a browser");
	}
	return 0;
}

static int open_browser(const char *url, struct corral_error *err) {
	char path[PATH_MAX + 16];
	struct places places = {.runtime_lock = -1, .state_lock = -1};
	struct err e = {0};

	if (places_find(&places, &e) != 0) {
		return setup_error(err, "", "there is no directory for a file of this session");
	}
	(void)snprintf(path, sizeof path, "%s/ui.html", places.runtime);
	return write_start(path, url, err) != 0 ? -1 : start_browser(path, err);
}

int verb_ui(struct invocation *inv, struct corral_error *err) {
	json_t *answer = NULL;

	if (inv->ui_open && inv->ui_print) {
		return usage_error(err, "corral ui --open",
				   "--open and --print exclude each other");
	}
	if (verb_no_words(inv, err) != 0 || verb_request("page.open", NULL, &answer, err) != 0) {
		return -1;
	}
	const char *url = json_string_value(json_object_get(answer, "url"));
	url = url == NULL ? "" : url;
	int rc = inv->ui_open ? open_browser(url, err) : print_text(url, err);
	if (rc == 0 && !inv->ui_open && !inv->ui_print && isatty(STDERR_FILENO)) {
		print_note("open this address in a browser of this computer; it is valid once, for "
			   "five minutes");
	}
	json_decref(answer);
	return rc;
}
