-- Precedes every script. A row is a list of numbers, words and JSON texts, none of them empty, joined by U+001F, which
-- no JSON text contains. Times are decimal microseconds as text: Lua prints numbers with 14 digits.

local SEPARATOR = '\31'

local function join(...)
  return table.concat({...}, SEPARATOR)
end

local function split(row)
  local parts = {}
  for part in string.gmatch(row, '[^\31]+') do
    parts[#parts + 1] = part
  end
  return parts
end

-- `expected` is the required `updated_at`, 'none' for no listing, or empty for any.
local function is_expected(expected, listing)
  return expected == '' or expected == (listing and listing[4] or 'none')
end

-- Bytes of a listing's row on the wire. The frame is the row without these values, whose text is the same there.
local function row_bytes(frame_bytes, publisher_id, url, status, fields)
  return tonumber(frame_bytes) + #publisher_id + #url + #status + #table.concat(fields)
end

-- The time of the next mutation: the server's clock, at least 1 µs after the newest entry, whose id is its time.
local function next_time(log)
  local now = redis.call('TIME')
  local at = tonumber(now[1]) * 1000000 + tonumber(now[2])
  local newest = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
  if newest then
    at = math.max(at, tonumber(string.match(newest[1], '^%d+')) + 1)
  end
  return string.format('%.0f', at)
end

-- `order` numbers the entries of one mutation.
local function append(log, length, at, order, kind, id)
  redis.call('XADD', log, 'MAXLEN', '~', length, at .. '-' .. order, kind, id)
end

-- Body and answer of the earlier use; nothing without one.
local function earlier_use(use, operation, listing_id)
  local value = redis.call('HGET', use, join(operation, listing_id))
  if value then
    local mark = string.find(value, SEPARATOR, 1, true)
    return string.sub(value, 1, mark - 1), string.sub(value, mark + 1)
  end
end

-- Whether an unknown use may be a forgotten one.
local function may_be_forgotten(forgotten_use, expires_at)
  local latest = redis.call('GET', forgotten_use)
  return latest and tonumber(expires_at) <= tonumber(latest)
end

-- Why the signer may not change the listing; nothing where it may. `signer_id` is the publisher that signed.
local function refusal(listing, signer_id, is_reused)
  if not listing then
    return 'not_found'
  end
  if listing[1] ~= signer_id then
    return 'not_owner'
  end
  return is_reused and 'signature_reused' or nil
end

-- The key does not expire in Redis: a use is forgotten by the clock that accepts signatures.
local function remember_use(use, use_expiry, signature, expires_at, field, value)
  redis.call('HSET', use, field, value)
  redis.call('ZADD', use_expiry, expires_at, signature)
end
