"""The alert rules and dashboards that are packaged: promtool takes them, alerts fire on what they
are for and on nothing else (alerts.yml), and all of them name metrics that there are."""

import glob
import json
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
RULES = os.path.join(TOP, "packaging/prometheus/tributary.rules.yml")


def promtool(*arguments):
    done = subprocess.run(["promtool", *arguments], cwd=HERE, capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_takes_the_rules():
    promtool("check", "rules", RULES)


def test_alerts_fire_on_what_they_are_for():
    promtool("test", "rules", "alerts.yml")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def exported():
    """Metrics of the switch and the pool's loaders, as the handbook lists them, and of the other daemons."""
    names = set()
    for page in ("metrics.md", "pool-metrics.md"):
        names |= set(re.findall(r"^\| `(tributary_\w+)`", read(os.path.join(TOP, "docs/operating", page)), re.M))
    for path in glob.glob(os.path.join(TOP, "tools/psd/*.cc")) + glob.glob(os.path.join(TOP, "tools/telemetryd/*.cc")) \
            + glob.glob(os.path.join(TOP, "tools/poold/*.cc")):
        names |= set(re.findall(r'"(tributary_\w+)"', read(path)))
    return names


def test_rules_name_metrics_that_there_are():
    rules = read(RULES)
    used = set(re.findall(r"\btributary_[a-z_]+", rules))
    assert len(used) > 10
    assert used <= exported(), used - exported()


def test_every_alert_is_tested():
    alerts = set(re.findall(r"alert: (\w+)", read(RULES)))
    tested = set(re.findall(r'alertname="(\w+)"', read(os.path.join(HERE, "alerts.yml"))))
    assert alerts == tested


def dashboards():
    """name → dashboard."""
    paths = glob.glob(os.path.join(TOP, "packaging/grafana/*.json"))
    return {os.path.basename(path)[:-5]: json.loads(read(path)) for path in paths}


def queries():
    """(dashboard, panel, expression), with Grafana's variables in place."""
    for name, board in dashboards().items():
        for panel in board["panels"]:
            for target in panel["targets"]:
                expression = target["expr"].replace("$__rate_interval", "1m")
                yield name, panel["title"], re.sub(r"\$\w+", "x", expression)


def test_dashboards_are_whole():
    boards = dashboards()
    assert set(boards) == {f"tributary-{name}" for name in
                           ("overview", "job", "stragglers", "internals", "telemetry", "pool")}
    for name, board in boards.items():
        assert board["uid"] == name and "tributary" in board["tags"]
        variables = {variable["name"] for variable in board["templating"]["list"]}
        used = set(re.findall(r"\$\{?(\w+)", json.dumps(board["panels"]))) - {"__rate_interval"}
        assert used <= variables, used - variables
        places = [tuple(panel["gridPos"].values()) for panel in board["panels"]]
        assert len(set(places)) == len(places), f"{name}: panels lie on each other"
        assert len({panel["id"] for panel in board["panels"]}) == len(places)
        for panel in board["panels"]:
            assert panel["datasource"]["uid"] == "${source}" and panel["targets"], panel["title"]


def test_promtool_takes_the_queries_of_dashboards(tmp_path):
    rules = [{"record": f"query_{i}", "expr": expression}
             for i, (_, _, expression) in enumerate(queries())]
    assert len(rules) > 30
    file = tmp_path / "queries.yml"
    file.write_text(json.dumps({"groups": [{"name": "dashboards", "rules": rules}]}))
    promtool("check", "rules", str(file))


def test_dashboards_name_metrics_that_there_are():
    known = exported()
    for name, title, expression in queries():
        for metric in re.findall(r"\btributary_[a-z_]+", re.sub(r"[{].*?[}]", "", expression)):
            plain = re.sub(r"_bucket$", "", metric)
            assert plain in known, f"{name}: {title}: {metric}"
