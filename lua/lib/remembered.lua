-- Caches of decoded or converted values, by text or number. They last from call to call, because the results never change. Nobody
-- modifies a cached value. Each cache is bounded and is cleared when full. (A library has at most 200 local variables, so variables
-- that only one function needs are in a block.)

-- The plan of a JSON text. Decoding takes 17 µs per plan (demo catalog), a lookup 0.2 µs. Plans change daily and with the catalog,
-- so the cache is bounded, by bytes of text.
local plan_of
do
  local PLAN_BYTES = 4194304
  local plans, plan_bytes = {}, 0

  plan_of = function(text)
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
end

-- The shortest text with at most 17 digits for a number, which redis.call would produce with 2,000 instructions.
local text_of
do
  local MOST_TEXTS = 4096
  local texts, text_count = {}, 0

  text_of = function(number)
    local text = texts[number]
    if not text then
      if text_count == MOST_TEXTS then
        texts, text_count = {}, 0
      end
      text = string.format('%.17g', number)
      texts[number], text_count = text, text_count + 1
    end
    return text
  end
end
