# SPDX-License-Identifier: Apache-2.0
"""mail.py HOST PORT: Python's smtplib, which is spoken to first and changes to TLS in the middle."""
import smtplib
import ssl
import sys

HOST, PORT = sys.argv[1], int(sys.argv[2])

with smtplib.SMTP(HOST, PORT, local_hostname="lab", timeout=10) as mail:
    print(mail.ehlo()[0], mail.starttls(context=ssl.create_default_context())[0], mail.noop())
