-- `counters`: the key of the tenant's counters.
-- Users of a tenant are of a younger generation with every user who is deleted (counter `d`), so that the used
-- idempotency keys of a deleted user mean nothing to one who comes after under the same ID. Nil before the first
-- deletion, which costs the state no byte.
local function generation_of_new_users(counters)
  return tonumber(redis.call('HGET', counters, COUNTER.generation))
end

-- The field under which a user keeps that an idempotency key is used; src/redis/idempotency.ts knows the same rule.
local function field_of_generation(field, state)
  return state[USER.generation] and field .. '.' .. string.format('%.0f', state[USER.generation]) or field
end
