# SPDX-License-Identifier: Apache-2.0
"""The official conformance suite of MCP against `corral mcp --http`; clients.py calls it.

Many scenarios of the suite call tools, prompts and resources of a test server, by fixed names.  `corral mcp` has none of
them: LACKING names these checks, each with what it needs.  They must fail, for that reason; every other check must pass.
"""
import json
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 600

# (package, options)
SUITES = (("conformance-1", ["--suite", "all"]),
          *(("conformance-2", ["--suite", "all", "--spec-version", revision]) for revision in ("2025-06-18", "2025-11-25", "2026-07-28")))

# What Corral lacks by decision: the server does not declare these capabilities, and answers as the protocol demands.
PROMPTS = "prompts: a server of tools alone", "[Mm]ethod not found"
RESOURCES = "resources: a server of tools alone", "[Mm]ethod not found"
COMPLETION = "completion, which is of prompts and resources", "[Mm]ethod not found"
LOGGING = "logging: output comes as progress", "[Mm]ethod not found"


def tool(name):
    """A tool of the suite's own server."""
    return f"the tool {name}", rf"unknown tool|{name}' (?:not found|in tools/list)|'{name}'|could not get initial InputRequiredResult"


def follow_up(name):
    """The same, of a check whose message does not quote the answer."""
    return f"the tool {name}", "Expected InputRequiredResult"


HEADERS = "a tool with x-mcp-header annotations", "no tool with x-mcp-header annotations"
ASK = "test_input_required_result_elicitation"

# {scenario: {check: (what it needs, the message of its failure)}}; the check is often called as its scenario.
LACKING = {
    "caching": {"sep-2549-prompts-list-caching-hints": PROMPTS, "sep-2549-resources-list-caching-hints": RESOURCES,
                "sep-2549-resources-templates-list-caching-hints": RESOURCES},
    "completion-complete": {"completion-complete": COMPLETION},
    "elicitation-sep1034-defaults": {"elicitation-sep1034-general": tool("test_elicitation_sep1034_defaults")},
    "elicitation-sep1330-enums": {"elicitation-sep1330-general": tool("test_elicitation_sep1330_enums")},
    "http-custom-header-server-validation": {
        "sep-2243-server-decode-base64": HEADERS, "sep-2243-server-no-xmcp-tool": HEADERS,
        "sep-2243-server-reject-invalid-param-chars": HEADERS, "sep-2243-server-reject-param-mismatch": HEADERS,
        "sep-2243-server-validate-param-match": HEADERS},
    "input-required-result-basic-elicitation": {"sep-2322-elicitation-incomplete": tool(ASK)},
    "input-required-result-basic-list-roots": {"sep-2322-list-roots-incomplete": tool("test_input_required_result_list_roots")},
    "input-required-result-basic-sampling": {"sep-2322-sampling-incomplete": tool("test_input_required_result_sampling")},
    "input-required-result-capability-check": {"sep-2322-respect-client-capabilities": tool("test_input_required_result_capabilities")},
    "input-required-result-multi-round": {"sep-2322-multi-round-r1": follow_up("test_input_required_result_multi_round")},
    "input-required-result-multiple-input-requests": {"sep-2322-multiple-inputs-incomplete": tool("test_input_required_result_multiple_inputs")},
    "input-required-result-non-tool-request": {"sep-2322-non-tool-incomplete": PROMPTS},
    "input-required-result-request-state": {"sep-2322-request-state-incomplete": tool("test_input_required_result_request_state")},
    "input-required-result-result-type": {"sep-2322-result-type-included": tool(ASK)},
    "input-required-result-tampered-state": {"sep-2322-reject-tampered-state": tool("test_input_required_result_tampered_state")},
    "json-schema-2020-12": {"json-schema-2020-12-tool-found": tool("json_schema_2020_12_tool")},
    "logging-set-level": {"logging-set-level": LOGGING},
    **{name: {name: PROMPTS} for name in ("prompts-get-embedded-resource", "prompts-get-simple", "prompts-get-with-args",
                                          "prompts-get-with-image", "prompts-list")},
    **{name: {name: RESOURCES} for name in ("resources-list", "resources-read-binary", "resources-read-text", "resources-subscribe",
                                            "resources-templates-read", "resources-unsubscribe")},
    "server-stateless": {
        "sep-2575-http-server-no-independent-requests-on-stream": tool("test_streaming_elicitation"),
        "sep-2575-missing-capability-http-400": tool("test_missing_capability"),
        "sep-2575-server-no-log-without-loglevel": tool("test_logging_tool"),
        "sep-2575-server-rejects-undeclared-capability": tool("test_missing_capability")},
    "tools-call-audio": {"tools-call-audio": tool("test_audio_content")},
    "tools-call-elicitation": {"tools-call-elicitation": tool("test_elicitation")},
    "tools-call-embedded-resource": {"tools-call-embedded-resource": tool("test_embedded_resource")},
    "tools-call-error": {"tools-call-error": tool("test_error_handling")},
    "tools-call-image": {"tools-call-image": tool("test_image_content")},
    "tools-call-mixed-content": {"tools-call-mixed-content": tool("test_multiple_content_types")},
    "tools-call-sampling": {"tools-call-sampling": tool("test_sampling")},
    "tools-call-simple-text": {"tools-call-simple-text": tool("test_simple_text")},
    "tools-call-with-logging": {"tools-call-with-logging": LOGGING},
    "tools-call-with-progress": {"tools-call-with-progress": tool("test_tool_with_progress")},
}


def checks_of(folder):
    """{scenario: [check]} of one run."""
    found = {}
    for base, _, files in os.walk(folder):
        for name in files:
            if name == "checks.json":
                scenario = re.sub(r"^server-(.*)-20\d\d-.*$", r"\1", os.path.basename(base))
                with open(f"{base}/{name}", encoding="utf-8") as file:
                    found.setdefault(scenario, []).extend(json.load(file))
    return found

# They have to run, besides those of LACKING; each in at least one suite.
WHOLE = {"server-initialize", "ping", "tools-list", "server-session-lifecycle", "server-sse-multiple-streams", "dns-rebinding-protection",
         "http-header-validation", "input-required-result-unsupported-methods", "sep-2164-resource-not-found"}


def faults(found):
    """Failures that LACKING does not explain, and checks of it that did not fail."""
    wrong = []
    for scenario, rows in sorted(found.items()):
        expected = dict(LACKING.get(scenario, {}))
        for check in rows:
            if check["status"] != "FAILURE":
                continue
            message = check.get("errorMessage", "")
            _, pattern = expected.pop(check["id"], ("", None))
            if pattern is None or not re.search(pattern, message):
                wrong.append(f"{scenario}, {check['id']}: {message[:200]}")
        wrong += [f"{scenario}, {name} did not fail, and {what} is not here" for name, (what, _) in expected.items()]
    return wrong


def judge(tap, label, found):
    count = {word: sum(check["status"] == word for rows in found.values() for check in rows) for word in ("SUCCESS", "FAILURE")}
    wrong = faults(found) or ([] if found else ["nothing ran"])
    tap.line(not wrong, f"{label}: {count['SUCCESS']} checks of {len(found)} scenarios pass; {count['FAILURE']} need what is not here",
             f" # {wrong}" if wrong else "")


def run(tap, place, server, folder):
    node = f"{place}/node_modules/node"
    port = re.search(r":(\d+)/", server.url)[1]
    proxy = subprocess.Popen([node, f"{HERE}/token_proxy.mjs", port, server.token], stdout=subprocess.PIPE)
    try:
        url = f"http://127.0.0.1:{proxy.stdout.readline().decode().strip()}/mcp"
        ran = set()
        for number, (package, options) in enumerate(SUITES):
            out = f"{folder}/conformance-{number}"
            with open(f"{place}/node_modules/{package}/package.json", encoding="utf-8") as file:
                label = f"conformance {json.load(file)['version']} {options[-1]}"
            subprocess.run([node, f"{place}/node_modules/{package}/dist/index.js", "server", "--url", url, "-o", out, *options],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS, check=False)
            found = checks_of(out)
            judge(tap, label, found)
            ran |= set(found)
        missing = (WHOLE | set(LACKING)) - ran
        tap.line(not missing, "conformance: each scenario of WHOLE and LACKING ran", f" # {sorted(missing)}" if missing else "")
    finally:
        proxy.kill()
        proxy.wait()
        proxy.stdout.close()
