local use, use_expiry, forgotten_use, publishers, publisher_ids, listings, log = unpack(KEYS)
local signature, body, expires_at, length, identity, listing_id, status, oracle_address = unpack(ARGV, 1, 8)
local expected, frame_bytes, max_bytes = unpack(ARGV, 9, 11)

local earlier_body, earlier_answer = earlier_use(use, 'update', listing_id)
local row = redis.call('HGET', listings, listing_id)
local listing = row and split(row)
if earlier_body == body then
  return listing and listing[4] == split(earlier_answer)[3] and earlier_answer or 'signature_reused'
end
local is_reused = earlier_body or may_be_forgotten(forgotten_use, expires_at)
local refused = refusal(listing, redis.call('HGET', publisher_ids, identity), is_reused)
if refused then
  return refused
end
if not is_expected(expected, listing) then
  return 'changed'
end

if status ~= '' then
  listing[2] = status
end
if oracle_address ~= '' then
  listing[9] = oracle_address
  local url = split(redis.call('HGET', publishers, listing[1]))[3]
  if row_bytes(frame_bytes, listing[1], url, listing[2], {unpack(listing, 5)}) > tonumber(max_bytes) then
    return 'too_large'
  end
end
local at = next_time(log)
listing[4] = at
redis.call('HSET', listings, listing_id, table.concat(listing, SEPARATOR))
append(log, length, at, 0, 'listing', listing_id)

local answer = join('updated', listing[2], at)
remember_use(use, use_expiry, signature, expires_at, join('update', listing_id), join(body, answer))
return answer
