/* The host's name: the command sees "localhost", not the machine it runs on.
 *
 * Should:   set host name and domain name in the new UTS namespace.
 * Must not: run outside it (the capability check makes that impossible).
 * Fails:    closed. */
#include "linux/layer.h"

#include <string.h>
#include <unistd.h>

static int names_enter(struct kit *k, struct err *e) {
	if (sethostname(k->plan->hostname, strlen(k->plan->hostname)) != 0) {
		return err_sys(e, "names", "cannot set the host name");
	}
	if (setdomainname("(none)", 6) != 0) {
		return err_sys(e, "names", "cannot set the domain name");
	}
	return 0;
}

const struct layer layer_hostname = {.name = "names", .namespaces = true, .enter = names_enter};
