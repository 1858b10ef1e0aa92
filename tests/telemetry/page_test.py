"""The telemetry server's page in a real browser: what it draws of a network with two ways (C7)."""
import contextlib
import json
import re
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from daemon_test import daemon, get, wait_for  # noqa: E402
from paths_test import NETWORK, Reporters, paths  # noqa: E402


def browse(http, folder, *options):
    """Chromium's standard output after the page has run for some seconds of its own time."""
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}",
               "--virtual-time-budget=5000", "--window-size=1200,1000", *options, f"http://127.0.0.1:{http}/"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@contextlib.contextmanager
def reported_all_the_time(udp, http, **latencies_us):
    """So that no figure is old when a slow browser asks."""
    reporters = Reporters(udp, http)
    reporters.tell(**latencies_us)
    over = threading.Event()

    def go_on():
        while not over.wait(0.5):
            reporters.tell(**latencies_us)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_the_page_shows_links_paths_and_decisions(tmp_path):
    path = tmp_path / "network.yaml"
    path.write_text(NETWORK)
    history = ["--history", str(tmp_path / "history.db"), "--every", "100ms"]
    with daemon("--topology", str(path), *history, *(f"--switch={node}=127.0.0.1" for node in range(1, 5))) as (udp, http):
        with reported_all_the_time(udp, http, l1=3000, l2=15, a1=200, b1=100, r0=50):
            wait_for(lambda: [p for p in paths(http) if p["moves"] == 1], "the path moves to the better way")
            wait_for(lambda: json.loads(get(http, "history?node=1&port=1"))["rows"], "the history has a row")
            page = browse(http, tmp_path / "profile", "--dump-dom")
    assert "5 egress ports, 0 flows" in page
    # Six cables both ways; those of the chosen paths are bold.
    lines = re.findall(r"<line [^>]*>", page)
    assert len(lines) == 12
    assert any('stroke-width="5"' in line for line in lines)
    assert len({re.search(r'stroke="([^"]+)"', line)[1] for line in lines}) >= 4
    # The slowest port first.
    links = page[page.index('id="links"'):]
    assert links.index("3000 us") < links.index("200 us") < links.index("15.0 us")
    assert "main -0-&gt; L -2-&gt; B -1-&gt; R -0-&gt; work" in page
    assert "moved to a better one" in page
    assert re.search(r'<div id="state" class="note">', page)
    # The slowest ports' last hour, drawn.
    hour = page[page.index('id="history-part"'):page.index('id="decisions-part"')]
    assert "hidden" not in hour[:40]
    assert hour.index("node 1 port 1, at most 3000 us") < hour.index("node 2 port 1, at most 200 us")
    assert hour.count("<polyline") >= 10
