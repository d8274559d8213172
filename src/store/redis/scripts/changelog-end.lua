-- Answers the id of the newest changelog entry and the numbers of publishers and keys, whose ids count from 1.
-- Adds a first entry to an empty changelog, so that every position is an entry's.
local log, publishers, keys = unpack(KEYS)

local newest = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
local id = newest and newest[1] or redis.call('XADD', log, next_time(log) .. '-0', 'start', '')
return {id, redis.call('HLEN', publishers), redis.call('HLEN', keys)}
