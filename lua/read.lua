--- @include "lib/old_keys"
--- @include "lib/used_keys"

--[[
Reads what a change of some users of a tenant's part depends on, at one moment.

KEYS: by READ_KEY: the tenant's counters, its old idempotency keys, its quarantine; the users; the wide bucket of each idempotency key.
ARGV: a packed list by READ.
Returns: the generation of new users ('' for none); '1' if the tenant has many idempotency keys, else ''; the number of events in
      quarantine; then the users' packed states ('': there is none); the users' events in quarantine; and for each idempotency key its
      use, '' if it is unused, or '?' and a token if only Postgres knows it; then ''.
Errors: those of Redis.
Writes: nothing.
Cost: O(bytes of the states + keys).
]]
local asked = cmsgpack.unpack(ARGV[READ_ARG.asked])
local users, keys, quarantined = asked[READ.users], asked[READ.keys], asked[READ.quarantined]
local FIRST_USER = READ_KEY.users
local FIRST_BUCKET = FIRST_USER + users
local old_keys = KEYS[READ_KEY.oldKeys]

local generation = redis.call('HGET', KEYS[READ_KEY.counters], COUNTER.generation) or ''
local states = redis.call('MGET', unpack(KEYS, FIRST_USER, FIRST_BUCKET - 1))
local replies, count = { generation, '', 0 }, 3

-- The generation of the user with a packed state: until a user is deleted, there is only the first.
local function generation_of(state)
  if generation == '' then
    return nil
  end
  if not state then
    return tonumber(generation)
  end
  return (select(USER.generation, cmsgpack.unpack(state)))
end

for n = 1, users do
  count = count + 1
  replies[count] = states[n] or ''
end
for n = 1, users do
  count = count + 1
  local user_id = quarantined[n]
  replies[count] = user_id ~= '' and redis.call('HGET', KEYS[READ_KEY.quarantine], user_id) or ''
  if user_id ~= '' and replies[READ_REPLY.quarantined] == 0 then
    replies[READ_REPLY.quarantined] = tonumber(redis.call('HGET', KEYS[READ_KEY.quarantine], QUARANTINED.count)) or 0
  end
end
if #keys > 0 then
  local segments, large = unpack(redis.call('HMGET', old_keys, OLD_KEYS.segments, OLD_KEYS.large))
  segments = tonumber(segments) or 0
  replies[READ_REPLY.large] = large and '1' or ''
  local bucket_at = FIRST_BUCKET
  for at = 1, #keys, ASKED_KEY.size do
    local bucket, field = KEYS[bucket_at], keys[at + ASKED_KEY.field]
    bucket_at = bucket_at + 1
    local own = generation_of(states[keys[at + ASKED_KEY.user]])
    if own then
      field = field .. '.' .. string.format('%.0f', own)
    end
    local use = hot_use(bucket, narrow_bucket(bucket, field), field, large)
    if not use then
      local token = old_key_token(old_keys, segments, bucket, field, own)
      use = token and '?' .. token or ''
    end
    count = count + 1
    replies[count] = use
  end
end
replies[count + 1] = ''
return replies
