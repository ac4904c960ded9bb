# SPDX-License-Identifier: Apache-2.0
"""The vault: what is stored, who gets it, and where its values are not."""
import itertools
import json
import os
import re
import resource
import signal
import stat
import termios

from floors import administered, with_floor
from harness import LONG, PATIENCE, Skip, check, contains, equal, wait_until
from terminal import Terminal

# Values that occur nowhere else; the second half of each makes a prefix of it no match.
VALUE = "canary-7f3a9c-value"
OTHER = "canary-51d0e2-other"

LEVELS = ("full", "standard")


def store(box, name, value, *options, **more):
    return box.corral_("secret", "set", name, *options, stdin=value, **more)


def listed(box, *options):
    return json.loads(box.corral_("secret", "list", "--json", *options).exited(0).out)


def names(box, *options):
    return [(s["name"], s["agent"]) for s in listed(box, *options)["secrets"]]


def level_of(box, level):
    """The words for a level that this host has."""
    if box.run("--level", level, "true").status == 125:
        raise Skip(f"no level {level} here")
    return ("--level", level)


def vault_dir(box):
    return f"{box.home}/.local/state/corral/vault"


def files_with(places, value):
    """Files beneath the places that hold the value, plain or in hexadecimal or base64."""
    found = []
    for place in places:
        for base, _, files in os.walk(place):
            for name in files:
                path = f"{base}/{name}"
                try:
                    if not stat.S_ISREG(os.lstat(path).st_mode):
                        continue
                    with open(path, "rb") as file:
                        raw = file.read()
                except (FileNotFoundError, PermissionError):
                    continue  # of another user, or of a program that has removed it
                if value.encode() in raw or value.encode().hex().encode() in raw:
                    found.append(path)
    return found


def memory_has(pid, value):
    """Whether any readable page of the process holds the value."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        ranges = [line.split()[:2] for line in file]
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for span, rights in ranges:
            begin, end = (int(number, 16) for number in span.split("-"))
            if "r" not in rights or end - begin > 1 << 28:
                continue
            try:
                memory.seek(begin)
                if value.encode() in memory.read(end - begin):
                    return True
            except (OSError, ValueError, OverflowError):
                continue  # [vvar], [vsyscall]
    return False


def descendants(pid):
    found = [pid]
    for parent in found:
        for task in os.listdir(f"/proc/{parent}/task"):
            with open(f"/proc/{parent}/task/{task}/children", encoding="utf-8") as file:
                found += [int(child) for child in file.read().split()]
    return found


def program_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def register(suite):
    test = suite.test

    @test("a secret is stored without a prompt and given only to the run that names it", root=True)
    def _(box):
        store(box, "API_KEY", VALUE + "\n").exited(0)
        for level in LEVELS:
            words = level_of(box, level)
            equal(box.run(*words, "-c", "echo [$API_KEY]").exited(0).out, "[]\n", "not named")
            equal(box.run(*words, "--secret", "API_KEY", "-c", "echo [$API_KEY]").exited(0).out, f"[{VALUE}]\n", "named")
            equal(box.run(*words, "--secret", "API_KEY=TOKEN", "-c", "echo [$API_KEY][$TOKEN]").exited(0).out,
                  f"[][{VALUE}]\n", "named with a variable")
        equal(stat.S_IMODE(os.stat(f"{box.home}/.config/corral/vault.key").st_mode), 0o600, "mode of the key")

    @test("an agent gets its own secrets, and shared ones that are named")
    def _(box):
        store(box, "MINE", "a").exited(0)
        store(box, "MINE", "b", "--agent", "bot").exited(0)
        store(box, "ONLY", "c", "--agent", "bot").exited(0)
        store(box, "SHUT", "d", "--agent", "bot", "--expose", "never").exited(0)
        store(box, "SHARED", "e").exited(0)
        script = "echo $MINE,$ONLY,$SHUT,$SHARED"
        equal(box.run("--agent", "bot", "-c", script).exited(0).out, "b,c,,\n", "of the agent")
        equal(box.run("--agent", "bot", "--secret", "SHARED", "-c", script).exited(0).out, "b,c,,e\n", "and a shared one")
        equal(box.run("--agent", "other", "-c", script).exited(0).out, ",,,\n", "of another agent")
        equal(box.run("--secret", "MINE", "-c", script).exited(0).out, "a,,,\n", "without an agent")
        box.run("--agent", "other", "--secret", "ONLY", "true").exited(126).said("belongs to another agent")
        box.run("--secret", "ONLY", "true").exited(126).said("belongs to an agent")
        box.run("--agent", "bot", "--secret", "SHUT", "true").exited(126).said("expose = never")
        equal(names(box), [("MINE", None), ("MINE", "bot"), ("ONLY", "bot"), ("SHARED", None), ("SHUT", "bot")], "list")
        box.corral_("secret", "rm", "MINE", "--agent", "bot").exited(0)
        equal(names(box, "--agent", "bot"), [("ONLY", "bot"), ("SHUT", "bot")], "list of the agent")

    @test("a name that cannot be given stops the run before anything runs")
    def _(box):
        box.run("--secret", "NOPE", "-c", "touch ran").exited(2).said("there is no secret NOPE", "corral secret set NOPE")
        store(box, "THERE", "x", "--workspace", box.home).exited(0)
        store(box, "AWAY", "x", "--host", "another.example").exited(0)
        box.run("--secret", "THERE", "-c", "touch ran").exited(126).said("another workspace")
        box.run("--secret", "AWAY", "-c", "touch ran").exited(126).said("another host")
        store(box, "HERE", "x", "--workspace", box.dir, "--host", os.uname().nodename).exited(0)
        equal(box.run("--secret", "HERE", "-c", "echo $HERE").exited(0).out, "x\n", "a workspace beneath it")
        check(not box.exists("ws/ran"), "it ran")
        store(box, "THERE", "new value").exited(0)
        box.run("--secret", "THERE", "true").exited(126).said("another workspace")
        store(box, "THERE", "new value", "--workspace", "").exited(0)
        equal(box.run("--secret", "THERE", "-c", "echo $THERE").exited(0).out, "new value\n", "for any workspace")
        box.run("--secret", "HERE", "--env", "HERE=1", "true").exited(2).said("contradicts")
        box.run("--secret", "HERE=LD_PRELOAD", "true").exited(2).said("dangerous")
        done = box.run("--secret", f"HERE={VALUE}", "true").exited(2)
        check(VALUE not in done.err, "a value on the command line was printed")

    @test("with namespaces a secret is a file on a tmpfs of the sandbox")
    def _(box):
        box.write("ws/in", b"line\n\0line\n")
        box.corral_("secret", "set", "CERT", "--from-file", "in", "--expose", "file").exited(0)
        level_of(box, "full")
        script = "stat -c %a,%U $CERT_FILE; stat -f -c %T $CERT_FILE; od -An -c $CERT_FILE; echo x >$CERT_FILE || echo no; echo [$CERT]"
        done = box.run("--level", "full", "--secret", "CERT", "-c", script).exited(0)
        equal(done.out.split(), ["400," + box.user.name, "tmpfs", *r"l i n e \n \0 l i n e \n no []".split()], "the file")
        box.corral_("secret", "set", "NUL", "--from-file", "in").exited(2).said("NUL byte")

    @test("without namespaces a secret is a file of the run's own, which no other sandbox reads, and which goes with the run")
    def _(box):
        words = level_of(box, "standard")
        store(box, "CERT", VALUE, "--expose", "file").exited(0)
        script = "stat -c %a,%U $CERT_FILE; cat $CERT_FILE; echo; echo x >$CERT_FILE || echo no; echo [$CERT]; echo $CERT_FILE"
        out = box.run(*words, "--scan-output", "off", "--secret", "CERT", "-c", script).exited(0).out.split()
        equal(out[:-1], ["400," + box.user.name, VALUE, "no", "[]"], "the file")
        check(not os.path.lexists(out[-1]) and not os.path.lexists(os.path.dirname(out[-1])), "the file stays")
        script = f"echo $CERT_FILE >place.new; mv place.new place; exec sleep {LONG}"
        process = box.start([box.corral, "run", *words, "--secret", "CERT", "-c", script])
        check(wait_until(lambda: box.exists("ws/place")), "the run has not begun")
        place = box.read("ws/place").strip()
        equal(box.sh(f"cat {place}").out, VALUE, "the control: the same user outside reads it")
        for level in LEVELS:
            done = box.run("--level", level, "-c", f"cat {place} || ls {os.path.dirname(place)}")
            check(done.status != 0 and VALUE not in done.out, f"{level}: another sandbox reads it")
            equal(box.run("--level", level, "--scan-output", "off", "--secret", "CERT", "-c", "cat $CERT_FILE").exited(0).out, VALUE,
                  f"{level}: the twin reads its own")
        process.kill()
        process.wait()
        check(wait_until(lambda: not os.path.lexists(os.path.dirname(place))), "a killed supervisor leaves the file")
        box.run("--level", "minimal", "--min-level", "minimal", "--secret", "CERT", "true").exited(125).said("CERT", "Landlock")

    @test("a secret in a file is found in the output as one in a variable", root=True)
    def _(box):
        store(box, "CERT", VALUE, "--expose", "file").exited(0)
        for level in LEVELS:
            done = box.run(*level_of(box, level), "--scan-output", "redact", "--secret", "CERT", "-c", "cat $CERT_FILE").exited(0)
            check(VALUE not in done.out and "redacted" in done.out, f"{level}: {done.out}")

    @test("a value is never an argument")
    def _(box):
        for words in (("X", VALUE), (f"X={VALUE}",)):
            done = box.corral_("secret", "set", *words).exited(2).said("never an argument", "--from-file")
            check(VALUE not in done.err, "it was printed")
        store(box, "X", VALUE, "--expose", "proxy").exited(2).said("proxy", "not implemented")
        store(box, "1X", VALUE).exited(2)
        store(box, "LD_PRELOAD", VALUE).exited(2).said("LD_PRELOAD")
        box.corral_("secret", "set", "X").exited(2).said("the value is empty")
        store(box, "X", "\n").exited(2).said("the value is empty")
        equal(names(box), [], "nothing was stored")

    @test("secrets.json and .env are imported, and exported alike")
    def _(box):
        box.write("ws/secrets.json", json.dumps({"A": "1", "B": "é\n\"'$x"}))
        box.corral_("secret", "import", "secrets.json", "--agent", "bot").exited(0).said("imported 2 secrets")
        box.write("ws/.env", "# c\nexport C='three # 3'\nD=\"x\\ny\"\n")
        box.corral_("secret", "import", ".env").exited(0).said("imported 2 secrets")
        equal(json.loads(box.corral_("secret", "export", "--json", "--agent", "bot").exited(0).out),
              {"A": "1", "B": "é\n\"'$x"}, "JSON")
        text = box.corral_("secret", "export").exited(0).out
        equal(box.corral_("secret", "import", "-", "--agent", "two", stdin=text).exited(0).err.split(), "corral: imported 2 secrets".split(), "back")
        equal(json.loads(box.corral_("secret", "export", "--json", "--agent", "two").exited(0).out), {"C": "three # 3", "D": "x\ny"}, "again")
        box.corral_("secret", "import", "missing.json").exited(0).said("imported 0 secrets", "does not exist")
        box.write("ws/bad.env", f"E=1\n{VALUE}\n")
        done = box.corral_("secret", "import", "bad.env").exited(2).said("bad.env:2:")
        check(VALUE not in done.err and "E" not in dict(names(box)), "a bad file was imported, or printed")
        box.write("ws/number.json", "{\"F\": 1}")
        box.corral_("secret", "import", "number.json").exited(2).said("not a string")

    @test("a vault that cannot be read is an error, never an empty one")
    def _(box):
        equal(listed(box), {"key": None, "secrets": []}, "no vault")
        store(box, "A", "1").exited(0)
        store(box, "B", "2").exited(0)
        path = f"{vault_dir(box)}/secrets"
        with open(path, "r+b") as file:
            file.seek(2000)
            file.write(b"xx")
        box.corral_("secret", "list").exited(125).said("damaged", "secrets.old")
        box.run("--secret", "A", "true").exited(125).said("damaged")
        store(box, "C", "3").exited(125).said("damaged")
        box.run("true").exited(0)
        os.rename(f"{path}.old", path)
        equal(names(box), [("A", None)], "the previous state")
        os.chmod(path, 0o620)
        box.corral_("secret", "list").exited(126).said("open to other users", "chmod 600")
        os.chmod(path, 0o600)
        os.chmod(f"{box.home}/.config/corral/vault.key", 0o644)
        box.corral_("secret", "list").exited(126).said("vault.key", "chmod 600")
        os.chmod(f"{box.home}/.config/corral/vault.key", 0o600)
        os.chmod(vault_dir(box), 0o722)
        box.corral_("secret", "list").exited(126).said("chmod go-w")

    @test("the key changes between file, passphrase and keyring", root=True)
    def _(box):
        store(box, "A", VALUE).exited(0)
        key = f"{box.home}/.config/corral/vault.key"
        box.write("ws/words", "first word\nsecond word\n", 0o600)
        box.sh('"$CORRAL" secret rekey --key passphrase --passphrase-fd 3 3<words').exited(0)
        check(not os.path.exists(key), "the old key is still there")
        box.corral_("secret", "list").exited(125).said("needs its passphrase", "--passphrase-fd")
        box.run("--secret", "A", "true").exited(125).said("needs its passphrase")
        equal(box.sh('"$CORRAL" run --passphrase-fd 3 --secret A -c \'echo $A; cat <&3\' 3<words').out, f"{VALUE}\n", "opened")
        box.sh('"$CORRAL" secret rekey --key passphrase --passphrase-fd 3 3<words').exited(0)
        box.sh('"$CORRAL" secret list --passphrase-fd 3 3<words').exited(126).said("wrong passphrase")
        box.sh('tail -1 words | "$CORRAL" secret rekey --passphrase-fd 0').exited(0)
        equal(listed(box)["key"], "file", "kind")
        store(box, "B", "x", "--key", "keyring").exited(2).said("rekey --key keyring")
        done = box.corral_("secret", "rekey", "--key", "keyring")
        if done.status == 125:
            raise Skip("no keyring here")
        done.exited(0).said("when this machine stops")
        equal(box.run("--secret", "A", "-c", "echo $A").exited(0).out, f"{VALUE}\n", "by the keyring")
        box.corral_("secret", "rekey", "--key", "file").exited(0)
        equal(names(box), [("A", None)], "back")

    @test("a project file may not name secrets until it is trusted")
    def _(box):
        store(box, "A", VALUE).exited(0)
        box.write("ws/.corral.toml", "[env]\nsecrets = [\"A\"]\n")
        box.run("-c", "echo $A").exited(126).said("env.secrets")
        box.corral_("policy", "trust", ".corral.toml").exited(0)
        equal(box.run("-c", "echo $A").exited(0).out, f"{VALUE}\n", "trusted")
        box.write("ws/.corral.toml", "[env]\nagent = \"bot\"\n")
        box.run("true").exited(126).said("env.agent")

    @test("the floor lists the secrets that a run may have, also those of an agent")
    def _(box):
        store(box, "A", "1", "--agent", "bot").exited(0)
        store(box, "B", "2", "--agent", "bot").exited(0)
        with_floor(box, "[floor]\nenv.secrets = [\"A\"]\n")
        administered(box, "run", "--agent", "bot", "-c", "touch ran").exited(126).said("secret B", "floor")
        administered(box, "run", "--secret", "B", "-c", "touch ran").exited(126).said("env.secrets", "floor")
        check(not box.exists("ws/ran"), "it ran")
        box.corral_("secret", "rm", "B", "--agent", "bot").exited(0)
        equal(administered(box, "run", "--agent", "bot", "-c", "echo $A").exited(0).out, "1\n", "listed")

    @test("explain, JSON and state have names and no values", root=True)
    def _(box):
        store(box, "A_SECRET", VALUE).exited(0)
        store(box, "F_SECRET", OTHER, "--expose", "file").exited(0)
        words = ("--level", "full", "--secret", "A_SECRET", "--secret", "F_SECRET")
        level_of(box, "full")
        said = box.corral_("explain", *words).exited(0).out + box.corral_("explain", "--json", *words).exited(0).out
        said += box.corral_("policy", "show", "--secret", "A_SECRET").exited(0).out
        contains(said, "A_SECRET", "explain")
        contains(said, "F_SECRET_FILE", "explain")
        done = box.run("--json", *words, "-c", "test -n \"$A_SECRET\" && cat $F_SECRET_FILE >/dev/null && echo ran").exited(0)
        equal(done.json["stdout"], "ran\n", "the run")
        check(VALUE not in said + done.out and OTHER not in said + done.out, "a value was printed")
        control = box.run("--json", *words, "-c", "echo $A_SECRET >leaked").exited(0)
        equal(control.json["exit_code"], 0, "the control")
        places = [box.home, box.ws, "/run/user", "/dev/shm"]
        equal(files_with(places, VALUE), [f"{box.ws}/leaked"], "files with the value: only the control")
        equal(files_with(places, OTHER), [], "files with the other value")

    for level, scan in itertools.product(LEVELS, ("off", "redact")):
        @test(f"no process of Corral holds a value while the command runs, level {level}, --scan-output {scan}", root=True)
        def _(box, level=level, scan=scan):
            if os.getuid() != 0:
                raise Skip("only root reads the memory of the processes")
            words = level_of(box, level)
            store(box, "A", VALUE).exited(0)
            script = f"touch ready; exec sleep {LONG}"
            process = box.start([box.corral, "run", *words, "--scan-output", scan, "--net", "filtered", "--allow-host", "x.example",
                                 "--secret", "A", "-c", script])
            check(wait_until(lambda: box.exists("ws/ready")), "the run has not begun")
            check(wait_until(lambda: any("sleep" in program_of(pid) for pid in descendants(process.pid))), "no sleep")
            family = descendants(process.pid)
            own = [pid for pid in family if program_of(pid) == os.path.realpath(box.corral)]
            commands = [pid for pid in family if "sleep" in program_of(pid)]
            check(len(own) >= 3, f"supervisor, gate and the first process were expected: {own}")
            check(commands and all(memory_has(pid, VALUE) for pid in commands), "the control: the command has it")
            for pid in own:
                # The scanner has to know the value that it redacts, in the supervisor alone.
                scans = scan != "off" and pid == process.pid
                equal(memory_has(pid, VALUE), scans, f"process {pid} holds the value")
                for name in ("environ", "cmdline"):
                    with open(f"/proc/{pid}/{name}", "rb") as file:
                        check(VALUE.encode() not in file.read(), f"/proc/{pid}/{name} has the value")
            process.terminate()  # the command ends, and the run removes its cgroup
            process.wait(PATIENCE)

    @test("a core dump of the supervisor has no value")
    def _(box):
        with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as file:
            pattern = file.read().strip()
        if pattern.startswith("|") or "/" in pattern:
            raise Skip(f"core dumps go to {pattern}")
        store(box, "A", VALUE).exited(0)
        def unlimited():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        process = box.start([box.corral, "run", "--secret", "A", "-c", f"touch ready; exec sleep {LONG}"], preexec_fn=unlimited)
        check(wait_until(lambda: box.exists("ws/ready")), "the run has not begun")
        os.kill(process.pid, signal.SIGSEGV)
        process.wait()
        cores = [name for name in os.listdir(box.ws) if name.startswith("core")]
        if not cores:
            raise Skip("the kernel wrote no core dump")
        with open(f"{box.ws}/{cores[0]}", "rb") as file:
            raw = file.read()
        check(f"sleep {LONG}".encode() in raw, "the control: it has the command's words")
        check(VALUE.encode() not in raw, "the core dump has the value")

    @test("the command cannot reach the vault or its key")
    def _(box):
        store(box, "A", VALUE).exited(0)
        for level in LEVELS:
            words = level_of(box, level)
            script = f"cat {vault_dir(box)}/secrets {box.home}/.config/corral/vault.key; \"$CORRAL\" secret list; echo done"
            done = box.run(*words, "--read", f"{box.home}/.config", "--read", os.path.dirname(box.corral), "--read", f"{box.home}/.local?", "--pass-env",
                           "MINE", "-c", script)
            contains(done.out, "done", "it ran")
            check("CRLVAULT" not in done.out and VALUE not in done.out, "it read the vault")

    @test("a value and a passphrase are typed without an echo, and the terminal is as before")
    def _(box):
        terminal = Terminal(box, [box.corral, "secret", "set", "TYPED", "--key", "passphrase"])
        terminal.expect("value: ")
        terminal.send(VALUE + "x\x7f\r")
        for prompt in ("new passphrase: ", "once more: "):
            terminal.expect(prompt)
            terminal.send("open sesame\r")
        status, said = terminal.finish()
        equal(status, 0, f"status, with {said!r}")
        check(VALUE not in said and "sesame" not in said, "it was echoed")
        equal(termios.tcgetattr(terminal.slave), terminal.before, "modes of the terminal")
        terminal.close()
        terminal = Terminal(box, [box.corral, "run", "--secret", "TYPED", "--tty", "never", "-c", "echo [$TYPED]"])
        terminal.expect("passphrase: ")
        terminal.send("open sesame\r")
        terminal.expect(re.escape(f"[{VALUE}]"))
        equal(terminal.finish()[0], 0, "status of the run")
        terminal.close()
        terminal = Terminal(box, [box.corral, "secret", "list"])
        terminal.expect("passphrase: ")
        terminal.send("\x03")
        equal(terminal.finish()[0], 125, "status after ^C")
        equal(termios.tcgetattr(terminal.slave), terminal.before, "modes after ^C")
        terminal.close()

    @test("two writers do not lose each other's secrets")
    def _(box):
        writers = [box.start(["/bin/sh", "-c", f"for i in 1 2 3 4 5 6 7 8; do echo $i | \"$CORRAL\" secret set W{n}_$i || exit 1; done"])
                   for n in range(3)]
        for writer in writers:
            equal(writer.wait(), 0, "status of a writer")
        equal(len(names(box)), 24, "secrets")
