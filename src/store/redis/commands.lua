-- All steps in Redis that have to be atomic. KEYS begins with the keys of `keysUnder`; ARGV with the name of a command and
-- the length of the changelog. A row is a list of numbers, words and JSON texts, none of them empty, joined by U+001F,
-- which no JSON text contains. Times are decimal microseconds as text: Lua prints numbers with 14 digits.

local format, publishers, publisher_ids, listings, created, counts, keys, log, ping, use_expiry, forgotten_use,
  spent, replaced, blocks = unpack(KEYS)
local length = ARGV[2]
-- The last two are those of the audit log.
local OWN_KEYS = 16
-- Of a mutation: the uses of its signature, or the record of its request.
local use = KEYS[OWN_KEYS + 1]

local ROWS = {publisher = publishers, listing = listings, key = keys, block = blocks}
-- Begins the id of a block in an entry about a listing: to an older replica it is the removal of a listing that is not there, and no
-- listing has such an id.
local BLOCK = '\n'
local SEPARATOR = '\31'
local commands = {}

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

-- The time of the next mutation: the server's clock, at least 1 µs after the newest entry, whose id is its time.
local function next_time()
  local now = redis.call('TIME')
  local at = tonumber(now[1]) * 1000000 + tonumber(now[2])
  local newest = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
  if newest then
    at = math.max(at, tonumber(string.match(newest[1], '^%d+')) + 1)
  end
  return string.format('%.0f', at)
end

-- `order` numbers the entries of one mutation.
local function append(at, order, kind, id)
  redis.call('XADD', log, 'MAXLEN', '~', length, at .. '-' .. order, kind, id)
end

-- `expected` is the required `updated_at`, 'none' for no listing, or empty for any.
local function is_expected(expected, listing)
  return expected == '' or expected == (listing and listing[4] or 'none')
end

-- The last field. Rows without options end before it, as those of versions before 0.4.0 do.
local SETTLEMENT_OPTIONS = 6
local NO_OPTIONS = '[]'

-- Bytes of a listing's row on the wire. The frame is the row without these values, whose text is the same there.
local function row_bytes(frame_bytes, publisher_id, url, status, fields)
  local frame = fields[SETTLEMENT_OPTIONS] and #',"settlement_options":' or 0
  return tonumber(frame_bytes) + frame + #publisher_id + #url + #status + #table.concat(fields)
end

-- Whether signatures that expire by then may have been dropped.
local function may_be_dropped(expires_at)
  local latest = redis.call('GET', forgotten_use)
  return latest and tonumber(expires_at) <= tonumber(latest)
end

-- The id of the publisher that has the identity, or had it; `false` without one. Then whether the identity is active.
local function publisher_with(identity, now)
  local id = redis.call('HGET', publisher_ids, identity)
  if id then
    return id, true
  end
  local row = redis.call('HGET', replaced, identity)
  if not row then
    return false, true
  end
  local former_id, active_until = unpack(split(row))
  return former_id, tonumber(now) < tonumber(active_until)
end

-- The body of a write of the signed line, whose record has its own checks.
local REQUEST = ''

-- Answers a repeat, or why the signer may not change the listing. Otherwise nothing, the listing and the signer's id:
-- `false` for those that are not there. An answer ends with the time that the listing has until it changes.
local function check(operation, signature, body, expires_at, now, identity, listing_id)
  local row = redis.call('HGET', listings, listing_id)
  local listing = row and split(row)
  local earlier = redis.call('HGET', use, body == REQUEST and 'receipt' or join(operation, listing_id))
  if earlier and body == REQUEST then
    return earlier
  end
  local mark = earlier and string.find(earlier, SEPARATOR, 1, true)
  if earlier and string.sub(earlier, 1, mark - 1) == body then
    local answer = string.sub(earlier, mark + 1)
    local parts = split(answer)
    local updated_at = operation ~= 'remove' and parts[#parts]
    return (listing and listing[4]) == updated_at and answer or 'signature_reused'
  end
  local signer_id, is_active = publisher_with(identity, now)
  if not listing and operation ~= 'publish' then
    return 'not_found'
  end
  if operation == 'publish' and not is_active then
    return 'retired'
  end
  if listing and (listing[1] ~= signer_id or not is_active) then
    return 'not_owner'
  end
  if body ~= REQUEST and (earlier or may_be_dropped(expires_at) or redis.call('ZSCORE', spent, signature)) then
    return 'signature_reused'
  end
  return nil, listing, signer_id
end

-- A record that was spent meanwhile stays gone.
local function remember_receipt(receipt)
  if redis.call('EXISTS', use) == 1 then
    redis.call('HSET', use, 'receipt', receipt)
  end
  return receipt
end

-- The key does not expire in Redis: a use is forgotten by the clock that accepts signatures.
local function remember_use(operation, signature, body, expires_at, listing_id, answer)
  if body == REQUEST then
    return remember_receipt(answer)
  end
  redis.call('HSET', use, join(operation, listing_id), join(body, answer))
  redis.call('ZADD', use_expiry, expires_at, signature)
  return answer
end

-- Whether a signature that has published is refused for another listing: a captured one may change no other listing of its
-- publisher. Uses of older versions have no `first`.
local function is_captured(now, key_id, shared_time)
  local first = redis.call('HGET', use, 'first')
  if not first then
    return false
  end
  local used_at, first_key_id = unpack(split(first))
  if key_id ~= 'null' and first_key_id ~= 'null' then
    return key_id ~= first_key_id
  end
  return math.abs(tonumber(now) - tonumber(used_at)) > tonumber(shared_time)
end

function commands.publish(signature, body, expires_at, now, identity, listing_id, url, status, expected, max_listings,
  frame_bytes, max_bytes, key_id, shared_time, ...)
  local FIELDS = 6
  local given = {...}
  local is_url = url ~= 'null' and url ~= '""'

  local answer, listing, publisher_id = check('publish', signature, body, expires_at, now, identity, listing_id)
  if answer then
    return answer
  end
  local bound_url = redis.call('HGET', use, 'url')
  if (bound_url and is_url and url ~= bound_url) or is_captured(now, key_id, shared_time) then
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
  -- Six fields, empty to keep them, and the same six of a new listing.
  local fields = {}
  for n = 1, FIELDS do
    fields[n] = given[n] ~= '' and given[n] or listing and listing[4 + n] or given[FIELDS + n]
  end
  if fields[SETTLEMENT_OPTIONS] == NO_OPTIONS then
    fields[SETTLEMENT_OPTIONS] = nil
  end
  if row_bytes(frame_bytes, publisher_id, shown_url, status, fields) > tonumber(max_bytes) then
    return 'too_large'
  end

  local at = next_time()
  if not publisher then
    redis.call('HSET', publisher_ids, identity, publisher_id)
    redis.call('HSET', publishers, publisher_id, join(at, at, url, identity))
    append(at, 0, 'publisher', publisher_id)
  elseif shown_url ~= publisher[3] then
    redis.call('HSET', publishers, publisher_id, join(publisher[1], at, url, unpack(publisher, 4)))
    append(at, 0, 'publisher', publisher_id)
  end
  local created_at = listing and listing[3] or at
  redis.call('HSET', listings, listing_id, join(publisher_id, status, created_at, at, unpack(fields)))
  if not listing then
    redis.call('ZADD', created, at, listing_id)
    redis.call('HINCRBY', counts, publisher_id, 1)
  end
  append(at, 1, 'listing', listing_id)

  if not bound_url and body ~= REQUEST then
    redis.call('HSET', use, 'url', is_url and url or 'null', 'first', join(now, key_id))
  end
  answer = join('published', publisher_id, status, created_at, at)
  return remember_use('publish', signature, body, expires_at, listing_id, answer)
end

function commands.update(signature, body, expires_at, now, identity, listing_id, status, oracle_address, expected,
  frame_bytes, max_bytes)
  local answer, listing = check('update', signature, body, expires_at, now, identity, listing_id)
  if answer then
    return answer
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
  local at = next_time()
  listing[4] = at
  redis.call('HSET', listings, listing_id, table.concat(listing, SEPARATOR))
  append(at, 0, 'listing', listing_id)
  return remember_use('update', signature, body, expires_at, listing_id, join('updated', listing[2], at))
end

function commands.remove(signature, body, expires_at, now, identity, listing_id)
  local answer, listing = check('remove', signature, body, expires_at, now, identity, listing_id)
  if answer then
    return answer
  end
  redis.call('HDEL', listings, listing_id)
  redis.call('ZREM', created, listing_id)
  redis.call('HINCRBY', counts, listing[1], -1)
  append(next_time(), 0, 'listing', listing_id)
  return remember_use('remove', signature, body, expires_at, listing_id, 'removed')
end

-- Begins a write of the signed line. Answers how, and the answer of one that was settled.
function commands.reserve(request, hash, expires_at, now, lease_time)
  local earlier_hash, answer, leased_until = unpack(redis.call('HMGET', use, 'request', 'answer', 'lease'))
  if not earlier_hash and (may_be_dropped(expires_at) or redis.call('ZSCORE', spent, request)) then
    return {'changed_reuse'}
  end
  local known_until = redis.call('ZSCORE', use_expiry, request)
  if earlier_hash and (earlier_hash ~= hash or tonumber(known_until) <= tonumber(now)) then
    return {'changed_reuse'}
  end
  redis.call('ZADD', use_expiry, 'GT', expires_at, request)
  if answer then
    return {'answered', answer}
  end
  -- A clock that was set back makes no lease longer.
  local left = leased_until and tonumber(leased_until) - tonumber(now) or 0
  if left > 0 and left <= tonumber(lease_time) then
    return {'in_progress'}
  end
  redis.call('HSET', use, 'request', hash, 'lease', string.format('%.0f', tonumber(now) + tonumber(lease_time)))
  return {'reserved'}
end

-- Keeps the first answer. An empty one lets the next try begin at once.
function commands.settle(answer)
  redis.call('HDEL', use, 'lease')
  if answer ~= '' and redis.call('EXISTS', use) == 1 then
    redis.call('HSETNX', use, 'answer', answer)
  end
end

-- Gives a publisher these rotations and this identity, which may be the one that it has, in place of `former`. Answers
-- `changed` if the publisher's row is not `expected`, `bound` if a publisher has or had the identity, or the receipt.
function commands.rebind(publisher_id, expected, former, active_until, identity, rotations, receipt)
  local earlier = redis.call('HGET', use, 'receipt')
  if earlier then
    return earlier
  end
  if redis.call('HGET', publishers, publisher_id) ~= expected then
    return 'changed'
  end
  if not redis.call('HGET', publisher_ids, identity) then
    if publisher_with(identity, 0) then
      return 'bound'
    end
    redis.call('HDEL', publisher_ids, former)
    redis.call('HSET', publisher_ids, identity, publisher_id)
  elseif redis.call('HGET', publisher_ids, identity) ~= publisher_id then
    return 'bound'
  end
  redis.call('HSET', replaced, former, join(publisher_id, active_until))
  local at = next_time()
  local created_at, _, url = unpack(split(expected))
  redis.call('HSET', publishers, publisher_id, join(created_at, at, url, identity, rotations))
  append(at, 0, 'publisher', publisher_id)
  return remember_receipt(receipt)
end

-- Forgets the uses of signatures, which are spent; the keys of the uses follow the store's, in the same order. Drops the spent
-- signatures that expire first if there are more than `kept`, and records the latest expiry of those.
function commands.spend(kept, ...)
  for n, signature in ipairs({...}) do
    local expires_at = redis.call('ZSCORE', use_expiry, signature)
    if expires_at then
      redis.call('ZREM', use_expiry, signature)
      redis.call('DEL', KEYS[OWN_KEYS + n])
      redis.call('ZADD', spent, expires_at, signature)
    end
  end
  local excess = redis.call('ZCARD', spent) - tonumber(kept)
  if excess > 0 then
    local latest = redis.call('ZRANGE', spent, excess - 1, excess - 1, 'WITHSCORES')[2]
    redis.call('ZREMRANGEBYRANK', spent, 0, excess - 1)
    if not may_be_dropped(latest) then
      redis.call('SET', forgotten_use, string.format('%.0f', tonumber(latest)))
    end
  end
end

-- Answers the new key's id and row; nothing if `only_first` is set and there has been a key.
function commands.add_key(only_first, name, scope, hash, expires_at, view)
  local count = redis.call('HLEN', keys)
  if only_first == '1' and count > 0 then
    return false
  end
  local id = tostring(count + 1)
  local at = next_time()
  local row = join(at, 'null', name, scope, hash, expires_at, view)
  redis.call('HSET', keys, id, row)
  append(at, 0, 'key', id)
  return {id, row}
end

-- Adds a key, and lets another expire then or before. Answers the new key's id and row; nothing where that one is unknown or revoked.
function commands.replace_key(id, ends_at, ...)
  local row = redis.call('HGET', keys, id)
  local key = row and split(row)
  if not row or key[2] ~= 'null' then
    return false
  end
  local expires_at = key[6] or 'null'
  if expires_at == 'null' or tonumber(expires_at) > tonumber(ends_at) then
    key[6] = ends_at
    key[7] = key[7] or 'null'
    redis.call('HSET', keys, id, table.concat(key, SEPARATOR))
  end
  append(next_time(), 0, 'key', id)
  return commands.add_key('0', ...)
end

-- Answers the key's row; nothing for an unknown id.
function commands.revoke_key(id)
  local row = redis.call('HGET', keys, id)
  local key = row and split(row)
  if not row or key[2] ~= 'null' then
    return row
  end
  local at = next_time()
  key[2] = at
  row = table.concat(key, SEPARATOR)
  -- Out of memory, Redis refuses a script whose first write adds: a leaked key has to be revocable even then.
  redis.call('HDEL', keys, id)
  redis.call('HSET', keys, id, row)
  append(at, 0, 'key', id)
  return row
end

-- Answers the new block's id and row.
function commands.add_block(until_at, content)
  local id = tostring(redis.call('HLEN', blocks) + 1)
  local at = next_time()
  local row = join(at, 'null', until_at, content)
  redis.call('HSET', blocks, id, row)
  append(at, 0, 'listing', BLOCK .. id)
  return {id, row}
end

-- Answers the block's row; nothing for an unknown id. With `only_if_due` it ends only where its time is up.
function commands.end_block(id, only_if_due)
  local row = redis.call('HGET', blocks, id)
  local block = row and split(row)
  if not row or block[2] ~= 'null' then
    return row
  end
  local at = next_time()
  if only_if_due == '1' and (block[3] == 'null' or tonumber(block[3]) > tonumber(at)) then
    return row
  end
  block[2] = at
  row = table.concat(block, SEPARATOR)
  redis.call('HSET', blocks, id, row)
  append(at, 0, 'listing', BLOCK .. id)
  return row
end

-- Answers the id of the newest changelog entry, the numbers of publishers, keys and blocks, whose ids count from 1, and 1 if
-- listings and publishers are as many as their indexes name: a Redis that evicts drops whole keys. Adds a first entry to
-- an empty changelog, so that every position is an entry's, and the version of the layout to a Redis that was emptied.
function commands.changelog_end(layout)
  local newest = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
  if redis.call('EXISTS', format) == 0 then
    redis.call('SET', format, layout)
  end
  local id = newest and newest[1] or redis.call('XADD', log, next_time() .. '-0', 'start', '')
  local publisher_count = redis.call('HLEN', publishers)
  local is_whole = redis.call('HLEN', listings) == redis.call('ZCARD', created)
    and publisher_count == redis.call('HLEN', publisher_ids)
  return {id, publisher_count, redis.call('HLEN', keys), redis.call('HLEN', blocks), is_whole}
end

-- Reads at most `limit` changelog entries after a position with their current rows, until the rows have `max_bytes`.
-- Answers the id of the last entry read, 1 if there are more, and kind, id and row (or nothing) of each change; `lost`
-- if the entry at the position is gone. Entries overtaken by a later one of the same listing are left out: the
-- listing's publisher may not be known yet.
function commands.changes(position, limit, max_bytes)
  local UPDATED_AT = '^[^\31]+\31[^\31]+\31[^\31]+\31([^\31]+)'
  -- A demoted master still answers reads, without later writes. Only a write reveals that.
  local written = redis.pcall('DEL', ping)
  if type(written) == 'table' and written.err and string.find(written.err, 'READONLY', 1, true) then
    return written
  end

  local entries = redis.call('XRANGE', log, position, '+', 'COUNT', limit + 2)
  if #entries == 0 or entries[1][1] ~= position then
    return 'lost'
  end
  local answer = {position, 0}
  local bytes, n = 0, 2
  while n <= #entries and n <= limit + 1 and bytes < tonumber(max_bytes) do
    local at = string.match(entries[n][1], '^%d+')
    local kind, id = unpack(entries[n][2])
    if kind == 'listing' and string.sub(id, 1, 1) == BLOCK then
      kind, id = 'block', string.sub(id, 2)
    end
    local row = redis.call('HGET', ROWS[kind], id)
    if kind ~= 'listing' or not row or at == string.match(row, UPDATED_AT) then
      answer[#answer + 1] = kind
      answer[#answer + 1] = id
      answer[#answer + 1] = row
      bytes = bytes + (row and #row or 0)
    end
    answer[1] = entries[n][1]
    n = n + 1
  end
  answer[2] = n <= #entries and 1 or 0
  return answer
end

-- Publishers or keys, from id `first` to `last`: at most `max_bytes` of rows, except for the first.
function commands.rows(kind, first, last, max_bytes)
  local rows = {}
  local bytes = 0
  for id = tonumber(first), tonumber(last) do
    local row = redis.call('HGET', ROWS[kind], tostring(id))
    bytes = bytes + (row and #row or 0)
    if bytes > tonumber(max_bytes) and #rows > 0 then
      break
    end
    rows[#rows + 1] = row
  end
  return rows
end

-- Ids of the listings created after `after` and until `last`, oldest first: at most `limit`, and at most `max_bytes` of
-- rows except for the first. The first element is the time of the last id, empty without ids.
function commands.next_listings(after, last, limit, max_bytes)
  local found = redis.call('ZRANGEBYSCORE', created, '(' .. after, last, 'WITHSCORES', 'LIMIT', 0, limit)
  local answer = {''}
  local bytes = 0
  for n = 1, #found, 2 do
    bytes = bytes + redis.call('HSTRLEN', listings, found[n])
    if bytes > tonumber(max_bytes) and n > 1 then
      break
    end
    answer[#answer + 1] = found[n]
    answer[1] = found[n + 1]
  end
  return answer
end

-- Recounts the listings of each publisher where the counts do not add up: versions without counts have written here.
function commands.count_listings()
  local PAGE = 100
  local counted = 0
  for _, count in ipairs(redis.call('HVALS', counts)) do
    counted = counted + tonumber(count)
  end
  if counted == redis.call('HLEN', listings) then
    return
  end
  local count_of = {}
  local first = 0
  repeat
    local ids = redis.call('ZRANGE', created, first, first + PAGE - 1)
    for _, row in ipairs(#ids > 0 and redis.call('HMGET', listings, unpack(ids)) or {}) do
      local publisher_id = row and string.match(row, '^[^\31]+')
      if publisher_id then
        count_of[publisher_id] = (count_of[publisher_id] or 0) + 1
      end
    end
    first = first + PAGE
  until #ids < PAGE
  redis.call('DEL', counts)
  for publisher_id, count in pairs(count_of) do
    redis.call('HSET', counts, publisher_id, count)
  end
end

-- Renames the staged keys, which are the last, to the store's. Answers `adopted`; `replaced` if a copy began after this
-- one, whose id is in the key after the store's; `occupied` if the store has a publisher, an API key or a block.
function commands.adopt(copy)
  local latest = KEYS[OWN_KEYS + 1]
  if redis.call('GET', latest) ~= copy then
    return 'replaced'
  end
  if redis.call('EXISTS', publishers, keys, blocks) > 0 then
    return 'occupied'
  end
  redis.call('DEL', latest)
  for n = 1, OWN_KEYS do
    local staged = KEYS[OWN_KEYS + 1 + n]
    redis.call('DEL', KEYS[n])
    if redis.call('EXISTS', staged) == 1 then
      redis.call('RENAME', staged, KEYS[n])
    end
  end
  return 'adopted'
end

return commands[ARGV[1]](unpack(ARGV, 3))
