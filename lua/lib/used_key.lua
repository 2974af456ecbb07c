-- What a bucket keeps of a used idempotency key: the time (epoch ms) in the ID of the event that used it, from which a
-- replay makes the ID again; plus BY_SECRET where the rest of the ID was made with the installation's secret. Whoever runs
-- this text does so; earlier versions, which did not, ran another. src/redis/idempotency.ts has the same number.
local BY_SECRET = 2 ^ 47

-- The ID's time is that of the first check of the event; the call may come later.
local function use_by(event_id)
  return tonumber(string.sub(event_id, 1, 12), 16) + BY_SECRET
end

local function time_of_use(use)
  return use % BY_SECRET
end
