-- How many rows of a hash, from id `first` to `last`, fit into `max_bytes`; at least 1.
local first, last, max_bytes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local bytes = 0
for id = first, last do
  bytes = bytes + redis.call('HSTRLEN', KEYS[1], tostring(id))
  if bytes > max_bytes and id > first then
    return id - first
  end
end
return last - first + 1
