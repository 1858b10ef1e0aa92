#include "tools/managerd/page.h"

namespace tributary::managerd {

const char* const kPage = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'">
<title>Tributary manager</title>
<style>
  body { font: 14px/1.4 system-ui, sans-serif; margin: 1.5em; color: #222; background: #fafafa; }
  h1 { font-size: 1.3em; margin: 0 0 .2em; }
  h2 { font-size: 1em; margin: 1.6em 0 .4em; }
  table { border-collapse: collapse; background: #fff; }
  th, td { padding: .25em .7em; border-bottom: 1px solid #e4e4e4; text-align: left; vertical-align: top; }
  td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
  td.w { max-width: 60em; overflow-wrap: anywhere; }
  .note { color: #777; }
  .late { color: #b00; }
</style>
</head>
<body>
<h1>Tributary manager</h1>
<div id="state" class="note">asking the manager</div>
<h2>Nodes</h2><table id="nodes"></table>
<h2>Devices</h2><table id="devices"></table>
<h2>Groups of pods</h2><table id="groups"></table>
<h2>Pods</h2><table id="pods"></table>
<h2>Jobs</h2><table id="jobs"></table>
<script>
"use strict";
const byId = id => document.getElementById(id);
const percent = share => share === undefined ? "" : Math.round(share * 100) + " %";
const sum = numbers => numbers.reduce((a, b) => a + b, 0);

function bytes(number) {
  const units = ["", "Ki", "Mi", "Gi", "Ti"];
  let unit = 0;
  while (number >= 1024 && unit + 1 < units.length) { number /= 1024; ++unit; }
  return (unit ? number.toFixed(number < 10 ? 1 : 0) : number) + units[unit];
}

async function ask(page) {
  const answer = await fetch(page);
  if (!answer.ok) throw new Error(page + ": " + answer.status);
  return answer.json();
}

// Rows of cells; a cell is text, {n: a number's text} or {w: a sentence}.
function fill(id, head, rows) {
  const make = (tag, cells) => {
    const row = document.createElement("tr");
    for (const cell of cells) {
      const to = document.createElement(tag);
      if (cell !== null && typeof cell === "object") {
        to.className = "n" in cell ? "n" : "w";
        to.textContent = "n" in cell ? cell.n : cell.w;
      } else {
        to.textContent = cell;
      }
      row.append(to);
    }
    return row;
  };
  byId(id).replaceChildren(make("th", head), ...rows.map(cells => make("td", cells)));
}

function show_nodes(nodes) {
  fill("nodes", ["node", "state", "leaf switch", {n: "CPU load"}, {n: "CPUs asked for"}, {n: "memory asked for"}, "taints"],
    nodes.map(n => [n.name, n.ready ? "ready" : "not heard of", n.leaf, {n: percent(n.cpu_load)},
      {n: `${n.cpu_millis_used / 1000} of ${n.cpu_millis / 1000}`},
      {n: `${bytes(n.memory_used)} of ${bytes(n.memory_bytes)}`}, n.taints.join(", ")]));
  fill("devices", ["node", "device", "kind", {n: "memory"}, {n: "free"}, {n: "load"}, "pod", "problem"],
    nodes.flatMap(n => n.devices.map(d => [n.name, d.name, d.kind, {n: d.memory_bytes ? bytes(d.memory_bytes) : ""},
      {n: d.memory_bytes ? bytes(d.free_bytes) : ""}, {n: percent(d.load)}, d.pod, {w: d.problem}])));
}

function show_groups(groups) {
  fill("groups", ["group", {n: "placed at once"}, {n: "pods"}, {n: "running"}, {n: "CPU"}, {n: "devices"}, {n: "their load"}],
    groups.map(g => [g.name, {n: g.min_count}, {n: g.pods}, {n: g.running}, {n: percent(g.cpu)}, {n: g.devices},
      {n: percent(g.load)}]));
}

function cpu_of(pod) {
  const known = pod.containers.filter(c => c.cpu !== undefined);
  return known.length ? percent(sum(known.map(c => c.cpu))) : "";
}

function show_pods(pods) {
  fill("pods", ["pod", "phase", "node", "devices", "group", {n: "rank"}, {n: "CPU"}, {n: "restarts"}, "message"],
    pods.map(p => [p.name, p.deleting ? "Terminating" : p.phase, p.node, p.devices.join(", "), p.group,
      {n: p.rank === undefined ? "" : p.rank}, {n: cpu_of(p)}, {n: sum(p.containers.map(c => c.restarts))},
      {w: [p.message, ...p.containers.map(c => c.message)].filter(text => text).join("; ")}]));
}

function show_jobs(jobs) {
  fill("jobs", ["job", "tenant", {n: "id"}, "state", {n: "workers"}, {n: "priority"}, "switches", "waits for"],
    jobs.map(j => [j.name, j.tenant, {n: j.id || ""}, j.state, {n: j.workers}, {n: j.priority}, {w: j.switches.join(", ")},
      {w: j.waits_for || j.missing.join(", ")}]));
}

const plural = (word, page) => page.rows.length < page.all ? `the first ${page.rows.length} of ${page.all} ${word}s`
  : `${page.all} ${word}${page.all === 1 ? "" : "s"}`;

async function look() {
  try {
    const [nodes, groups, pods, jobs] = await Promise.all(["nodes", "groups", "pods", "jobs"].map(ask));
    show_nodes(nodes.rows);
    show_groups(groups.rows);
    show_pods(pods.rows);
    show_jobs(jobs.rows);
    byId("state").textContent = [plural("node", nodes), plural("group", groups), plural("pod", pods),
      plural("job", jobs)].join(", ");
    byId("state").className = "note";
  } catch (error) {
    byId("state").textContent = "the manager does not answer: " + error.message;
    byId("state").className = "late";
  }
}
look();
setInterval(look, 1000);
</script>
</body>
</html>
)html";

}  // namespace tributary::managerd
