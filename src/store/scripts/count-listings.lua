-- Counts the listings of each publisher anew where the counts do not add up: a version that does not know them has
-- written here.
local listings, created, counts = unpack(KEYS)
local PAGE = 100

local counted = 0
for _, count in ipairs(redis.call('HVALS', counts)) do
  counted = counted + tonumber(count)
end
if counted == redis.call('HLEN', listings) then
  return 0
end
redis.call('DEL', counts)
local first = 0
repeat
  local ids = redis.call('ZRANGE', created, first, first + PAGE - 1)
  for _, row in ipairs(#ids > 0 and redis.call('HMGET', listings, unpack(ids)) or {}) do
    redis.call('HINCRBY', counts, string.match(row, '^[^\31]+'), 1)
  end
  first = first + PAGE
until #ids < PAGE
return 1
