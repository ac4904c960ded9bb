# SPDX-License-Identifier: Apache-2.0
"""The configuration files of document 004, word for word: for commands.py and imports.py."""

DEFAULT_LIST = """\
commands:
  fest:
    description: "Festival CLI"
    subcommand_restrictions: none
  camp:
    description: "Campaign CLI"
    subcommand_restrictions: none
  just:
    description: "Task runner"
    subcommand_restrictions: none
  git:
    description: "Version control"
    subcommand_restrictions:
      blocked:
        - push --force
        - reset --hard
        - clean -fd
"""

CAMPAIGN = """\
# .campaign/sandbox.yaml
commands:
  go:
    description: "Go toolchain"
    subcommand_restrictions:
      allowed:
        - build
        - test
        - vet
        - mod
      blocked:
        - install  # don't install system-wide
  npm:
    description: "Node package manager"
    subcommand_restrictions:
      allowed:
        - install
        - test
        - run
        - build
  make:
    description: "Make build system"
"""

LIMITS = """\
session_limits:
  max_memory_mb: 4096      # memory limit
  max_cpu_seconds: 3600     # CPU time limit
  max_file_size_mb: 100     # largest file a session can create
  max_open_files: 256       # file descriptor limit
  max_processes: 50         # subprocess limit
"""

API_KEYS = """\
api_keys:
  anthropic:
    sk-ant-secret-value
"""
