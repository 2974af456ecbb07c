--- @include "lib/idempotency_keys"

--[[
Reads what a change of some users of a tenant's part depends on, at one moment.

KEYS: by READ_KEY: the tenant's counters; the users; with ARGV also its old idempotency keys and its quarantine, and the wide bucket of each
      idempotency key.
ARGV: none if only users are read; else the number of users; the number of those whose quarantine is read and their IDs; then for each
      idempotency key the number of its user and its field without the generation.
Returns: the generation of new users ('' for none, or if no key, new user or user whose quarantine is read depends on it); the number
      of events in quarantine; then the users' packed states ('': there is none); the events in quarantine of users who were asked
      for; and for each idempotency key its use (`known_use`); if there is a generation, for each user without a state the user into whom
      that one was merged ('' for none); then ''.
Errors: those of Redis.
Writes: nothing.
Cost: O(bytes of the states + keys).
]]
local function add_quarantine(replies, last_user, last_id)
  local quarantine = KEYS[last_user + AFTER_USERS.quarantine]
  for at = READ_ARG.quarantined, last_id do
    replies[#replies + 1] = redis.call('HGET', quarantine, ARGV[at]) or ''
  end
  replies[READ_REPLY.quarantined] = redis.call('HGET', quarantine, QUARANTINED.count) or 0
end

-- The generation of the user with a packed state: until a user is deleted, there is only the first.
local function generation_of(state, generation)
  if generation == '' then
    return nil
  end
  if not state then
    return tonumber(generation)
  end
  return (select(USER.generation, cmsgpack.unpack(state)))
end

local function add_uses(replies, states, first_key, last_user)
  local tenant, generation = tenant_keys(KEYS[last_user + AFTER_USERS.oldKeys]), replies[READ_REPLY.generation]
  local bucket_at = last_user + AFTER_USERS.buckets
  for at = first_key, #ARGV, ASKED_KEY.size do
    local bucket, field = KEYS[bucket_at], ARGV[at + ASKED_KEY.field]
    bucket_at = bucket_at + 1
    local own = generation_of(states[tonumber(ARGV[at])], generation)
    if own then
      field = field .. '.' .. string.format('%.0f', own)
    end
    replies[#replies + 1] = known_use(tenant, bucket, narrow_bucket(bucket, field), field, own)
  end
end

-- The hash of the part's merged users (`aliasesKey`): its key ends in ':a' where that of the counters ends in ':n'.
local function aliases_key()
  return string.sub(KEYS[READ_KEY.counters], 1, -3) .. ':a'
end

-- Only users of a generation above the first were ever deleted or merged.
local function add_aliases(replies, states, users)
  if replies[READ_REPLY.generation] == '' then
    return
  end
  for n = 1, users do
    if not states[n] then
      local user_id = string.match(KEYS[READ_KEY.users + n - 1], ':u:(.*)$')
      replies[#replies + 1] = redis.call('HGET', aliases_key(), user_id) or ''
    end
  end
end

local function main()
  local users = tonumber(ARGV[READ_ARG.users] or #KEYS + 1 - READ_KEY.users)
  local quarantined = tonumber(ARGV[READ_ARG.quarantinedCount] or 0)
  local last_user, last_id = READ_KEY.users + users - 1, READ_ARG.quarantined + quarantined - 1
  local states = redis.call('MGET', unpack(KEYS, READ_KEY.users, last_user))
  -- With room for one user.
  local replies, has_keys, depends = { '', 0, nil, nil }, #ARGV > last_id, false
  for n = 1, users do
    depends = depends or not states[n]
    replies[#replies + 1] = states[n] or ''
  end
  if has_keys or depends or quarantined > 0 then
    replies[READ_REPLY.generation] = redis.call('HGET', KEYS[READ_KEY.counters], COUNTER.generation) or ''
  end
  if quarantined > 0 then
    add_quarantine(replies, last_user, last_id)
  end
  if has_keys then
    add_uses(replies, states, last_id + 1, last_user)
  end
  add_aliases(replies, states, users)
  replies[#replies + 1] = ''
  return replies
end
