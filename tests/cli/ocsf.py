# SPDX-License-Identifier: Apache-2.0
"""The part of the OCSF schema 1.3.0 that `corral audit export --format ocsf` uses, and a check of events against it.

A row of an object is attribute: type.  A type is "string", "integer", "hostname", "ip", "port", "timestamp", "strings",
"any" (of unmapped), a tuple (the values of an enumeration) or the name of an object.  An attribute that is not in the
table is not in the class, or nobody has looked it up: both fail.
"""
import ipaddress
import re

SEVERITIES = (0, 1, 2, 3, 4, 5, 6, 99)
BASE = {  # base_event with the profiles host and security_control
    "class_uid": "integer", "category_uid": "integer", "activity_id": "integer", "activity_name": "string",
    "type_uid": "integer", "severity_id": SEVERITIES, "time": "timestamp", "metadata": "metadata", "status_id": (0, 1, 2, 99),
    "action_id": (0, 1, 2, 99), "disposition_id": tuple(range(28)) + (99,), "device": "device", "actor": "actor",
    "count": "integer", "unmapped": "any",
}
BASE_REQUIRED = ("action_id", "activity_id", "category_uid", "class_uid", "metadata", "severity_id", "time", "type_uid")
PROFILES = {"host", "security_control"}
HOST_REQUIRED = ("actor", "device")  # required in system activity, else of the profile
CLASSES = {  # class_uid: (activities, more attributes, more required attributes)
    1001: (tuple(range(15)) + (99,), {"file": "file"}, HOST_REQUIRED + ("file",)),
    1007: (tuple(range(6)) + (99,), {"process": "process"}, HOST_REQUIRED + ("process",)),
    2004: (tuple(range(4)) + (99,), {"finding_info": "finding_info"}, ("finding_info",)),
    4001: (tuple(range(8)) + (99,), {"dst_endpoint": "network_endpoint"}, ("dst_endpoint",)),
}
OBJECTS = {  # name: (attributes, required ones, at least one of these)
    "metadata": ({"version": "string", "product": "product", "uid": "string", "sequence": "integer", "profiles": "strings"},
                 ("product", "version"), ()),
    "product": ({"name": "string", "vendor_name": "string"}, ("vendor_name",), ("name",)),
    "device": ({"hostname": "hostname", "type_id": (0,)}, ("type_id",), ("hostname",)),
    "actor": ({"app_name": "string", "process": "process", "session": "session", "user": "user"}, (),
              ("process", "user", "session", "app_name")),
    "process": ({"name": "string", "cmd_line": "string", "uid": "string"}, (), ("uid",)),
    "session": ({"uid": "string"}, (), ()),
    "user": ({"name": "string"}, (), ("name",)),
    "file": ({"name": "string", "path": "string", "type_id": (0,)}, ("name", "type_id"), ()),
    "network_endpoint": ({"ip": "ip", "hostname": "hostname", "name": "string", "port": "port"}, (), ("ip", "hostname", "name")),
    "finding_info": ({"title": "string", "uid": "string", "desc": "string"}, ("title", "uid"), ()),
}
HOSTNAME = re.compile(r"(([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]*[a-zA-Z0-9])\.)*"
                      r"([A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9\-]*[A-Za-z0-9])")


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_ip(value):
    try:
        return bool(ipaddress.ip_address(value))
    except ValueError:
        return False


SCALARS = {
    "string": lambda v: isinstance(v, str) and v != "",
    "strings": lambda v: isinstance(v, list) and all(isinstance(item, str) for item in v),
    "integer": lambda v: is_integer(v) and -2**31 <= v < 2**31,
    "timestamp": lambda v: is_integer(v) and 0 < v < 2**63,
    "hostname": lambda v: isinstance(v, str) and HOSTNAME.fullmatch(v) is not None,
    "ip": is_ip,
    "port": lambda v: is_integer(v) and 0 <= v <= 65535,
    "any": lambda v: isinstance(v, dict),
}


def faults_of(value, attributes, required, some, where):
    """What is wrong with an object, as sentences."""
    if not isinstance(value, dict):
        return [f"{where}: not an object"]
    found = [f"{where}.{key}: missing" for key in required if key not in value]
    if some and not set(some) & value.keys():
        found.append(f"{where}: none of {some}")
    for key, member in value.items():
        kind = attributes.get(key)
        if kind is None:
            found.append(f"{where}.{key}: not in the schema")
        elif kind in OBJECTS:
            found += faults_of(member, *OBJECTS[kind], f"{where}.{key}")
        elif not (member in kind if isinstance(kind, tuple) else SCALARS[kind](member)):
            found.append(f"{where}.{key}: {member!r} is not of type {kind}")
    return found


def faults(event):
    """What is wrong with an event."""
    if event.get("class_uid") not in CLASSES:
        return [f"class_uid: {event.get('class_uid')}"]
    activities, more, required = CLASSES[event["class_uid"]]
    found = faults_of(event, {**BASE, **more, "activity_id": activities}, BASE_REQUIRED + required, (), "event")
    if found:
        return found
    if event["type_uid"] != event["class_uid"] * 100 + event["activity_id"]:
        found.append(f"type_uid: {event['type_uid']}")
    if event["category_uid"] != event["class_uid"] // 1000:
        found.append(f"category_uid: {event['category_uid']}")
    if set(event["metadata"].get("profiles", ())) != PROFILES:
        found.append("metadata.profiles: attributes of a profile that is not named")
    return found
