/* `corral check path P`: the verdict of the file tools on its own.  Exit 0 when the
 * path may be read (with --write: written), 1 when it may not. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/str.h"

/* What can be checked, and what a later capability brings: rejected by name. */
static const struct {
	const char *name;
	bool later;
} kinds[] = {{"path", false}, {"url", true}, {"command", true}};

static int check_kind(const struct invocation *inv, struct corral_error *err) {
	const char *asked = inv->nwords > 0 ? inv->words[0] : "";

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (streq(kinds[i].name, asked)) {
			return !kinds[i].later ? 0
					       : usage_error(err, "corral check path PATH",
							     "check %s is not implemented in this "
							     "version",
							     asked);
		}
	}
	return usage_error(err, "corral check path PATH [--write]",
			   "check needs to know what: path, not \"%s\"", asked);
}

int verb_check(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;
	struct corral_files *files = NULL;
	int allowed = 0;

	if (check_kind(inv, err) != 0) {
		return -1;
	}
	if (inv->nwords != 2) {
		return usage_error(err, "corral check path PATH [--write]", "one path is needed");
	}
	if (corral_files_new(inv->policy, &files, err) != 0) {
		return -1;
	}
	struct corral_check check = {.path = inv->words[1], .write = inv->for_write};
	int rc = corral_files_check(files, &check, inv->json ? CORRAL_JSON : CORRAL_TEXT, &text,
				    &allowed, err);
	corral_files_free(files);
	if (rc == 0 && !inv->json) {
		hide_controls(text, true);
	}
	if (rc != 0 || print_text(text, err) != 0) {
		return -1;
	}
	return allowed ? 0 : 1;
}
