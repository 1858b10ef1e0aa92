#include "tools/telemetryd/page.h"

namespace tributary::telemetryd {

const char* const kPage = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Tributary telemetry</title>
<style>
  body { font: 14px/1.4 system-ui, sans-serif; margin: 1.5em; color: #222; background: #fafafa; }
  h1 { font-size: 1.3em; margin: 0 0 .2em; }
  h2 { font-size: 1em; margin: 1.6em 0 .4em; }
  table { border-collapse: collapse; background: #fff; }
  th, td { padding: .25em .7em; border-bottom: 1px solid #e4e4e4; text-align: left; }
  td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
  svg { background: #fff; border: 1px solid #e4e4e4; max-width: 100%; }
  svg text { font-size: 12px; }
  .note { color: #777; }
  .late { color: #b00; }
  pre { margin: 0; font: 12px/1.4 ui-monospace, monospace; white-space: pre-wrap; }
  .cols { display: flex; flex-wrap: wrap; gap: 2.5em; }
</style>
</head>
<body>
<h1>Tributary telemetry</h1>
<div id="state" class="note">asking the server</div>
<div id="network-part"><h2>Network: links by latency, the chosen paths in bold</h2>
<svg id="network" width="900" height="320"></svg></div>
<div class="cols">
<div><h2>Slowest egress ports</h2><table id="links"></table></div>
<div id="paths-part"><h2>Paths</h2><table id="paths"></table></div>
<div id="ops-part" hidden><h2>Jobs: from op to op</h2><table id="ops"></table></div>
</div>
<div id="history-part" hidden><h2>Last hour of the slowest egress ports: average and p99</h2>
<div id="history" class="cols"></div></div>
<div id="decisions-part"><h2>Decisions</h2><table id="decisions"></table></div>
<h2>Flows</h2><table id="flows"></table>
<script>
"use strict";
const SVG = "http://www.w3.org/2000/svg";
const byId = id => document.getElementById(id);
const us = ns => ns == null ? "unknown" : (ns / 1000).toFixed(ns < 100000 ? 1 : 0) + " us";
const age = ns => (ns / 1e9).toFixed(1) + " s";
const history = new Map();  // link or job -> latest latencies
const kLooks = 60;

async function ask(page) {
  const answer = await fetch(page);
  if (answer.status === 404) return null;
  if (!answer.ok) throw new Error(page + ": " + answer.status);
  return answer.json();
}

// Rows of cells; a cell is text, a node, or {n: number text}.
function fill(table, head, rows) {
  const make = (tag, cells) => {
    const row = document.createElement("tr");
    for (const cell of cells) {
      const to = document.createElement(tag);
      if (cell instanceof Node) to.append(cell);
      else if (cell !== null && typeof cell === "object") { to.className = "n"; to.textContent = cell.n; }
      else to.textContent = cell;
      row.append(to);
    }
    return row;
  };
  table.replaceChildren(make("th", head), ...rows.map(cells => make("td", cells)));
}

function shape(tag, attributes, text) {
  const out = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) out.setAttribute(key, value);
  if (text !== undefined) out.textContent = text;
  return out;
}

// Green up to 20 us, red from 2 ms on; grey: not known.
function colour(ns) {
  if (ns == null) return "#bbb";
  const share = Math.min(1, Math.max(0, Math.log10(Math.max(ns, 1) / 20000) / 2));
  return `hsl(${120 - 120 * share} 75% 42%)`;
}

// Nodes in columns, by their distance from the first path's source, or from the first node.
function places(network, paths) {
  const start = paths && paths.length ? paths[0].from : network.nodes[0].name;
  const depth = new Map([[start, 0]]);
  for (const queue = [start]; queue.length;) {
    const at = queue.shift();
    for (const link of network.links)
      if (link.from === at && !depth.has(link.to)) {
        depth.set(link.to, depth.get(at) + 1);
        queue.push(link.to);
      }
  }
  const columns = [];
  for (const node of network.nodes) {
    const column = depth.has(node.name) ? depth.get(node.name) : 0;
    (columns[column] = columns[column] || []).push(node.name);
  }
  const out = new Map();
  columns.forEach((names, column) => names.forEach((name, row) => out.set(name, {
    x: 60 + column * 780 / Math.max(1, columns.length - 1),
    y: 320 * (row + 1) / (names.length + 1)})));
  return out;
}

function draw(network, paths) {
  const svg = byId("network");
  const at = places(network, paths);
  const parts = [];
  const chosen = (paths || []).map(path => path.path || "");
  for (const link of network.links) {
    const a = at.get(link.from), b = at.get(link.to);
    const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const aside = {x: -(b.y - a.y) / length * 4, y: (b.x - a.x) / length * 4};
    const used = chosen.some(path => path.includes(`${link.from} -${link.port}-> ${link.to}`));
    const line = shape("line", {x1: a.x + aside.x, y1: a.y + aside.y, x2: b.x + aside.x, y2: b.y + aside.y,
      stroke: link.up ? colour(link.latency_ns) : "#d00", "stroke-dasharray": link.up ? "none" : "6 4",
      "stroke-width": used ? 5 : 2});
    line.append(shape("title", {}, `${link.from} port ${link.port} to ${link.to}: ` +
      (link.up ? `${us(link.latency_ns)}, ${link.free_mbps} Mb/s free` : "down, answers no probes")));
    parts.push(line);
    if (link.latency_ns)
      parts.push(shape("text", {x: (a.x * 2 + b.x) / 3 + aside.x * 3, y: (a.y * 2 + b.y) / 3 + aside.y * 3,
        fill: "#555", "text-anchor": "middle"}, us(link.latency_ns)));
  }
  for (const node of network.nodes) {
    const {x, y} = at.get(node.name);
    parts.push(node.id ? shape("rect", {x: x - 30, y: y - 14, width: 60, height: 28, rx: 4, fill: "#eef", stroke: "#446"})
                       : shape("circle", {cx: x, cy: y, r: 22, fill: "#efe", stroke: "#464"}));
    parts.push(shape("text", {x, y: y + 4, "text-anchor": "middle"}, node.name));
  }
  svg.replaceChildren(...parts);
}

function line_of(values) {
  const svg = shape("svg", {width: 120, height: 20});
  const most = Math.max(...values, 1);
  const points = values.map((v, i) => `${i * 120 / kLooks},${19 - 18 * v / most}`).join(" ");
  svg.append(shape("polyline", {points, fill: "none", stroke: "#446"}));
  return svg;
}

function show_links(links) {
  const rows = links.filter(row => row.latency_ns !== undefined).sort((a, b) => b.p99_ns - a.p99_ns);
  for (const row of links) {
    const key = row.node + "/" + row.port;
    const seen = history.get(key) || [];
    seen.push(row.latency_ns || 0);
    history.set(key, seen.slice(-kLooks));
  }
  fill(byId("links"), ["node", "port", {n: "average"}, {n: "p50"}, {n: "p99"}, {n: "use"}, {n: "queue"}, {n: "age"}, "last minute"],
    rows.slice(0, 20).map(row => [row.node, row.port, {n: us(row.latency_ns)}, {n: us(row.p50_ns)}, {n: us(row.p99_ns)},
      {n: row.utilisation_ppm === undefined ? "unknown" : (row.utilisation_ppm / 1e4).toFixed(1) + " %"},
      {n: row.queue === undefined ? "unknown" : row.queue}, {n: age(row.age_ns)},
      line_of(history.get(row.node + "/" + row.port))]));
}

function show_ops(jobs) {
  byId("ops-part").hidden = jobs.length === 0;
  for (const row of jobs) {
    const key = "job " + row.job;
    history.set(key, [...(history.get(key) || []), row.period_ns || 0].slice(-kLooks));
  }
  fill(byId("ops"), ["job", {n: "op"}, {n: "ended"}, {n: "op to op"}, {n: "age"}, "last minute"],
    jobs.slice(0, 20).map(row => [row.job, {n: row.op}, {n: row.ended}, {n: us(row.period_ns)}, {n: age(row.age_ns)},
      line_of(history.get("job " + row.job))]));
}

// A polyline for each run of rows without a gap.
function curve(svg, rows, value, span, most, stroke) {
  let run = [];
  const end = () => {
    if (run.length)
      svg.append(shape("polyline", {points: run.join(" "), fill: "none", stroke, "stroke-width": 1.5,
                                    "stroke-linecap": "round"}));
    run = [];
  };
  rows.forEach((row, i) => {
    if (i > 0 && row.time - rows[i - 1].time > 2 * span.step) end();
    const ns = value(row);
    if (ns === undefined) return end();
    const x = 320 * (row.time - span.from) / (span.to - span.from);
    const y = 88 - 84 * ns / most;
    run.push(`${x.toFixed(1)},${y.toFixed(1)}`);
    if (run.length === 1) run.push(`${(x + 0.5).toFixed(1)},${y.toFixed(1)}`);
  });
  end();
}

function hour_of(span) {
  const most = Math.max(1, ...span.rows.map(row => row.p99_ns || 0));
  const svg = shape("svg", {width: 320, height: 90});
  curve(svg, span.rows, row => row.p99_ns, span, most, "#b60");
  curve(svg, span.rows, row => row.latency_ns, span, most, "#446");
  const figure = document.createElement("div");
  const title = document.createElement("div");
  title.textContent = `node ${span.node} port ${span.port}, at most ${us(most)}`;
  figure.append(title, svg);
  return figure;
}

async function show_history(links) {
  const slowest = links.filter(row => row.latency_ns !== undefined).sort((a, b) => b.latency_ns - a.latency_ns);
  const spans = await Promise.all(slowest.slice(0, 6).map(row =>
    ask(`history?node=${row.node}&port=${row.port}&from=-3600&step=20`)));
  const known = spans.filter(span => span !== null);
  byId("history-part").hidden = known.length === 0;
  byId("history").replaceChildren(...known.map(hour_of));
}

function show_paths(paths, decisions) {
  fill(byId("paths"), ["from", "to", "goal", "path", {n: "latency"}, {n: "free"}, {n: "moves"}, "why"],
    (paths || []).map(p => [p.from, p.to, p.goal, p.path || "none", {n: p.latency_us == null ? "unknown" : p.latency_us + " us"},
      {n: (p.free_mbps || 0) + " Mb/s"}, {n: p.moves}, p.why]));
  fill(byId("decisions"), [{n: "ago"}, "from", "to", "what and why"], (decisions || []).slice(0, 20).map(d => {
    const text = document.createElement("pre");
    text.textContent = d.explanation;
    return [{n: age(d.age_ns)}, d.from, d.to, text];
  }));
}

function show_flows(flows) {
  const plain = text => text.replace("::ffff:", "");
  fill(byId("flows"), ["from", "to", "hops", {n: "reports"}, {n: "changes"}, {n: "age"}],
    flows.slice(0, 50).map(f => [`${plain(f.source)}:${f.source_port}`, `${plain(f.destination)}:${f.destination_port}`,
      f.hops.map(h => `${h.node}/${h.port === 65535 ? "-" : h.port}`).join(" > "), {n: f.reports}, {n: f.changes},
      {n: age(f.age_ns)}]));
}

let looks = 0;
async function look() {
  try {
    const [links, flows, ops, network, paths, decisions] =
      await Promise.all(["links", "flows", "ops", "network", "paths", "decisions"].map(ask));
    show_links(links);
    show_ops(ops);
    show_flows(flows);
    if (looks++ % 10 === 0) await show_history(links);
    for (const part of ["network-part", "paths-part", "decisions-part"]) byId(part).hidden = !network;
    if (network) {
      draw(network, paths);
      show_paths(paths, decisions);
    }
    byId("state").textContent = `${links.length} egress ports, ${flows.length} flows`;
    byId("state").className = "note";
  } catch (error) {
    byId("state").textContent = "the server does not answer: " + error.message;
    byId("state").className = "late";
  }
}
look();
setInterval(look, 1000);
</script>
</body>
</html>
)html";

}  // namespace tributary::telemetryd
