-- Answers the new key's id and row; nothing if `only_first` is set and there has been a key.
local keys, log = unpack(KEYS)
local only_first, name, scope, hash, expires_at, length = unpack(ARGV)

local count = redis.call('HLEN', keys)
if only_first == '1' and count > 0 then
  return false
end
local id = tostring(count + 1)
local at = next_time(log)
local row = join(at, 'null', name, scope, hash, expires_at)
redis.call('HSET', keys, id, row)
append(log, length, at, 0, 'key', id)
return {id, row}
