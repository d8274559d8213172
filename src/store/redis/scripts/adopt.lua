-- Renames the staged keys, the second half after the first two, to the store's, the first half. Answers 1; 0 if the
-- store has a publisher or an API key, the first two keys.
local names = (#KEYS - 2) / 2

if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then
  return 0
end
for n = 3, 2 + names do
  redis.call('DEL', KEYS[n])
  if redis.call('EXISTS', KEYS[n + names]) == 1 then
    redis.call('RENAME', KEYS[n + names], KEYS[n])
  end
end
return 1
