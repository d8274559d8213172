-- The bytes of each row of a hash; 0 for an id without one.
local sizes = {}
for n, id in ipairs(ARGV) do
  sizes[n] = redis.call('HSTRLEN', KEYS[1], id)
end
return sizes
