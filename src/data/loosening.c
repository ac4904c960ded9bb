/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a policy that make the boundary wider than the default, with the effect of each.
 *
 * Should:   hold one row a value, or a row for all items of a list that grants.
 * Must not: decide: a valid policy may have each of them.
 * Fails:    open: a value without a row has no warning. */
#include "data/loosening.h"

#include "base/auto.h"

const struct loosening loosenings[] = {
	{KEY_MODE, MODE_FULL_ACCESS, MODE_FULL_ACCESS, false, "no file and no host is protected"},
	{KEY_ANY_WORKSPACE, 1, 1, false, "a whole home or a system directory can be writable"},
	{KEY_LEVEL, LEVEL_NONE, LEVEL_NONE, false, "nothing but limits is enforced"},
	{KEY_LEVEL, LEVEL_MINIMAL, LEVEL_MINIMAL, false, "files are not protected"},
	{KEY_MIN_LEVEL, LEVEL_NONE, LEVEL_MINIMAL, false,
	 "a host that cannot protect files is accepted"},
	{KEY_ALLOW_DEGRADED, 0, 0, false, "a run without this guarantee is accepted"},
	{KEY_ACCEPT_NO_SANDBOX, 1, 1, false, "a run without a sandbox is accepted"},
	{KEY_NESTED, 1, 1, false, "the command can create namespaces and mount in them"},
	{KEY_PROVIDERS, 0, 0, false, "the command gets the provider's key and reaches its hosts"},
	{KEY_FS_VIEW, VIEW_HOST, VIEW_HOST, false, "most files of the host can be read"},
	{KEY_NET_MODE, NET_RESTRICTED, NET_RESTRICTED, false,
	 "data can be sent to every public host"},
	{KEY_NET_MODE, NET_FULL, NET_FULL, false,
	 "data can be sent to every host, also to private networks and this host's services"},
	{KEY_NET_PRIVATE, 0, 0, false, "allowed names may lead into this network"},
	{KEY_NET_HOST_PORTS, 0, 0, false, "a service of this host can be reached"},
	{KEY_NET_SOCKETS, 0, 0, false, "the program behind this socket acts outside the sandbox"},
	{KEY_ENV_PASS, 0, 0, true, "the command gets this credential"},
	{KEY_ENV_SET, 0, 0, true, "the command gets this credential, and it is in a file"},
	{KEY_ENV_ALLOW_DANGEROUS, 0, 0, false, "the variable changes how programs load code"},
};
const size_t loosenings_count = ARRAY_LEN(loosenings);
