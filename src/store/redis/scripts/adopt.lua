-- Renames the staged keys, the second half after the first three, to the store's, the first half. Answers `adopted`;
-- `replaced` if a copy began after this one, whose id is in the first key; `occupied` if the store has a publisher or an
-- API key, the next two keys.
local names = (#KEYS - 3) / 2

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 'replaced'
end
if redis.call('EXISTS', KEYS[2], KEYS[3]) > 0 then
  return 'occupied'
end
redis.call('DEL', KEYS[1])
for n = 4, 3 + names do
  redis.call('DEL', KEYS[n])
  if redis.call('EXISTS', KEYS[n + names]) == 1 then
    redis.call('RENAME', KEYS[n + names], KEYS[n])
  end
end
return 'adopted'
