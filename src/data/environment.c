/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables with a special treatment: passed, dangerous, secret, reserved.
 *
 * Should:   hold one row a name or prefix, sorted, with its reason.
 * Must not: decide; the plan builds the environment from an allow list.  The rows give the
 *           class of each name: passed by default, dangerous, secret or reserved.
 * Fails:    closed: a name without a row is not passed unless the policy names it. */
#include "data/environment.h"

#include "base/auto.h"

#include <string.h>

const struct env_row env_rows[] = {
	{"AMP_API_KEY", ENV_SECRET, "a model provider's key"},
	{"ANTHROPIC_API_KEY", ENV_SECRET, "a model provider's key"},
	{"ANTHROPIC_AUTH_TOKEN", ENV_SECRET, "a model provider's key"},
	{"AWS_*", ENV_SECRET, "a cloud account"},
	{"AZURE_*", ENV_SECRET, "a cloud account"},
	{"BASHOPTS", ENV_DANGEROUS, "changes how a shell parses or traces"},
	{"BASH_ENV", ENV_DANGEROUS, "runs a file when a shell starts"},
	{"BASH_FUNC_*", ENV_DANGEROUS, "an exported shell function"},
	{"BASH_XTRACEFD", ENV_DANGEROUS, "changes how a shell parses or traces"},
	{"BITBUCKET_TOKEN", ENV_SECRET, "a code host's token"},
	{"BRAVE_API_KEY", ENV_SECRET, "a search service's key"},
	{"BRAVE_SEARCH_API_KEY", ENV_SECRET, "a search service's key"},
	{"BUNDLE_GEMFILE", ENV_DANGEROUS, "loads Ruby code"},
	{"CARGO_REGISTRY_TOKEN", ENV_SECRET, "a package registry's token"},
	{"CDPATH", ENV_DANGEROUS, "redirects a shell's cd"},
	{"CEREBRAS_API_KEY", ENV_SECRET, "a model provider's key"},
	{"CI", ENV_PASSED, "tools do not prompt"},
	{"CI_JOB_TOKEN", ENV_SECRET, "a code host's token"},
	{"CLASSPATH", ENV_DANGEROUS, "loads Java code"},
	{"CLAUDE_CODE_OAUTH_TOKEN", ENV_SECRET, "a model provider's key"},
	{"CLICOLOR", ENV_PASSED, "whether output is coloured"},
	{"CLICOLOR_FORCE", ENV_PASSED, "whether output is coloured"},
	{"CLOUDFLARE_API_TOKEN", ENV_SECRET, "a cloud account"},
	{"CODEX_API_KEY", ENV_SECRET, "a model provider's key"},
	{"COHERE_API_KEY", ENV_SECRET, "a model provider's key"},
	{"COLORTERM", ENV_PASSED, "capabilities and size of the terminal"},
	{"COLUMNS", ENV_PASSED, "capabilities and size of the terminal"},
	{"COPILOT_GITHUB_TOKEN", ENV_SECRET, "a model provider's key"},
	{"COPILOT_PROVIDER_API_KEY", ENV_SECRET, "a model provider's key"},
	{"CORECLR_PROFILER*", ENV_DANGEROUS, "loads .NET code"},
	{"CORRAL_*", ENV_RESERVED, "Corral's own names"},
	{"COR_PROFILER*", ENV_DANGEROUS, "loads .NET code"},
	{"CO_API_KEY", ENV_SECRET, "a model provider's key"},
	{"CURSOR_API_KEY", ENV_SECRET, "a model provider's key"},
	{"DASHSCOPE_API_KEY", ENV_SECRET, "a model provider's key"},
	{"DATABASE_URL", ENV_SECRET, "a database with its password"},
	{"DATADOG_API_KEY", ENV_SECRET, "a service's key"},
	{"DEEPSEEK_API_KEY", ENV_SECRET, "a model provider's key"},
	{"DIGITALOCEAN_ACCESS_TOKEN", ENV_SECRET, "a cloud account"},
	{"DISCORD_BOT_TOKEN", ENV_SECRET, "a chat service's token"},
	{"DISCORD_TOKEN", ENV_SECRET, "a chat service's token"},
	{"DOCKER_AUTH_CONFIG", ENV_SECRET, "a package registry's token"},
	{"DOCKER_PASSWORD", ENV_SECRET, "a package registry's token"},
	{"DOTNET_STARTUP_HOOKS", ENV_DANGEROUS, "loads .NET code"},
	{"DYLD_*", ENV_DANGEROUS, "loads code into every program"},
	{"ELIXIR_ERL_OPTIONS", ENV_DANGEROUS, "loads Erlang code"},
	{"ENV", ENV_DANGEROUS, "runs a file when a shell starts"},
	{"ERL_AFLAGS", ENV_DANGEROUS, "loads Erlang code"},
	{"ERL_FLAGS", ENV_DANGEROUS, "loads Erlang code"},
	{"ERL_ZFLAGS", ENV_DANGEROUS, "loads Erlang code"},
	{"FIREWORKS_API_KEY", ENV_SECRET, "a model provider's key"},
	{"FLY_API_TOKEN", ENV_SECRET, "a cloud account"},
	{"FORCE_COLOR", ENV_PASSED, "whether output is coloured"},
	{"GCONV_PATH", ENV_DANGEROUS, "loads character set modules"},
	{"GCP_*", ENV_SECRET, "a cloud account"},
	{"GEMINI_API_KEY", ENV_SECRET, "a model provider's key"},
	{"GEM_HOME", ENV_DANGEROUS, "loads Ruby code"},
	{"GEM_PATH", ENV_DANGEROUS, "loads Ruby code"},
	{"GETCONF_DIR", ENV_DANGEROUS, "makes the C library read other files"},
	{"GH_TOKEN", ENV_SECRET, "a code host's token"},
	{"GITHUB_PAT", ENV_SECRET, "a code host's token"},
	{"GITHUB_TOKEN", ENV_SECRET, "a code host's token"},
	{"GITLAB_TOKEN", ENV_SECRET, "a code host's token"},
	{"GIT_ASKPASS", ENV_DANGEROUS, "makes git run other programs"},
	{"GIT_CONFIG*", ENV_DANGEROUS, "makes git read other configuration"},
	{"GIT_EXEC_PATH", ENV_DANGEROUS, "makes git run other programs"},
	{"GIT_EXTERNAL_DIFF", ENV_DANGEROUS, "makes git run other programs"},
	{"GIT_PROXY_COMMAND", ENV_DANGEROUS, "makes git run other programs"},
	{"GIT_SSH*", ENV_DANGEROUS, "makes git run other programs"},
	{"GIT_TEMPLATE_DIR", ENV_DANGEROUS, "makes git run other programs"},
	{"GLIBC_TUNABLES", ENV_DANGEROUS, "tunes the C library and its allocator"},
	{"GLOBIGNORE", ENV_DANGEROUS, "changes how a shell parses or traces"},
	{"GOFLAGS", ENV_DANGEROUS, "replaces the compiler"},
	{"GOOGLE_API_KEY", ENV_SECRET, "a model provider's key"},
	{"GOOGLE_APPLICATION_CREDENTIALS", ENV_SECRET, "a cloud account"},
	{"GPG_AGENT_INFO", ENV_SECRET, "an agent that signs with the user's keys"},
	{"GRADLE_OPTS", ENV_DANGEROUS, "loads Java code"},
	{"GROQ_API_KEY", ENV_SECRET, "a model provider's key"},
	{"HEROKU_API_KEY", ENV_SECRET, "a cloud account"},
	{"HF_TOKEN", ENV_SECRET, "a model provider's key"},
	{"HOSTALIASES", ENV_DANGEROUS, "redirects name lookups"},
	{"HUGGING_FACE_HUB_TOKEN", ENV_SECRET, "a model provider's key"},
	{"IFS", ENV_DANGEROUS, "changes how a shell parses or traces"},
	{"JAVA_TOOL_OPTIONS", ENV_DANGEROUS, "loads Java code"},
	{"JDK_JAVA_OPTIONS", ENV_DANGEROUS, "loads Java code"},
	{"KUBECONFIG", ENV_SECRET, "a service's key"},
	{"LANG", ENV_PASSED, "language of messages"},
	{"LANGUAGE", ENV_PASSED, "language of messages"},
	{"LC_*", ENV_PASSED, "language of messages"},
	{"LD_*", ENV_DANGEROUS, "loads code into every program"},
	{"LESSCLOSE", ENV_DANGEROUS, "runs a command when a file is shown"},
	{"LESSOPEN", ENV_DANGEROUS, "runs a command when a file is shown"},
	{"LINES", ENV_PASSED, "capabilities and size of the terminal"},
	{"LOCALDOMAIN", ENV_DANGEROUS, "redirects name lookups"},
	{"LOCPATH", ENV_DANGEROUS, "makes the C library read other files"},
	{"LOGNAME", ENV_PASSED, "the user's name"},
	{"LUA_CPATH", ENV_DANGEROUS, "loads Lua code"},
	{"LUA_INIT", ENV_DANGEROUS, "loads Lua code"},
	{"LUA_INIT_*", ENV_DANGEROUS, "loads Lua code"},
	{"LUA_PATH", ENV_DANGEROUS, "loads Lua code"},
	{"MAKEFILES", ENV_DANGEROUS, "flags for every make"},
	{"MAKEFLAGS", ENV_DANGEROUS, "flags for every make"},
	{"MALLOC_*", ENV_DANGEROUS, "tunes the C library and its allocator"},
	{"MAVEN_OPTS", ENV_DANGEROUS, "loads Java code"},
	{"MISTRAL_API_KEY", ENV_SECRET, "a model provider's key"},
	{"MONGODB_URI", ENV_SECRET, "a database with its password"},
	{"MYSQL_PWD", ENV_SECRET, "a database with its password"},
	{"NIS_PATH", ENV_DANGEROUS, "makes the C library read other files"},
	{"NLSPATH", ENV_DANGEROUS, "makes the C library read other files"},
	{"NODE_AUTH_TOKEN", ENV_SECRET, "a package registry's token"},
	{"NODE_OPTIONS", ENV_DANGEROUS, "loads JavaScript code"},
	{"NODE_PATH", ENV_DANGEROUS, "loads JavaScript code"},
	{"NO_COLOR", ENV_PASSED, "whether output is coloured"},
	{"NPM_TOKEN", ENV_SECRET, "a package registry's token"},
	{"OPENAI_API_KEY", ENV_SECRET, "a model provider's key"},
	{"OPENCLAW_API_KEY", ENV_SECRET, "a model provider's key"},
	{"OPENCODE_API_KEY", ENV_SECRET, "a model provider's key"},
	{"OPENROUTER_API_KEY", ENV_SECRET, "a model provider's key"},
	{"OPENSSL_CONF", ENV_DANGEROUS, "loads TLS modules"},
	{"OPENSSL_ENGINES", ENV_DANGEROUS, "loads TLS modules"},
	{"OPENSSL_MODULES", ENV_DANGEROUS, "loads TLS modules"},
	{"PERL5DB", ENV_DANGEROUS, "loads Perl code"},
	{"PERL5LIB", ENV_DANGEROUS, "loads Perl code"},
	{"PERL5OPT", ENV_DANGEROUS, "loads Perl code"},
	{"PERLLIB", ENV_DANGEROUS, "loads Perl code"},
	{"PERPLEXITY_API_KEY", ENV_SECRET, "a model provider's key"},
	{"PGPASSWORD", ENV_SECRET, "a database with its password"},
	{"PHPRC", ENV_DANGEROUS, "loads PHP code"},
	{"PHP_INI_SCAN_DIR", ENV_DANGEROUS, "loads PHP code"},
	{"PROMPT_COMMAND", ENV_DANGEROUS, "runs a command at the prompt"},
	{"PS4", ENV_DANGEROUS, "changes how a shell parses or traces"},
	{"PYPI_TOKEN", ENV_SECRET, "a package registry's token"},
	{"PYTHONBREAKPOINT", ENV_DANGEROUS, "loads Python code"},
	{"PYTHONEXECUTABLE", ENV_DANGEROUS, "loads Python code"},
	{"PYTHONHOME", ENV_DANGEROUS, "loads Python code"},
	{"PYTHONINSPECT", ENV_DANGEROUS, "loads Python code"},
	{"PYTHONPATH", ENV_DANGEROUS, "loads Python code"},
	{"PYTHONSTARTUP", ENV_DANGEROUS, "loads Python code"},
	{"PYTHONUSERBASE", ENV_DANGEROUS, "loads Python code"},
	{"PYTHONWARNINGS", ENV_DANGEROUS, "loads Python code"},
	{"REDIS_URL", ENV_SECRET, "a database with its password"},
	{"REPLICATE_API_TOKEN", ENV_SECRET, "a model provider's key"},
	{"RESOLV_HOST_CONF", ENV_DANGEROUS, "redirects name lookups"},
	{"RES_OPTIONS", ENV_DANGEROUS, "redirects name lookups"},
	{"RUBYLIB", ENV_DANGEROUS, "loads Ruby code"},
	{"RUBYOPT", ENV_DANGEROUS, "loads Ruby code"},
	{"RUSTC_WORKSPACE_WRAPPER", ENV_DANGEROUS, "replaces the compiler"},
	{"RUSTC_WRAPPER", ENV_DANGEROUS, "replaces the compiler"},
	{"SENDGRID_API_KEY", ENV_SECRET, "a service's key"},
	{"SENTRY_AUTH_TOKEN", ENV_SECRET, "a service's key"},
	{"SERPAPI_API_KEY", ENV_SECRET, "a search service's key"},
	{"SHELL", ENV_PASSED, "the user's shell"},
	{"SHELLOPTS", ENV_DANGEROUS, "changes how a shell parses or traces"},
	{"SLACK_APP_TOKEN", ENV_SECRET, "a chat service's token"},
	{"SLACK_BOT_TOKEN", ENV_SECRET, "a chat service's token"},
	{"SSH_AUTH_SOCK", ENV_SECRET, "an agent that signs with the user's keys"},
	{"STRIPE_API_KEY", ENV_SECRET, "a service's key"},
	{"STRIPE_SECRET_KEY", ENV_SECRET, "a service's key"},
	{"TAVILY_API_KEY", ENV_SECRET, "a search service's key"},
	{"TELEGRAM_BOT_TOKEN", ENV_SECRET, "a chat service's token"},
	{"TERM", ENV_PASSED, "capabilities and size of the terminal"},
	{"TERMCAP", ENV_DANGEROUS, "where terminal descriptions are read"},
	{"TERMINFO", ENV_DANGEROUS, "where terminal descriptions are read"},
	{"TERMINFO_DIRS", ENV_DANGEROUS, "where terminal descriptions are read"},
	{"TOGETHER_API_KEY", ENV_SECRET, "a model provider's key"},
	{"TWILIO_AUTH_TOKEN", ENV_SECRET, "a service's key"},
	{"TWINE_PASSWORD", ENV_SECRET, "a package registry's token"},
	{"TZ", ENV_PASSED, "local time"},
	{"TZDIR", ENV_DANGEROUS, "makes the C library read other files"},
	{"USER", ENV_PASSED, "the user's name"},
	{"VAULT_TOKEN", ENV_SECRET, "a service's key"},
	{"VERCEL_TOKEN", ENV_SECRET, "a cloud account"},
	{"XAI_API_KEY", ENV_SECRET, "a model provider's key"},
	{"ZDOTDIR", ENV_DANGEROUS, "runs a file when a shell starts"},
	{"_JAVA_OPTIONS", ENV_DANGEROUS, "loads Java code"},
};
const size_t env_rows_count = ARRAY_LEN(env_rows);

const char *const env_offline[] = {
	"CARGO_NET_RETRY=0",
	"PIP_RETRIES=0",
	"npm_config_fetch_retries=0",
	NULL,
};

/* The gate refuses a host without a rule every time; npm would wait a minute between retries. */
const char *const env_filtered[] = {
	"PIP_RETRIES=2",
	"npm_config_fetch_retry_maxtimeout=2000",
	"npm_config_fetch_retry_mintimeout=500",
	NULL,
};

/* Without JAVA_TOOL_OPTIONS: each JVM prints a line on stderr when it is set. */
#define HTTP "http://127.0.0.1:3128"
#define SOCKS "socks5h://127.0.0.1:1080"
#define OWN "localhost,127.0.0.1,::1"
const char *const env_proxies[] = {
	"ALL_PROXY=" SOCKS, "HTTPS_PROXY=" HTTP,
	"HTTP_PROXY=" HTTP, "NODE_USE_ENV_PROXY=1",
	"NO_PROXY=" OWN,    "all_proxy=" SOCKS,
	"http_proxy=" HTTP, "https_proxy=" HTTP,
	"no_proxy=" OWN,    NULL,
};

/* The first row whose pattern begins with this letter or a later one. */
static size_t first_row(char letter) {
	size_t low = 0, high = env_rows_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if ((unsigned char)env_rows[middle].pattern[0] < (unsigned char)letter) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/* An exact name wins over a prefix, a longer prefix over a shorter one. */
const struct env_row *environment_row_for(const char *name) {
	const struct env_row *best = NULL;
	size_t best_len = 0;
	for (size_t i = first_row(name[0]); i < env_rows_count; i++) {
		const char *pattern = env_rows[i].pattern;
		if (pattern[0] != name[0]) {
			break;
		}
		size_t len = strlen(pattern);
		if (pattern[len - 1] != '*') {
			if (strcmp(pattern, name) == 0) {
				return &env_rows[i];
			}
		} else if (len > best_len && strncmp(pattern, name, len - 1) == 0) {
			best = &env_rows[i];
			best_len = len;
		}
	}
	return best;
}
