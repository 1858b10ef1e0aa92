"""The manager's page: nodes, devices, groups, pods and jobs as JSON, and in a real browser, which takes
none of what they say for HTML (C2)."""

import json
import re
import subprocess
import urllib.request

import pytest
import yaml
from placement_bed import KIND, LIMIT_S, TENANT, Placement, gang, pod, started

HOSTILE = "<img src=x onerror=\"document.title='taken'\">"
BROWSER_S = 120


class Pages(Placement):
    MANAGER_OPTIONS = ("--load-below", 1)  # the machine may be busy with other tests

    def http(self):
        return f"http://127.0.0.1:{re.search(r'HTTP port ([0-9]+)', self.managerd.text())[1]}"

    def get(self, page):
        with urllib.request.urlopen(f"{self.http()}/{page}", timeout=LIMIT_S) as answer:
            return answer.headers["Content-Type"], answer.read().decode()

    def rows(self, page):
        kind, text = self.get(page)
        assert kind == "application/json"
        told = json.loads(text)
        assert told["all"] == len(told["rows"])
        return told["rows"]

    def browse(self):
        """What Chromium has made of the page after some seconds of its own time."""
        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
                   f"--user-data-dir={self.folder}/chromium", "--virtual-time-budget=5000", "--dump-dom",
                   self.http() + "/"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=BROWSER_S, check=True)
        return done.stdout


@pytest.fixture(scope="module")
def cluster():
    with started(Pages) as made:
        yield made


@pytest.fixture
def pages(cluster):
    yield cluster
    for left in cluster.ask("pod", "get"):
        cluster.run("pod", "delete", left["name"], "--wait")
    for group in cluster.ask("pod", "get", "--group"):
        cluster.run("pod", "delete", group["name"], "--group")


def create_busy_gang(pages):
    members = [pod(f"busy{i}", "while true; do :; done") for i in range(2)]
    for member in members:
        member["spec"]["schedulingGroup"] = {"podGroupName": "busy"}
    pages.ask("pod", "create", pages.manifest("busy", gang("busy", 2), *members), "--wait")


def table(page, name):
    """The rows of a table of the page, each a list of its cells' HTML."""
    start = page.index(f'<table id="{name}"')
    text = page[start : page.index("</table>", start)]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in text.split("<tr>")[2:]]


def test_c2_json_has_nodes_devices_groups_pods_and_jobs(pages):
    create_busy_gang(pages)
    request = pages.folder / "sum.yaml"
    request.write_text(yaml.safe_dump({"tenant": TENANT, "job": {"name": "sum", "workers": 2}}))
    assert pages.run("job", "submit", request).returncode == 0
    nodes = {row["name"]: row for row in pages.rows("nodes")}
    assert set(nodes) == {"n0", "n1"} and all(row["ready"] for row in nodes.values())
    devices = [device for row in nodes.values() for device in row["devices"]]
    assert {device["kind"] for device in devices} == {KIND} and len(devices) == 4
    assert sorted(device["pod"] for device in devices) == ["", "", "busy0", "busy1"]
    pods = pages.rows("pods")
    assert [(row["name"], row["phase"], row["group"]) for row in pods] == [
        ("busy0", "Running", "busy"), ("busy1", "Running", "busy")
    ]  # fmt: skip
    (job,) = pages.rows("jobs")
    assert (job["name"], job["tenant"], job["state"]) == ("sum", TENANT, "STARTING")
    assert job["switches"] == ["leaf"] and job["missing"] == ["leaf"]
    assert pages.run("job", "cancel", "sum").returncode == 0
    assert pages.rows("jobs") == []


def test_c2_a_groups_load_is_the_sum_of_its_containers(pages):
    create_busy_gang(pages)

    def group():
        (row,) = pages.rows("groups")
        return row

    assert (group()["min_count"], group()["pods"], group()["running"]) == (2, 2, 2)
    assert group()["devices"] == 2 and group()["load"] == 0
    # Each container may use a tenth of a CPU.
    pages.wait(lambda: group().get("cpu", 0) > 0.1, "both containers are in the figure")
    (told,) = pages.ask("pod", "get", "--group")
    assert told["cpu"] > 0.1 and told["load"] == 0
    shown = pages.run("pod", "get", "--group", "busy")
    assert re.search(r"busy +2 +2 +2 +\d+% +2 +0%", shown.stdout), shown.stdout
    missing = pages.run("pod", "get", "--group", "none")
    assert missing.returncode == 1 and "there is no podgroup none" in missing.stderr
    # What the node reports next is what the page says next.
    for node in ("n0", "n1"):
        pages.declare(node, 2, load=0.5)
    pages.wait(lambda: group()["load"] == 0.5, "the devices' new load")
    for node in ("n0", "n1"):
        pages.declare(node, 2)


def test_c2_a_browser_shows_it_and_takes_no_text_for_html(pages):
    create_busy_gang(pages)
    wrong = pod("wrong", devices=0)
    wrong["spec"]["containers"][0]["command"] = [HOSTILE]
    pages.ask("pod", "create", pages.manifest("wrong", wrong))
    pages.wait(lambda: "<img src=x" in pages.get("pods")[1], "podman's words have the command")
    named = pages.run("pod", "create", pages.manifest("named", pod(HOSTILE)))
    assert named.returncode == 1 and "is not a name" in named.stderr
    page = pages.browse()
    assert "<title>Tributary manager</title>" in page
    assert "2 nodes, 1 group, 3 pods, 0 jobs" in page
    assert "<img" not in page
    assert [row[:2] for row in table(page, "nodes")] == [["n0", "ready"], ["n1", "ready"]]
    assert len(table(page, "devices")) == 4
    assert table(page, "groups")[0][:4] == ["busy", "2", "2", "2"]
    (row,) = [row for row in table(page, "pods") if row[0] == "wrong"]
    assert "&lt;img src=x onerror=" in row[-1]


def test_the_page_needs_nothing_from_elsewhere(pages):
    kind, text = pages.get("")
    assert kind == "text/html; charset=utf-8"
    assert not re.search(r"https?://|<link|src=|innerHTML|document\.write", text)
    assert "default-src 'none'" in text
