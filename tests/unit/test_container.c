/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises container runtimes by files of hosts that this machine is not. */
#include "backend/container.h"
#include "base/auto.h"
#include "base/str.h"
#include "test.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Lines as the runtimes of Debian 12 left them in their containers. */
#define DOCKER_MOUNT                                                                               \
	"102 87 254:0 /var/lib/docker/containers/6f3c/resolv.conf /etc/resolv.conf rw - ext4 "     \
	"/dev/v rw\n"
#define CONTAINERD_MOUNT                                                                           \
	"79 70 254:0 /var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/1c/hosts /etc/hosts " \
	"rw\n"
#define CTR_MOUNT                                                                                  \
	"300 200 0:60 / / rw,relatime - overlay overlay "                                          \
	"rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/1/fs\n"
#define BUILDKIT_MOUNT                                                                             \
	"391 350 254:0 /var/lib/docker/buildkit/executor/resolv.conf /etc/resolv.conf ro - ext4 "  \
	"/dev/v rw\n"
#define LXC_MOUNT "512 500 0:45 /proc/cpuinfo /proc/cpuinfo rw - fuse.lxcfs lxcfs rw\n"
#define CRIO_MOUNT                                                                                 \
	"700 690 0:30 /kubepods.slice/kubepods-pod3.slice/crio-12.scope /sys/fs/cgroup ro - "      \
	"cgroup2 cgroup rw\n"
#define POD_MOUNT                                                                                  \
	"812 800 254:0 /var/lib/kubelet/pods/0f1c/etc-hosts /etc/hosts rw - ext4 /dev/v rw\n"
/* What the host of containers has itself. */
#define ROOT_OF_HOST "25 1 254:0 / / rw,relatime shared:1 - ext4 /dev/v rw\n"
#define DOCKER_HOST                                                                                \
	ROOT_OF_HOST "510 25 0:71 / /var/lib/docker/containers/6f3c/mounts/shm rw - tmpfs shm "    \
		     "rw\n511 25 0:72 / /var/lib/docker/overlay2/2e/merged rw - overlay overlay "  \
		     "rw,lowerdir=/var/lib/docker/overlay2/l/A\n"
#define KUBERNETES_HOST                                                                            \
	ROOT_OF_HOST                                                                               \
	"520 25 0:73 / /run/containerd/io.containerd.runtime.v2.task/k8s.io/1c/rootfs rw - "       \
	"overlay overlay rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs\n" \
	"521 25 0:74 / /var/lib/kubelet/pods/0f1c/volumes/kubernetes.io~secret/t rw - tmpfs "      \
	"tmpfs rw\n"
#define LXD_HOST ROOT_OF_HOST "530 25 0:75 / /var/lib/lxcfs rw - fuse.lxcfs lxcfs rw\n"
#define GVISOR "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n"
#define POD_HOSTS "# Kubernetes-managed hosts file.\n127.0.0.1 localhost\n"

struct file {
	const char *path, *text;
};

static const struct {
	const char *name; /* as container_name() gives it; NULL: none */
	struct file files[3];
	const char *variable;
} hosts[] = {
	{NULL,
	 {{"/proc/version", "Linux version 6.18.44\n"}, {"/etc/hosts", "127.0.0.1 a\n"}},
	 NULL},
	{NULL, {{"/proc/self/mountinfo", DOCKER_HOST}}, NULL},
	{NULL, {{"/proc/self/mountinfo", KUBERNETES_HOST}}, NULL},
	{NULL, {{"/proc/self/mountinfo", LXD_HOST}}, NULL},
	{NULL, {{"/proc/self/mountinfo", "1 2 3 /etc/"}, {"/proc/self/cgroup", "0::/\n"}}, NULL},
	{"docker", {{"/.dockerenv", ""}}, NULL},
	{"docker", {{"/proc/self/mountinfo", DOCKER_MOUNT}}, NULL},
	{"podman", {{"/run/.containerenv", ""}}, "container=podman"},
	{"podman", {{NULL, NULL}}, "container=podman"},
	{"docker", {{"/proc/self/mountinfo", BUILDKIT_MOUNT}}, NULL},
	{"containerd", {{"/proc/self/mountinfo", CONTAINERD_MOUNT}}, NULL},
	{"containerd", {{"/proc/self/mountinfo", CTR_MOUNT}}, NULL},
	{"cri-o", {{"/proc/self/mountinfo", CRIO_MOUNT}}, NULL},
	{"kubernetes pod, cri-o",
	 {{"/proc/self/mountinfo", CRIO_MOUNT POD_MOUNT}, {"/run/.containerenv", ""}},
	 NULL},
	{"cri-o",
	 {{"/proc/self/cgroup", "0::/machine.slice/crio-12.scope\n"}, {"/run/.containerenv", ""}},
	 NULL},
	{"kubernetes pod, containerd",
	 {{"/proc/self/mountinfo", CONTAINERD_MOUNT}, {"/etc/hosts", POD_HOSTS}},
	 NULL},
	{"kubernetes pod, docker", {{"/.dockerenv", ""}}, "KUBERNETES_SERVICE_HOST=10.0.0.1"},
	{"kubernetes pod", {{"/proc/self/cgroup", "0::/kubepods.slice/pod3\n"}}, NULL},
	{"lxc", {{NULL, NULL}}, "container=lxc"},
	{"lxc", {{"/proc/self/mountinfo", LXC_MOUNT}}, NULL},
	{"systemd-nspawn",
	 {{"/run/systemd/container", "systemd-nspawn\n"}},
	 "container=systemd-nspawn"},
	{"unknown", {{NULL, NULL}}, "container=oci"},
	{"wsl", {{"/proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n"}}, NULL},
	{"wsl", {{"/proc/sys/kernel/osrelease", "4.4.0-19041-Microsoft\n"}}, NULL},
	{"docker",
	 {{"/proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n"},
	  {"/.dockerenv", ""}},
	 NULL},
	{"gVisor", {{"/proc/version", GVISOR}, {"/.dockerenv", ""}}, NULL},
};

/* Creates the file with its directories below root; `made` lists them for the removal. */
static void make(const char *root, const struct file *f) {
	char path[PATH_MAX];

	(void)snprintf(path, sizeof path, "%s%s", root, f->path);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		(void)mkdir(path, 0700); /* it may exist */
		*at = '/';
	}
	auto_fd fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, f->text, strlen(f->text)) == (ssize_t)strlen(f->text));
}

static void unmake(const char *root, const struct file *f) {
	char path[PATH_MAX];

	(void)snprintf(path, sizeof path, "%s%s", root, f->path);
	(void)unlink(path);
	for (char *slash; (slash = strrchr(path, '/')) > path + strlen(root);) {
		*slash = '\0';
		(void)rmdir(path); /* another file's may be in it */
	}
}

TEST(each_runtime_is_named_by_its_marks) {
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		char root[] = "/tmp/corral-container-XXXXXX", name[64];
		const char *env[] = {"HOME=/", hosts[i].variable, NULL};

		CHECK(mkdtemp(root) != NULL);
		for (size_t n = 0; n < ARRAY_LEN(hosts[i].files) && hosts[i].files[n].path; n++) {
			make(root, &hosts[i].files[n]);
		}
		struct container c = container_find(root, env);
		const char *found = container_name(&c, name);
		if (hosts[i].name == NULL) {
			CHECK(found == NULL && c.mark == NULL);
		} else {
			CHECK_STR(found, hosts[i].name);
		}
		for (size_t n = ARRAY_LEN(hosts[i].files); n-- > 0;) {
			if (hosts[i].files[n].path != NULL) {
				unmake(root, &hosts[i].files[n]);
			}
		}
		CHECK_INT(rmdir(root), 0);
	}
}

TEST(a_pod_gets_the_flags_of_kubernetes_and_not_of_its_runtime) {
	struct container c = {.kind = CONTAINER_DOCKER};

	CHECK(strstr(container_flags(&c).seccomp, "docker run") != NULL);
	c.pod = true;
	CHECK(strstr(container_flags(&c).seccomp, "seccompProfile") != NULL);
	c.kind = CONTAINER_GVISOR;
	CHECK(container_flags(&c).seccomp == NULL);
	CHECK(strstr(container_flags(&c).otherwise, "gVisor") != NULL);
	CHECK(container_flags(&(struct container){.kind = CONTAINER_NONE}).proc == NULL);
}

TEST(every_mark_has_a_reason_and_a_row) {
	for (size_t i = 0; i < container_marks_count; i++) {
		const struct container_mark *m = &container_marks[i];
		CHECK(m->reason != NULL && (m->file == NULL) != (m->variable == NULL));
		CHECK(m->place == NULL || (m->file != NULL && m->text != NULL));
		CHECK(m->file == NULL || (strstr(m->file, "mountinfo") == NULL) == !m->place);
		CHECK(container_rows[m->kind].name != NULL);
	}
}

TESTS_MAIN
