-- The ids of the listings created after one time and not after another, oldest first: at most `limit`, and not beyond
-- `max_bytes` of rows but for the first one. The first element is the time of the last id, or nothing without ids.
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
