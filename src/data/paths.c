/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of paths that the sandbox shows, hides or creates.
 *
 * Should:   hold one row a path, sorted, each with its reason.
 * Must not: decide; the plan checks which of them exist on the host.
 * Fails:    open for secrets: one without a row is visible in the host view and in a
 *           workspace that is HOME; closed otherwise: the other views are allow lists. */
#include "data/paths.h"

#include "base/auto.h"
#include "base/path.h"
#include "data/seatbelt.h"

#include <string.h>

static const struct path_row system_roots_rows[] = {
	{.path = "/bin", .reason = "programs", .flags = PATH_EXEC | PATH_MINIMAL},
	{.path = "/etc", .reason = "names, certificates, the loader's configuration"},
	{.path = "/gnu/store", .reason = "software of Guix", .flags = PATH_EXEC | PATH_MINIMAL},
	{.path = "/lib", .reason = "libraries and the loader", .flags = PATH_EXEC | PATH_MINIMAL},
	{.path = "/lib32", .reason = "libraries and the loader", .flags = PATH_EXEC | PATH_MINIMAL},
	{.path = "/lib64", .reason = "libraries and the loader", .flags = PATH_EXEC | PATH_MINIMAL},
	{.path = "/libx32",
	 .reason = "libraries and the loader",
	 .flags = PATH_EXEC | PATH_MINIMAL},
	{.path = "/nix/store", .reason = "software of Nix", .flags = PATH_EXEC | PATH_MINIMAL},
	{.path = "/nix/var/nix/profiles",
	 .reason = "links into the Nix store",
	 .flags = PATH_EXEC | PATH_MINIMAL},
	{.path = "/opt",
	 .reason = "software outside the distribution's packages",
	 .flags = PATH_EXEC},
	{.path = "/run/current-system",
	 .reason = "the symlink to the programs of NixOS",
	 .flags = PATH_EXEC | PATH_MINIMAL},
	{.path = "/sbin", .reason = "programs", .flags = PATH_EXEC | PATH_MINIMAL},
	{.path = "/snap", .reason = "software of snap", .flags = PATH_EXEC},
	{.path = "/sys/devices/system",
	 .reason = "processors and memory nodes: nproc, Java, Go, OpenBLAS",
	 .flags = PATH_MINIMAL},
	{.path = "/usr", .reason = "programs and libraries", .flags = PATH_EXEC | PATH_MINIMAL},
	{.path = "/var/lib/dpkg", .reason = "which packages are installed"},
	{.path = "/var/lib/gems",
	 .reason = "gems of the system, with libraries in them",
	 .flags = PATH_EXEC},
	{.path = "/var/lib/ghc", .reason = "the package database of GHC"},
	{.path = "/var/lib/texmf", .reason = "formats of TeX"},
};
const struct path_table system_roots = {"system_roots", system_roots_rows,
					ARRAY_LEN(system_roots_rows)};

static const struct path_row minimal_etc_rows[] = {
	{.path = "/etc/alternatives", .reason = "targets of symlinks in /usr"},
	{.path = "/etc/ca-certificates", .reason = "certificate authorities"},
	{.path = "/etc/ld.so.cache", .reason = "the loader's cache"},
	{.path = "/etc/ld.so.conf", .reason = "the loader's directories"},
	{.path = "/etc/ld.so.conf.d", .reason = "the loader's directories"},
	{.path = "/etc/localtime", .reason = "the time zone"},
	{.path = "/etc/pki/tls/certs", .reason = "certificate authorities"},
	{.path = "/etc/ssl/certs", .reason = "certificate authorities"},
	{.path = "/etc/ssl/openssl.cnf", .reason = "openssl prints a warning without it"},
};
const struct path_table minimal_etc = {"minimal_etc", minimal_etc_rows,
				       ARRAY_LEN(minimal_etc_rows)};

static const struct path_row host_skipped_rows[] = {
	{.path = "dev", .reason = "the sandbox has its own /dev"},
	{.path = "lost+found", .reason = "fragments of deleted files"},
	{.path = "proc", .reason = "the sandbox has its own procfs, with its own processes only"},
	{.path = "run",
	 .reason = "holds the host's sockets, and a read-only mount does not stop connect(2)"},
	{.path = "sys", .reason = "the sandbox shows only the parts that programs need"},
	{.path = "tmp", .reason = "the sandbox has its own /tmp"},
};
const struct path_table host_skipped = {"host_skipped", host_skipped_rows,
					ARRAY_LEN(host_skipped_rows)};

static const struct path_row windows_rows[] = {
	{.path = "/dev/shm", .reason = "shared memory of the sandbox's processes", .mode = 01777},
	{.path = "/run", .reason = "sockets and locks of the sandbox's processes", .mode = 0755},
	{.path = "/tmp", .reason = "temporary files", .mode = 01777},
	{.path = "/var/tmp", .reason = "temporary files", .mode = 01777},
};
const struct path_table windows = {"windows", windows_rows, ARRAY_LEN(windows_rows)};

static const struct path_row skeleton_links_rows[] = {
	{.path = "/dev/fd", .reason = "the shell's names for descriptors", .text = "/proc/self/fd"},
	{.path = "/dev/ptmx",
	 .reason = "new terminals come from the sandbox's devpts",
	 .text = "pts/ptmx"},
	{.path = "/dev/random",
	 .reason = "the kernel has one source of random bytes, under two names",
	 .text = "urandom"},
	{.path = "/dev/stderr",
	 .reason = "the shell's names for descriptors",
	 .text = "/proc/self/fd/2"},
	{.path = "/dev/stdin",
	 .reason = "the shell's names for descriptors",
	 .text = "/proc/self/fd/0"},
	{.path = "/dev/stdout",
	 .reason = "the shell's names for descriptors",
	 .text = "/proc/self/fd/1"},
	{.path = "/var/run", .reason = "its old name", .text = "/run"},
};
const struct path_table skeleton_links = {"skeleton_links", skeleton_links_rows,
					  ARRAY_LEN(skeleton_links_rows)};

static const struct path_row devices_rows[] = {
	{.path = "/dev/full", .reason = "always out of space, for tests"},
	{.path = "/dev/null", .reason = "discards writes, reads as empty"},
	{.path = "/dev/tty", .reason = "the command's own terminal, if it has one"},
	{.path = "/dev/urandom", .reason = "random bytes"},
	{.path = "/dev/zero", .reason = "zero bytes"},
};
const struct path_table devices = {"devices", devices_rows, ARRAY_LEN(devices_rows)};

static const struct path_row proc_readonly_rows[] = {
	{.path = "/proc/bus", .reason = "devices on their buses"},
	{.path = "/proc/fs", .reason = "settings of file systems"},
	{.path = "/proc/irq", .reason = "which processor serves an interrupt"},
	{.path = "/proc/pressure",
	 .reason = "every user may register PSI triggers in the kernel there",
	 .flags = PATH_ALWAYS},
	{.path = "/proc/sys",
	 .reason = "kernel settings: kuid 0 may write them even without a capability",
	 .flags = PATH_ALWAYS},
};
const struct path_table proc_readonly = {"proc_readonly", proc_readonly_rows,
					 ARRAY_LEN(proc_readonly_rows)};

static const struct path_row proc_hidden_rows[] = {
	{.path = "/proc/acpi",
	 .reason = "the firmware's devices",
	 .flags = PATH_ROOT_ONLY | PATH_DIRECTORY},
	{.path = "/proc/asound",
	 .reason = "the sound cards",
	 .flags = PATH_ROOT_ONLY | PATH_DIRECTORY},
	{.path = "/proc/kallsyms", .reason = "addresses and symbols of the kernel"},
	{.path = "/proc/kcore", .reason = "the whole memory", .flags = PATH_ROOT_ONLY},
	{.path = "/proc/key-users", .reason = "which users hold kernel keys"},
	{.path = "/proc/keys", .reason = "kernel keys of the caller"},
	{.path = "/proc/kmsg", .reason = "the kernel's log", .flags = PATH_ROOT_ONLY},
	{.path = "/proc/kpagecgroup",
	 .reason = "which processes use which page of memory",
	 .flags = PATH_ROOT_ONLY},
	{.path = "/proc/kpagecount",
	 .reason = "which processes use which page of memory",
	 .flags = PATH_ROOT_ONLY},
	{.path = "/proc/kpageflags",
	 .reason = "which processes use which page of memory",
	 .flags = PATH_ROOT_ONLY},
	{.path = "/proc/latency_stats",
	 .reason = "timing of other processes",
	 .flags = PATH_ROOT_ONLY},
	{.path = "/proc/locks", .reason = "which files other processes lock"},
	{.path = "/proc/pagetypeinfo",
	 .reason = "how the kernel lays out memory",
	 .flags = PATH_ROOT_ONLY},
	{.path = "/proc/sched_debug", .reason = "processes outside", .flags = PATH_ROOT_ONLY},
	{.path = "/proc/scsi", .reason = "disks", .flags = PATH_ROOT_ONLY | PATH_DIRECTORY},
	{.path = "/proc/slabinfo",
	 .reason = "how the kernel lays out memory",
	 .flags = PATH_ROOT_ONLY},
	{.path = "/proc/sysrq-trigger", .reason = "restarts the machine", .flags = PATH_ROOT_ONLY},
	{.path = "/proc/timer_list", .reason = "processes outside", .flags = PATH_ROOT_ONLY},
	{.path = "/proc/vmallocinfo", .reason = "addresses of the kernel", .flags = PATH_ROOT_ONLY},
};
const struct path_table proc_hidden = {"proc_hidden", proc_hidden_rows,
				       ARRAY_LEN(proc_hidden_rows)};

static const struct path_row sensitive_paths_rows[] = {
	{.path = "/boot", .reason = "kernels and their passwords"},
	{.path = "/etc/NetworkManager/system-connections", .reason = "passwords of networks"},
	{.path = "/etc/corral", .reason = "the policy of this machine"},
	{.path = "/etc/crypttab", .reason = "paths of disk encryption keys"},
	{.path = "/etc/cups/ssl", .reason = "private keys"},
	{.path = "/etc/docker/key.json", .reason = "a key of the container engine"},
	{.path = "/etc/fstab.d", .reason = "mounts with passwords"},
	{.path = "/etc/gshadow", .reason = "password hashes"},
	{.path = "/etc/gshadow-", .reason = "password hashes"},
	{.path = "/etc/ipsec.secrets", .reason = "keys of a private network"},
	{.path = "/etc/krb5.keytab", .reason = "keys of this machine"},
	{.path = "/etc/kubernetes", .reason = "keys of a cluster"},
	{.path = "/etc/letsencrypt", .reason = "private keys"},
	{.path = "/etc/machine-id", .reason = "identifies this machine", .flags = PATH_MILD},
	{.path = "/etc/msmtprc", .reason = "a mail account"},
	{.path = "/etc/openvpn", .reason = "keys of a private network"},
	{.path = "/etc/pki/tls/private", .reason = "private keys"},
	{.path = "/etc/ppp", .reason = "passwords of networks"},
	{.path = "/etc/rancher", .reason = "keys of a cluster"},
	{.path = "/etc/samba/private", .reason = "password hashes"},
	{.path = "/etc/security/opasswd", .reason = "old password hashes"},
	{.path = "/etc/shadow", .reason = "password hashes"},
	{.path = "/etc/shadow-", .reason = "password hashes"},
	{.path = "/etc/ssh/ssh_host_dsa_key", .reason = "host key of this machine"},
	{.path = "/etc/ssh/ssh_host_ecdsa_key", .reason = "host key of this machine"},
	{.path = "/etc/ssh/ssh_host_ed25519_key", .reason = "host key of this machine"},
	{.path = "/etc/ssh/ssh_host_rsa_key", .reason = "host key of this machine"},
	{.path = "/etc/ssl/private", .reason = "private keys"},
	{.path = "/etc/sudoers", .reason = "which users may become root"},
	{.path = "/etc/sudoers.d", .reason = "which users may become root", .flags = PATH_MILD},
	{.path = "/etc/vault.d", .reason = "a secret store's configuration"},
	{.path = "/etc/wireguard", .reason = "keys of a private network"},
	{.path = "/etc/wpa_supplicant", .reason = "passwords of networks"},
	{.path = "/usr/local/etc/corral", .reason = "the policy of this machine"},
	{.path = "/var/backups", .reason = "copies of password files"},
	{.path = "/var/cache/debconf", .reason = "answers to installers, with passwords"},
	{.path = "/var/crash", .reason = "memory of crashed programs"},
	{.path = "/var/lib/NetworkManager", .reason = "leases and secrets of networks"},
	{.path = "/var/lib/cloud", .reason = "start-up data of the machine, often with keys"},
	{.path = "/var/lib/containerd", .reason = "other containers' files"},
	{.path = "/var/lib/containers", .reason = "other containers' files"},
	{.path = "/var/lib/docker", .reason = "other containers' files"},
	{.path = "/var/lib/kubelet", .reason = "keys of a cluster"},
	{.path = "/var/lib/lxd", .reason = "other containers' files and a socket"},
	{.path = "/var/lib/private", .reason = "state of services"},
	{.path = "/var/lib/sss", .reason = "cached logins"},
	{.path = "/var/lib/systemd/coredump", .reason = "memory of crashed programs"},
	{.path = "/var/log", .reason = "logs of this machine"},
	{.path = "/var/mail", .reason = "mail"},
	{.path = "/var/snap", .reason = "state and sockets of snaps"},
	{.path = "/var/spool", .reason = "mail, jobs and print-outs"},
};
const struct path_table sensitive_paths = {"sensitive_paths", sensitive_paths_rows,
					   ARRAY_LEN(sensitive_paths_rows)};

static const struct path_row credential_names_rows[] = {
	{.path = ".credentials", .reason = "a token or password beside a toolchain"},
	{.path = ".env", .reason = "a token or password beside a toolchain"},
	{.path = ".git-credentials", .reason = "a token or password beside a toolchain"},
	{.path = ".netrc", .reason = "a token or password beside a toolchain"},
	{.path = ".npmrc", .reason = "a token or password beside a toolchain"},
	{.path = ".pypirc", .reason = "a token or password beside a toolchain"},
	{.path = "auth.json", .reason = "a token or password beside a toolchain"},
	{.path = "auth.toml", .reason = "a token or password beside a toolchain"},
	{.path = "credentials", .reason = "a token or password beside a toolchain"},
	{.path = "credentials.json", .reason = "a token or password beside a toolchain"},
	{.path = "credentials.toml", .reason = "a token or password beside a toolchain"},
	{.path = "settings.xml", .reason = "a token or password beside a toolchain"},
	{.path = "token", .reason = "a token or password beside a toolchain"},
	{.path = "token.json", .reason = "a token or password beside a toolchain"},
};
const struct path_table credential_names = {"credential_names", credential_names_rows,
					    ARRAY_LEN(credential_names_rows)};

static const struct path_row reserved_paths_rows[] = {
	{.path = "/",
	 .reason = "the whole file system cannot be granted: name directories; to read all of it "
		   "use --profile host-read"},
	{.path = "/dev", .reason = "the sandbox has its own /dev", .flags = PATH_BENEATH},
	{.path = "/dev/shm", .reason = "the sandbox has its own /dev/shm", .flags = PATH_OPEN},
	{.path = "/proc",
	 .reason = "the sandbox has its own procfs, with its own processes only",
	 .flags = PATH_BENEATH},
	{.path = "/run",
	 .reason = "it holds the host's sockets; grant only the directory that is needed"},
	{.path = "/sys",
	 .reason = "it controls the kernel; grant only the directory that is needed"},
};
const struct path_table reserved_paths = {"reserved_paths", reserved_paths_rows,
					  ARRAY_LEN(reserved_paths_rows)};

static const struct path_row generic_parents_rows[] = {
	{.path = ".cache", .reason = "holds the caches of many programs"},
	{.path = ".config", .reason = "holds the settings of many programs"},
	{.path = ".local", .reason = "holds the data of many programs"},
	{.path = ".local/share", .reason = "holds the data of many programs"},
	{.path = ".var", .reason = "holds the data of many programs"},
	{.path = "Desktop", .reason = "holds personal files"},
	{.path = "Documents", .reason = "holds personal files"},
	{.path = "Downloads", .reason = "holds personal files"},
	{.path = "code", .reason = "holds other projects"},
	{.path = "dev", .reason = "holds other projects"},
	{.path = "git", .reason = "holds other projects"},
	{.path = "projects", .reason = "holds other projects"},
	{.path = "repos", .reason = "holds other projects"},
	{.path = "snap", .reason = "holds the data of many programs"},
	{.path = "src", .reason = "holds other projects"},
	{.path = "work", .reason = "holds other projects"},
};
const struct path_table generic_parents = {"generic_parents", generic_parents_rows,
					   ARRAY_LEN(generic_parents_rows)};

const struct toolchain toolchains[] = {
	{.home = ".asdf", .variable = "ASDF_DATA_DIR", .reason = "asdf"},
	{.home = ".bun", .variable = "BUN_INSTALL", .parts = {"bin", "install"}, .reason = "Bun"},
	{.home = ".cabal",
	 .variable = "CABAL_DIR",
	 .parts = {"bin", "packages"},
	 .reason = "Cabal"},
	{.home = ".cache/pypoetry", .parts = {"virtualenvs"}, .reason = "Poetry: environments"},
	{.home = ".cargo",
	 .variable = "CARGO_HOME",
	 .parts = {"bin", "config.toml", "env", "git", "registry"},
	 .reason = "Rust: programs and sources of crates"},
	{.home = ".composer", .parts = {"vendor"}, .reason = "PHP: programs of the user"},
	{.home = ".conda", .parts = {"envs", "pkgs"}, .reason = "conda"},
	{.home = ".config/composer", .parts = {"vendor"}, .reason = "PHP: programs of the user"},
	{.home = ".deno", .variable = "DENO_INSTALL", .parts = {"bin"}, .reason = "Deno"},
	{.home = ".dotnet", .variable = "DOTNET_ROOT", .reason = ".NET"},
	{.home = ".elan", .variable = "ELAN_HOME", .reason = "Lean"},
	{.home = ".fnm", .variable = "FNM_DIR", .reason = "Node"},
	{.home = ".foundry",
	 .variable = "FOUNDRY_DIR",
	 .parts = {"bin", "versions"},
	 .reason = "Foundry"},
	{.home = ".gem", .parts = {"ruby"}, .reason = "gems of the user, not the key beside them"},
	{.home = ".ghcup", .variable = "GHCUP_INSTALL_BASE_PREFIX", .reason = "Haskell"},
	{.home = ".goenv", .variable = "GOENV_ROOT", .reason = "Go"},
	/* Not its caches: Gradle locks and writes them even when it only reads, and does not
	 * start where it cannot.  It keeps its own caches in the private home. */
	{.home = ".gradle", .parts = {"wrapper", "jdks"}, .reason = "Gradle"},
	{.home = ".jenv", .variable = "JENV_ROOT", .reason = "Java"},
	{.home = ".juliaup", .variable = "JULIAUP_DEPOT_PATH", .reason = "Julia"},
	{.home = ".linuxbrew", .variable = "HOMEBREW_PREFIX", .reason = "Homebrew"},
	{.home = ".local/bin", .reason = "programs of the user"},
	{.home = ".local/lib", .reason = "Python packages of the user"},
	{.home = ".local/pipx", .reason = "pipx"},
	{.home = ".local/share/fnm", .reason = "Node"},
	{.home = ".local/share/gem", .parts = {"ruby"}, .reason = "gems of the user"},
	{.home = ".local/share/mise", .variable = "MISE_DATA_DIR", .reason = "mise"},
	{.home = ".local/share/pipx", .variable = "PIPX_HOME", .reason = "pipx"},
	{.home = ".local/share/pnpm", .variable = "PNPM_HOME", .reason = "pnpm"},
	{.home = ".local/share/rtx", .variable = "RTX_DATA_DIR", .reason = "rtx"},
	{.home = ".local/share/uv", .reason = "uv: Pythons and tools"},
	{.home = ".local/share/virtualenvs", .reason = "Pipenv: environments"},
	{.home = ".luarocks", .parts = {"bin", "lib", "share"}, .reason = "rocks of the user"},
	{.home = ".m2", .parts = {"repository", "wrapper"}, .reason = "Maven"},
	{.home = ".nix-profile", .reason = "links into the Nix store"},
	{.home = ".nodenv", .variable = "NODENV_ROOT", .reason = "Node"},
	{.home = ".nuget", .parts = {"packages"}, .reason = "NuGet"},
	{.home = ".nvm", .variable = "NVM_DIR", .reason = "Node"},
	{.home = ".opam", .variable = "OPAMROOT", .reason = "OCaml"},
	{.home = ".phpenv", .variable = "PHPENV_ROOT", .reason = "PHP"},
	{.home = ".pixi", .variable = "PIXI_HOME", .parts = {"bin", "envs"}, .reason = "pixi"},
	{.home = ".pyenv", .variable = "PYENV_ROOT", .reason = "Python"},
	{.home = ".rbenv", .variable = "RBENV_ROOT", .reason = "Ruby"},
	{.home = ".rustup", .variable = "RUSTUP_HOME", .reason = "Rust"},
	{.home = ".rvm", .variable = "rvm_path", .reason = "Ruby"},
	{.home = ".rye", .variable = "RYE_HOME", .reason = "Python"},
	{.home = ".sdkman", .variable = "SDKMAN_DIR", .reason = "Java"},
	{.home = ".stack",
	 .variable = "STACK_ROOT",
	 .parts = {"programs", "snapshots"},
	 .reason = "Haskell"},
	{.home = ".swiftly", .variable = "SWIFTLY_HOME_DIR", .reason = "Swift"},
	{.home = ".virtualenvs", .reason = "virtualenvwrapper: environments"},
	{.home = ".volta", .variable = "VOLTA_HOME", .reason = "Node"},
	{.home = "anaconda3", .variable = "CONDA_PREFIX", .reason = "conda"},
	{.home = "go",
	 .variable = "GOPATH",
	 .parts = {"bin", "pkg"},
	 .reason = "Go: programs and modules, not sources"},
	{.home = "mambaforge", .reason = "conda"},
	{.home = "micromamba", .variable = "MAMBA_ROOT_PREFIX", .reason = "conda"},
	{.home = "miniconda3", .reason = "conda"},
	{.home = "miniforge3", .reason = "conda"},
	{.home = "perl5", .reason = "Perl modules of the user"},
	{.variable = "GOROOT", .reason = "Go"},
	{.variable = "JAVA_HOME", .reason = "Java"},
	{.variable = "VIRTUAL_ENV", .reason = "the active Python environment"},
};
const size_t toolchains_count = ARRAY_LEN(toolchains);

const struct path_table *const path_tables[] = {
	&credential_names, &credential_paths, &credential_variables,
	&devices,          &generic_parents,  &harmless_paths,
	&host_skipped,     &minimal_etc,      &proc_hidden,
	&proc_readonly,    &reserved_paths,   &sensitive_paths,
	&skeleton_links,   &system_roots,     &windows,
	&macos_roots,      &macos_hidden,     &macos_credentials,
};
const size_t path_tables_count = ARRAY_LEN(path_tables);

/* The row of the path's first `len` bytes; NULL. */
static const struct path_row *find_row(const struct path_table *t, const char *path, size_t len) {
	size_t low = 0, high = t->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *row = t->rows[middle].path;
		int order = strncmp(row, path, len);
		if (order == 0 && row[len] == '\0') {
			return &t->rows[middle];
		}
		if (order < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return NULL;
}

const struct path_row *path_table_find(const struct path_table *t, const char *path) {
	return find_row(t, path, strlen(path));
}

/* The rest of path beneath home; NULL. */
static const char *beneath_home(const char *home, const char *path) {
	size_t len = home == NULL ? 0 : strlen(home);

	return len > 0 && path_within(path, home) && path[len] == '/' ? path + len + 1 : NULL;
}

bool path_is_harmless(const char *home, const char *path) {
	const char *rest = beneath_home(home, path);

	for (size_t i = 0; rest != NULL && i < harmless_paths.count; i++) {
		if (path_within(rest, harmless_paths.rows[i].path)) {
			return true;
		}
	}
	return false;
}

const struct path_row *path_credential(const char *home, const char *path) {
	const char *rest = path_is_harmless(home, path) ? NULL : beneath_home(home, path);
	const struct path_row *found = NULL;

	/* The table is sorted: the path and each directory above it are searched. */
	for (size_t len = 0; rest != NULL && rest[len] != '\0'; len += rest[len] == '/') {
		len += strcspn(rest + len, "/");
		const struct path_row *row = find_row(&credential_paths, rest, len);
		if (row != NULL && (found == NULL || (row->flags & PATH_MIXED) == 0)) {
			found = row;
		}
	}
	return found;
}
