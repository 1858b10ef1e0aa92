"""tributary-telemetryd between an honest switch, a registered one that lies, strangers, and bad HTTP clients."""

import json
import secrets
import socket
import subprocess
import time
from pathlib import Path

from attack import Attack
from ground import metric
from mutate import mutate
from streams import connect_tcp, http_attack
from telemetryd_wire import HONEST, LIAR, numbered, signed
from testbed.process import Process
from testbed.tree import PYTHON, binary

_FEWER_HTTP = 4  # connections cost more than datagrams


def reports(build):
    """Datagrams as switches send them, of the tool that the decoder's tests use."""
    tool = subprocess.run([binary(build, "telemetry_tool")], check=True, capture_output=True, text=True)
    rows = [line.split() for line in tool.stdout.splitlines()]
    return [bytes.fromhex(row[5]) for row in rows if row[0] == "report" and row[4] == "0"]


def report_attack(seed, rate, port, messages, key):
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def turn(attack):
        random = attack.random
        kind = random.choice(("mutated signed", "mutated signed", "links signed", "unsigned", "forged", "replayed",
                              "stale", "garbage", "long"))
        message = numbered(random.choice(messages), random.randrange(2**22), LIAR)
        now = time.time_ns()
        if kind == "mutated signed":
            message = signed(mutate(random, message, 8), now, key)
        elif kind == "links signed":  # of nodes and ports that are made up
            at = random.randrange(8, len(message) - 40)
            message = signed(message[:at] + random.randbytes(32) + message[at + 32:], now, key)
        elif kind == "unsigned":
            message = numbered(mutate(random, message, 8), 0, random.choice((LIAR, HONEST)))
        elif kind == "forged":
            genuine = signed(numbered(message, 1, HONEST), now, key)
            message = mutate(random, genuine, 8)
            if message == genuine:
                message = genuine[:-1] + bytes((genuine[-1] ^ 1,))
        elif kind == "replayed":
            message = signed(message, now, key)
            out.sendto(message, ("127.0.0.1", port))
        elif kind == "stale":
            message = signed(message, random.randrange(2**64), key)
        elif kind == "garbage":
            message = random.randbytes(random.randrange(1500))
        else:
            message = signed(message + random.randbytes(random.randrange(60000)), now, key)
        attack.note(kind, message)
        out.sendto(message, ("127.0.0.1", port))
        return kind

    return Attack("reports", seed, rate, turn, out.close)


def set_up(bed):
    key = secrets.token_hex(32)
    file = bed.folder / "telemetry.key"
    file.touch(0o600)
    file.write_text(key + "\n", encoding="ascii")
    network = bed.folder / "network.yaml"
    network.write_text(json.dumps({
        "nodes": [{"name": "honest", "id": HONEST, "reports_from": "127.0.0.1"},
                  {"name": "liar", "id": LIAR, "reports_from": "127.0.0.1"}, {"name": "w"}],
        "links": [{"from": "honest", "port": 199, "to": "w"}, {"from": "liar", "port": 11, "to": "w", "port_there": 1}],
        "paths": [{"from": "honest", "to": "w"}]}), encoding="ascii")
    made = bed.daemon(
        "telemetryd", [binary(bed.build, "tributary-telemetryd"), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
                       "--topology", network, "--key-file", file, "--history", bed.folder / "history.db",
                       "--every", "500ms", "--keep", "1min"],
        r"UDP port (\d+) of .* HTTP port (\d+)")
    udp, http = int(made.ready[1]), int(made.ready[2])
    messages = reports(bed.tools)
    tenant = [PYTHON, Path(__file__).resolve().parent / "honest_switch.py", str(udp), str(http), file,
              messages[0].hex()]
    bed.tenant("reports and scrapes", lambda on_line: Process(
        bed.loop, "honest switch", tenant, bed.folder / "tenant.log", on_line=on_line))
    bed.attack(report_attack(bed.seed, 5 * bed.rate, udp, messages, key.encode()))
    bed.attack(http_attack("http", bed.seed, bed.rate / _FEWER_HTTP, lambda: connect_tcp(http)))
    bed.facts.append(lambda: refusals(http))


def refusals(http):
    try:
        with socket.create_connection(("127.0.0.1", http), 5) as scrape:
            scrape.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            text = b"".join(iter(lambda: scrape.recv(65536), b"")).decode()
    except OSError:
        return "no metrics: the daemon has ended"
    names = ("datagrams_total", "reports_total", "refused_total", "malformed_total", "bad_packets_total")
    return "counted: " + ", ".join(f"{name} {metric(text, 'tributary_telemetry_' + name):.0f}" for name in names)
