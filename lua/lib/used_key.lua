-- What a bucket keeps of a used idempotency key: the time (epoch ms) in the ID of the event that used it, from which a
-- replay makes the ID again; plus USE.bySecret where the rest of the ID was made with the installation's secret. This text
-- adds it; that of earlier versions, which did not have the secret, does not.

-- The ID's time is that of the first check of the event; the call may come later.
local function use_by(event_id)
  return tonumber(string.sub(event_id, 1, 12), 16) + USE.bySecret
end

local function time_of_use(use)
  return use % USE.bySecret
end
