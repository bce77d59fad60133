-- Keeps the higher of a number and the one in a field of a hash.
--
-- KEYS[1]  the hash
-- ARGV[1]  the field
-- ARGV[2]  the number, a decimal integer of 64 bits
-- returns  what the field holds then, as a string: a number of Lua is exact to 2^53 only

local function lower(a, b)
  local a_negative, b_negative = a:sub(1, 1) == '-', b:sub(1, 1) == '-'
  if a_negative ~= b_negative then return a_negative end
  if a_negative then a, b = b:sub(2), a:sub(2) end
  if #a ~= #b then return #a < #b end
  return a < b
end

local at = redis.call('HGET', KEYS[1], ARGV[1])
if not at or lower(at, ARGV[2]) then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  return ARGV[2]
end
return at
