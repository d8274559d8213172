-- Put before every script. A row is a list of numbers, words and JSON texts, none of them empty, joined by U+001F,
-- which no JSON text can hold. Times are decimal microseconds, kept as text: Lua would print them in 14 digits.

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

-- Whether a command is for this listing, or none: `expected` is its time, 'none', or empty for any.
local function is_expected(expected, listing)
  return expected == '' or expected == (listing and listing[4] or 'none')
end

-- The bytes of a listing's row on the wire. The frame is all but these values, whose text is the same on the wire.
local function row_bytes(frame_bytes, publisher_id, url, status, fields)
  return tonumber(frame_bytes) + #publisher_id + #url + #status + #table.concat(fields)
end

-- The time of one more mutation: the server's clock, or just past the newest entry where the clock is not beyond it.
-- An entry's id is its mutation's time, so the changelog is also the clock.
local function next_time(log)
  local now = redis.call('TIME')
  local at = tonumber(now[1]) * 1000000 + tonumber(now[2])
  local newest = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
  if newest then
    at = math.max(at, tonumber(string.match(newest[1], '^%d+')) + 1)
  end
  return string.format('%.0f', at)
end

-- `order` tells apart the entries of one mutation.
local function append(log, length, at, order, kind, id)
  redis.call('XADD', log, 'MAXLEN', '~', length, at .. '-' .. order, kind, id)
end

-- What the signature was used for before: the body and the answer, or nothing.
local function earlier_use(use, operation, listing_id)
  local value = redis.call('HGET', use, join(operation, listing_id))
  if value then
    local mark = string.find(value, SEPARATOR, 1, true)
    return string.sub(value, 1, mark - 1), string.sub(value, mark + 1)
  end
end

-- Whether a use that is not known may be one that was forgotten.
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

-- The key has no expiry of its own: only the clock that accepts signatures says when one may be forgotten.
local function remember_use(use, use_expiry, signature, expires_at, field, value)
  redis.call('HSET', use, field, value)
  redis.call('ZADD', use_expiry, expires_at, signature)
end
