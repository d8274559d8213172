-- Reads at most `limit` changelog entries behind a position, each with the row that is current now. Answers the id of
-- the last entry read, how many were read, and kind, id and row (or nothing) of each change; `lost` where the entry
-- at the position is gone. An entry that a later one of the same listing has overtaken is left out: the listing's
-- publisher may not be known yet.
local log, publishers, listings, keys = unpack(KEYS)
local position, limit = ARGV[1], tonumber(ARGV[2])
local ROWS = {publisher = publishers, listing = listings, key = keys}
local UPDATED_AT = '^[^\31]+\31[^\31]+\31[^\31]+\31([^\31]+)'

local entries = redis.call('XRANGE', log, position, '+', 'COUNT', limit + 1)
if #entries == 0 or entries[1][1] ~= position then
  return 'lost'
end
local answer = {entries[#entries][1], #entries - 1}
for n = 2, #entries do
  local at = string.match(entries[n][1], '^%d+')
  local kind, id = unpack(entries[n][2])
  local row = redis.call('HGET', ROWS[kind], id)
  if kind ~= 'listing' or not row or at == string.match(row, UPDATED_AT) then
    answer[#answer + 1] = kind
    answer[#answer + 1] = id
    answer[#answer + 1] = row
  end
end
return answer
