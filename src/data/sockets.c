/* SPDX-License-Identifier: Apache-2.0 */
/* The table of unix sockets that let a command act outside of the sandbox.
 *
 * Should:   hold one row a pattern, with the text of the warning for net.sockets.
 * Must not: decide: a socket that the policy names is passed.
 * Fails:    open: a socket without a row is passed without a warning. */
#include "data/sockets.h"

#include "base/auto.h"

#include <fnmatch.h>

#define IS_ROOT "it gives root on this host"
#define IS_USER "it runs programs as you, outside the sandbox"

/* clang-format off */
const struct socket_row socket_rows[] = {
	{"/home/*/.docker/*/docker.sock", "Docker's", IS_USER},
	{"/root/.docker/*/docker.sock", "Docker's", IS_ROOT},
	{"/run/acpid.socket", "the power button's", "it shows the machine's events"},
	{"/run/avahi-daemon/socket", "Avahi's", "it looks up and announces names in your network"},
	{"/run/buildkit/buildkitd.sock", "BuildKit's", IS_ROOT},
	{"/run/containerd/*.sock", "containerd's", IS_ROOT},
	{"/run/crio/crio.sock", "CRI-O's", IS_ROOT},
	{"/run/cups/cups.sock", "the printers'", "it prints, and sets up printers"},
	{"/run/dbus/system_bus_socket", "the system bus", "it gives access to the system's services as you"},
	{"/run/docker.sock", "Docker's", IS_ROOT},
	{"/run/docker/*.sock", "Docker's", IS_ROOT},
	{"/run/incus/unix.socket", "Incus's", IS_ROOT},
	{"/run/k3s/containerd/containerd.sock", "containerd's", IS_ROOT},
	{"/run/libvirt/*", "libvirt's", IS_ROOT},
	{"/run/lxd.socket", "LXD's", IS_ROOT},
	{"/run/mysqld/*", "MySQL's", "it gives access to the databases that trust your user"},
	{"/run/nscd/socket", "nscd's", "it resolves names without the rules of net.allow and net.deny"},
	{"/run/pcscd/pcscd.comm", "the smart cards'", "it uses your smart cards"},
	{"/run/podman/podman.sock", "Podman's", IS_ROOT},
	{"/run/postgresql/*", "PostgreSQL's", "it gives access to the databases that trust your user"},
	{"/run/snapd*.socket", "snapd's", "it installs and removes the packages that you may manage"},
	{"/run/systemd/journal/*", "the journal's", "it writes log records as you"},
	{"/run/systemd/private", "systemd's", IS_ROOT},
	{"/run/systemd/resolve/*", "systemd-resolved's", "it resolves names without the rules of net.allow and net.deny"},
	{"/run/user/*/bus", "the session bus", IS_USER},
	{"/run/user/*/dbus-1/*", "the session bus", IS_USER},
	{"/run/user/*/docker.sock", "Docker's", IS_USER},
	{"/run/user/*/gcr/ssh", "the ssh agent's", "it signs with your keys"},
	{"/run/user/*/gnupg/*", "GnuPG's agent", "it signs and decrypts with your keys"},
	{"/run/user/*/keyring/*", "the keyring's", "it returns your passwords and signs with your keys"},
	{"/run/user/*/libpod/*", "Podman's", IS_USER},
	{"/run/user/*/pipewire-*", "PipeWire's", "it records the microphone and perhaps the screen"},
	{"/run/user/*/podman/*", "Podman's", IS_USER},
	{"/run/user/*/pulse/native", "PulseAudio's", "it records the microphone, and loads modules that run programs"},
	{"/run/user/*/snapd-session-agent.socket", "snapd's", IS_USER},
	{"/run/user/*/ssh-agent*", "the ssh agent's", "it signs with your keys"},
	{"/run/user/*/systemd/*", "systemd's", IS_USER},
	{"/run/user/*/wayland-*", "the screen's", "it reads the clipboard and shows windows as you"},
	{"/tmp/.ICE-unix/*", "the desktop session's", "it controls programs of your desktop session"},
	{"/tmp/.X11-unix/*", "the screen's", "it reads every key that you press, and sends input as you"},
	{"/tmp/ssh-*/agent.*", "the ssh agent's", "it signs with your keys"},
	{"/tmp/tmux-*/*", "tmux's", IS_USER},
	{"/var/lib/incus/unix.socket", "Incus's", IS_ROOT},
	{"/var/lib/lxd/unix.socket", "LXD's", IS_ROOT},
	{"/var/snap/lxd/common/lxd/unix.socket", "LXD's", IS_ROOT},
};
/* clang-format on */
const size_t socket_rows_count = ARRAY_LEN(socket_rows);

const struct socket_row *socket_row_for(const char *path) {
	for (size_t i = 0; i < socket_rows_count; i++) {
		if (fnmatch(socket_rows[i].pattern, path, FNM_PATHNAME) == 0) {
			return &socket_rows[i];
		}
	}
	return NULL;
}
