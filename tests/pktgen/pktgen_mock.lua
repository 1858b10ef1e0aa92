-- Pktgen's Lua as a script sees it, for tests without Pktgen: the names and numbers of arguments of
-- version 24.07.1, ports and their captures, and a port that sends so many frames a simulated second.
--
--   MOCK_PORTS=1 MOCK_PCAPS=0:file.pcap MOCK_FRAMES_PER_MS=50 lua5.4 pktgen_mock.lua SCRIPT
--
-- Runs the script and prints each call as a line that begins with "CALL ". Ends with an error where
-- the script asks for what Pktgen does not have, or would do nothing about: an unknown name, a wrong
-- number of arguments, another port than there is, a port without a capture.

-- name = least and most arguments.
local functions = {
  quit = {0, 0}, set = {3, 3}, start = {1, 1}, stop = {1, 1}, set_mac = {3, 3}, set_ipaddr = {3, 3},
  mac_from_arp = {1, 1}, set_proto = {2, 2}, set_type = {2, 2}, ping4 = {1, 1}, pcap = {2, 2},
  icmp_echo = {2, 2}, send_arp = {2, 2}, seq = {12, 13}, seqTable = {3, 3}, screen = {1, 1},
  prime = {1, 1}, delay = {1, 1}, pause = {2, 2}, sleep = {1, 1}, load = {1, 1}, save = {1, 1},
  clear = {1, 1}, clr = {0, 0}, cls = {0, 0}, update = {0, 0}, reset = {1, 1},
  port_restart = {1, 1}, portCount = {0, 0}, totalPorts = {0, 0}, vlan = {2, 2}, vlanid = {2, 2},
  cos = {3, 3}, tos = {2, 2}, vxlan = {2, 2}, vxlan_id = {4, 4}, mpls = {2, 2}, qinq = {2, 2},
  gre = {2, 2}, gre_eth = {2, 2}, set_range = {2, 2}, ports_per_page = {1, 1}, page = {1, 1},
  port = {1, 1}, process = {2, 2}, capture = {2, 2}, blink = {2, 2}, isSending = {1, 1},
  linkState = {1, 1}, portSizes = {1, 1}, pktStats = {1, 1}, portStats = {2, 2}, portInfo = {1, 1},
  run = {3, 3}, input = {1, 1}, pattern = {2, 2}, userPattern = {2, 2}, latency = {2, 3},
  jitter = {2, 2}, gtpu_teid = {3, 3}, rnd = {4, 4}, rnd_list = {0, 1},
}
local of_ranges = {
  dst_mac = {3, 3}, src_mac = {3, 3}, set_type = {2, 2}, src_ip = {3, 3}, dst_ip = {3, 3},
  ip_proto = {2, 2}, src_port = {3, 3}, dst_port = {3, 3}, ttl = {3, 3}, hop_limits = {3, 3},
  vlan_id = {3, 3}, mpls_entry = {2, 2}, qinqids = {3, 3}, gre_key = {2, 2}, pkt_size = {3, 3},
  cos = {3, 3}, tos = {3, 3}, traffic_class = {3, 3},
}
local settings = {
  count = true, size = true, rate = true, burst = true, txburst = true, rxburst = true,
  cycles = true, sport = true, dport = true, ttl = true, seq_cnt = true, seqCnt = true,
  prime = true, dump = true,
}
-- Whose first argument is no list of ports.
local without_ports = {
  mac_from_arp = true, screen = true, delay = true, pause = true, sleep = true, load = true,
  save = true, ports_per_page = true, page = true, port = true, run = true, input = true,
}

local ports = tonumber(os.getenv("MOCK_PORTS") or "1")
local frames_per_ms = tonumber(os.getenv("MOCK_FRAMES_PER_MS") or "50")
local captures = {}
for port, file in (os.getenv("MOCK_PCAPS") or ""):gmatch("(%d+):([^;]+)") do
  captures[tonumber(port)] = file
end
local state = {}  -- by port
for port = 0, ports - 1 do state[port] = {count = 0, rate = 100, sending = false, sent = 0} end
local quit = false

-- Numbers of a list such as "0", "0-2,5" or "all".
local function ports_of(name, list)
  local found = {}
  if list == "all" then
    for port = 0, ports - 1 do found[#found + 1] = port end
    return found
  end
  for part in tostring(list):gmatch("[^,]+") do
    local first, last = part:match("^(%d+)%-?(%d*)$")
    if not first then error(name .. ": '" .. part .. "' is no list of ports", 3) end
    for port = tonumber(first), tonumber(last ~= "" and last or first) do
      if not state[port] then error(name .. ": there is no port " .. port, 3) end
      found[#found + 1] = port
    end
  end
  return found
end

local function strict(what, table)
  return setmetatable(table, {__index = function(_, key)
    error("there is no " .. what .. " '" .. tostring(key) .. "'", 2)
  end})
end

local function pass(ms)
  for _, port in pairs(state) do
    if port.sending then
      port.sent = port.sent + ms * frames_per_ms * port.rate // 100
      if port.count ~= 0 and port.sent >= port.count then
        port.sent, port.sending = port.count, false
      end
    end
  end
end

local act = {
  set = function(list, what, value)
    if not settings[what] then error("set does not support " .. what, 3) end
    for _, port in ipairs(list) do state[port][what] = assert(tonumber(value), "no number") end
  end,
  pcap = function(list, on)
    for _, port in ipairs(list) do
      local file = captures[port]
      if not file then error("port " .. port .. " has no capture (-s " .. port .. ":FILE)", 3) end
      assert(io.open(file, "rb")):close()
      state[port].pcap = on == "on" or on == "enable"
    end
  end,
  start = function(list) for _, port in ipairs(list) do state[port].sending = true end end,
  stop = function(list) for _, port in ipairs(list) do state[port].sending = false end end,
  clr = function() for _, port in pairs(state) do port.sent = 0 end end,
  delay = function(ms) pass(assert(tonumber(ms), "no number")) end,
  sleep = function(seconds) pass(1000 * seconds) end,
  quit = function() quit = true end,
  isSending = function(list)
    local found = {n = #list}
    for _, port in ipairs(list) do found[port] = state[port].sending and "y" or "n" end
    return strict("port", found)
  end,
  portStats = function(list, kind)
    if kind ~= "port" and kind ~= "rate" then error("no statistics of kind " .. kind, 3) end
    local found = {n = #list}
    for _, port in ipairs(list) do
      found[port] = strict("counter", {ipackets = 0, opackets = state[port].sent, ibytes = 0,
                                       obytes = 0, ierrors = 0, oerrors = 0, rx_nombuf = 0, imissed = 0})
    end
    return strict("port", found)
  end,
}

local function mock(prefix, names)
  local made = {}
  for name, limits in pairs(names) do
    made[name] = function(...)
      local count = select("#", ...)
      if quit then error(prefix .. name .. ": after quit", 2) end
      if count < limits[1] or count > limits[2] then
        error(prefix .. name .. ": wrong number of arguments: " .. count, 2)
      end
      local words = {...}
      for i, word in ipairs(words) do words[i] = tostring(word) end
      print("CALL " .. prefix .. name .. " " .. table.concat(words, " "))
      local arguments = {...}
      if limits[2] ~= 0 and not without_ports[name] and count ~= 0 then
        arguments[1] = ports_of(name, arguments[1])
      end
      return act[name] and prefix == "" and act[name](table.unpack(arguments))
    end
  end
  return strict("function", made)
end

pktgen = mock("", functions)
rawset(pktgen, "range", mock("range.", of_ranges))
-- What Pktgen.lua, in Pktgen's sources, has that scripts use.
package.preload["Pktgen"] = function()
  printf = function(...) io.write(string.format(...)) end
  return true
end

-- Globals that Pktgen does not make are mistakes.
setmetatable(_G, {__index = function(_, key) error("there is no global '" .. key .. "'", 2) end})
assert(loadfile(arg[1]))()
if not quit then error("the script does not quit") end
