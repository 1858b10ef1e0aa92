"""T20: cables that lead elsewhere than the manager's topology says, by what switches hear (LLDP)."""

import signal

import yaml
from manager_bed import started_cluster, tree

LLDP = {"enabled": True, "interval": "1s"}


def test_t20_exchanged_cables_are_named_until_the_topology_is_mended(make_tree, tmp_path):
    own = tree()
    for switch in own["switches"]:
        switch["forwarding"] = {"lldp": dict(LLDP)}
    file = tmp_path / "tree.yaml"
    file.write_text(yaml.safe_dump(own))
    bed = make_tree(file, assigned=True)
    served = bed.run / "topology.yaml"
    right = served.read_text()
    exchanged = yaml.safe_load(right)
    for switch in exchanged["switches"]:
        switch.update({"A": {"parent_port": "b"}, "B": {"parent_port": "a"}}.get(switch["name"], {}))
    served.write_text(yaml.safe_dump(exchanged))
    cluster = started_cluster(bed, tmp_path)

    def cables():
        return {sw["name"]: sw["wrong_cables"] for sw in cluster.ask("topology")["switches"]}

    wrong = {
        "root": [
            "port a leads to A.up, and the topology says B.up",
            "port b leads to B.up, and the topology says A.up",
        ],
        "A": ["port up leads to root.a, and the topology says root.b"],
        "B": ["port up leads to root.b, and the topology says root.a"],
    }
    cluster.wait(lambda: cables() == wrong, "each end is named")
    assert f"; {wrong['A'][0]}\n" in cluster.run("topology").stdout
    diagnosis = cluster.run("doctor").stdout
    assert all(line in diagnosis for lines in wrong.values() for line in lines), diagnosis
    served.write_text(right)
    cluster.manager.signal(signal.SIGHUP)
    cluster.wait(lambda: not any(cables().values()), "all is well")
    told = [event["reason"] for event in cluster.ask("job", "events") if event["kind"] == "cable"]
    assert sorted(told) == sorted(
        [f"{name}: {line}" for name, lines in wrong.items() for line in lines]
        + [f"{name}: its cables lead where the topology says" for name in wrong]
    )
    heard = {port["name"]: port["heard"] for port in cluster.ask("topology")["switches"][0]["ports"]}
    assert heard == {"a": "A.up", "b": "B.up"}
