-- Ids and rows of the listings created after one time and not after another, oldest first.
local listings, created = unpack(KEYS)
local after, last, limit = unpack(ARGV)

local ids = redis.call('ZRANGEBYSCORE', created, '(' .. after, last, 'LIMIT', 0, limit)
if #ids == 0 then
  return {ids, ids}
end
return {ids, redis.call('HMGET', listings, unpack(ids))}
