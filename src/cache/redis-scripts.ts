/** What an entry takes up in Redis besides its value, roughly. */
export const OVERHEAD_BYTES = 256

/**
 * Keeps a field, and makes room: what is past its time goes, and beyond the budget what will be soonest.
 * Keys: the hash of fields, the sorted set of their ends, the sum of their bytes. Given: field, value, now, its end,
 * budget, life of the keys. All times in ms.
 */
export const KEEP = `
local fields, ends, bytes = KEYS[1], KEYS[2], KEYS[3]
local function size(field)
  local length = redis.call('HSTRLEN', fields, field)
  return length == 0 and 0 or length + ${OVERHEAD_BYTES}
end
local before = size(ARGV[1])
redis.call('HSET', fields, ARGV[1], ARGV[2])
redis.call('ZADD', ends, ARGV[4], ARGV[1])
local total = redis.call('INCRBY', bytes, size(ARGV[1]) - before)
while true do
  local first = redis.call('ZRANGE', ends, 0, 0, 'WITHSCORES')
  if #first == 0 or (total <= tonumber(ARGV[5]) and tonumber(first[2]) > tonumber(ARGV[3])) then break end
  total = redis.call('DECRBY', bytes, size(first[1]))
  redis.call('HDEL', fields, first[1])
  redis.call('ZREM', ends, first[1])
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[6]) end
return total`

/** Empties it, and marks it with a new generation. Keys: the same. Given: field, generation, life of the keys. */
export const DROP = `
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('PEXPIRE', KEYS[1], ARGV[3])`

/** Releases a lock if it is still ours: it may have expired and been taken by another replica. */
export const RELEASE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`
