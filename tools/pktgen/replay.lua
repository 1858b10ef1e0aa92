-- Pktgen script: sends the capture file of port 0 (-s 0:FILE) and says what the port saw.
--
--   TRIBUTARY_FRAMES=3400 pktgen ... -- -m "1.0" -s 0:aggregate.pcap -f tools/pktgen/replay.lua
--
-- TRIBUTARY_FRAMES: frames to send; as many as the file has sends it once. Not set: again and again
-- until the script's time is over. TRIBUTARY_PERCENT: of the port's rate (100). TRIBUTARY_SECONDS:
-- the longest that it may last (30).
package.path = package.path .. ";?.lua"
require "Pktgen"

-- A number of the environment; not set, or empty: the fallback. Pktgen goes on without its script
-- where that fails, and would not end.
local function number(name, fallback)
  local text = os.getenv(name)
  if text == nil or text == "" then return fallback end
  local value = tonumber(text)
  if value == nil then
    printf("tributary: %s=%s is not a number\n", name, text)
    pktgen.quit()
  end
  return value or fallback
end

local port = "0"
local frames = number("TRIBUTARY_FRAMES", 0)
local percent = number("TRIBUTARY_PERCENT", 100)
local seconds = number("TRIBUTARY_SECONDS", 30)

pktgen.screen("off")
pktgen.pcap(port, "on")
pktgen.set(port, "count", frames)
pktgen.set(port, "rate", percent)
pktgen.clr()
pktgen.start(port)
for _ = 1, seconds * 10 do
  pktgen.delay(100)
  if pktgen.isSending(port)[0] == "n" then break end
end
pktgen.stop(port)
pktgen.delay(1500)  -- its counters are read once a second

local stats = pktgen.portStats("all", "port")[0]
printf("tributary: sent %d, received %d, errors %d\n", stats.opackets, stats.ipackets, stats.oerrors)
pktgen.quit()
