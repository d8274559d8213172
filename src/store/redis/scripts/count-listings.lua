-- Recounts the listings of each publisher where the counts do not add up: versions without counts have written here.
local listings, created, counts = unpack(KEYS)
local PAGE = 100

local counted = 0
for _, count in ipairs(redis.call('HVALS', counts)) do
  counted = counted + tonumber(count)
end
if counted == redis.call('HLEN', listings) then
  return 0
end
local count_of = {}
local first = 0
repeat
  local ids = redis.call('ZRANGE', created, first, first + PAGE - 1)
  for _, row in ipairs(#ids > 0 and redis.call('HMGET', listings, unpack(ids)) or {}) do
    local publisher_id = string.match(row, '^[^\31]+')
    count_of[publisher_id] = (count_of[publisher_id] or 0) + 1
  end
  first = first + PAGE
until #ids < PAGE
redis.call('DEL', counts)
for publisher_id, count in pairs(count_of) do
  redis.call('HSET', counts, publisher_id, count)
end
return 1
