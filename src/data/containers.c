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
	 "the version that gVisor's kernel always reports"},
	/* Docker uses containerd, and CRI-O has podman's file: the narrower mark comes first. */
	{CONTAINER_DOCKER, "/.dockerenv", NULL, NULL, "Docker creates it"},
	{CONTAINER_DOCKER, MOUNTS, NULL, "/docker/containers/", "its resolv.conf is mounted"},
	{CONTAINER_CRIO, GROUPS, NULL, "/crio-", "the name of its cgroup"},
	{CONTAINER_CRIO, MOUNTS, NULL, "/crio-", "the cgroup that is mounted"},
	{CONTAINER_CONTAINERD, MOUNTS, NULL, "/io.containerd.", "the directory of its containers"},
	{CONTAINER_CONTAINERD, GROUPS, NULL, "/cri-containerd-", "the name of its cgroup"},
	{CONTAINER_PODMAN, "/run/.containerenv", NULL, NULL, "podman creates it"},
	{CONTAINER_PODMAN, NULL, "container", "podman", "podman sets it"},
	{CONTAINER_PODMAN, GROUPS, NULL, "/libpod-", "the name of its cgroup"},
	{CONTAINER_LXC, NULL, "container", "lxc", "LXC, LXD and Incus set it"},
	{CONTAINER_LXC, "/run/systemd/container", NULL, "lxc", "systemd found it"},
	{CONTAINER_LXC, "/dev/lxd/sock", NULL, NULL, "the socket of LXD for its guests"},
	{CONTAINER_LXC, "/dev/incus/sock", NULL, NULL, "the socket of Incus for its guests"},
	{CONTAINER_LXC, MOUNTS, NULL, " lxcfs ", "files of /proc that lxcfs serves"},
	{CONTAINER_NSPAWN, NULL, "container", "systemd-nspawn", "systemd-nspawn sets it"},
	{CONTAINER_NSPAWN, "/run/host/container-manager", NULL, "systemd-nspawn", "it writes it"},
	{CONTAINER_OTHER, "/run/systemd/container", NULL, NULL, "systemd found a container"},
	{CONTAINER_OTHER, NULL, "container", NULL, "the container interface of systemd"},
	/* Last: containers run in WSL, too. */
	{CONTAINER_WSL, "/proc/sys/kernel/osrelease", NULL, "icrosoft", "Microsoft's kernel"},
};
const size_t container_marks_count = ARRAY_LEN(container_marks);

const struct container_mark pod_marks[] = {
	{CONTAINER_POD, NULL, "KUBERNETES_SERVICE_HOST", NULL, "the kubelet sets it"},
	{CONTAINER_POD, "/etc/hosts", NULL, "# Kubernetes-managed hosts file", "the kubelet's"},
	{CONTAINER_POD, "/var/run/secrets/kubernetes.io/serviceaccount", NULL, NULL,
	 "the token of the pod's account"},
	{CONTAINER_POD, MOUNTS, NULL, "/kubelet/pods/", "the pod's volumes"},
	{CONTAINER_POD, GROUPS, NULL, "/kubepods", "the cgroup of all pods"},
};
const size_t pod_marks_count = ARRAY_LEN(pod_marks);

#define NERDCTL_SECCOMP                                                                            \
	"nerdctl run --security-opt seccomp=unconfined, or ctr run without --seccomp"

const struct container_row container_rows[CONTAINER_KINDS] = {
	[CONTAINER_NONE] = {NULL, NULL, NULL},
	[CONTAINER_GVISOR] =
		{"gVisor", "not possible: gVisor's kernel has no Landlock; it is a sandbox itself",
		 NULL},
	[CONTAINER_DOCKER] = {"docker",
			      "docker run --security-opt seccomp=unconfined, or with the "
			      "profile of packaging/seccomp",
			      "docker run --security-opt systempaths=unconfined"},
	[CONTAINER_CRIO] = {"cri-o",
			    "allow clone, clone3, unshare and mount in its seccomp profile", NULL},
	[CONTAINER_CONTAINERD] = {"containerd", NERDCTL_SECCOMP,
				  "nerdctl run --security-opt systempaths=unconfined"},
	[CONTAINER_PODMAN] = {"podman", "podman run --security-opt seccomp=unconfined",
			      "podman run --security-opt unmask=ALL"},
	[CONTAINER_LXC] = {"lxc", "lxc config set NAME security.nesting true (LXD, Incus)",
			   "lxc config set NAME security.nesting true (LXD, Incus)"},
	[CONTAINER_NSPAWN] = {"systemd-nspawn", NULL, NULL},
	[CONTAINER_POD] = {"kubernetes pod", NULL, NULL},
	[CONTAINER_WSL] = {"wsl",
			   "use WSL 2 with a kernel that has user namespaces and Landlock: "
			   "wsl --update",
			   NULL},
	[CONTAINER_OTHER] =
		{"unknown",
		 "allow clone, clone3, unshare, mount and pivot_root in the container's "
		 "seccomp profile",
		 "start the container without masked and read-only paths in /proc"},
};

const struct container_row pod_row = {
	"kubernetes pod",
	"securityContext: {seccompProfile: {type: Unconfined}}, or a RuntimeClass of `corral oci` "
	"(packaging/oci)",
	"securityContext: {procMount: Unmasked} with hostUsers: false",
};
