/* SPDX-License-Identifier: Apache-2.0 */
/* `corral scan`: finds secrets in files, in a staged change, or in a pipe.
 *
 * Should:   exit with 0 when there is no finding and 1 when there is one.  In a pipe, pass stdin to
 *           stdout, with --redact without the secrets.
 * Must not: print a byte of a secret.
 * Fails:    closed: a file that cannot be read is an error, unless there are findings anyway. */
#include "cli/scan.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define PIECE ((size_t)64 * 1024)
#define IDLE_MS 50 /* then bytes that are held back are passed on */

/* ---- a pipe ---- */

struct filter {
	struct target target;
	bool report; /* findings as one report at the end, no data */
	int sys;     /* of a failed write */
};

static int put_out(void *arg, const void *bytes, size_t len) {
	struct filter *f = arg;

	if (fd_write_all(STDOUT_FILENO, bytes, len) != 0) {
		f->sys = errno;
		return -1;
	}
	return 0;
}

static void print_finding(void *arg, const struct corral_finding *finding) {
	struct filter *f = arg;

	target_found(&f->target, finding);
	if (!f->report) {
		print_note("scan: %s at byte %llu of stdin, %llu bytes, %s, fingerprint %s",
			   finding->kind, (unsigned long long)finding->offset,
			   (unsigned long long)finding->length, finding->view,
			   finding->fingerprint);
	}
}

static int write_failed(const struct filter *f, struct corral_error *err) {
	(void)setup_error(err, "", "cannot write to stdout");
	err->kind = CORRAL_E_FILE;
	err->sys_errno = f->sys;
	return -1;
}

/* 1 when stdin has bytes or has ended, 0 after an idle time. */
static int wait_input(const struct corral_scan_stream *s) {
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

	return corral_scan_held(s) == 0 || poll(&p, 1, IDLE_MS) != 0;
}

static int pump(struct filter *f, struct corral_scan_stream *s, bool pass,
		struct corral_error *err) {
	static char piece[PIECE];

	for (;;) {
		if (!wait_input(s)) {
			if (corral_scan_flush(s, err) != 0) {
				return f->sys != 0 ? write_failed(f, err) : -1;
			}
			continue;
		}
		ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			f->sys = errno;
			(void)setup_error(err, "", "cannot read stdin");
			err->kind = CORRAL_E_FILE;
			err->sys_errno = f->sys;
			return -1;
		}
		if (n == 0) {
			break;
		}
		if ((pass && put_out(f, piece, (size_t)n) != 0) ||
		    corral_scan_feed(s, piece, (size_t)n, err) != 0) {
			return f->sys != 0 ? write_failed(f, err) : -1;
		}
	}
	return corral_scan_end(s, err) == 0 ? 0 : f->sys != 0 ? write_failed(f, err) : -1;
}

static int report(const struct invocation *inv, const struct targets *t, struct corral_error *err) {
	return inv->sarif  ? report_sarif(t, err)
	       : inv->json ? report_json(t, err)
			   : report_text(t, err);
}

static int scan_stdin(const struct invocation *inv, const struct corral_scanner *scanner,
		      struct corral_error *err) {
	char name[] = "-";
	struct filter f = {.target = {.path = name}, .report = inv->json || inv->sarif};
	struct corral_scan_calls calls = {.size = sizeof calls,
					  .found = print_finding,
					  .output = inv->redact ? put_out : NULL,
					  .arg = &f};
	struct corral_scan_stream *s = NULL;
	int rc = corral_scan_open(scanner, &calls, &s, err);

	if (rc == 0) {
		rc = pump(&f, s, !inv->redact && !f.report, err);
	}
	corral_scan_close(s);
	if (rc == 0 && f.report) {
		rc = report(inv, &(struct targets){.items = &f.target, .n = 1}, err);
	}
	if (rc == 0) {
		rc = f.target.nhits > 0;
	}
	free(f.target.hits);
	return rc;
}

/* ---- files ---- */

/* Notes on files that could not be read; 1 when there are findings. */
static int verdict(const struct targets *t, struct corral_error *err) {
	const struct target *bad = NULL;
	bool found = false;

	for (size_t i = 0; i < t->n; i++) {
		found = found || t->items[i].nhits > 0;
		if (t->items[i].failed != 0) {
			bad = &t->items[i];
			print_note("scan: cannot read %s: %s", bad->path, strerror(bad->failed));
		}
	}
	if (bad != NULL && !found) {
		int sys = bad->failed;
		(void)usage_error(err, "", "not every file was scanned; the last: %s", bad->path);
		err->kind = CORRAL_E_FILE;
		err->sys_errno = sys;
		return -1;
	}
	return found;
}

static int scan_files(const struct invocation *inv, const struct corral_scanner *scanner,
		      struct corral_error *err) {
	struct targets t = {0};
	int rc = inv->staged ? targets_staged(&t, err) : 0;

	for (size_t i = 0; rc == 0 && i < inv->nwords; i++) {
		rc = targets_walk(&t, inv->words[i], err);
	}
	if (rc == 0) {
		rc = targets_scan(&t, scanner, err);
	}
	if (rc == 0) {
		rc = report(inv, &t, err);
	}
	if (rc == 0) {
		rc = verdict(&t, err);
	}
	targets_done(&t);
	return rc;
}

static int check_usage(const struct invocation *inv, struct corral_error *err) {
	bool files = inv->nwords > 0 || inv->staged;

	if (inv->redact && (files || inv->json || inv->sarif)) {
		return usage_error(err, "filter a pipe: COMMAND | corral scan --redact",
				   "--redact replaces secrets between stdin and stdout only");
	}
	if (inv->json && inv->sarif) {
		return usage_error(err, "", "--json and --sarif exclude each other");
	}
	if (inv->staged && inv->nwords > 0) {
		return usage_error(err, "", "--staged takes no file: %s", inv->words[0]);
	}
	if ((inv->allow != NULL || inv->list_kinds) &&
	    (files || inv->redact || inv->sarif || (inv->allow != NULL && inv->list_kinds))) {
		return usage_error(err, "",
				   "--allow and --list-kinds scan nothing: use them alone");
	}
	return 0;
}

int verb_scan(struct invocation *inv, struct corral_error *err) {
	struct corral_scanner *scanner = NULL;
	auto_free char *text = NULL;

	if (check_usage(inv, err) != 0) {
		return -1;
	}
	if (inv->list_kinds) {
		return corral_scan_kinds(inv->json ? CORRAL_JSON : CORRAL_TEXT, &text, err) == 0
			       ? print_text(text, err)
			       : -1;
	}
	/* The scanner creates the key, which the allow list needs. */
	if (corral_scanner_new(NULL, &scanner, err) != 0) {
		return -1;
	}
	int rc = inv->allow != NULL               ? corral_scan_allow(inv->allow, err)
		 : inv->nwords > 0 || inv->staged ? scan_files(inv, scanner, err)
						  : scan_stdin(inv, scanner, err);
	corral_scanner_free(scanner);
	return rc;
}
