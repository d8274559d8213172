-- The log behind GET /changes: a stream whose entries are numbered from 1 on, for each key the number, state and bytes of its
-- latest entry, and what the log is. Old versions do not know these keys.
local log, latest, meta = unpack(KEYS)
local SEPARATOR = '\31'
local commands = {}

local function number(name)
  return tonumber(redis.call('HGET', meta, name) or '0')
end

local function text(value)
  return string.format('%.0f', value)
end

local function now_ms()
  local now = redis.call('TIME')
  return tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)
end

local function begin(incarnation, followed)
  redis.call('DEL', log, latest, meta)
  redis.call('HSET', meta, 'incarnation', incarnation, 'end', '0', 'dropped_to', '0', 'bytes', '0', 'followed', followed)
end

-- A log that is not there begins with the incarnation.
local function open(incarnation)
  if redis.call('HEXISTS', meta, 'incarnation') == 0 then
    begin(incarnation, '')
  end
end

local function parse(mark)
  local position, bytes, state = string.match(mark, '^(%d+)\31(%d+)\31(.*)$')
  return tonumber(position), tonumber(bytes), state
end

local function id(position)
  return text(position) .. '-0'
end

-- The changes are field, row, state, bytes and `known` of each.
function commands.append(incarnation, followed, max_bytes, retention_ms, ...)
  open(incarnation)
  local changes = {...}
  local now = now_ms()
  local position, bytes, dropped_to = number('end'), number('bytes'), number('dropped_to')
  for n = 1, #changes, 5 do
    local field, row, state, size, known = unpack(changes, n, n + 4)
    local mark = redis.call('HGET', latest, field)
    local before, before_bytes, before_state
    if mark then
      before, before_bytes, before_state = parse(mark)
    end
    if not mark or before_state ~= state or before <= tonumber(known) then
      if mark then
        redis.call('XDEL', log, id(before))
        bytes = bytes - before_bytes
      end
      position = position + 1
      bytes = bytes + tonumber(size)
      redis.call('XADD', log, id(position), 'at', text(now), 'field', field, 'row', row)
      redis.call('HSET', latest, field, table.concat({text(position), size, state}, SEPARATOR))
    end
  end
  while true do
    local oldest = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
    if not oldest or (bytes <= tonumber(max_bytes) and tonumber(oldest[2][2]) >= now - tonumber(retention_ms)) then
      break
    end
    local field = oldest[2][4]
    local _, size = parse(redis.call('HGET', latest, field))
    redis.call('XDEL', log, oldest[1])
    redis.call('HDEL', latest, field)
    bytes = bytes - size
    dropped_to = tonumber(string.match(oldest[1], '^%d+'))
  end
  redis.call('HSET', meta, 'end', text(position), 'bytes', text(bytes), 'dropped_to', text(dropped_to))
  if followed ~= '' then
    redis.call('HSET', meta, 'followed', followed)
  end
end

-- Answers incarnation, end, dropped_to, followed, and position, time and row of each entry.
function commands.read(incarnation, after, limit)
  open(incarnation)
  local answer = redis.call('HMGET', meta, 'incarnation', 'end', 'dropped_to', 'followed')
  for _, entry in ipairs(redis.call('XRANGE', log, id(tonumber(after) + 1), '+', 'COUNT', limit)) do
    answer[#answer + 1] = string.match(entry[1], '^%d+')
    answer[#answer + 1] = entry[2][2]
    answer[#answer + 1] = entry[2][6]
  end
  return answer
end

function commands.renew(incarnation, followed)
  begin(incarnation, followed)
end

return commands[ARGV[1]](unpack(ARGV, 2))
