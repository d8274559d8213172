local use, use_expiry, forgotten_use, publisher_ids, listings, created, counts, log = unpack(KEYS)
local signature, body, expires_at, length, identity, listing_id = unpack(ARGV)

local earlier_body = earlier_use(use, 'remove', listing_id)
local row = redis.call('HGET', listings, listing_id)
local listing = row and split(row)
if earlier_body == body then
  return listing and 'signature_reused' or 'removed'
end
local is_reused = earlier_body or may_be_forgotten(forgotten_use, expires_at)
local refused = refusal(listing, redis.call('HGET', publisher_ids, identity), is_reused)
if refused then
  return refused
end

redis.call('HDEL', listings, listing_id)
redis.call('ZREM', created, listing_id)
redis.call('HINCRBY', counts, listing[1], -1)
append(log, length, next_time(log), 0, 'listing', listing_id)
remember_use(use, use_expiry, signature, expires_at, join('remove', listing_id), join(body, 'removed'))
return 'removed'
