-- Answers the key's row; nothing for an unknown id.
local keys, log = unpack(KEYS)
local id, length = unpack(ARGV)

local row = redis.call('HGET', keys, id)
if not row then
  return false
end
local key = split(row)
if key[2] ~= 'null' then
  return row
end
local at = next_time(log)
key[2] = at
row = table.concat(key, SEPARATOR)
redis.call('HSET', keys, id, row)
append(log, length, at, 0, 'key', id)
return row
