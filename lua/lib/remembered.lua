-- What is decoded or made again and again, by its text or number. It is kept from call to call, since it holds for ever, and nobody
-- changes it; beyond so much of a kind all of that kind is forgotten. (A library has at most 200 local variables, so what only
-- one function needs is in a block.)

-- The plan of a JSON text. Decoding costs 17 µs a plan (demo catalog), finding it again 0.2. Catalogs change, and plans do every
-- day: hence the bound, in bytes of texts.
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

-- What a request says of a user: SENT of a JSON text, its attributes by number; nil for ''. The same few come again and again, a
-- zone, an attribute or two; decoding takes 9,000 instructions. What names a person is not kept, nor what is long.
local sent_of
do
  local MOST_SENT, LONGEST_SENT = 1024, 128
  local sent_by_text, sent_count = {}, 0

  sent_of = function(text)
    if text == '' then
      return nil
    end
    local sent = sent_by_text[text]
    if not sent then
      sent = cjson.decode(text)
      if sent[SENT.attributes] then
        local attributes = {}
        -- JSON has texts for keys.
        for no, value in pairs(sent[SENT.attributes]) do
          attributes[tonumber(no)] = value
        end
        sent[SENT.attributes] = attributes
      end
      local names = sent[SENT.name] or sent[SENT.email] or sent[SENT.deviceTokens]
      if #text <= LONGEST_SENT and not names and not sent[SENT.occurred] then
        if sent_count == MOST_SENT then
          sent_by_text, sent_count = {}, 0
        end
        sent_by_text[text], sent_count = sent, sent_count + 1
      end
    end
    return sent
  end
end

-- The shortest text of 17 digits that stands for a number, as redis.call makes it with 2,000 instructions.
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

-- The numbers of a comma-separated text: there are few, the sets of conditions that an event can match.
local number_list
do
  local MOST_LISTS = 1024
  local number_lists, list_count = {}, 0

  number_list = function(text)
    local numbers = number_lists[text]
    if not numbers then
      if list_count == MOST_LISTS then
        number_lists, list_count = {}, 0
      end
      numbers = {}
      for no in string.gmatch(text, '%d+') do
        numbers[#numbers + 1] = tonumber(no)
      end
      number_lists[text], list_count = numbers, list_count + 1
    end
    return numbers
  end
end
