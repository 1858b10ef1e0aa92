"""The commands of Pktgen 24.07.1 that command files (*.pkt) may have, word by word.

  {ports} 0, 0-2,5 or all    {mac}  {ip}  {int}  {word}    a|b one of these words
"""

import ipaddress
import re

_EACH = "start|minimum|maximum|increment|min|max|inc"
_ENABLED = ("process|mpls|qinq|gre|gre_eth|vlan|random|latency|pcap|blink|icmp|range|capture|bonding|vxlan|rate|"
            "lat")
_SET = "count|size|rate|burst|tx_cycles|sport|dport|prime|dump|vlan|vlanid|seq_cnt|seqCnt|seqcnt|ttl|txburst|rxburst"
COMMANDS = [
    f"range {{ports}} dst|src mac {_EACH} {{mac}}", "range {ports} dst|src mac {mac} {mac} {mac} {mac}",
    f"range {{ports}} dst|src ip {_EACH} {{ip}}", "range {ports} dst|src ip {ip} {ip} {ip} {ip}",
    "range {ports} proto tcp|udp", "range {ports} type ipv4|ipv6",
    f"range {{ports}} dst|src port {_EACH} {{int}}", "range {ports} dst|src port {int} {int} {int} {int}",
    f"range {{ports}} ttl|vlan|size|cos|tos|hop_limits|traffic_class {_EACH} {{int}}",
    "range {ports} ttl|vlan|size|cos|tos|hop_limits|traffic_class {int} {int} {int} {int}",
    f"set {{ports}} {_SET} {{int}}", "set {ports} type arp|ipv4|ipv6|ip4|ip6|vlan",
    "set {ports} proto udp|tcp|icmp", "set {ports} src|dst mac {mac}", "set {ports} src|dst ip {ip}",
    "set {ports} pattern abc|none|user|zero",
    f"enable|disable {{ports}} {_ENABLED}", "enable|disable screen|mac_from_arp",
    "start|stop {ports}", "start {ports} prime", "clear {ports} stats", "reset {ports}", "port {int}",
    "page {int}", "page main|range|cpu|pcap|system|sys|next|sequence|seq|rnd", "load {word}", "quit",
]


def _is_ip(word):
    try:
        ipaddress.ip_interface(word)
    except ValueError:
        return False
    return True


def _is_int(word):
    return word.isdigit()


_KINDS = {
    "{mac}": lambda word: re.fullmatch(r"([0-9a-f]{2}:){5}[0-9a-f]{2}", word, re.I) is not None,
    "{ip}": _is_ip, "{int}": _is_int, "{word}": bool,
    "{ports}": lambda word: re.fullmatch(r"all|\d+(-\d+)?(,\d+(-\d+)?)*", word) is not None,
}


def _fits(kind, word):
    return _KINDS[kind](word) if kind in _KINDS else word in kind.split("|")


def mistakes(text, ports=1):
    """What is wrong with a command file for a Pktgen with so many ports, a line each."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        shapes = [shape.split() for shape in COMMANDS]
        if not any(len(shape) == len(words) and all(map(_fits, shape, words)) for shape in shapes):
            found.append(f"line {number}: no command of Pktgen's: {' '.join(words)}")
        elif words[0] in ("range", "set", "enable", "disable", "start", "stop"):
            named = [int(port) for port in re.findall(r"\d+", words[1])]
            found += [f"line {number}: there is no port {port}" for port in named if port >= ports]
    return found
