-- Plans as decoded, by their text: what a text says holds for ever, so they are kept from call to call. Nobody changes a
-- plan. Decoding costs 17 µs a plan (demo catalog), finding it again 0.2. Beyond so many bytes of texts all are forgotten:
-- catalogs change, and plans do every day.
local PLAN_BYTES = 4194304
local plans, plan_bytes = {}, 0

-- The plan of a JSON text.
local function plan_of(text)
  local plan = plans[text]
  if not plan then
    if plan_bytes + #text > PLAN_BYTES then
      plans, plan_bytes = {}, 0
    end
    plan = cjson.decode(text)
    plans[text], plan_bytes = plan, plan_bytes + #text
  end
  return plan
end
