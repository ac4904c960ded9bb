/* SPDX-License-Identifier: Apache-2.0 */
/* The marks of container runtimes, and the flags that raise the level in each.
 *
 * Should:   have a reason for each mark, and a flag that can be pasted.
 * Must not: be taken for a proof: every mark can be forged, and a run decides nothing by it.
 * Fails:    an unknown runtime is CONTAINER_OTHER or not seen at all. */
#include "data/containers.h"

#include "base/auto.h"

#define MOUNTS "/proc/self/mountinfo"
#define GROUPS "/proc/self/cgroup"

const struct container_mark container_marks[] = {
	/* A kernel of its own comes first: every runtime can use it. */
	{CONTAINER_GVISOR, "/proc/version", NULL, "Sun Jan 10 15:06:54 PST 2016",
	 "the version that gVisor's kernel always reports", NULL},
	/* Docker uses containerd, and CRI-O has podman's file: the narrower mark comes first. */
	{CONTAINER_DOCKER, "/.dockerenv", NULL, NULL, "Docker creates it", NULL},
	{CONTAINER_DOCKER, MOUNTS, NULL, "/docker/containers/", "its resolv.conf is mounted",
	 "/etc/"},
	{CONTAINER_DOCKER, MOUNTS, NULL, "/buildkit/executor/", "its builder mounts a resolv.conf",
	 "/etc/"},
	{CONTAINER_CRIO, GROUPS, NULL, "/crio-", "the name of its cgroup", NULL},
	{CONTAINER_CRIO, MOUNTS, NULL, "/crio-", "the cgroup that is mounted", "/sys/fs/cgroup"},
	{CONTAINER_CONTAINERD, MOUNTS, NULL, "/io.containerd.", "the directory of its sandboxes",
	 "/etc/"},
	{CONTAINER_CONTAINERD, MOUNTS, NULL, "/io.containerd.", "the directory of its images", "/"},
	{CONTAINER_CONTAINERD, GROUPS, NULL, "/cri-containerd-", "the name of its cgroup", NULL},
	{CONTAINER_PODMAN, "/run/.containerenv", NULL, NULL, "podman creates it", NULL},
	{CONTAINER_PODMAN, NULL, "container", "podman", "podman sets it", NULL},
	{CONTAINER_PODMAN, GROUPS, NULL, "/libpod-", "the name of its cgroup", NULL},
	{CONTAINER_LXC, NULL, "container", "lxc", "LXC, LXD and Incus set it", NULL},
	{CONTAINER_LXC, "/run/systemd/container", NULL, "lxc", "systemd found it", NULL},
	{CONTAINER_LXC, "/dev/lxd/sock", NULL, NULL, "the socket of LXD for its guests", NULL},
	{CONTAINER_LXC, "/dev/incus/sock", NULL, NULL, "the socket of Incus for its guests", NULL},
	{CONTAINER_LXC, MOUNTS, NULL, " lxcfs ", "files of /proc that lxcfs serves", "/proc/"},
	{CONTAINER_NSPAWN, NULL, "container", "systemd-nspawn", "systemd-nspawn sets it", NULL},
	{CONTAINER_NSPAWN, "/run/host/container-manager", NULL, "systemd-nspawn", "it writes it",
	 NULL},
	{CONTAINER_OTHER, "/run/systemd/container", NULL, NULL, "systemd found a container", NULL},
	{CONTAINER_OTHER, NULL, "container", NULL, "the container interface of systemd", NULL},
	/* Last: containers run in WSL, too. */
	{CONTAINER_WSL, "/proc/sys/kernel/osrelease", NULL, "icrosoft", "Microsoft's kernel", NULL},
};
const size_t container_marks_count = ARRAY_LEN(container_marks);

const struct container_mark pod_marks[] = {
	{CONTAINER_POD, NULL, "KUBERNETES_SERVICE_HOST", NULL, "the kubelet sets it", NULL},
	{CONTAINER_POD, "/etc/hosts", NULL, "# Kubernetes-managed hosts file", "the kubelet's",
	 NULL},
	{CONTAINER_POD, "/var/run/secrets/kubernetes.io/serviceaccount", NULL, NULL,
	 "the token of the pod's account", NULL},
	{CONTAINER_POD, MOUNTS, NULL, "/kubelet/pods/", "the pod's file of hosts", "/etc/"},
	{CONTAINER_POD, GROUPS, NULL, "/kubepods", "the cgroup of all pods", NULL},
};
const size_t pod_marks_count = ARRAY_LEN(pod_marks);

#define SETFCAP "--cap-add SETFCAP"
#define NESTING                                                                                    \
	"lxc config set NAME security.nesting true (LXD, Incus), or in the file of the container " \
	"(LXC): lxc.include = /usr/share/lxc/config/nesting.conf"

const struct container_row container_rows[CONTAINER_KINDS] = {
	[CONTAINER_NONE] =
		{
			.seccomp = "allow clone, clone3, unshare, mount and pivot_root in the "
				   "seccomp filter that this process inherited; in a service of "
				   "systemd: RestrictNamespaces=no",
			.setfcap = "keep CAP_SETFCAP, or run as another user than root",
		},
	[CONTAINER_GVISOR] =
		{
			.name = "gVisor",
			.otherwise = "not possible: gVisor's kernel has no Landlock; it is a "
				     "sandbox itself",
		},
	[CONTAINER_DOCKER] =
		{
			.name = "docker",
			.seccomp = "docker run --security-opt seccomp=unconfined, or with the "
				   "profile of packaging/seccomp",
			.setfcap = "docker run " SETFCAP ", or as another user than root: --user",
			.apparmor = "docker run --security-opt apparmor=unconfined",
			.proc = "docker run --security-opt systempaths=unconfined",
		},
	[CONTAINER_CRIO] =
		{
			.name = "cri-o",
			.seccomp = "allow clone, clone3, unshare and mount in its seccomp profile",
		},
	[CONTAINER_CONTAINERD] =
		{
			.name = "containerd",
			.seccomp = "nerdctl run --security-opt seccomp=unconfined, or ctr run "
				   "without --seccomp",
			.setfcap = "nerdctl run " SETFCAP ", or ctr run " SETFCAP,
			.apparmor = "nerdctl run --security-opt apparmor=unconfined",
			.proc = "nerdctl run --security-opt systempaths=unconfined",
		},
	[CONTAINER_PODMAN] =
		{
			.name = "podman",
			.seccomp = "podman run --security-opt seccomp=unconfined",
			.setfcap = "podman run " SETFCAP ", or as another user than root: --user",
			.apparmor = "podman run --security-opt apparmor=unconfined",
			.proc = "podman run --security-opt unmask=ALL",
		},
	[CONTAINER_LXC] =
		{
			.name = "lxc",
			.seccomp = NESTING,
			.otherwise = NESTING,
			.proc = NESTING,
		},
	[CONTAINER_NSPAWN] =
		{
			.name = "systemd-nspawn",
			.landlock = "systemd-nspawn "
				    "--system-call-filter=\"landlock_create_ruleset "
				    "landlock_add_rule landlock_restrict_self pidfd_getfd\"",
			.proc = "start systemd-nspawn with SYSTEMD_NSPAWN_API_VFS_WRITABLE=yes in "
				"its environment",
		},
	[CONTAINER_POD] = {.name = "kubernetes pod"},
	[CONTAINER_WSL] =
		{
			.name = "wsl",
			.otherwise = "use WSL 2 with a kernel that has user namespaces and "
				     "Landlock: wsl --update",
		},
	[CONTAINER_OTHER] =
		{
			.name = "unknown",
			.seccomp = "allow clone, clone3, unshare, mount and pivot_root in the "
				   "container's seccomp profile",
			.setfcap = "give the container CAP_SETFCAP, or run as another user than "
				   "root",
			.proc = "start the container without masked and read-only paths in /proc",
		},
};

const struct container_row pod_row = {
	.name = "kubernetes pod",
	.seccomp = "securityContext: {seccompProfile: {type: Unconfined}}, or a RuntimeClass of "
		   "`corral oci` (packaging/oci)",
	.setfcap = "securityContext: {capabilities: {add: [SETFCAP]}}, or runAsUser: 1000",
	.apparmor = "securityContext: {appArmorProfile: {type: Unconfined}}",
	.proc = "securityContext: {procMount: Unmasked} with hostUsers: false",
};
