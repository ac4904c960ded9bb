/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a policy that make the boundary wider than the default, with the effect of each.
 *
 * Should:   hold one row a value, or a row for all items of a list that grants.
 * Must not: decide: a valid policy may have each of them.
 * Fails:    open: a value without a row has no warning. */
#include "data/loosening.h"

#include "base/auto.h"

const struct loosening loosenings[] = {
	{KEY_MODE, MODE_FULL_ACCESS, MODE_FULL_ACCESS, ITEMS_ALL,
	 "no file and no host is protected"},
	{KEY_ANY_WORKSPACE, 1, 1, ITEMS_ALL, "a whole home or a system directory can be writable"},
	{KEY_LEVEL, LEVEL_NONE, LEVEL_NONE, ITEMS_ALL, "nothing but limits is enforced"},
	{KEY_LEVEL, LEVEL_MINIMAL, LEVEL_MINIMAL, ITEMS_ALL, "files are not protected"},
	{KEY_MIN_LEVEL, LEVEL_NONE, LEVEL_MINIMAL, ITEMS_ALL,
	 "a host that cannot protect files is accepted"},
	{KEY_ALLOW_DEGRADED, 0, 0, ITEMS_ALL, "a run without this guarantee is accepted"},
	{KEY_ACCEPT_NO_SANDBOX, 1, 1, ITEMS_ALL, "a run without a sandbox is accepted"},
	{KEY_NESTED, 1, 1, ITEMS_ALL, "the command can create namespaces and mount in them"},
	{KEY_PROVIDERS, 0, 0, ITEMS_ALL,
	 "the command gets the provider's key and reaches its hosts"},
	{KEY_FS_VIEW, VIEW_HOST, VIEW_HOST, ITEMS_ALL, "most files of the host can be read"},
	{KEY_FS_READ, 0, 0, ITEMS_BROAD, "everything beneath it can be read, except credentials"},
	{KEY_FS_WRITE, 0, 0, ITEMS_BROAD, "most of what is beneath it can be changed"},
	{KEY_FS_DENY, 0, 0, ITEMS_EXCEPT, "what this matches can be read again"},
	{KEY_FS_PROTECT, 0, 0, ITEMS_EXCEPT, "what this matches can be changed"},
	{KEY_NET_MODE, NET_RESTRICTED, NET_RESTRICTED, ITEMS_ALL,
	 "data can be sent to every public host"},
	{KEY_NET_MODE, NET_FULL, NET_FULL, ITEMS_ALL,
	 "data can be sent to every host, also to private networks and this host's services"},
	{KEY_NET_PRIVATE, 0, 0, ITEMS_ALL, "allowed names may lead into this network"},
	{KEY_NET_HOST_PORTS, 0, 0, ITEMS_ALL, "a service of this host can be reached"},
	{KEY_NET_SOCKETS, 0, 0, ITEMS_ALL,
	 "the program behind this socket acts outside the sandbox"},
	{KEY_ENV_PASS, 0, 0, ITEMS_SECRET, "the command gets this credential"},
	{KEY_ENV_SET, 0, 0, ITEMS_SECRET, "the command gets this credential, and it is in a file"},
	{KEY_ENV_ALLOW_DANGEROUS, 0, 0, ITEMS_ALL, "the variable changes how programs load code"},
	{KEY_LIMITS_PROCESSES, LIMIT_NONE, LIMIT_NONE, ITEMS_ALL, "processes can fill the host"},
	{KEY_LIMITS_FILE_SIZE, LIMIT_NONE, LIMIT_NONE, ITEMS_ALL, "one file can fill the disk"},
	{KEY_SCAN_ARGS, 0, 0, ITEMS_ALL, "secrets in commands are not found"},
	{KEY_SCAN_OUTPUT, 0, 0, ITEMS_ALL, "secrets in the output are not found"},
	{KEY_SCAN_FILES, 0, 0, ITEMS_ALL, "secrets in files of the tools are not found"},
	{KEY_SCAN_NET, 0, 0, ITEMS_ALL, "secrets in requests are not found"},
	{KEY_AUDIT_ENABLED, 0, 0, ITEMS_ALL, "runs and refusals are not recorded"},
};
const size_t loosenings_count = ARRAY_LEN(loosenings);
