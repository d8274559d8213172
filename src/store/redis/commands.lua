-- Rows of spaces, each a hash of rows by key and a sorted set of keys by time. A row is time of creation, time and value, joined by
-- U+001F. Times are decimal microseconds as text: Lua prints numbers with 14 digits. KEYS: the version of the layout, the log of
-- commits, a key that pings write, a hash of bytes by space, then hash and sorted set of each space. ARGV names a command.

local format, log, ping, bytes = unpack(KEYS, 1, 4)
local commands = {}

-- Spaces are numbered from 1.
local function rows(space)
  return KEYS[3 + 2 * space]
end

local function order(space)
  return KEYS[4 + 2 * space]
end

local function text(time)
  return string.format('%.0f', time)
end

-- The time of the latest commit, which is the id of its entry; 0 before the first.
local function newest()
  local entry = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
  return entry and tonumber(string.match(entry[1], '^%d+')) or 0
end

-- Answers a time, that of the latest commit, and the rows of these spaces and keys.
function commands.get()
  local now, latest = redis.call('TIME'), newest()
  local answer = {text(math.max(tonumber(now[1]) * 1000000 + tonumber(now[2]), latest + 1)), text(latest)}
  for n = 2, #ARGV, 2 do
    answer[#answer + 1] = redis.call('HGET', rows(ARGV[n]), ARGV[n + 1])
  end
  return answer
end

-- ARGV: time of the latest commit that was read, first and last time of the puts, entries of the log that are kept, version of the
-- layout, channel; space, key, row (empty: goes) and time of each put.
function commands.commit()
  local latest, first, last, kept, layout, channel = unpack(ARGV, 2, 7)
  if tonumber(latest) ~= newest() then
    return 'conflict'
  end
  local known, spaces = {}, {}
  local function put(n, before)
    local space, key, row, at = unpack(ARGV, n, n + 3)
    if row == '' then
      redis.call('HDEL', rows(space), key)
      redis.call('ZREM', order(space), key)
    else
      redis.call('HSET', rows(space), key, row)
      redis.call('ZADD', order(space), at, key)
    end
    local size = (row == '' and 0 or #key + #row) - (before == 0 and 0 or #key + before)
    redis.call('HINCRBY', bytes, space, size)
    spaces[space] = true
  end
  for n = 8, #ARGV, 4 do
    local before = redis.call('HSTRLEN', rows(ARGV[n]), ARGV[n + 1])
    if before > 0 then
      known[#known + 1] = {n, before}
    elseif ARGV[n + 2] ~= '' then
      put(n, 0)
    end
  end
  -- Out of memory, Redis refuses a script whose first write adds, and a leaked key has to be revocable even then.
  for _, one in ipairs(known) do
    redis.call('HDEL', rows(ARGV[one[1]]), ARGV[one[1] + 1])
    put(one[1], one[2])
  end
  redis.call('SETNX', format, layout)
  redis.call('XADD', log, 'MAXLEN', '~', kept, last .. '-0', 'first', first)
  local changed = {}
  for space in pairs(spaces) do
    changed[#changed + 1] = space
  end
  redis.pcall('PUBLISH', channel, table.concat(changed, ' '))
  return 'committed'
end

local function size_of(space)
  return redis.call('HLEN', rows(space)), tonumber(redis.call('HGET', bytes, space) or '0')
end

-- A Redis that evicts drops whole keys.
local function is_whole(space)
  local count, total = size_of(space)
  return count == redis.call('ZCARD', order(space)) and (count > 0) == (total > 0)
end

-- ARGV: a time (empty: the newest rows), most rows and most bytes of each space, then spaces. Answers the time of the latest commit, 1
-- if the time is 0 or in a commit that is known, the newest time, number and bytes of rows of the spaces; then for each space 1 if it
-- has more, how many rows follow, and key and row of each.
function commands.after()
  local at, limit, most = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
  -- A demoted master still answers reads, without later writes. Only a write reveals that.
  local written = redis.pcall('DEL', ping)
  if type(written) == 'table' and written.err and string.find(written.err, 'READONLY', 1, true) then
    return written
  end
  for space = 1, at == '0' and (#KEYS - 4) / 2 or 0 do
    if not is_whole(space) then
      return redis.error_reply('LACKS rows')
    end
  end
  local commit = at ~= '' and redis.call('XRANGE', log, at, '+', 'COUNT', 1)[1]
  local is_known = at == '0' or (commit and tonumber(commit[2][2]) <= tonumber(at))
  local answer = {text(newest()), is_known and 1 or 0, '0', 0, 0}
  for n = 5, #ARGV do
    local space = ARGV[n]
    local keys = at == '' and redis.call('ZREVRANGE', order(space), 0, limit - 1)
      or redis.call('ZRANGEBYSCORE', order(space), '(' .. at, '+inf', 'LIMIT', 0, limit + 1)
    local start, size, count = #answer, 0, 0
    answer[start + 2] = 0
    for _, key in ipairs(keys) do
      if count == limit or size > most then
        break
      end
      local row = redis.call('HGET', rows(space), key)
      if not row then
        return redis.error_reply('LACKS ' .. key)
      end
      size = size + #row
      count = count + 1
      answer[start + 1 + 2 * count] = key
      answer[start + 2 + 2 * count] = row
    end
    answer[start + 1] = #keys > count and 1 or 0
    answer[start + 2] = count
    local latest = redis.call('ZREVRANGE', order(space), 0, 0, 'WITHSCORES')[2]
    answer[3] = text(math.max(tonumber(answer[3]), tonumber(latest or '0')))
    local held, total = size_of(space)
    answer[4], answer[5] = answer[4] + held, answer[5] + total
  end
  return answer
end

return commands[ARGV[1]]()
