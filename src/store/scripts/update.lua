local publisher_ids, listings, log, use = unpack(KEYS)
local identity, listing_id, status, oracle_address, body, expires_at, length = unpack(ARGV)

local earlier_body, earlier_answer = earlier_use(use, 'update', listing_id)
if earlier_body == body then
  return earlier_answer
end
local row = redis.call('HGET', listings, listing_id)
if not row then
  return 'not_found'
end
local listing = split(row)
if listing[1] ~= redis.call('HGET', publisher_ids, identity) then
  return 'not_owner'
end
if earlier_body then
  return 'signature_reused'
end

local at = next_time(log)
if status ~= '' then
  listing[2] = status
end
listing[4] = at
if oracle_address ~= '' then
  listing[9] = oracle_address
end
redis.call('HSET', listings, listing_id, table.concat(listing, SEPARATOR))
append(log, length, at, 0, 'listing', listing_id)

local answer = join('updated', listing[2], at)
remember_use(use, 'update', listing_id, body, answer, expires_at)
return answer
