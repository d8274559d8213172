local publisher_ids, listings, created, log, use = unpack(KEYS)
local identity, listing_id, body, expires_at, length = unpack(ARGV)

local earlier_body, earlier_answer = earlier_use(use, 'remove', listing_id)
if earlier_body == body then
  return earlier_answer
end
local row = redis.call('HGET', listings, listing_id)
if not row then
  return 'not_found'
end
if split(row)[1] ~= redis.call('HGET', publisher_ids, identity) then
  return 'not_owner'
end
if earlier_body then
  return 'signature_reused'
end

redis.call('HDEL', listings, listing_id)
redis.call('ZREM', created, listing_id)
append(log, length, next_time(log), 0, 'listing', listing_id)
remember_use(use, 'remove', listing_id, body, 'removed', expires_at)
return 'removed'
