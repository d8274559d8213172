-- The id of the newest changelog entry, and how many publishers and keys there are (their ids run from 1).
-- An empty changelog gets a first entry, so that every position is that of an entry.
local log, publishers, keys = unpack(KEYS)

local newest = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
local id = newest and newest[1] or redis.call('XADD', log, next_time(log) .. '-0', 'start', '')
return {id, redis.call('HLEN', publishers), redis.call('HLEN', keys)}
