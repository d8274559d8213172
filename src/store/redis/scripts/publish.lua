local use, use_expiry, forgotten_use, publishers, publisher_ids, listings, created, counts, log = unpack(KEYS)
local signature, body, expires_at, length, identity, listing_id, url, status = unpack(ARGV, 1, 8)
local expected, max_listings, frame_bytes, max_bytes = unpack(ARGV, 9, 12)
local FIRST_FIELD, FIRST_DEFAULT, FIELDS = 13, 18, 5
local is_url = url ~= 'null' and url ~= '""'

local earlier_body, earlier_answer = earlier_use(use, 'publish', listing_id)
local row = redis.call('HGET', listings, listing_id)
local listing = row and split(row)
if earlier_body == body then
  return listing and listing[4] == split(earlier_answer)[5] and earlier_answer or 'signature_reused'
end
local publisher_id = redis.call('HGET', publisher_ids, identity)
if listing and listing[1] ~= publisher_id then
  return 'not_owner'
end
local bound_url = redis.call('HGET', use, 'url')
if earlier_body or may_be_forgotten(forgotten_use, expires_at) or (bound_url and is_url and url ~= bound_url) then
  return 'signature_reused'
end

if not is_expected(expected, listing) then
  return 'changed'
end
if not listing and publisher_id and max_listings ~= '0' then
  local count = redis.call('HGET', counts, publisher_id) or '0'
  if tonumber(count) >= tonumber(max_listings) then
    return 'too_many_listings'
  end
end
local publisher = publisher_id and split(redis.call('HGET', publishers, publisher_id))
local shown_url = (is_url or not publisher) and url or publisher[3]
if not publisher then
  publisher_id = tostring(redis.call('HLEN', publishers) + 1)
end
if status == '' then
  status = listing and listing[2] or 'open'
end
local fields = {}
for n = 0, FIELDS - 1 do
  local field = ARGV[FIRST_FIELD + n]
  if field == '' then
    field = listing and listing[5 + n] or ARGV[FIRST_DEFAULT + n]
  end
  fields[1 + n] = field
end
if row_bytes(frame_bytes, publisher_id, shown_url, status, fields) > tonumber(max_bytes) then
  return 'too_large'
end

local at = next_time(log)
if not publisher then
  redis.call('HSET', publisher_ids, identity, publisher_id)
  redis.call('HSET', publishers, publisher_id, join(at, at, url, identity))
  append(log, length, at, 0, 'publisher', publisher_id)
elseif shown_url ~= publisher[3] then
  redis.call('HSET', publishers, publisher_id, join(publisher[1], at, url, identity))
  append(log, length, at, 0, 'publisher', publisher_id)
end
local created_at = listing and listing[3] or at
redis.call('HSET', listings, listing_id, join(publisher_id, status, created_at, at, unpack(fields)))
if not listing then
  redis.call('ZADD', created, at, listing_id)
  redis.call('HINCRBY', counts, publisher_id, 1)
end
append(log, length, at, 1, 'listing', listing_id)

local answer = join('published', publisher_id, status, created_at, at)
redis.call('HSETNX', use, 'url', is_url and url or 'null')
remember_use(use, use_expiry, signature, expires_at, join('publish', listing_id), join(body, answer))
return answer
