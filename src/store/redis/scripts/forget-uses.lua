-- Forgets signatures; their keys follow the first two, in the same order. Records the latest forgotten expiry, so that a
-- clock that is set back changes nothing.
local use_expiry, forgotten_use = unpack(KEYS, 1, 2)
local FIRST_USE = 3

for n, signature in ipairs(ARGV) do
  local expires_at = redis.call('ZSCORE', use_expiry, signature)
  if expires_at then
    redis.call('ZREM', use_expiry, signature)
    redis.call('DEL', KEYS[FIRST_USE + n - 1])
    if not may_be_forgotten(forgotten_use, expires_at) then
      redis.call('SET', forgotten_use, string.format('%.0f', tonumber(expires_at)))
    end
  end
end
