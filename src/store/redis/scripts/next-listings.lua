-- Ids of the listings created after `after` and until `last`, oldest first: at most `limit`, and at most `max_bytes` of
-- rows except for the first. The first element is the time of the last id, empty without ids.
local created, listings = unpack(KEYS)
local after, last, limit, max_bytes = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local found = redis.call('ZRANGEBYSCORE', created, '(' .. after, last, 'WITHSCORES', 'LIMIT', 0, limit)
local answer = {''}
local bytes = 0
for n = 1, #found, 2 do
  bytes = bytes + redis.call('HSTRLEN', listings, found[n])
  if bytes > max_bytes and n > 1 then
    break
  end
  answer[#answer + 1] = found[n]
  answer[1] = found[n + 1]
end
return answer
