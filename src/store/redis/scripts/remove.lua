local use, use_expiry, forgotten_use, publisher_ids, listings, created, counts, log = unpack(KEYS)
local signature, body, expires_at, length, identity, listing_id = unpack(ARGV)

local earlier_body = earlier_use(use, 'remove', listing_id)
local row = redis.call('HGET', listings, listing_id)
if earlier_body == body then
  return row and 'signature_reused' or 'removed'
end
if not row then
  return 'not_found'
end
local publisher_id = split(row)[1]
if publisher_id ~= redis.call('HGET', publisher_ids, identity) then
  return 'not_owner'
end
if earlier_body or may_be_forgotten(forgotten_use, expires_at) then
  return 'signature_reused'
end

redis.call('HDEL', listings, listing_id)
redis.call('ZREM', created, listing_id)
redis.call('HINCRBY', counts, publisher_id, -1)
append(log, length, next_time(log), 0, 'listing', listing_id)
remember_use(use, use_expiry, signature, expires_at, join('remove', listing_id), join(body, 'removed'))
return 'removed'
