/* SPDX-License-Identifier: Apache-2.0 */
/* The "@" sets of patterns for fs.deny and fs.protect: secret files, and files that other
 * programs run or read as settings.
 *
 * Should:   hold one row a pattern, each with its reason; exceptions after the
 *           patterns that they limit.
 * Must not: match at any depth a file of published packages (.npmrc, .vscode):
 *           unpacking one would fail; match files that agents are meant to write.
 * Fails:    open: a missing row leaves that name to the other rules of the policy. */
#include "data/names.h"

#include "base/auto.h"
#include "base/str.h"

static const struct name_row agents_names[] = {
	{"/.agents", "skills and settings that several agents read"},
	{"/.aider.conf.yml", "aider runs the test and lint commands that it names"},
	{"/.aider.model.settings.yml", "aider reads it beside its configuration"},
	{"/.amazonq", "rules and servers of Amazon Q"},
	{"/.augment", "rules and settings of Augment"},
	{"/.claude", "settings, hooks, commands and permissions of Claude Code"},
	{"/.clinerules", "rules and workflows of Cline"},
	{"/.codex", "configuration of Codex"},
	{"/.continue", "configuration of Continue"},
	{"/.continuerc.json", "configuration of Continue"},
	{"/.crush.json", "configuration and servers of Crush"},
	{"/.cursor", "rules, hooks and servers of Cursor"},
	{"/.cursorrules", "rules of Cursor"},
	{"/.gemini", "settings, commands and servers of Gemini"},
	{"/.github/copilot*", "instructions and settings of Copilot"},
	{"/.goosehints", "instructions of Goose"},
	{"/.junie", "guidelines of Junie"},
	{"/.kilocode", "rules and servers of Kilo Code"},
	{"/.kiro", "hooks and settings of Kiro"},
	{"/.mcp.json", "names programs that agents start as servers"},
	{"/.opencode", "agents, commands and plug-ins of OpenCode"},
	{"/.qwen", "settings and servers of Qwen Code"},
	{"/.roo", "rules and servers of Roo Code"},
	{"/.roomodes", "modes of Roo Code"},
	{"/.trae", "rules of Trae"},
	{"/.windsurf", "rules and workflows of Windsurf"},
	{"/.windsurfrules", "rules of Windsurf"},
	{"/crush.json", "configuration and servers of Crush"},
	{"/opencode.json", "configuration and servers of OpenCode"},
	{"/opencode.jsonc", "configuration and servers of OpenCode"},
};

static const struct name_row corral_names[] = {
	{"/.campaign/sandbox.yaml", "the policy of the next run with profile campaign"},
	{"/.corral.toml", "the policy of the next run"},
};

static const struct name_row editors_names[] = {
	{"/*.code-workspace", "settings and tasks of VS Code"},
	{"/.devcontainer", "its initializeCommand runs on the host"},
	{"/.devcontainer.json", "its initializeCommand runs on the host"},
	{"/.dir-locals-2.el", "variables and code of Emacs"},
	{"/.dir-locals.el", "variables and code of Emacs"},
	{"/.exrc", "commands of vi"},
	{"/.fleet", "run configurations of Fleet"},
	{"/.gvimrc", "commands of vim"},
	{"/.helix", "language servers and formatters of Helix"},
	{"/.idea", "run configurations and tools of JetBrains"},
	{"/.lvimrc", "commands of vim"},
	{"/.nvim.lua", "code of Neovim"},
	{"/.nvimrc", "commands of Neovim"},
	{"/.settings", "builders of Eclipse"},
	{"/.vimrc", "commands of vim"},
	{"/.vs", "tasks of Visual Studio"},
	{"/.vscode", "tasks, launch configurations, terminal profiles"},
	{"/.zed", "tasks and language servers of Zed"},
};

static const struct name_row git_names[] = {
	{"/.gitconfig", "git's settings where the workspace is a home"},
	{"/.gitmodules", "where submodules come from"},
};

static const struct name_row repository_rows[] = {
	{"**/.git/branches", "addresses of remotes that the configuration does not have"},
	{"**/.git/commondir", "the path of a repository's configuration"},
	{"**/.git/config", "git runs commands that it names"},
	{"**/.git/config*.lock", "git renames it to the configuration"},
	{"**/.git/config.worktree", "git runs commands that it names"},
	{"**/.git/hooks", "git runs the programs in it"},
	{"**/.git/modules/**/commondir", "the same, of a submodule"},
	{"**/.git/modules/**/config", "the same, of a submodule"},
	{"**/.git/modules/**/config*.lock", "the same, of a submodule"},
	{"**/.git/modules/**/config.worktree", "the same, of a submodule"},
	{"**/.git/modules/**/hooks", "the same, of a submodule"},
	{"**/.git/remotes", "addresses of remotes that the configuration does not have"},
	{"**/.git/worktrees/*/commondir", "the path of a work tree's configuration"},
	{"**/.git/worktrees/*/config*.lock", "git renames it to config.worktree"},
	{"**/.git/worktrees/*/config.worktree", "git runs commands that it names"},
	{"**/.git/worktrees/*/gitdir", "the path of a work tree"},
	{"**/.git/worktrees/*/modules/**/commondir", "the same, of a work tree's submodule"},
	{"**/.git/worktrees/*/modules/**/config", "the same, of a work tree's submodule"},
	{"**/.git/worktrees/*/modules/**/config*.lock", "the same, of a work tree's submodule"},
	{"**/.git/worktrees/*/modules/**/config.worktree", "the same, of a work tree's submodule"},
	{"**/.git/worktrees/*/modules/**/hooks", "the same, of a work tree's submodule"},
};

static const struct name_row packages_names[] = {
	{"/.bundle/config", "sources and options of Bundler"},
	{"/.cargo/config", "compilers, runners and linkers of Cargo"},
	{"/.cargo/config.toml", "compilers, runners and linkers of Cargo"},
	{"/.condarc", "channels of conda"},
	{"/.gemrc", "sources and options of RubyGems"},
	{"/.mvn/extensions.xml", "code that Maven loads"},
	{"/.mvn/jvm.config", "options of the JVM that runs Maven"},
	{"/.mvn/maven.config", "options of Maven"},
	{"/.npmrc", "shell, options and registry of npm"},
	{"/.pip/pip.conf", "index of pip"},
	{"/.pnpmfile.cjs", "code that pnpm loads"},
	{"/.pypirc", "where packages are published to"},
	{"/.yarn/plugins", "code that Yarn loads"},
	{"/.yarn/releases", "the Yarn that Yarn starts in its place"},
	{"/.yarnrc", "which Yarn is run, and its registry"},
	{"/.yarnrc.yml", "which Yarn is run, its plug-ins and registry"},
	{"/bunfig.toml", "code that Bun loads first"},
	{"/nuget.config", "sources of NuGet"},
	{"/pip.conf", "index of pip"},
};

static const struct name_row secrets_names[] = {
	{"*credential*", "its name suggests a secret"},
	{"*passwd*", "its name suggests a secret"},
	{"*password*", "its name suggests a secret"},
	{"*secret*", "its name suggests a secret"},
	{"!*.example", "an example without real values"},
	{"!*.sample", "an example without real values"},
	{"!*.template", "an example without real values"},
};

static const struct name_row sensitive_names[] = {
	{"*.jks", "a key store of Java"},
	{"*.kdb", "a store of passwords"},
	{"*.kdbx", "a store of passwords"},
	{"*.key", "a private key"},
	{"*.keystore", "a key store of Java or Android"},
	{"*.mobileprovision", "signs for a store"},
	{"*.ovpn", "a tunnel with its key"},
	{"*.p12", "a certificate with its key"},
	{"*.p8", "a private key"},
	{"*.pem", "a private key, unless it is an authority's certificate"},
	{"*.pfx", "a certificate with its key"},
	{"*.ppk", "a private key of PuTTY"},
	{"*.tfstate", "state of Terraform, with passwords in clear"},
	{"*.tfstate.backup", "state of Terraform, with passwords in clear"},
	{"*.tfvars", "values for Terraform, often passwords"},
	{"*.tfvars.json", "values for Terraform, often passwords"},
	{".dockercfg", "tokens of registries"},
	{".env", "variables that hold keys"},
	{".env.*", "variables that hold keys"},
	{".envrc.local", "variables that hold keys"},
	{".git-credentials", "passwords of git in clear"},
	{".htpasswd", "hashes of passwords"},
	{".netrc", "passwords of hosts in clear"},
	{".pgpass", "passwords of databases in clear"},
	{".s3cfg", "keys of object stores"},
	{".vault-token", "a token of Vault"},
	{"_netrc", "passwords of hosts in clear"},
	{"client_secret*.json", "an application's secret"},
	{"credentials.csv", "access keys in a cloud's download format"},
	{"credentials.json", "its name suggests a secret"},
	{"credentials.toml", "its name suggests a secret"},
	{"credentials.yaml", "its name suggests a secret"},
	{"credentials.yml", "its name suggests a secret"},
	{"gcloud-key*.json", "a service account's key"},
	{"id_dsa", "a private key of ssh"},
	{"id_ecdsa", "a private key of ssh"},
	{"id_ecdsa_sk", "a private key of ssh"},
	{"id_ed25519", "a private key of ssh"},
	{"id_ed25519_sk", "a private key of ssh"},
	{"id_rsa", "a private key of ssh"},
	{"kubeconfig", "tokens of a cluster"},
	{"secrets.json", "its name suggests a secret"},
	{"secrets.toml", "its name suggests a secret"},
	{"secrets.yaml", "its name suggests a secret"},
	{"secrets.yml", "its name suggests a secret"},
	{"service-account*.json", "a service account's key"},
	{"service_account*.json", "a service account's key"},
	{"!*.example", "an example without real values"},
	{"!*.pub", "the public half of a key"},
	{"!*.sample", "an example without real values"},
	{"!*.template", "an example without real values"},
	{"!.env.defaults", "default values, not secret"},
	{"!.env.dist", "an example without real values"},
	{"!.env.example.*", "an example without real values"},
	{"!.env.schema", "an example without real values"},
	{"!ca-bundle.*", "certificates of authorities"},
	{"!ca-certificates.*", "certificates of authorities"},
	{"!cacert.pem", "certificates of authorities (certifi, curl)"},
	{"!roots.pem", "certificates of authorities (gRPC)"},
};

static const struct name_row startup_names[] = {
	{".envrc", "direnv runs it at cd"},
	{"/.Rprofile", "R runs it when it starts here"},
	{"/.autoenv", "autoenv runs it at cd"},
	{"/.autoenv.zsh", "autoenv runs it at cd"},
	{"/.bash_aliases", "a shell reads it"},
	{"/.bash_login", "a shell runs it"},
	{"/.bash_logout", "a shell runs it"},
	{"/.bash_profile", "a shell runs it"},
	{"/.bashrc", "a shell runs it"},
	{"/.config/autostart", "a desktop starts the programs that it names"},
	{"/.config/direnv", "direnv reads its rules there"},
	{"/.config/environment.d", "variables of a session"},
	{"/.config/fish", "a shell runs it"},
	{"/.config/mise", "mise runs its hooks at cd"},
	{"/.config/nushell", "a shell runs it"},
	{"/.config/systemd/user", "services of a session"},
	{"/.cshrc", "a shell runs it"},
	{"/.direnvrc", "direnv runs it"},
	{"/.gdbinit", "gdb runs it when it starts here"},
	{"/.inputrc", "it binds keys of a shell to commands"},
	{"/.irbrc", "irb runs it when it starts"},
	{"/.kshrc", "a shell runs it"},
	{"/.lldbinit", "lldb runs it when it starts here"},
	{"/.login", "a shell runs it"},
	{"/.logout", "a shell runs it"},
	{"/.mise.toml", "mise runs its hooks at cd"},
	{"/.mkshrc", "a shell runs it"},
	{"/.pam_environment", "variables of a session"},
	{"/.profile", "a shell runs it"},
	{"/.pryrc", "pry runs it when it starts here"},
	{"/.screenrc", "screen runs the commands in it"},
	{"/.ssh", "commands and keys of ssh"},
	{"/.tcshrc", "a shell runs it"},
	{"/.tmux.conf", "tmux runs the commands in it"},
	{"/.xinitrc", "a session runs it"},
	{"/.xprofile", "a session runs it"},
	{"/.xsession", "a session runs it"},
	{"/.xsessionrc", "a session runs it"},
	{"/.zlogin", "a shell runs it"},
	{"/.zlogout", "a shell runs it"},
	{"/.zprofile", "a shell runs it"},
	{"/.zshenv", "a shell runs it"},
	{"/.zshrc", "a shell runs it"},
	{"/mise.toml", "mise runs its hooks at cd"},
};

#define SET(id, about)                                                                             \
	{ #id, about, id##_names, ARRAY_LEN(id##_names) }

const struct name_set name_sets[] = {
	SET(agents, "files that other agents read: settings, hooks, servers, permissions"),
	SET(corral, "Corral's own project file"),
	SET(editors, "files that editors run or read when they open a project"),
	SET(git, "git's files in the work tree; Corral locates the repository's files as git does"),
	SET(packages, "settings that make package managers run programs or use another registry"),
	SET(secrets, "every name that suggests a secret, source files included"),
	SET(sensitive, "files that hold keys, tokens and passwords as data"),
	SET(startup, "files that a shell or a session runs at its start or at cd"),
};
const size_t name_sets_count = ARRAY_LEN(name_sets);

const struct name_set repository_names = {"repository",
					  "protected in repositories that exist before the run",
					  repository_rows, ARRAY_LEN(repository_rows)};

const struct name_set *name_set_find(const char *name) {
	for (size_t i = 0; i < name_sets_count; i++) {
		if (streq(name_sets[i].name, name)) {
			return &name_sets[i];
		}
	}
	return NULL;
}
