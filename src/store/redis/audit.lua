-- The audit log: a stream of each kind of entry, whose ids begin with the time in microseconds. `written` counts the bytes of
-- all entries of a stream up to this one, dropped ones included. Old versions do not know these keys.
local OVERHEAD = 100
local commands = {}

local function text(number)
  return string.format('%.0f', number)
end

local function newest(stream)
  return redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
end

local function time_of(entry)
  return tonumber(string.match(entry[1], '^%d+'))
end

local function drop(stream, now, max_bytes, max_age, most)
  local last = newest(stream)
  local written = last and tonumber(last[2][4]) or 0
  for _ = 1, tonumber(most) do
    local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
    if not oldest then
      return
    end
    local held = written - tonumber(oldest[2][4]) + #oldest[2][2] + OVERHEAD
    if held <= tonumber(max_bytes) and time_of(oldest) >= now - tonumber(max_age) then
      return
    end
    redis.call('XDEL', stream, oldest[1])
  end
end

-- Answers the time of the entry.
function commands.append(kind, content, max_bytes, max_age, most)
  local clock = redis.call('TIME')
  local at = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
  for _, stream in ipairs(KEYS) do
    local last = newest(stream)
    at = math.max(at, last and time_of(last) + 1 or 0)
  end
  local last = newest(KEYS[tonumber(kind)])
  local written = (last and tonumber(last[2][4]) or 0) + #content + OVERHEAD
  redis.call('XADD', KEYS[tonumber(kind)], text(at) .. '-0', 'content', content, 'written', text(written))
  for _, stream in ipairs(KEYS) do
    drop(stream, at, max_bytes, max_age, most)
  end
  return text(at)
end

-- Answers number of the kind, time and content of each entry: of each kind at most `limit` after `since`, or the latest.
function commands.read(since, limit)
  local answer = {}
  for kind, stream in ipairs(KEYS) do
    local entries
    if since == '' then
      entries = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', limit)
    else
      entries = redis.call('XRANGE', stream, text(tonumber(since) + 1) .. '-0', '+', 'COUNT', limit)
    end
    for _, entry in ipairs(entries) do
      answer[#answer + 1] = tostring(kind)
      answer[#answer + 1] = string.match(entry[1], '^%d+')
      answer[#answer + 1] = entry[2][2]
    end
  end
  return answer
end

return commands[ARGV[1]](unpack(ARGV, 2))
