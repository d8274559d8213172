-- Rows of spaces, each a hash of rows by key and a sorted set of keys by time. A row is time of creation, time and value, joined by
-- U+001F. Times are microseconds as text: Lua prints numbers with 14 digits. KEYS: the version of the layout, the log of commits, a key
-- that pings write, a hash of bytes by space, then hash and sorted set of each space. ARGV: see src/store/redis/store.ts.
local format, log, ping, bytes = unpack(KEYS, 1, 4)
local call, commands = redis.call, {}

local function rows(space) return KEYS[3 + 2 * space] end
local function order(space) return KEYS[4 + 2 * space] end
local function text(time) return string.format('%.0f', time) end

-- The time of the latest commit, which is the id of its entry; 0 before the first.
local function newest()
  local entry = call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
  return entry and tonumber(string.match(entry[1], '^%d+')) or 0
end

-- Number and bytes of rows, and whether they are all there: a Redis that evicts drops whole keys.
local function size_of(space)
  local held, total = call('HLEN', rows(space)), tonumber(call('HGET', bytes, space) or '0')
  return held, total, held == call('ZCARD', order(space)) and (held > 0) == (total > 0)
end

local function moment(first, last)
  local now, latest = call('TIME'), newest()
  local answer = {text(math.max(tonumber(now[1]) * 1000000 + tonumber(now[2]), latest + 1)), text(latest)}
  for n = first, last, 2 do answer[#answer + 1] = call('HGET', rows(ARGV[n]), ARGV[n + 1]) end
  return answer
end

function commands.get() return moment(2, #ARGV) end

function commands.commit()
  local later, latest, first, last, kept, layout, channel, spaces, read = {}, unpack(ARGV, 2, 9)
  local puts = 10 + 2 * read
  if tonumber(latest) ~= newest() then return moment(10, puts - 1) end
  local function put(space, key, row, at, before)
    if row == '' then
      call('ZREM', order(space), key)
    else
      call('HSET', rows(space), key, row)
      call('ZADD', order(space), at, key)
    end
    call('HINCRBY', bytes, space, (row == '' and 0 or #key + #row) - before)
  end
  for n = puts, #ARGV, 4 do
    local space, key, row, at = unpack(ARGV, n, n + 3)
    local before = call('HSTRLEN', rows(space), key)
    if before > 0 then
      later[#later + 1] = {space, key, row, at, #key + before}
    elseif row ~= '' then
      put(space, key, row, at, 0)
    end
  end
  -- Out of memory, Redis refuses a script whose first write adds, and a leaked key has to be revocable even then.
  for _, one in ipairs(later) do
    call('HDEL', rows(one[1]), one[2])
    put(unpack(one))
  end
  if latest == '0' then call('SETNX', format, layout) end
  call('XADD', log, 'MAXLEN', '~', kept, last .. '-0', 'first', first)
  redis.pcall('PUBLISH', channel, spaces)
  return nil
end

function commands.after()
  local at, limit, most = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
  -- A demoted master still answers reads, without later writes. Only a write reveals that.
  local written = redis.pcall('DEL', ping)
  if type(written) == 'table' and string.find(written.err or '', 'READONLY', 1, true) then return written end
  for space = 1, at == '0' and (#KEYS - 4) / 2 or 0 do
    if not select(3, size_of(space)) then return redis.error_reply('LACKS rows') end
  end
  local commit = at ~= '' and call('XRANGE', log, at, '+', 'COUNT', 1)[1]
  local answer = {text(newest()), (at == '0' or commit and tonumber(commit[2][2]) <= tonumber(at)) and 1 or 0}
  for n = 5, #ARGV do
    local space, start, size, count = ARGV[n], #answer, 0, 0
    local keys = at == '' and call('ZREVRANGE', order(space), 0, limit - 1)
      or call('ZRANGEBYSCORE', order(space), '(' .. at, '+inf', 'LIMIT', 0, limit + 1)
    for _, key in ipairs(keys) do
      if count == limit or size > most then break end
      local row = call('HGET', rows(space), key)
      if not row then return redis.error_reply('LACKS ' .. key) end
      count, size = count + 1, size + #row
      answer[start + 4 + 2 * count], answer[start + 5 + 2 * count] = key, row
    end
    local held, total = size_of(space)
    local latest = call('ZREVRANGE', order(space), 0, 0, 'WITHSCORES')[2] or '0'
    for m, one in ipairs({#keys > count and 1 or 0, held, total, latest, count}) do answer[start + m] = one end
  end
  return answer
end

return commands[ARGV[1]]()
