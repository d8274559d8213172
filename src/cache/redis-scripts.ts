export const OVERHEAD_BYTES = 256

/**
 * Stores a field, then evicts expired fields and, beyond the budget, those that expire next. Times in ms.
 * KEYS: hash of fields, sorted set of ends, sum of bytes. ARGV: field, value, now, end, budget, life of KEYS.
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

/** Empties the group under a new generation. KEYS: the same. ARGV: field, generation, life. */
export const DROP = `
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('PEXPIRE', KEYS[1], ARGV[3])`

/** Releases the lock only if it is ours: it may have expired and been taken by another replica. */
export const RELEASE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`
