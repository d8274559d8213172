-- How many rows of a hash, from the id `first` to the id `last`, have at most `max_bytes` together; 1 at least.
local first, last, max_bytes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local bytes = 0
for id = first, last do
  bytes = bytes + redis.call('HSTRLEN', KEYS[1], tostring(id))
  if bytes > max_bytes and id > first then
    return id - first
  end
end
return last - first + 1
