/* SPDX-License-Identifier: Apache-2.0 */
/* Model providers and agents: command, key variables, API hosts and settings, one row each.
 *
 * Should:   hold only what an API call or the agent's start needs; several rows can be combined,
 *           as for an agent that works with the models of another provider.
 * Must not: hold a file with credentials in `files`: a login is granted explicitly.
 * Fails:    a missing host or file fails inside the sandbox, and `corral why` names the grant. */
#include "data/providers.h"

#include "base/auto.h"

#include <string.h>

/* clang-format off */
const struct provider providers[] = {
	{"aider", "aider", .files = {".aider.conf.yml", ".aider.model.settings.yml"}},
	{"amp", "amp", .variables = {"AMP_API_KEY"}, .hosts = {"ampcode.com"}, .files = {".config/amp/settings.json"},
	 .login = ".local/share/amp/secrets.json"},
	{"anthropic", .variables = {"ANTHROPIC_API_KEY"}, .hosts = {"api.anthropic.com"}},
	{"brave", .variables = {"BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"}, .hosts = {"api.search.brave.com"}},
	{"cerebras", .variables = {"CEREBRAS_API_KEY"}, .hosts = {"api.cerebras.ai"}},
	{"claude-code", "claude", .variables = {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
	 .hosts = {"api.anthropic.com"}, .files = {".claude/CLAUDE.md", ".claude/settings.json"},
	 .login = ".claude/.credentials.json"},
	{"codex", "codex", .variables = {"OPENAI_API_KEY", "CODEX_API_KEY"}, .hosts = {"api.openai.com", "auth.openai.com", "chatgpt.com"},
	 .files = {".codex/AGENTS.md", ".codex/config.toml"}, .login = ".codex/auth.json"},
	{"cohere", .variables = {"COHERE_API_KEY", "CO_API_KEY"}, .hosts = {"api.cohere.ai", "api.cohere.com"}},
	{"copilot", "copilot", .variables = {"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"},
	 .hosts = {"*.githubcopilot.com", "api.github.com"}, .files = {".copilot/mcp-config.json", ".copilot/settings.json"}, .login = ".copilot/config.json"},
	{"cursor", "cursor-agent", .variables = {"CURSOR_API_KEY"}, .hosts = {"*.cursor.sh", "api.cursor.com"},
	 .files = {".cursor/cli-config.json", ".cursor/mcp.json"}, .login = ".config/cursor/auth.json"},
	{"deepseek", .variables = {"DEEPSEEK_API_KEY"}, .hosts = {"api.deepseek.com"}},
	{"fireworks", .variables = {"FIREWORKS_API_KEY"}, .hosts = {"api.fireworks.ai"}},
	{"gemini", "gemini", .variables = {"GEMINI_API_KEY", "GOOGLE_API_KEY"}, .hosts = {"generativelanguage.googleapis.com"},
	 .files = {".gemini/GEMINI.md", ".gemini/settings.json"}, .login = ".gemini/oauth_creds.json"},
	{"google", .variables = {"GEMINI_API_KEY", "GOOGLE_API_KEY"}, .hosts = {"generativelanguage.googleapis.com"}},
	{"goose", "goose", .files = {".config/goose/config.yaml"}},
	{"groq", .variables = {"GROQ_API_KEY"}, .hosts = {"api.groq.com"}},
	{"huggingface", .variables = {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}, .hosts = {"huggingface.co", "*.hf.co", "router.huggingface.co"}},
	{"mistral", .variables = {"MISTRAL_API_KEY"}, .hosts = {"api.mistral.ai"}},
	{"openai", .variables = {"OPENAI_API_KEY"}, .hosts = {"api.openai.com"}},
	{"openai-api", .variables = {"OPENAI_API_KEY"}, .hosts = {"api.openai.com"}},
	{"openclaw", "openclaw", .variables = {"OPENCLAW_API_KEY"}},
	{"opencode", "opencode", .variables = {"OPENCODE_API_KEY"}, .hosts = {"models.dev", "models.opencode.ai", "opencode.ai"},
	 .files = {".config/opencode/AGENTS.md", ".config/opencode/opencode.json"}, .login = ".local/share/opencode/auth.json"},
	{"openrouter", .variables = {"OPENROUTER_API_KEY"}, .hosts = {"openrouter.ai"}},
	{"perplexity", .variables = {"PERPLEXITY_API_KEY"}, .hosts = {"api.perplexity.ai"}},
	{"qwen", "qwen", .variables = {"DASHSCOPE_API_KEY"}, .hosts = {"dashscope-intl.aliyuncs.com", "dashscope.aliyuncs.com"},
	 .files = {".qwen/QWEN.md", ".qwen/settings.json"}, .login = ".qwen/oauth_creds.json"},
	{"replicate", .variables = {"REPLICATE_API_TOKEN"}, .hosts = {"api.replicate.com"}},
	{"together", .variables = {"TOGETHER_API_KEY"}, .hosts = {"api.together.ai", "api.together.xyz"}},
	{"xai", .variables = {"XAI_API_KEY"}, .hosts = {"api.x.ai"}},
};
/* clang-format on */
const size_t providers_count = ARRAY_LEN(providers);

const char *const provider_names[] = {
	"aider",  "amp",        "anthropic", "brave",    "cerebras",    "claude-code",
	"codex",  "cohere",     "copilot",   "cursor",   "deepseek",    "fireworks",
	"gemini", "google",     "goose",     "groq",     "huggingface", "mistral",
	"openai", "openai-api", "openclaw",  "opencode", "openrouter",  "perplexity",
	"qwen",   "replicate",  "together",  "xai",      NULL,
};

const struct provider *provider_by_name(const char *name) {
	for (size_t i = 0; i < providers_count; i++) {
		if (strcmp(providers[i].name, name) == 0) {
			return &providers[i];
		}
	}
	return NULL;
}
