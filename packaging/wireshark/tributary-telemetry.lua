-- Wireshark dissector of telemetry reports (P4.org telemetry report v2.0) as Tributary's switches send
-- them to tributary-telemetryd (docs/protocol/telemetry.md).
--
--   group header ─▶ reports ─▶ trailer with sequence and HMAC, where the switch has a key
--
-- Filters: tributary_telemetry.node, .sequence, .signature.sequence, ... The HMAC is shown and not
-- checked: Wireshark has no key. Port: Preferences, Protocols, Tributary telemetry.
local proto = Proto("tributary_telemetry", "Tributary Telemetry Reports")

local GROUP_BYTES = 8
local HEADER_BYTES = 4
local MAIN_BYTES = 8
local TRAILER_BYTES = 48
local TO_THE_END = 255
local DOMAIN = 0x5452
local SIGNATURE = 1
local LINK_LATENCY = 0x8000
local OP_END = 0x4000
local REPORT_TYPES = { [0] = "inner only", "in-band", "IOAM" }
local INNER_TYPES = { [0] = "none", "TLV", "domain data", "Ethernet", "IPv4", "IPv6" }
-- Values of a hop by bit of the bitmap, from the most significant on: name and bytes.
local VALUES = {
  { 0x4000, "ports", 4 }, { 0x2000, "latency_ns", 4 }, { 0x1000, "queue", 4 },
  { 0x0800, "ingress_time", 8 }, { 0x0400, "egress_time", 8 }, { 0x0200, "wide_ports", 8 },
  { 0x0100, "utilisation_ppm", 4 }, { 0x0080, "buffer", 4 },
}

local f = {}
local function field(kind, name, label, ...)
  local key = name:gsub("%.", "_")
  f[key] = ProtoField[kind]("tributary_telemetry." .. name, label, ...)
end
field("uint8", "version", "Version", base.DEC, nil, 0xF0)
field("uint16", "hardware", "Hardware (packet loop)", base.DEC, nil, 0x0FC0)
field("uint32", "sequence", "Sequence", base.DEC, nil, 0x003FFFFF)
field("uint32", "node", "Node")
field("uint8", "type", "Report type", base.DEC, REPORT_TYPES, 0xF0)
field("uint8", "inner_type", "Inner type", base.DEC, INNER_TYPES, 0x0F)
field("uint16", "bitmap", "Bitmap", base.HEX)
field("uint16", "domain", "Domain", base.HEX)
field("bytes", "ports", "Ingress and egress port")
field("uint32", "latency_ns", "Hop latency (ns)")
field("bytes", "queue", "Queue and its occupancy")
field("uint64", "ingress_time", "Ingress time")
field("uint64", "egress_time", "Egress time")
field("bytes", "wide_ports", "Wide ports")
field("uint32", "utilisation_ppm", "Utilisation (ppm)")
field("bytes", "buffer", "Buffer")
field("uint32", "link_ns", "Link latency (ns)")
field("uint32", "op_end.job", "Job of an op that has ended")
field("uint32", "op_end.op", "Op")
field("uint16", "op_end.epoch", "Epoch")
field("uint8", "op_end.plane", "Plane")
field("uint8", "op_end.planes", "Planes of the job")
field("bytes", "inner", "Packet")
field("uint64", "signature.sequence", "Signature sequence")
field("bytes", "signature.hmac", "HMAC-SHA-256, not checked")
proto.fields = f
local malformed = ProtoExpert.new("tributary_telemetry.expert.malformed",
  "The lengths of a report do not fit", expert.group.MALFORMED, expert.severity.ERROR)
proto.experts = { malformed }
proto.prefs.port = Pref.uint("UDP port", 32766, "Where the telemetry server listens")

local function is_trailer(tvb, at, body)
  return body == TRAILER_BYTES - HEADER_BYTES and tvb(at, 1):uint() == 0x02 and
    tvb(at + 4, 2):uint() == DOMAIN and tvb(at + 6, 2):uint() == SIGNATURE
end

local function add_trailer(tree, tvb, at)
  local sub = tree:add(proto, tvb(at, TRAILER_BYTES), "Signature")
  sub:add(f.signature_sequence, tvb(at + 8, 8))
  sub:add(f.signature_hmac, tvb(at + 16, 32))
end

local function add_op_end(tree, tvb, at)
  tree:add(f.op_end_job, tvb(at, 4))
  tree:add(f.op_end_op, tvb(at + 4, 4))
  tree:add(f.op_end_epoch, tvb(at + 8, 2))
  tree:add(f.op_end_plane, tvb(at + 10, 1))
  tree:add(f.op_end_planes, tvb(at + 11, 1))
end

-- Metadata of the reporter; false if it is longer than its place. `of_domain`: the bits of this domain.
local function add_own(tree, tvb, at, bytes, bitmap, of_domain)
  local left = bytes
  for _, value in ipairs(VALUES) do
    if bit.band(bitmap, value[1]) ~= 0 then
      if left < value[3] then return false end
      tree:add(f[value[2]], tvb(at, value[3]))
      at, left = at + value[3], left - value[3]
    end
  end
  if of_domain == LINK_LATENCY then
    if left < 4 then return false end
    tree:add(f.link_ns, tvb(at, 4))
  elseif of_domain == OP_END then
    if left < 12 then return false end
    add_op_end(tree, tvb, at)
  end
  return true
end

-- Returns where the next report is; nil if the lengths of this one do not fit.
local function add_report(tree, tvb, at)
  if tvb:len() - at < HEADER_BYTES then return nil end
  local length = tvb(at + 1, 1):uint()
  local own = tvb(at + 2, 1):uint() * 4
  local body = length * 4
  local there = tvb:len() - at - HEADER_BYTES
  if there < body then return nil end
  if length == TO_THE_END then body = there end
  local next_at = at + HEADER_BYTES + body
  if is_trailer(tvb, at, body) then
    add_trailer(tree, tvb, at)
    return next_at
  end
  local sub = tree:add(proto, tvb(at, HEADER_BYTES + body), "Report")
  sub:add(f.type, tvb(at, 1))
  sub:add(f.inner_type, tvb(at, 1))
  local inner_at = at + HEADER_BYTES
  if bit.rshift(tvb(at, 1):uint(), 4) == 1 then
    if body < MAIN_BYTES + own then return nil end
    sub:add(f.bitmap, tvb(inner_at, 2))
    sub:add(f.domain, tvb(inner_at + 2, 2))
    local of_domain = tvb(inner_at + 2, 2):uint() == DOMAIN and tvb(inner_at + 4, 2):uint() or 0
    local bitmap = tvb(inner_at, 2):uint()
    if not add_own(sub, tvb, inner_at + MAIN_BYTES, own, bitmap, of_domain) then return nil end
    inner_at = inner_at + MAIN_BYTES + own
  end
  if inner_at < next_at then sub:add(f.inner, tvb(inner_at, next_at - inner_at)) end
  return next_at
end

function proto.dissector(tvb, pinfo, root)
  if tvb:len() < GROUP_BYTES or bit.rshift(tvb(0, 1):uint(), 4) ~= 2 then return 0 end
  pinfo.cols.protocol = "Tributary telemetry"
  local tree = root:add(proto, tvb())
  tree:add(f.version, tvb(0, 1))
  tree:add(f.hardware, tvb(0, 2))
  tree:add(f.sequence, tvb(0, 4))
  tree:add(f.node, tvb(4, 4))
  pinfo.cols.info = "reports of node " .. tvb(4, 4):uint()
  local at = GROUP_BYTES
  while at and at < tvb:len() do at = add_report(tree, tvb, at) end
  if not at then tree:add_proto_expert_info(malformed) end
  return tvb:len()
end

local udp_ports = DissectorTable.get("udp.port")
local listening = nil
local function listen()
  if listening then udp_ports:remove(listening, proto) end
  listening = proto.prefs.port
  udp_ports:add(listening, proto)
end
function proto.prefs_changed() listen() end
listen()
