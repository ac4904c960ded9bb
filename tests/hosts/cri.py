# SPDX-License-Identifier: Apache-2.0
"""Pods of Kubernetes: containerd's CRI, as a kubelet calls it, with `corral oci` as a runtime handler.

The settings are those of packaging/oci, with the paths of the test.  Each row runs in a pod of the handler "corral" and,
as its control, in one of the default handler, runc.  The pods have the host's network, so that no CNI plugin is needed;
those of Networked have one of Debian's plugin "bridge", in a network namespace that is the node.

Should:   send the messages of a kubelet: the RuntimeService of CRI v1 over containerd's socket.
Must not: use a containerd of the machine, pull an image, or leave a pod behind.
Fails:    a row without containerd, runc, python3-grpcio or root is skipped, and says so.
"""
import contextlib
import glob
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess

from containers import MARK, SHARED, TESTS, Containerd, make_archive, needs, with_engine
from harness import PATH, PATIENCE, Skip, check, contains, equal, in_time, lines_of, until_empty, wait_until

try:
    import grpc
except ImportError:
    grpc = None

IMAGE = "localhost/base:1"
MESSAGES = ("/termination-log", "/dev/termination-log")  # a setting of the pod, and its default
SOCKETS = ("/srv/s", "/var/run/s")
TOKENS = ("/var/run/secrets/kubernetes.io/serviceaccount", "/var/run/secrets/cloud/serviceaccount")

# ---- protocol buffers ----
#
# A message is {number of the field: value}: an integer, text, a message, or a list of them.  The numbers are those of
# api.proto of kubernetes/cri-api, runtime.v1.


def varint(value):
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes((*out, value))


def encode(message):
    out = b""
    for number, values in message.items():
        for value in values if isinstance(values, (list, tuple)) else [values]:
            if isinstance(value, int):
                out += varint(number << 3) + varint(value)
            else:
                data = encode(value) if isinstance(value, dict) else value.encode()
                out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


class Answer:
    """A message that was received; what it does not have is 0 or empty."""

    def __init__(self, data):
        self.fields, at = {}, 0

        def take():
            nonlocal at
            value = shift = 0
            while True:
                value |= (data[at] & 0x7f) << shift
                at, shift = at + 1, shift + 7
                if data[at - 1] < 0x80:
                    return value
        while at < len(data):
            key = take()
            equal(key & 7 in (0, 2), True, f"the wire type of field {key >> 3} is known")
            value = take()
            if key & 7 == 2:
                at += value
                value = data[at - value:at]
            self.fields.setdefault(key >> 3, []).append(value)

    def number(self, field):
        return self.fields.get(field, [0])[-1]

    def text(self, field):
        return self.fields.get(field, [b""])[-1].decode("utf-8", "replace")

    def message(self, field):
        return Answer(self.fields.get(field, [b""])[-1])

    def messages(self, field):
        return [Answer(data) for data in self.fields.get(field, [])]


# ---- the engine ----

POD, CONTAINER, NODE = 0, 1, 2  # NamespaceMode
READY, RUNNING, EXITED = 0, 1, 2  # PodSandboxState, ContainerState
RUNTIME_DEFAULT = {1: 0}  # SecurityProfile

# As the kubelet's securitycontext package sends them.
MASKED = ["/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
          "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"]
READONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]


def packaged(name, changes):
    """A file of packaging/oci with other paths."""
    with open(f"{TESTS}/../packaging/oci/{name}", encoding="utf-8") as source:
        text = source.read()
    for old, new in changes.items():
        contains(text, old, f"packaging/oci/{name}")
        text = text.replace(old, new)
    return text


class Cri(Containerd):
    """A containerd of the test's own with its CRI, and one image, which is also that of the pause container."""

    CONFIG = """version = 2
root = "{0}/cdata"
state = "{0}/cstate"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
address = "{0}/c.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "%s"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{0}/cni"
conf_dir = "{0}/cni"
""" % IMAGE
    linked = True  # /var/run, as in the images of distributions
    passes = False  # annotations of a pod
    network = NODE

    def __init__(self, box, _=None):
        needs(*self.PROGRAMS)
        if grpc is None:
            raise Skip("python3-grpcio is not installed")
        runc = shutil.which("runc", path=PATH)
        box.write("corral-oci-pods", packaged("corral-oci-pods", {"/usr/bin/corral": box.corral, "/usr/bin/crun": runc}), 0o755)
        os.chmod(box.ws, 0o777)  # for a container's ordinary user
        self.channel = grpc.insecure_channel(f"unix:{box.dir}/c.sock", [("grpc.default_authority", "localhost")])
        self.listener = socket.socket(socket.AF_UNIX)  # of a daemon of the node
        self.listener.bind(f"{box.dir}/s")
        os.chmod(f"{box.dir}/s", 0o777)
        self.listener.listen(64)
        self.group = f"/{os.path.basename(box.dir)}"  # of all pods; the kubelet's is /kubepods
        super().__init__(box)

    def settings(self):
        return super().settings() + packaged("containerd.toml", {"/usr/libexec/corral-oci-pods": f"{self.box.dir}/corral-oci-pods"})

    def load(self):
        root = f"{self.box.dir}/root"
        if self.linked:
            os.symlink("/run", f"{root}/var/run")
        self.put_pause(f"{root}/usr")
        archive = make_archive(root, f"{self.box.dir}/layout", settings={"Entrypoint": ["/usr/bin/sleep", "2147483647"]})
        self.ctr("--namespace=k8s.io", "images", "import", "--snapshotter=native", archive).exited(0)
        check(wait_until(lambda: self.call("ImageStatus", {1: {1: IMAGE}}, "ImageService").fields), "the CRI has no image")

    @staticmethod
    def put_pause(usr):
        """A program that only waits, and its libraries; in the other containers the host's /usr covers them."""
        listed = subprocess.run(["ldd", "/usr/bin/sleep"], stdout=subprocess.PIPE, check=True, text=True).stdout
        for path in ("/usr/bin/sleep", *(word for word in listed.split() if word.startswith("/"))):
            place = f"{usr}/{path.removeprefix('/usr').lstrip('/')}"
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(path, place)

    def call(self, method, request, service="RuntimeService"):
        return Answer(self.channel.unary_unary(f"/runtime.v1.{service}/{method}")(encode(request), timeout=4 * PATIENCE,
                                                                                  wait_for_ready=True))

    def groups(self):
        return glob.glob(f"/sys/fs/cgroup/**{self.group}/*/", recursive=True)

    def close(self):
        with contextlib.suppress(grpc.RpcError):  # of a test that failed; the harness reports what is left
            for pod in self.call("ListPodSandbox", {}).messages(1) if self.daemon.poll() is None else ():
                self.remove(pod.text(1))
        self.channel.close()
        self.listener.close()
        super().close()
        for path in (*self.groups(), *glob.glob(f"/sys/fs/cgroup/**{self.group}", recursive=True)):
            os.rmdir(path)  # the group of all pods is a kubelet's own

    def remove(self, pod):
        self.call("StopPodSandbox", {1: pod})
        self.call("RemovePodSandbox", {1: pod})


class Pod:
    """A pod, until the end of its block."""

    def __init__(self, cri, handler, kind="baseline", shared=False, annotations=()):
        self.cri, self.box, self.kind, self.count = cri, cri.box, kind, 0
        self.namespaces = {1: cri.network, 2: POD if shared else CONTAINER}
        cri.count += 1
        self.annotations = [{1: key, 2: value} for key, value in annotations]
        self.logs = self.box.mkdir(f"logs{cri.count}")
        self.config = {1: {1: f"pod{cri.count}", 2: f"uid{cri.count}", 3: "default"}, 3: self.logs, 7: self.annotations,
                       8: {1: cri.group, 2: {1: self.namespaces, 6: int(kind == "privileged"), 9: RUNTIME_DEFAULT}}}
        self.id = cri.call("RunPodSandbox", {1: self.config, 2: handler}).text(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cri.remove(self.id)

    def security(self):
        """LinuxContainerSecurityContext, of a pod security standard."""
        masks = {13: MASKED, 14: READONLY, 15: RUNTIME_DEFAULT}
        return {3: self.namespaces, **{"baseline": masks, "privileged": {2: 1},
                                       "restricted": {**masks, 1: {2: ["ALL"]}, 5: {1: 5}, 12: {1: 60}, 11: 1}}[self.kind]}

    def mounts(self):
        """Those of a kubelet, and the host's programs."""
        box, programs = self.box, os.path.dirname(self.box.corral)
        box.write("hosts", "# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n")
        box.write("message", "", 0o666)
        box.write("account/token", "the token\n")
        box.write("ref/f", "read\n")
        rows = ((box.ws, "/work", 0), ("/usr", "/usr", 1), (programs, programs, 1), (f"{box.dir}/ref", "/ref", 1),
                (f"{box.dir}/hosts", "/etc/hosts", 0), *((f"{box.dir}/message", target, 0) for target in MESSAGES),
                *((f"{box.dir}/account", target, 1) for target in TOKENS), *((f"{box.dir}/s", target, 0) for target in SOCKETS))
        return [{1: target, 2: source, 3: readonly} for source, target, readonly in rows]

    def start(self, *command):
        self.count += 1
        config = {1: {1: f"c{self.count}"}, 2: {1: IMAGE}, 3: command, 5: "/work", 6: [{1: "VALUE", 2: self.box.dir}], 7: self.mounts(),
                  10: self.annotations, 11: f"c{self.count}.log", 15: {2: self.security()}}
        made = self.cri.call("CreateContainer", {1: self.id, 2: config, 3: self.config}).text(1)
        self.cri.call("StartContainer", {1: made})
        return made

    def status(self, container):
        return self.cri.call("ContainerStatus", {1: container}).message(1)

    def output(self, stream="stdout"):
        """The last container's, from the log that `kubectl logs` shows: time, stream, whole or part, text."""
        lines = (line.split(" ", 3) for line in lines_of(f"{self.logs}/c{self.count}.log"))
        return [text for _, of, _, text in lines if of == stream]

    def run(self, *command):
        """(exit status, lines of stdout, of stderr)"""
        made = self.start(*command)
        check(wait_until(lambda: self.status(made).number(3) == EXITED, 4 * PATIENCE), f"{command} does not end")
        return self.status(made).number(7), self.output(), self.output("stderr")

    def exec(self, container, *command, seconds=0):
        """As a probe of the kubelet does it."""
        done = self.cri.call("ExecSync", {1: container, 2: command, 3: seconds})
        return done.number(3), done.text(1).splitlines(), done.text(2).splitlines()

    def process(self, container=None):
        """The number of the first process: of a container, or of the pause container."""
        method, name = ("ContainerStatus", container) if container else ("PodSandboxStatus", self.id)
        info = self.cri.call(method, {1: name, 2: 1}).message(2)
        return json.loads(info.text(2))["pid"]


# ---- the rows ----

HANDLERS = (("corral", "full"), ("", ""))  # and CORRAL_LEVEL in its pods

# Each line that it prints was possible.  /srv is a directory of the image that everyone may write.
TRY = """echo "level=$CORRAL_LEVEL value=$VALUE cwd=$(pwd)"
echo x >{0} && echo workspace
cat /ref/f
for m in %s; do
(echo x >$m) 2>/dev/null && echo message $m
done
(echo x >/ref/made) 2>/dev/null && echo read-only volume
(echo x >/srv/made) 2>/dev/null && echo image
(exec 3<>/dev/tcp/127.0.0.1/{1}) 2>/dev/null && echo network
for s in %s; do
python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('$s')" 2>/dev/null && echo socket $s
done
exit 3""" % (" ".join(MESSAGES), " ".join(SOCKETS))


def words_of(pid):
    return "".join(lines_of(f"/proc/{pid}/cmdline")).split("\0")[:-1]


def becomes(pid, program):
    """Whether runc's process becomes the program; it does so after the answer to the kubelet."""
    return wait_until(lambda: words_of(pid)[:1] == [program])


def ask_pause(cri):
    """The pause container is started as it is; the container beside it, the control, is not."""
    for handler, level in HANDLERS:
        with Pod(cri, handler) as pod:
            status = cri.call("PodSandboxStatus", {1: pod.id}).message(1)
            equal((status.number(3), status.text(9)), (READY, handler), "the state of the pod, and its handler")
            check(becomes(pod.process(), "/usr/bin/sleep"), f"the pause container has {words_of(pod.process())}")
            made = pod.process(pod.start("sleep", "600"))
            check(becomes(made, "/run/corral/corral" if level else "sleep"), f"handler {handler!r}: the container has {words_of(made)}")


def try_all(box, level, start):
    """What the script could do, in a container that start() starts."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        name = f"made{level}"
        status, out, err = start("bash", "-c", TRY.format(name, listener.getsockname()[1]))
        could = [] if level else [f"message {MESSAGES[1]}", "image", "network", *(f"socket {path}" for path in SOCKETS)]
        always = [f"level={level} value={box.dir} cwd=/work", "workspace", "read", f"message {MESSAGES[0]}"]
        equal((status, out), (3, always + could), f"what the script could do ({err})")
        listener.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            listener.accept()[0].close()
            check(not level, "a connection left the sandbox")
    check(box.exists(f"ws/{name}") and not box.exists("ref/made"), "the workspace, and a read-only volume")
    os.unlink(f"{box.ws}/{name}")


def ask_command(cri, kind="baseline"):
    """The command writes its volume and nothing else, and reaches no network; with runc it does."""
    for handler, level in HANDLERS:
        with Pod(cri, handler, kind) as pod:
            try_all(cri.box, level, pod.run)
            status, out, err = pod.run(cri.box.corral, "status", "--json")
            check(out, f"corral status: {status}, {err}")
            found = json.loads("".join(out))["mechanisms"]
            equal(found["inside_corral"], bool(level), f"inside_corral of corral status, handler {handler!r}")
            if not level:
                equal(found["container"], "kubernetes pod, containerd", "the runtime that status names")


def ask_restricted(cri):
    ask_command(cri, "restricted")


def ask_privileged(cri):
    ask_command(cri, "privileged")


def ask_exec(cri):
    """An exec is in the sandbox, too, and one that takes too long is ended as a whole."""
    for handler, level in HANDLERS:
        with Pod(cri, handler) as pod:
            made = pod.start("sleep", "600")
            try_all(cri.box, level, lambda *words, pod=pod, made=made: pod.exec(made, *words))
    with Pod(cri, "corral") as pod:
        made = pod.start("sleep", "600")
        check(in_time((2, 10, int(PATIENCE)), lambda limit: end_exec(pod, made, limit), lambda began: began),
              "control: the command was not started")
        equal(pod.status(made).number(3), RUNNING, "the state of the container after it")


def end_exec(pod, container, seconds):
    """An exec that takes too long; whether its command had begun."""
    name = f"{pod.box.dir}/late"
    try:
        pod.exec(container, "sh", "-c", f"echo x >began; sleep 600; : {name}", seconds=seconds)
        check(False, "an exec did not end in its time")
    except grpc.RpcError as error:
        equal(error.code(), grpc.StatusCode.DEADLINE_EXCEEDED, f"the reason ({error.details()})")
    left = until_empty(lambda: [pid for pid in pod.box.strays() if any(name in word for word in words_of(pid))])
    equal(left, [], "processes of an exec that was ended")
    return pod.box.exists("ws/began")


def ask_token(cri):
    """The tokens are not readable, by the container's command and by an exec, also of a privileged pod."""
    for kind, (handler, level) in itertools.product(("baseline", "privileged"), HANDLERS):
        with Pod(cri, handler, kind) as pod:
            made = pod.start("sleep", "600")
            for token in TOKENS:
                words = ("sh", "-c", f"echo level=$CORRAL_LEVEL; cat {token}/token; ls {token}")
                for status, out, err in (pod.exec(made, *words), pod.run(*words)):
                    seen = [f"level={level}"] + ([] if level else ["the token", "token"])
                    equal(out, seen, f"what is seen of {token} ({status}, {err})")


MARKS = (MARK.split("="), ("io.kubernetes.cri-o.ContainerType", "sandbox"))


def ask_annotations(cri):
    """The annotations of a pod, which its user sets, do not switch the sandbox off."""
    with Pod(cri, "corral", annotations=MARKS) as pod:
        made = pod.start("sh", "-c", "echo level=$CORRAL_LEVEL; exec sleep 600")
        check(wait_until(pod.output), "the command does not begin")
        equal(pod.output(), ["level=full"], "the level under the marks of a pause container")
        with open(*glob.glob(f"{cri.box.dir}/cstate/*.v2.task/k8s.io/{made}/config.json"), encoding="utf-8") as source:
            given = json.load(source)["annotations"]
        equal(MARKS[1][0] in given, cri.passes, "control: whether the mark of the other engine reached the runtime")


def ask_stop(cri):
    """SIGTERM reaches the command, and its exit status the kubelet."""
    for handler, _ in HANDLERS:
        with Pod(cri, handler) as pod:
            made = pod.start("sh", "-c", "trap 'echo ends; exit 7' TERM; echo begins; while :; do sleep 0.1; done")
            check(wait_until(lambda pod=pod: pod.output() == ["begins"]), "the command does not begin")
            cri.call("StopContainer", {1: made, 2: int(PATIENCE)})
            status = pod.status(made)
            equal((status.number(3), status.number(7)), (EXITED, 7), f"state and exit status, handler {handler!r}")
            equal(pod.output(), ["begins", "ends"], "the log")


def traces(cri, pod):
    """Everything that containerd, its shim, runc and Corral have for a pod."""
    state = f"{cri.box.dir}/cstate/io.containerd"
    shims = [pid for pid in cri.box.strays() if "".join(words_of(pid)[:1]).endswith(cri.PROGRAMS[-1])]
    others = [pid for pid in cri.box.strays() if pid not in shims and pid != cri.daemon.pid]
    listed = cri.ctr("--namespace=k8s.io", "containers", "list", "--quiet").out.split()
    return {"shims": shims, "processes": others, "containers": listed, "groups": cri.groups(),
            "mounts": [line for line in lines_of("/proc/self/mountinfo") if cri.box.dir in line],
            "bundles": glob.glob(f"{state}.runtime.v2.task/k8s.io/*"),
            "directories": glob.glob(f"{state}.grpc.v1.cri/*/*"),
            "files of runc": [path for path in glob.glob(f"{SHARED}/runc/k8s.io/*") if os.path.basename(path) in pod]}


def leave(cri, shared):
    with Pod(cri, "corral", shared=shared) as pod:
        made = pod.start("sh", "-c", "setsid sleep 600 & sleep 600")
        killed = pod.start("sh", "-c", "setsid sleep 600 & sleep 600")
        os.kill(pod.process(killed), signal.SIGKILL)
        check(wait_until(lambda: pod.status(killed).number(3) == EXITED), "a container that was killed does not end")
        names = (pod.id, made, killed)
        missing = until_empty(lambda: [name for name, found in traces(cri, names).items() if not found])
        equal(missing, [], "control: kinds of traces that a running pod does not have")
    left = until_empty(lambda: {name: found for name, found in traces(cri, names).items() if found})
    equal(left, {}, "traces of a pod that was removed")


def ask_left(cri):
    """A pod with a running container and one that was killed leaves nothing, also with one pid namespace for all."""
    leave(cri, False)
    leave(cri, True)


class Passing(Cri):
    """With a setting of other runtimes: the annotations of pods and containers reach the runtime."""

    passes = True

    def settings(self):
        head = 'runtimes.corral]\n'
        return super().settings().replace(head, head + 'pod_annotations = ["*"]\ncontainer_annotations = ["*"]\n')


class Networked(Cri):
    """Pods with a network of their own, and a handler whose policy lets the command use it."""

    PLUGINS = "/usr/lib/cni"
    GATEWAY = "10.99.98.1"
    before = ("unshare", "--net", "--")
    network = POD

    def __init__(self, box, _=None):
        if not os.path.exists(f"{self.PLUGINS}/bridge"):
            raise Skip("containernetworking-plugins is not installed")
        box.write("cni/net.conflist", json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [
            {"type": "bridge", "bridge": "pods", "isGateway": True,
             "ipam": {"type": "host-local", "dataDir": f"{box.dir}/addresses", "subnet": "10.99.98.0/24"}}]}))
        box.write("open.toml", '[net]\nmode = "full"\n')
        box.write("corral-oci-open", f'#!/bin/sh\nexec {box.corral} oci --pods --container-policy {box.dir}/open.toml --runtime '
                                     f'{shutil.which("runc", path=PATH)} -- "$@"\n', 0o755)
        self.was_there = os.path.exists("/var/lib/cni")
        super().__init__(box)
        # The node: what listens on its address of the bridge.
        self.node = subprocess.Popen(["nsenter", f"--net=/proc/{self.daemon.pid}/ns/net", "python3", "-c",
                                      "import socket\ns = socket.create_server(('', 0))\nprint(s.getsockname()[1], flush=True)\n"
                                      "while True:\n s.accept()[0].close()"], stdout=subprocess.PIPE, text=True)
        self.port = self.node.stdout.readline().strip()

    def settings(self):
        kinds = '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.open'
        return super().settings().replace(f'bin_dir = "{self.box.dir}/cni"', f'bin_dir = "{self.PLUGINS}"').replace(
            "restrict_oom", "netns_mounts_under_state_dir = true\nrestrict_oom") + (
            f'{kinds}]\nruntime_type = "io.containerd.runc.v2"\n{kinds}.options]\nBinaryName = "{self.box.dir}/corral-oci-open"\n')

    def close(self):
        if hasattr(self, "node"):
            self.node.kill()
            self.node.wait()
            self.node.stdout.close()
        super().close()
        if not self.was_there:
            shutil.rmtree("/var/lib/cni", ignore_errors=True)


def ask_network(cri):
    """The pod's network is that of its plugin; the command reaches it with runc, and by a policy that allows it."""
    for handler, reaches in (("corral", False), ("open", True), ("", True)):
        with Pod(cri, handler) as pod:
            status, out, err = pod.run("bash", "-c", f"(exec 3<>/dev/tcp/{cri.GATEWAY}/{cri.port}) 2>/dev/null && echo network; "
                                       "sed -n 's/^ *\\(e[a-z0-9]*\\):.*/\\1/p' /proc/net/dev")
            equal((status, out), (0, ["network", "eth0"] if reaches else []), f"what handler {handler!r} reaches and sees ({err})")


class Unlinked(Cri):
    """With an image in which /var/run is a directory."""

    linked = False


ROWS = (
    ("a pod starts, and its pause container has no sandbox", Cri, ask_pause),
    ("the command is in a sandbox", Cri, ask_command),
    ("the command is in a sandbox where /var/run is a directory", Unlinked, ask_command),
    ("the command of a restricted pod is in a sandbox", Cri, ask_restricted),
    ("the command of a privileged pod is in a sandbox", Cri, ask_privileged),
    ("ExecSync does not go past the sandbox, and ends in its time", Cri, ask_exec),
    ("the service account is not readable", Cri, ask_token),
    ("the service account is not readable where /var/run is a directory", Unlinked, ask_token),
    ("the network of a CNI plugin is not reached without a policy", Networked, ask_network),
    ("annotations of a pod do not switch the sandbox off", Cri, ask_annotations),
    ("annotations that containerd passes do not switch the sandbox off", Passing, ask_annotations),
    ("StopContainer lets the command end by itself", Cri, ask_stop),
    ("a pod that is removed leaves nothing", Cri, ask_left),
)


def register(suite):
    for title, engine, ask in ROWS:
        @suite.test(f"containerd's CRI with corral oci: {title}", user=False, root=True)
        def one(box, engine=engine, ask=ask):
            with_engine(box, engine, ask)
