-- Takes values off a counter that is raised to a floor first where it is lower. It never goes back.
--
-- KEYS[1]  the counter
-- ARGV[1]  the floor, a decimal integer of 64 bits
-- ARGV[2]  how many values, 1 or more
-- returns  the last value taken, as a string: a number of Lua is exact to 2^53 only

local function lower(a, b)
  local a_negative, b_negative = a:sub(1, 1) == '-', b:sub(1, 1) == '-'
  if a_negative ~= b_negative then return a_negative end
  if a_negative then a, b = b:sub(2), a:sub(2) end
  if #a ~= #b then return #a < #b end
  return a < b
end

local at = redis.call('GET', KEYS[1])
if not at or lower(at, ARGV[1]) then
  redis.call('SET', KEYS[1], ARGV[1])
end
redis.call('INCRBY', KEYS[1], ARGV[2])
return redis.call('GET', KEYS[1])
