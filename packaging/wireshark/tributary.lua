-- Wireshark dissector of the Tributary aggregation protocol, version 1 (docs/protocol.md).
--
--   header ─▶ extensions ─▶ elements ─▶ what the packet means among the others of its chunk
--
-- Filters: tributary.job, .op, .chunk, ...; tributary.conversation is "job/epoch/op", such as
-- 1/7/42. Contributions and results of a chunk name each other's frames. Expert infos mark what is
-- sent again, late, refused or degraded. Ports: Preferences, Protocols, Tributary.
local proto = Proto("tributary", "Tributary Aggregation Protocol")

local HEADER_BYTES = 54
local ROCE_LEAD_BYTES = 10
local ELEMENTS_SHOWN = 16

local TYPES = {
  "contribution", "aggregate", "result", "escalation", "probe", "pending", "unknown", "ack",
  "nack", "abort", "join", "start", "lease", "leave", "put", "stored", "get", "data",
  "refuse",
}
local FLAGS = {
  [0] = "at-ps", "resend", "collision", "bypass", "partial", "verified", "overflow", "float-retry",
  "degraded", "raw", "modular", "params", "ce", "excluded", "complete-subtree", "last", "fragments",
}
local DTYPES = {
  [0] = "none", "int8", "int16", "int32", "int64", "uint8", "uint32", "uint64", "float16",
  "bfloat16", "float32", "float64", "bool",
}
local DTYPE_BYTES = { [0] = 0, 1, 2, 4, 8, 1, 4, 8, 2, 2, 4, 8, 1 }
local REDUCE_OPS = {
  "sum", "mean", "prod", "min", "max", "band", "bor", "bxor", "land", "lor", "lxor",
}
local ENCODINGS = { [0] = "plain", "block-scaled", "compressed" }
local COLLECTIVES = {
  [0] = "allreduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "barrier", "open",
  "update",
}
local REASONS = {
  [0] = "none", "deadline", "excluded", "collision", "resend", "overflow", "no-slot", "verify",
  [16] = "unknown-job", [17] = "not-joined", [18] = "stale-epoch", [19] = "bad-rank",
  [20] = "sender-mismatch", [21] = "job-size-mismatch", [22] = "aborted",
  [23] = "settings-mismatch", [24] = "planes-mismatch", [25] = "open-refused",
  [26] = "other-task", [27] = "other-run", [32] = "lease-expired",
  [33] = "rank-left", [34] = "rank-restarted", [35] = "op-mismatch", [36] = "shutdown",
  [37] = "parent-lost", [38] = "host-lost", [39] = "model-lost", [40] = "model-mismatch",
  [41] = "configuration-changed", [42] = "broken-invariant",
  [48] = "names-off", [49] = "bad-name", [50] = "foreign-name", [51] = "not-allowed",
  [52] = "name-taken", [53] = "name-unknown", [54] = "names-full", [55] = "names-busy",
  [56] = "value-too-large",
}
local EXTENSIONS = {
  [0] = "padding", "missing-ids", "rank-bitmap", "task-information", "authentication", "crc32c",
  "result-info", "degraded-list", "error", "target-rank", "nonce", "start-info",
  "drain", "name", "value-info", "open-job", "run-id",
}
local DRAIN_STEPS = { "able", "wanted", "ask", "answer", "refuse", "end", "resume" }

-- Fields ----------------------------------------------------------------------------------------

local f = {}
local function field(kind, name, label, ...)
  f[name] = ProtoField[kind]("tributary." .. name, label, ...)
end
field("uint8", "version", "Version")
field("uint8", "type", "Type", base.DEC, TYPES)
field("uint32", "flags", "Flags", base.HEX)
for bit_number, name in pairs(FLAGS) do
  local key = "flags." .. name:gsub("-", "_")
  f[key] = ProtoField.bool("tributary." .. key, name, 32, nil, 2 ^ bit_number)
end
field("uint32", "job", "Job")
field("uint16", "epoch", "Epoch")
field("uint8", "attempt", "Attempt")
field("uint8", "seed_generation", "Seed generation")
field("uint32", "op", "Op")
field("uint32", "chunk", "Chunk")
field("uint32", "seq", "Seq")
field("uint32", "slot", "Slot")
field("uint32", "origin", "Origin (rank or switch id)")
field("uint16", "child", "Child")
field("uint16", "fan_in", "Fan-in")
field("uint32", "covered", "Workers covered")
field("uint8", "dtype", "Data type", base.DEC, DTYPES)
field("uint8", "reduce_op", "Reduce operation", base.DEC, REDUCE_OPS)
field("uint16", "element_count", "Elements")
field("int16", "scale_exponent", "Scale exponent")
field("uint8", "encoding", "Encoding", base.DEC, ENCODINGS)
field("uint8", "collective", "Collective", base.DEC, COLLECTIVES, 0xF0)
field("uint8", "ttl", "Time to live", base.DEC, nil, 0x0F)
field("uint8", "shard", "Shard")
field("uint8", "plane", "Plane", base.DEC, nil, 0xF0)
field("uint8", "stream", "Stream", base.DEC, nil, 0x0F)
field("uint8", "reason", "Reason", base.DEC, REASONS)
field("uint8", "extension_words", "Extension words")
field("bytes", "payload", "Elements, little-endian")
field("string", "element", "Element")

field("uint8", "ext.critical", "Critical", base.DEC, nil, 0x80)
field("uint8", "ext.type", "Type", base.DEC, EXTENSIONS, 0x7F)
field("uint8", "ext.words", "Words")
field("uint16", "ext.inline", "Inline value")
field("bytes", "ext.data", "Data")
field("uint16", "missing.count", "Missing ids")
field("uint32", "missing.id", "Missing")
field("uint16", "bitmap.count", "Words")
field("uint32", "bitmap.base", "First rank")
field("uint32", "bitmap.word", "Ranks", base.HEX)
field("uint64", "task.total_elements", "Elements of the op")
field("uint32", "task.workers", "Workers")
field("uint32", "task.nodes", "Second-level fan-in")
field("uint32", "crc32c", "CRC32C", base.HEX)
field("bool", "crc32c.good", "CRC32C is right")
field("uint32", "result_info.window", "Window")
field("uint32", "result_info.effective_from_seq", "New seed from seq")
field("uint32", "result_info.host_term", "Host term")
field("uint8", "result_info.seed_generation", "Seed generation")
for _, side in ipairs({ "expected", "got" }) do
  field("uint64", "error." .. side .. ".total_elements", side .. ": elements of the op")
  field("uint32", "error." .. side .. ".rank", side .. ": rank")
  field("uint16", "error." .. side .. ".element_count", side .. ": elements")
  field("uint8", "error." .. side .. ".dtype", side .. ": data type", base.DEC, DTYPES)
  field("uint8", "error." .. side .. ".reduce_op", side .. ": reduce operation", base.DEC,
    REDUCE_OPS)
  field("uint8", "error." .. side .. ".collective", side .. ": collective", base.DEC, COLLECTIVES)
  field("uint8", "error." .. side .. ".last", side .. ": last chunk of its op")
  field("uint16", "error." .. side .. ".target", side .. ": root, receiver or array")
  field("int16", "error." .. side .. ".scale_exponent", side .. ": scale exponent")
  field("uint8", "error." .. side .. ".encoding", side .. ": encoding")
end
field("uint32", "target_rank", "Target rank")
field("uint64", "nonce", "Nonce", base.HEX)
field("uint16", "start.further_planes", "Planes beyond the first")
field("uint32", "start.window", "Window")
field("uint32", "start.chunk_bytes", "Chunk bytes")
field("uint32", "start.workers", "Workers")
field("uint32", "start.lease_ms", "Lease, ms")
field("ipv4", "start.group_ipv4", "Multicast group")
field("uint8", "start.shards", "Shards")
field("uint8", "start.integrity", "Integrity", base.DEC, { [0] = "UDP checksum", "CRC32C" })
field("uint16", "start.udp_base_port", "UDP base port")
field("ipv4", "start.completion_host", "Completion host (0.0.0.0: the root)")
field("uint32", "start.host_term", "Host term")
field("uint8", "start.partials", "Partials", base.DEC, { [0] = "wide", "narrow" })
field("uint8", "start.order", "Order", base.DEC, { [0] = "fast", "reproducible" })
field("uint8", "start.arithmetic", "Arithmetic", base.DEC, { [0] = "saturating", "modular" })
field("uint16", "start.host_udp_port", "Completion host's UDP port (slot)")
field("ipv4", "nack.holder", "The rank is at (slot)")
field("uint16", "nack.holder_udp_port", "UDP port of the rank (op)")
field("uint8", "start.notify", "Notify", base.DEC, { [0] = "root", "host_switch", "direct" })
field("uint16", "drain.step", "Step of the drain", base.DEC, DRAIN_STEPS)
field("uint64", "drain.id", "Which drain", base.HEX)
field("uint32", "drain.op", "Ops before it are done in this epoch")
field("uint32", "drain.by", "Wanted by switch")
field("uint16", "name.length", "Bytes of the name")
field("string", "name", "Name")
field("uint64", "value.digest", "XXH64 of the segment", base.HEX)
field("uint64", "value.bytes", "Bytes of the value")
field("uint32", "value.segments", "Segments of the value")
field("uint64", "value.whole", "XXH64 of the value", base.HEX)
field("uint32", "value.lifetime_ms", "Time until the name expires, ms")
field("uint64", "run_id", "Run of the program", base.HEX)
field("uint16", "open.units", "Units of a node")
field("uint16", "open.nodes", "Nodes")
field("uint16", "open.window", "Window")
field("uint16", "open.chunk_bytes", "Chunk bytes")

field("string", "conversation", "Conversation (job/epoch/op)")
field("framenum", "result_in", "Result in", base.NONE, frametype.RESPONSE)
field("framenum", "opened_in", "First contribution in", base.NONE, frametype.REQUEST)
field("relative_time", "since_opened", "Since the first contribution")

local fields = {}
for _, one in pairs(f) do fields[#fields + 1] = one end
proto.fields = fields

local function expert_info(name, text, group, severity)
  return ProtoExpert.new("tributary.expert." .. name, text, group, severity)
end
local e = {
  resend = expert_info("resend", "Sent again", expert.group.SEQUENCE, expert.severity.NOTE),
  late = expert_info("late", "Data that came after its chunk's result", expert.group.SEQUENCE,
    expert.severity.NOTE),
  asked_again = expert_info("asked_again", "The switch asks for data that it lacks",
    expert.group.SEQUENCE, expert.severity.NOTE),
  escalated = expert_info("escalated", "Goes to the completion engine", expert.group.SEQUENCE,
    expert.severity.NOTE),
  congestion = expert_info("congestion", "Met a queue (CE)", expert.group.SEQUENCE,
    expert.severity.NOTE),
  degraded = expert_info("degraded", "Result without some ranks", expert.group.RESPONSE_CODE,
    expert.severity.WARN),
  overflow = expert_info("overflow", "The sum left the range of its type",
    expert.group.RESPONSE_CODE, expert.severity.WARN),
  refused = expert_info("refused", "Refused", expert.group.RESPONSE_CODE, expert.severity.WARN),
  aborted = expert_info("aborted", "The epoch is over", expert.group.RESPONSE_CODE,
    expert.severity.ERROR),
  dropped = expert_info("dropped", "A receiver drops this packet", expert.group.PROTOCOL,
    expert.severity.WARN),
  bad_crc = expert_info("bad_crc", "Wrong CRC32C", expert.group.CHECKSUM, expert.severity.ERROR),
  cut = expert_info("cut", "The capture has the beginning only", expert.group.UNDECODED,
    expert.severity.CHAT),
}
local experts = {}
for _, one in pairs(e) do experts[#experts + 1] = one end
proto.experts = experts

proto.prefs.ports = Pref.range("UDP ports", "47000-47015",
  "udp_base_port and the ports of further shards and planes", 65535)

-- What goes to or comes from a chunk: by job, epoch, plane, shard, seq and attempt.
local chunks = {}
function proto.init() chunks = {} end

-- Extensions ------------------------------------------------------------------------------------

-- Adds fields one after the other: { name, bytes }.
local function add_row(tree, range, at, row)
  for _, cell in ipairs(row) do
    tree:add(f[cell[1]], range(at, cell[2]))
    at = at + cell[2]
  end
  return at
end

local function add_words(tree, name, range, at)
  while at + 4 <= range:len() do
    tree:add(f[name], range(at, 4))
    at = at + 4
  end
end

local ERROR_SIDE = {
  { "total_elements", 8 }, { "rank", 4 }, { "element_count", 2 }, { "dtype", 1 },
  { "reduce_op", 1 }, { "collective", 1 }, { "last", 1 }, { "target", 2 },
  { "scale_exponent", 2 }, { "encoding", 1 },
}
local function error_row(side)
  local row = {}
  for _, cell in ipairs(ERROR_SIDE) do
    row[#row + 1] = { "error." .. side .. "." .. cell[1], cell[2] }
  end
  return row
end

-- Number → least bytes, and what adds its data. The range begins with the extension's first byte.
local readers = {
  [1] = { 4, function(tree, range)
    tree:add(f["missing.count"], range(2, 2))
    add_words(tree, "missing.id", range, 4)
  end },
  [2] = { 8, function(tree, range)
    add_row(tree, range, 2, { { "bitmap.count", 2 }, { "bitmap.base", 4 } })
    add_words(tree, "bitmap.word", range, 8)
  end },
  [3] = { 20, function(tree, range)
    add_row(tree, range, 4,
      { { "task.total_elements", 8 }, { "task.workers", 4 }, { "task.nodes", 4 } })
  end },
  [5] = { 8, function(tree, range) tree:add(f.crc32c, range(4, 4)) end },
  [6] = { 20, function(tree, range)
    add_row(tree, range, 4, { { "result_info.window", 4 }, { "result_info.effective_from_seq", 4 },
      { "result_info.host_term", 4 }, { "result_info.seed_generation", 1 } })
  end },
  [8] = { 52, function(tree, range)
    add_row(tree, range, 4, error_row("expected"))
    add_row(tree, range, 28, error_row("got"))
  end },
  [9] = { 8, function(tree, range) tree:add(f.target_rank, range(4, 4)) end },
  [10] = { 12, function(tree, range) tree:add(f.nonce, range(4, 8)) end },
  [11] = { 40, function(tree, range)
    add_row(tree, range, 2, { { "start.further_planes", 2 }, { "start.window", 4 },
      { "start.chunk_bytes", 4 }, { "start.workers", 4 }, { "start.lease_ms", 4 },
      { "start.group_ipv4", 4 }, { "start.shards", 1 }, { "start.integrity", 1 },
      { "start.udp_base_port", 2 }, { "start.completion_host", 4 }, { "start.host_term", 4 },
      { "start.partials", 1 }, { "start.order", 1 }, { "start.arithmetic", 1 },
      { "start.notify", 1 } })
  end },
  [12] = { 20, function(tree, range)
    add_row(tree, range, 2,
      { { "drain.step", 2 }, { "drain.id", 8 }, { "drain.op", 4 }, { "drain.by", 4 } })
  end },
  [13] = { 8, function(tree, range)
    tree:add(f["name.length"], range(2, 2))
    local length = math.min(range(2, 2):uint(), range:len() - 4)
    if length > 0 then tree:add(f.name, range(4, length)) end
  end },
  [14] = { 36, function(tree, range)
    add_row(tree, range, 4,
      { { "value.digest", 8 }, { "value.bytes", 8 }, { "value.segments", 4 },
        { "value.whole", 8 }, { "value.lifetime_ms", 4 } })
  end },
  [15] = { 12, function(tree, range)
    add_row(tree, range, 4,
      { { "open.units", 2 }, { "open.nodes", 2 }, { "open.window", 2 }, { "open.chunk_bytes", 2 } })
  end },
  [16] = { 12, function(tree, range) tree:add(f.run_id, range(4, 8)) end },
}

-- Castagnoli, reflected (RFC 3720).
local crc_table = {}
for byte = 0, 255 do
  local crc = byte
  for _ = 1, 8 do
    local odd = crc % 2 == 1
    crc = bit.rshift(crc, 1)
    if odd then crc = bit.bxor(crc, 0x82F63B78) end
  end
  crc_table[byte] = crc
end
local function crc32c(bytes)
  local crc = 0xFFFFFFFF
  for i = 0, bytes:len() - 1 do
    crc = bit.bxor(bit.rshift(crc, 8),
      crc_table[bit.band(bit.bxor(crc, bytes:get_index(i)), 0xFF)])
  end
  return bit.bxor(crc, 0xFFFFFFFF) % 0x100000000
end

-- Over header, extensions (itself as 0) and payload.
local function check_crc(tree, tvb, at)
  local bytes = tvb:range(0):bytes()
  for i = at + 4, at + 7 do bytes:set_index(i, 0) end
  local good = crc32c(bytes) == tvb(at + 4, 4):uint()
  tree:add(f["crc32c.good"], good):set_generated()
  if not good then tree:add_proto_expert_info(e.bad_crc) end
end

local function drop(tree, why)
  tree:add_proto_expert_info(e.dropped, "A receiver drops this packet: " .. why)
end

-- Returns what the summary says of them. Of a cut packet, those that the capture has whole.
local function add_extensions(tree, tvb, words, is_cut)
  local at, stop, said = HEADER_BYTES, HEADER_BYTES + 4 * words, ""
  while at + 4 <= math.min(stop, tvb:len()) do
    local number, length = tvb(at, 1):uint() % 0x80, 4 * tvb(at + 1, 1):uint()
    if length == 0 or at + length > stop then
      drop(tree, "an extension is longer than the area of extensions, or has no length")
      break
    end
    if at + length > tvb:len() then break end
    local range, name = tvb(at, length), EXTENSIONS[number] or "unknown"
    local sub = tree:add(proto, range, "Extension: " .. name)
    sub:add(f["ext.critical"], range(0, 1))
    sub:add(f["ext.type"], range(0, 1))
    sub:add(f["ext.words"], range(1, 1))
    local reader = readers[number]
    if reader and length >= reader[1] then
      reader[2](sub, range)
      if number == 5 and not is_cut then check_crc(sub, tvb, at) end
      if number == 13 and length > 4 then said = said .. " " .. range(4):string() end
      if number == 1 and length > 4 then said = said .. " missing " .. range(4, 4):uint() end
      if number == 1 and length > 8 then said = said .. ", ..." end
    else
      sub:add(f["ext.inline"], range(2, 2))
      if length > 4 then sub:add(f["ext.data"], range(4)) end
      if EXTENSIONS[number] == nil and tvb(at, 1):uint() >= 0x80 then
        drop(sub, "an unknown extension is critical")
      end
    end
    at = at + length
  end
  return said
end

-- Elements --------------------------------------------------------------------------------------

local element_text = {
  int8 = function(r) return tostring(r:le_int()) end,
  int16 = function(r) return tostring(r:le_int()) end,
  int32 = function(r) return tostring(r:le_int()) end,
  int64 = function(r) return tostring(r:le_int64()) end,
  uint8 = function(r) return tostring(r:le_uint()) end,
  bool = function(r) return tostring(r:le_uint()) end,
  uint32 = function(r) return tostring(r:le_uint()) end,
  uint64 = function(r) return tostring(r:le_uint64()) end,
  float32 = function(r) return string.format("%.9g", r:le_float()) end,
  float64 = function(r) return string.format("%.17g", r:le_float()) end,
}

-- A sum on its way has what its elements are accumulated in: 4 bytes for small types (rule 17).
local function is_widened(kind, count, size, bytes)
  return (kind == "aggregate" or kind == "escalation") and size > 0 and size < 4 and
    bytes == 4 * count
end

-- `whole`: bytes of the packet, of which the capture may have fewer.
local function add_elements(tree, tvb, whole, at, kind, dtype, count, encoding)
  local size, bytes = DTYPE_BYTES[dtype], whole - at
  if size == nil then return drop(tree, "unknown data type") end
  if encoding ~= 2 and bytes ~= count * size and not is_widened(kind, count, size, bytes) then
    drop(tree, count .. " elements of " .. size .. " bytes, but the payload has " .. bytes)
  end
  if tvb:len() <= at then return end
  local sub = tree:add(f.payload, tvb(at))
  local text = element_text[DTYPES[dtype]]
  if encoding == 2 or bytes ~= count * size or text == nil then return end
  local captured = math.floor((tvb:len() - at) / size)
  for i = 0, math.min(count, captured, ELEMENTS_SHOWN) - 1 do
    local range = tvb(at + i * size, size)
    sub:add(f.element, range, text(range)):prepend_text("[" .. i .. "] ")
  end
end

-- What it means ---------------------------------------------------------------------------------

local DATA = { contribution = true, aggregate = true, escalation = true }
local OF_A_CHUNK = {
  contribution = true, aggregate = true, escalation = true, result = true, probe = true,
  unknown = true,
}

-- A capture is read in order once, and its packets in any order later.
local function remember(key, kind, pinfo)
  local chunk = chunks[key] or {}
  chunks[key] = chunk
  if DATA[kind] and chunk.opened_in == nil then
    chunk.opened_in, chunk.opened_at = pinfo.number, pinfo.abs_ts
  end
  if kind == "result" and chunk.result_in == nil then chunk.result_in = pinfo.number end
end

local function add_relations(tree, h, kind, pinfo)
  tree:add(f.conversation, table.concat({ h.job, h.epoch, h.op }, "/")):set_generated()
  local key = table.concat({ h.job, h.epoch, h.plane, h.shard, h.seq, h.op, h.chunk }, "/")
  if not pinfo.visited then remember(key, kind, pinfo) end
  local chunk = chunks[key]
  if chunk == nil then return end
  if chunk.result_in and kind ~= "result" then
    tree:add(f.result_in, chunk.result_in):set_generated()
    if DATA[kind] and pinfo.number > chunk.result_in then tree:add_proto_expert_info(e.late) end
  end
  if chunk.opened_in and chunk.opened_in < pinfo.number then
    tree:add(f.opened_in, chunk.opened_in):set_generated()
    local ns = math.floor((pinfo.abs_ts - chunk.opened_at) * 1e9 + 0.5)
    local time = NSTime.new(math.floor(ns / 1e9), ns % 1e9)
    tree:add(f.since_opened, time):set_generated()
  end
end

-- Fields of the header that are addresses in some packets.
local function add_addresses(tree, tvb, h, kind)
  local slot = tvb(26, 4)
  if slot:uint() == 0 then return end
  if kind == "start" then tree:add(f["start.host_udp_port"], tvb(28, 2)):set_generated() end
  if kind == "nack" and REASONS[h.reason] == "sender-mismatch" then
    tree:add(f["nack.holder"], slot):set_generated()
    tree:add(f["nack.holder_udp_port"], tvb(16, 2)):set_generated()
  end
end

local function add_experts(tree, h, kind)
  local reason = REASONS[h.reason] or tostring(h.reason)
  if h.version ~= 1 then drop(tree, "version " .. h.version) end
  if TYPES[h.type] == nil then drop(tree, "unknown type") end
  if h.flags >= 0x1000000 then drop(tree, "an unknown flag that must be understood") end
  local set = h.set
  if set.resend then tree:add_proto_expert_info(e.resend) end
  if set.ce then tree:add_proto_expert_info(e.congestion) end
  if set.degraded and kind == "result" then
    tree:add_proto_expert_info(e.degraded, "Result of " .. h.covered .. " workers only")
  end
  if set.overflow then tree:add_proto_expert_info(e.overflow) end
  if kind == "unknown" then tree:add_proto_expert_info(e.asked_again) end
  if kind == "escalation" then
    tree:add_proto_expert_info(e.escalated, "Goes to the completion engine: " .. reason)
  end
  if kind == "nack" or kind == "refuse" then
    tree:add_proto_expert_info(e.refused, "Refused: " .. reason)
  end
  if kind == "abort" then
    tree:add_proto_expert_info(e.aborted, "The epoch is over: " .. reason)
  end
end

local function summary(h, kind, said)
  local text = kind .. " job " .. h.job .. " epoch " .. h.epoch
  if OF_A_CHUNK[kind] or kind == "pending" and h.epoch ~= 0 or kind == "abort" then
    text = text .. " op " .. h.op .. " chunk " .. h.chunk
  end
  if kind == "nack" or kind == "abort" or kind == "refuse" then
    text = text .. " " .. (REASONS[h.reason] or h.reason)
  end
  if kind ~= "result" and kind ~= "abort" then text = text .. " origin " .. h.origin end
  for i = 0, 16 do
    if h.set[FLAGS[i]] then text = text .. " [" .. FLAGS[i] .. "]" end
  end
  return text .. said
end

local HEADER = {
  { "job", 4 }, { "epoch", 2 }, { "attempt", 1 }, { "seed_generation", 1 }, { "op", 4 },
  { "chunk", 4 }, { "seq", 4 }, { "slot", 4 }, { "origin", 4 }, { "child", 2 }, { "fan_in", 2 },
  { "covered", 4 }, { "dtype", 1 }, { "reduce_op", 1 }, { "element_count", 2 },
  { "scale_exponent", 2 }, { "encoding", 1 },
}

-- The values that the rest needs.
local function read_header(tvb)
  local function number(at, bytes) return tvb(at, bytes):uint() end
  local h = {
    version = number(0, 1), type = number(1, 1), flags = number(2, 4), job = number(6, 4),
    epoch = number(10, 2), op = number(14, 4), chunk = number(18, 4), seq = number(22, 4),
    origin = number(30, 4), covered = number(38, 4), dtype = number(42, 1),
    element_count = number(44, 2), encoding = number(48, 1), shard = number(50, 1),
    plane = math.floor(number(51, 1) / 16), reason = number(52, 1), words = number(53, 1), set = {},
  }
  for i, name in pairs(FLAGS) do h.set[name] = math.floor(h.flags / 2 ^ i) % 2 == 1 end
  return h
end

local function add_header(tree, tvb)
  tree:add(f.version, tvb(0, 1))
  tree:add(f.type, tvb(1, 1))
  local flags = tree:add(f.flags, tvb(2, 4))
  for i = 0, 16 do flags:add(f["flags." .. FLAGS[i]:gsub("-", "_")], tvb(2, 4)) end
  local at = add_row(tree, tvb, 6, HEADER)
  for _, name in ipairs({ "collective", "ttl" }) do tree:add(f[name], tvb(at, 1)) end
  tree:add(f.shard, tvb(50, 1))
  for _, name in ipairs({ "plane", "stream" }) do tree:add(f[name], tvb(51, 1)) end
  tree:add(f.reason, tvb(52, 1))
  tree:add(f.extension_words, tvb(53, 1))
end

-- A packet of `whole` bytes. A capture may have fewer (--snap): what needs the others is not judged.
local function dissect(tvb, whole, pinfo, root)
  local is_cut = tvb:len() < whole
  if whole < HEADER_BYTES or tvb:len() == 0 or tvb(0, 1):uint() ~= 1 then return 0 end
  pinfo.cols.protocol = "Tributary"
  local tree = root:add(proto, tvb())
  if is_cut then
    tree:add_proto_expert_info(e.cut,
      "The capture has " .. tvb:len() .. " of " .. whole .. " bytes of this packet")
  end
  if tvb:len() < HEADER_BYTES then return tvb:len() end
  local h = read_header(tvb)
  local kind = TYPES[h.type] or "type " .. h.type
  add_header(tree, tvb)
  local said, payload_at = "", HEADER_BYTES + 4 * h.words
  if payload_at > whole then
    drop(tree, "its extensions are longer than the packet")
  else
    said = add_extensions(tree, tvb, h.words, is_cut)
    add_elements(tree, tvb, whole, payload_at, kind, h.dtype, h.element_count, h.encoding)
  end
  add_addresses(tree, tvb, h, kind)
  add_experts(tree, h, kind)
  if OF_A_CHUNK[kind] then add_relations(tree, h, kind, pinfo) end
  local text = summary(h, kind, said)
  if is_cut then text = text .. " [cut]" end
  tree:set_text("Tributary, " .. text)
  pinfo.cols.info = text
  return tvb:len()
end

function proto.dissector(tvb, pinfo, root)
  return dissect(tvb, tvb:reported_len(), pinfo, root)
end

-- In RoCEv2, ten zero bytes come first, so that elements are aligned.
local function dissect_roce(tvb, pinfo, root)
  local whole = tvb:reported_len() - ROCE_LEAD_BYTES
  if tvb:len() < ROCE_LEAD_BYTES + HEADER_BYTES then return false end
  for i = 0, ROCE_LEAD_BYTES - 1 do
    if tvb(i, 1):uint() ~= 0 then return false end
  end
  if tvb(ROCE_LEAD_BYTES, 1):uint() ~= 1 or TYPES[tvb(ROCE_LEAD_BYTES + 1, 1):uint()] == nil then
    return false
  end
  dissect(tvb(ROCE_LEAD_BYTES):tvb(), whole, pinfo, root)
  return true
end

-- Another protocol of Wireshark's claims port 47000; what is added last counts.
local udp_ports = DissectorTable.get("udp.port")
local listening = nil
local function listen()
  if listening then udp_ports:remove(listening, proto) end
  listening = proto.prefs.ports
  udp_ports:add(listening, proto)
end
function proto.prefs_changed() listen() end
listen()
pcall(function() proto:register_heuristic("infiniband.payload", dissect_roce) end)
