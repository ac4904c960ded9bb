# SPDX-License-Identifier: Apache-2.0
"""Who may see the page and act on it: tokens, cookies, hosts, origins, forms, headers, bounds."""
import os
import re
import resource
import socket
import time

from browser import Browser
from service import PATIENCE, check, equal, wait_until


def test_the_token_is_valid_once_and_only_by_post(service):
    browser = Browser(service)
    for _ in range(3):  # a program that follows links does not use it up
        answer = browser.get(f"/open?t={browser.token}")
        equal(answer.status, 200, "the form")
        check("set-cookie" not in answer.fields, "GET sets a cookie")
    browser.enter()
    equal(browser.get("/").status, 200, "with the cookie")
    again = Browser(service)
    again.token = browser.token
    equal(again.post("/open", {"t": again.token}, Origin=again.origin).status, 401, "the token, a second time")
    equal(again.get(f"/open?t={browser.token}").status, 401, "its form, a second time")
    for wrong in ("", "x", "corral_" + "0" * 64, browser.token + "0", browser.token[:-1]):
        equal(again.post("/open", {"t": wrong}, Origin=again.origin).status, 401, f"a wrong token: {wrong}")


def test_the_cookie_is_for_this_server_and_for_no_script(service):
    browser = Browser(service).enter()
    attributes = {part.strip().lower() for part in browser.set_cookie.split(";")[1:]}
    check({"httponly", "samesite=strict", "path=/"} <= attributes, f"its attributes are {attributes}")
    check(not any(a.startswith("domain") for a in attributes), "it has a domain")
    check(browser.host != "127.0.0.1" and browser.host.startswith("127."), f"its host, {browser.host}, has other servers")
    text = service.log.name and service.text().decode(errors="replace")
    check(browser.cookie not in text and browser.token not in text, "the log has a token")


def test_nothing_is_shown_without_the_cookie(service):
    browser = Browser(service)
    paths = ("/", "/sessions", "/runs", "/audit", "/pending", "/charts", "/api/overview", "/api/visit", "/events", "/indicator")
    for path in paths:
        answer = browser.get(path)
        equal(answer.status, 401, f"{path} without a cookie")
        check("corral ui" in answer.text and "name=form" not in answer.text, f"{path} does not say what to do")
    for cookie in ("", "x", "corral_" + "0" * 64):
        browser.cookie = cookie
        equal(browser.get("/").status, 401, f"with the cookie {cookie!r}")
        equal(browser.post("/discard", {"id": "x", "form": "0" * 32}, Origin=browser.origin).status, 401, "a form")


def test_other_hosts_and_origins_are_refused(service):
    """DNS rebinding sends the name of the attacker as Host; a page of a site sends its Origin."""
    browser = Browser(service).enter()
    ours = f"{browser.host}:{browser.port}"
    for host in ("evil.example", f"evil.example:{browser.port}", f"127.0.0.1:{browser.port}", f"localhost:{browser.port}",
                 browser.host, f"{browser.host}:1", f"{browser.host}.:{browser.port}x", f"{ours}.evil.example", ""):
        equal(browser.get("/", Host=host).status // 100, 4, f"Host {host!r}")
        equal(browser.get("/assets/app.js", Host=host).status // 100, 4, f"an asset for Host {host!r}")
    for origin in ("http://evil.example", "null", f"https://{ours}", f"http://{ours}.evil.example", f"http://{browser.host}",
                   f"http://127.0.0.1:{browser.port}", f"http://localhost:{browser.port}", ""):
        equal(browser.get("/", Origin=origin).status, 403, f"Origin {origin!r}")
        equal(browser.post("/leave", {"form": browser.form}, Origin=origin).status, 403, f"a form of Origin {origin!r}")
    two = browser.head("GET", "/", {}).replace(b"Host:", b"Host: evil.example\r\nHost:")
    equal(browser.raw(two).status // 100, 4, "two Hosts")
    equal(browser.get("/", Origin=browser.origin).status, 200, "its own Origin")
    equal(browser.get("/").status, 200, "the cookie is still valid")


def test_requests_that_other_sites_make_are_refused(service):
    browser = Browser(service).enter()
    for site in ("cross-site", "same-site"):
        equal(browser.get("/api/overview", Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors").status, 403, f"a picture of a {site} page")
        equal(browser.post("/leave", {"form": browser.form}, Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate").status, 403,
              f"a form of a {site} page")
        equal(browser.get("/", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate").status, 200, f"a link of a {site} page")


def test_a_form_needs_its_token_and_a_get_changes_nothing(service):
    browser = Browser(service).enter()
    other = Browser(service).enter()
    for form in (None, "", "0" * 32, other.form, browser.form.upper() + "x"):
        values = {"id": "none"} | ({} if form is None else {"form": form})
        for path in ("/answer", "/apply", "/discard", "/leave"):
            equal(browser.post(path, values, Origin=browser.origin).status, 403, f"{path} with the token {form!r}")
    for path in ("/answer", "/apply", "/discard", "/leave"):
        equal(browser.get(f"{path}?form={browser.form}&id=none").status, 404, f"GET {path}")
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        equal(browser.raw(browser.head(method, "/", {})).status, 405, method)
    check(browser.post("/discard", {"id": "none", "form": browser.form}, Origin=browser.origin).status in (400, 404, 409, 500),
          "an id that does not exist is no success")
    equal(browser.get("/").status, 200, "the visit goes on")
    equal(browser.post("/leave", {"form": browser.form}, Origin=browser.origin).status, 200, "signing out")
    equal(browser.get("/").status, 401, "afterwards")
    equal(other.get("/").status, 200, "another visit")


def test_a_stream_ends_with_its_visit(service):
    """Who has signed out, or was displaced by newer visits, gets no further event."""
    for displaced in (False, True):
        browser = Browser(service).enter()
        with socket.create_connection((browser.host, browser.port), 30) as stream:
            stream.sendall(browser.head("GET", "/events", {"Connection": "keep-alive"}))
            data = b""
            while b'"kind":"hello"' not in data:
                data += stream.recv(4096)
            if displaced:
                for _ in range(17):  # VISITS_MAX and one more
                    Browser(service).enter()
            else:
                browser.post("/leave", {"form": browser.form}, Origin=browser.origin)
            service.run("run", "--level", service.level, "--", "true")  # an event
            while not data.endswith(b"0\r\n\r\n"):
                more = stream.recv(4096)
                if not more:
                    break
                data += more
            check(b'"kind":"run"' not in data, f"an event after {'the visit was displaced' if displaced else 'signing out'}: {data}")
    browser = Browser(service).enter()
    head = browser.raw(browser.head("HEAD", "/events", {}))
    equal((head.status, head.body), (200, b""), "HEAD of the stream")


def test_headers_keep_scripts_frames_and_other_sites_out(service):
    browser = Browser(service).enter()
    for path in ("/", "/audit", "/nothing", "/api/overview", "/assets/style.css", "/open?t=x"):
        fields = browser.get(path).fields
        policy = dict(part.strip().split(" ", 1) for part in fields["content-security-policy"].split(";"))
        equal((policy["default-src"], policy["script-src"], policy["style-src"], policy["frame-ancestors"], policy["base-uri"]),
              ("'none'", "'self'", "'self'", "'none'", "'none'"), f"the policy of {path}")
        equal((fields["x-content-type-options"], fields["x-frame-options"], fields["cache-control"],
               fields["cross-origin-resource-policy"]), ("nosniff", "DENY", "no-store", "same-origin"), path)
        check(not any(name.startswith("access-control-") for name in fields), f"{path} is shared with other origins")
    text = browser.get("/").text
    check(not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=|javascript:", text), "inline script or style")
    check(not re.search(r"(?:src|href)=\"?(?:https?:)?//", text), "the page names another server")


def test_no_value_reaches_a_header(service):
    browser = Browser(service).enter()
    for evil in ("/x\r\nSet-Cookie: a=b", "//evil.example", "http://evil.example", "/\\evil.example", "/a\nb", "/%0d%0aX: y", "/é"):
        answer = browser.post("/answer", {"form": browser.form, "id": "9", "word": "refuse", "back": evil}, Origin=browser.origin)
        check("set-cookie" not in answer.fields and answer.fields.get("location", "/") == "/", f"way back {evil!r}")
    answer = browser.get("/audit?search=%0d%0aSet-Cookie:%20a=b&kind=%0d%0aX:y")
    check(answer.status in (200, 400) and "set-cookie" not in answer.fields, "a search with line ends")
    for path in ("/runs/%00", "/runs/..%2f..", "/runs/%zz", "/assets/../x", "/assets/", "/runs/" + "a" * 500, "/api/", "/api/run/", "//"):
        equal(browser.get(path).status, 404, path)
    check(browser.raw(b"GET / HTTP/1.1\r\nHost: " + b"a" * 70000 + b"\r\n\r\n").status in (400, 431), "a long head")
    equal(browser.raw(browser.head("POST", "/leave", {"Content-Length": "100000"})).status, 413, "a long form")


def test_markup_and_terminal_sequences_are_text(service):
    """Output, commands, file names, host names and search words of an attacker."""
    evil = "<img src=x onerror=alert(1)>\"'&\x1b[31m\x07‮"
    session = service.create("--name", "markup")
    service.command("session", "exec", "markup", "--", "sh", "-c", 'printf %s "$1"; printf "\\377\\033]0;t\\007"; : > "/etc/$1"', "sh", evil).communicate()
    browser = Browser(service).enter()
    pages = {path: browser.get(path).text for path in (
        "/", "/sessions/markup", f"/runs/{session}.1", "/runs", "/audit", "/audit?search=%3Cscript%3Ealert(2)%3C/script%3E%22%3E",
        "/runs/%3Cscript%3E", "/sessions?state=%22%3E%3Cscript%3E")}
    for path, text in pages.items():
        check("<img" not in text and not re.search(r"<script(?! type=module src=/assets/app.js)", text), f"markup in {path}")
        bad = re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
        check(not bad, f"control characters in {path}: {bad[:5]!r}")
    shown = pages[f"/runs/{session}.1"]
    check("&lt;img src=x onerror=alert(1)&gt;" in shown and "<b class=c>^[</b>[31m" in shown, "the output is not shown as text")
    check("<b class=c>U+202E</b>" in shown and "\ufffd" in shown, "a directional mark or a bad byte is not shown as text")
    service.good("session", "stop", "markup")


def memory(service):
    with open(f"/proc/{service.process.pid}/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_slow_clients_are_bounded_and_do_not_keep_others_out(service):
    browser = Browser(service).enter()
    before, held = memory(service), []
    try:
        for i in range(10000 if service.thorough else 1500):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex((browser.host, browser.port))
            held.append(s)
            if len(held) > 800:  # of this process's descriptors; the server has closed the oldest
                held.pop(0).close()
            if i % 500 == 499:
                for one in held[-40:]:
                    try:
                        one.send(b"GET / HTTP/1.1\r\nHos")
                    except OSError:
                        pass
                equal(browser.get("/").status, 200, f"a visitor beside {i + 1} slow clients")
        used = len(os.listdir(f"/proc/{service.process.pid}/fd"))
        check(used < 160, f"the daemon has {used} descriptors")
        check(memory(service) - before < 16 << 20, f"{memory(service) - before} bytes more")
    finally:
        for s in held:
            s.close()
    equal(browser.get("/").status, 200, "afterwards")


def test_requests_without_a_cookie_make_room_while_their_body_comes(service):
    browser, held = Browser(service).enter(), []
    head = f"POST /open HTTP/1.1\r\nHost: {browser.host}:{browser.port}\r\nContent-Length: 300\r\n\r\nt".encode()
    try:
        for _ in range(80):
            held.append(socket.create_connection((browser.host, browser.port)))
            held[-1].sendall(head)
        for _ in range(5):
            equal(browser.get("/").status, 200, "a visitor beside bodies that do not come")
    finally:
        for s in held:
            s.close()


def test_open_pages_do_not_grow_the_daemon_and_unread_ones_end(service):
    browser = Browser(service).enter()
    session = service.create("--name", "pages")
    request = browser.head("GET", "/events", {"Connection": "keep-alive"})
    streams = []
    try:
        for _ in range(60):
            s = socket.create_connection((browser.host, browser.port), 30)
            s.sendall(request)
            streams.append(s)
        check(wait_until(lambda: browser.get("/").status == 200), "the page is not served")
        before = memory(service)
        for i in range(30):  # events that no page reads
            service.run("session", "exec", "pages", "--", "sh", "-c", f"echo {i}; head -c 200000 /dev/zero | tr '\\0' x")
        check(memory(service) - before < 24 << 20, f"{memory(service) - before} bytes more")
        streams[-1].settimeout(30)
        check(b"text/event-stream" in streams[-1].recv(4096), "the newest page has a stream")
    finally:
        for s in streams:
            s.close()
    service.good("session", "stop", session)


def test_a_large_output_costs_neither_memory_nor_the_page(service):
    size = 1 << 30 if service.thorough else 64 << 20
    session = service.create("--name", "large", "--max-output", "none", "--timeout", "1h")
    browser = Browser(service).enter()
    before = memory(service)
    process = service.command("session", "exec", "large", "--", "sh", "-c", f"head -c {size} /dev/zero | tr '\\0' y; echo; echo end")
    passed = 0
    while data := process.stdout.read(1 << 20):
        passed += len(data)
    process.communicate()
    equal(passed, size + 5, "bytes of output")
    began = time.monotonic()
    answer = browser.get(f"/runs/{session}.1")
    equal(answer.status, 200, "its page")
    check(len(answer.body) < 1 << 20, f"the page has {len(answer.body)} bytes")
    check("bytes are not kept" in answer.text and answer.text.count("end\n"), "the end of the output is not shown")
    check(time.monotonic() - began < PATIENCE, "the page takes long")
    check(memory(service) - before < 24 << 20, f"{memory(service) - before} bytes more")
    service.good("session", "stop", "large")


REACH = """
import socket, sys
def reach(host, port):
    for family, address in ((socket.AF_INET, host), (socket.AF_INET6, "::ffff:" + host)):
        try:
            with socket.socket(family) as s:
                s.settimeout(3)
                s.connect((address, port))
                s.sendall(b"GET / HTTP/1.1\\r\\nHost: %s:%d\\r\\nConnection: close\\r\\n\\r\\n" % (host.encode(), port))
                data = b""
                while more := s.recv(4096):  # to the end: the kernel remembers a connection that was not reset
                    data += more
                if data.startswith(b"HTTP/1.1"):
                    return True
        except OSError:
            pass
    return False
own = socket.socket()
own.bind(("127.0.0.1", 0)); own.listen()
ask = socket.create_connection(own.getsockname(), 3)
own.accept()[0].sendall(b"twin")
print("REACHED" if reach(sys.argv[1], int(sys.argv[2])) else "unreachable", ask.recv(4).decode())
"""


def connections(browser):
    """The connections of the page's port that the host's kernel knows, ended ones for a minute (TIME_WAIT)."""
    address = bytes(map(int, browser.host.split(".")))[::-1].hex().upper()
    found = set()
    for name in ("tcp", "tcp6"):
        with open(f"/proc/net/{name}", encoding="ascii") as file:
            rows = [line.split()[1:4] for line in file][1:]
        found |= {(local, remote) for local, remote, state in rows if state != "0A"  # listening
                  and any(end.endswith(f"{address}:{browser.port:04X}") for end in (local, remote))}
    return found


def test_no_sandbox_reaches_the_page(service):
    """Control: the same program outside.  Twin: inside, a server of its own.  Verdict: the host's table of connections."""
    browser = Browser(service).enter()
    with open(f"{service.workspace}/reach.py", "w", encoding="utf-8") as file:
        file.write(REACH)
    words = ["/usr/bin/python3", "-I", f"{service.workspace}/reach.py", browser.host, str(browser.port)]
    os.chmod(f"{service.workspace}/reach.py", 0o644)

    def new(act):
        """What the program prints, and whether the page's port had a connection meanwhile."""
        before = connections(browser)
        return act()[1], len(connections(browser) - before) > 0

    def outside(when):
        """On loopback a new connection can have the ports of an ended one, which is in the table already: a few attempts."""
        got = [new(lambda: service.outside(words)) for _ in range(4)]
        check({text for text, _ in got} == {"REACHED twin\n"} and any(seen for _, seen in got), f"{when}: {got}")

    outside("outside")
    for net in (["--net", "none"], ["--net", "filtered", "--allow-host", "example.com"], ["--net", "restricted"]):
        got = new(lambda how=net: service.run("run", "--level", service.level, *how, "--", *words))
        equal(got, ("unreachable twin\n", False), f"inside with {' '.join(net)}")
    service.create("--name", "inside")
    equal(new(lambda: service.run("session", "exec", "inside", "--", *words)), ("unreachable twin\n", False), "in a session")
    outside("outside, afterwards")
    status = service.run("session", "exec", "inside", "--", service.corral, "ui", "--print")
    check(status[0] != 0 and "http" not in status[1], f"a command of a session gets an address: {status}")
    service.good("session", "stop", "inside")
