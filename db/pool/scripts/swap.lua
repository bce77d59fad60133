-- Sets a string if it is what the caller read; a missing one is read as ''.
--
-- KEYS[1]  the string
-- ARGV[1]  what the caller read
-- ARGV[2]  what it is to be
-- returns  1 where it was set, else 0

if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2])
return 1
