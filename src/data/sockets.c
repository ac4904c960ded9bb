/* Sockets that lead out of any sandbox, one row each, with what that means.
 *
 * Should:   be what a warning says when somebody passes such a socket.
 * Must not: decide: who names a socket gets it. */
#include "data/sockets.h"

#include "base/auto.h"

#include <fnmatch.h>

#define IS_ROOT "whoever reaches it is root on this host"
#define IS_USER "whoever reaches it runs programs as you, outside"

/* clang-format off */
const struct socket_row socket_rows[] = {
	{"/home/*/.docker/*/docker.sock", "Docker's", IS_USER},
	{"/root/.docker/*/docker.sock", "Docker's", IS_ROOT},
	{"/run/acpid.socket", "the power button's", "whoever reaches it sees the machine's events"},
	{"/run/avahi-daemon/socket", "Avahi's", "whoever reaches it asks and announces names in your network"},
	{"/run/buildkit/buildkitd.sock", "BuildKit's", IS_ROOT},
	{"/run/containerd/*.sock", "containerd's", IS_ROOT},
	{"/run/crio/crio.sock", "CRI-O's", IS_ROOT},
	{"/run/cups/cups.sock", "the printers'", "whoever reaches it prints, and sets printers up"},
	{"/run/dbus/system_bus_socket", "the system bus", "whoever reaches it asks the system's services in your name"},
	{"/run/docker.sock", "Docker's", IS_ROOT},
	{"/run/docker/*.sock", "Docker's", IS_ROOT},
	{"/run/incus/unix.socket", "Incus's", IS_ROOT},
	{"/run/k3s/containerd/containerd.sock", "containerd's", IS_ROOT},
	{"/run/libvirt/*", "libvirt's", IS_ROOT},
	{"/run/lxd.socket", "LXD's", IS_ROOT},
	{"/run/mysqld/*", "MySQL's", "whoever reaches it has your databases, as far as they trust this user"},
	{"/run/nscd/socket", "nscd's", "names are looked up past the rules about hosts"},
	{"/run/pcscd/pcscd.comm", "the smart cards'", "whoever reaches it uses your cards"},
	{"/run/podman/podman.sock", "Podman's", IS_ROOT},
	{"/run/postgresql/*", "PostgreSQL's", "whoever reaches it has your databases, as far as they trust this user"},
	{"/run/snapd*.socket", "snapd's", "whoever reaches it manages the packages that you may manage"},
	{"/run/systemd/journal/*", "the journal's", "whoever reaches it writes records in your name"},
	{"/run/systemd/private", "systemd's", IS_ROOT},
	{"/run/systemd/resolve/*", "systemd-resolved's", "names are looked up past the rules about hosts"},
	{"/run/user/*/bus", "the session bus", IS_USER},
	{"/run/user/*/dbus-1/*", "the session bus", IS_USER},
	{"/run/user/*/docker.sock", "Docker's", IS_USER},
	{"/run/user/*/gcr/ssh", "the ssh agent's", "whoever reaches it signs with your keys"},
	{"/run/user/*/gnupg/*", "GnuPG's agent", "whoever reaches it signs and decrypts with your keys"},
	{"/run/user/*/keyring/*", "the keyring's", "whoever reaches it reads your passwords and signs with your keys"},
	{"/run/user/*/libpod/*", "Podman's", IS_USER},
	{"/run/user/*/pipewire-*", "PipeWire's", "whoever reaches it hears the microphone and may see the screen"},
	{"/run/user/*/podman/*", "Podman's", IS_USER},
	{"/run/user/*/pulse/native", "PulseAudio's", "whoever reaches it hears the microphone, and loads modules that run programs"},
	{"/run/user/*/snapd-session-agent.socket", "snapd's", IS_USER},
	{"/run/user/*/ssh-agent*", "the ssh agent's", "whoever reaches it signs with your keys"},
	{"/run/user/*/systemd/*", "systemd's", IS_USER},
	{"/run/user/*/wayland-*", "the screen's", "whoever reaches it reads the clipboard and shows windows as yours"},
	{"/tmp/.ICE-unix/*", "the desktop session's", "whoever reaches it takes part in your session"},
	{"/tmp/.X11-unix/*", "the screen's", "whoever reaches it reads every key that you press, and types for you"},
	{"/tmp/ssh-*/agent.*", "the ssh agent's", "whoever reaches it signs with your keys"},
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
