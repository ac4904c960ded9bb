/* SPDX-License-Identifier: Apache-2.0 */
/* The names by heart: a row that is lost takes its meaning with it, and no run
 * would notice a secret that is no longer noted. */
#include "base/auto.h"
#include "data/environment.h"
#include "test.h"

/* clang-format off */
static const char *const secrets[] = {
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AWS_*", "AZURE_*", "BITBUCKET_TOKEN",
	"BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY", "CARGO_REGISTRY_TOKEN", "CI_JOB_TOKEN",
	"CLAUDE_CODE_OAUTH_TOKEN", "CLOUDFLARE_API_TOKEN", "COHERE_API_KEY", "DATABASE_URL",
	"DATADOG_API_KEY", "DEEPSEEK_API_KEY", "DIGITALOCEAN_ACCESS_TOKEN",
	"DISCORD_BOT_TOKEN", "DISCORD_TOKEN", "DOCKER_AUTH_CONFIG", "DOCKER_PASSWORD",
	"FLY_API_TOKEN", "GCP_*", "GEMINI_API_KEY", "GH_TOKEN", "GITHUB_PAT", "GITHUB_TOKEN",
	"GITLAB_TOKEN", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "GPG_AGENT_INFO",
	"GROQ_API_KEY", "HEROKU_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "KUBECONFIG",
	"MISTRAL_API_KEY", "MONGODB_URI", "MYSQL_PWD", "NODE_AUTH_TOKEN", "NPM_TOKEN",
	"OPENAI_API_KEY", "OPENCLAW_API_KEY", "OPENROUTER_API_KEY", "PGPASSWORD", "PYPI_TOKEN",
	"REDIS_URL", "REPLICATE_API_TOKEN", "SENDGRID_API_KEY", "SENTRY_AUTH_TOKEN",
	"SERPAPI_API_KEY", "SLACK_APP_TOKEN", "SLACK_BOT_TOKEN", "SSH_AUTH_SOCK",
	"STRIPE_API_KEY", "STRIPE_SECRET_KEY", "TAVILY_API_KEY", "TELEGRAM_BOT_TOKEN",
	"TWILIO_AUTH_TOKEN", "TWINE_PASSWORD", "VAULT_TOKEN", "VERCEL_TOKEN", "XAI_API_KEY",
};
static const char *const passed[] = {
	"CI", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "FORCE_COLOR", "LANG",
	"LANGUAGE", "LC_*", "LINES", "LOGNAME", "NO_COLOR", "SHELL", "TERM", "TZ", "USER",
};
/* clang-format on */

static void check_class(const char *const *names, size_t n, enum env_class class) {
	for (size_t i = 0; i < n; i++) {
		const struct env_row *row = environment_row_for(names[i]);
		CHECK(row != NULL && row->class == class);
		CHECK_STR(row == NULL ? "none" : row->pattern, names[i]);
	}
}

TEST(what_is_usually_a_credential_is_known_as_one) {
	check_class(secrets, ARRAY_LEN(secrets), ENV_SECRET);
}

TEST(what_a_command_needs_of_the_callers_variables_is_passed) {
	check_class(passed, ARRAY_LEN(passed), ENV_PASSED);
}

TESTS_MAIN
