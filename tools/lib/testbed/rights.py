"""Permissions of this user: which ports are possible, and what the rest lack."""

import os

_CAPABILITIES = {12: "CAP_NET_ADMIN", 13: "CAP_NET_RAW", 21: "CAP_SYS_ADMIN"}


def missing_for_veth():
    """Names of the missing rights, in words; empty when veth ports are possible."""
    with open("/proc/self/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    effective = int(fields["CapEff"], 16)
    missing = [name for bit, name in _CAPABILITIES.items() if not effective >> bit & 1]
    if not missing and not os.path.exists("/proc/self/ns/net"):
        missing.append("network namespaces in this kernel")
    return missing
