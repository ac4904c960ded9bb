# SPDX-License-Identifier: Apache-2.0
"""A tool call of an agent: the command, what it may do, and what was refused."""
import corral

with open("setup.cfg", "w", encoding="utf-8") as file:
    file.write("[metadata]\n")
sandbox = corral.Sandbox(protect=["setup.cfg"], timeout="30s")

result = sandbox.run("echo building; echo broken >setup.cfg")
print(result["reason"], "succeeded" if result["exit_code"] == 0 else "failed")
print(result["stdout"].strip())
print("setup.cfg" in corral.explain(result))
print(sandbox.read_text("setup.cfg").strip())
# prints: exit failed
# prints: building
# prints: True
# prints: [metadata]
