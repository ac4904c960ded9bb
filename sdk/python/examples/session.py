# SPDX-License-Identifier: Apache-2.0
"""Many commands in one sandbox.  Needs the daemon: corral daemon &"""
import corral

with corral.Session.create(net="none") as session:
    session.run("echo 42 >$TMPDIR/answer")
    print(session.run("cat $TMPDIR/answer")["stdout"].strip())
    with session.spawn(["cat"], stdin=True) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"streamed")
        process.stdin.close()
        print(process.stdout.read().decode(), process.wait()["exit_code"])
# prints: 42
# prints: streamed 0
