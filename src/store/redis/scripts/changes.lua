-- Reads at most `limit` changelog entries after a position with their current rows, until the rows have `max_bytes`.
-- Answers the id of the last entry read, 1 if there are more, and kind, id and row (or nothing) of each change; `lost`
-- if the entry at the position is gone. Entries overtaken by a later one of the same listing are left out: the
-- listing's publisher may not be known yet.
local log, publishers, listings, keys, ping = unpack(KEYS)
local position, limit, max_bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local ROWS = {publisher = publishers, listing = listings, key = keys}
local UPDATED_AT = '^[^\31]+\31[^\31]+\31[^\31]+\31([^\31]+)'

-- A demoted master still answers reads, without later writes. Only a write reveals that.
local written = redis.pcall('DEL', ping)
if type(written) == 'table' and written.err and string.find(written.err, 'READONLY', 1, true) then
  return written
end

local entries = redis.call('XRANGE', log, position, '+', 'COUNT', limit + 2)
if #entries == 0 or entries[1][1] ~= position then
  return 'lost'
end
local answer = {position, 0}
local bytes, n = 0, 2
while n <= #entries and n <= limit + 1 and bytes < max_bytes do
  local at = string.match(entries[n][1], '^%d+')
  local kind, id = unpack(entries[n][2])
  local row = redis.call('HGET', ROWS[kind], id)
  if kind ~= 'listing' or not row or at == string.match(row, UPDATED_AT) then
    answer[#answer + 1] = kind
    answer[#answer + 1] = id
    answer[#answer + 1] = row
    bytes = bytes + (row and #row or 0)
  end
  answer[1] = entries[n][1]
  n = n + 1
end
answer[2] = n <= #entries and 1 or 0
return answer
