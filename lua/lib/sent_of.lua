-- What requests say of a user, as decoded, by its text: the same few come again and again, a zone, an attribute or two. Decoding
-- takes 9,000 instructions. What names a person is not kept, nor what is long. Beyond so many all are forgotten.
local MOST_SENT, LONGEST_SENT = 1024, 128
local sent_by_text, sent_count = {}, 0

-- SENT of a JSON text, its attributes by number; nil for ''. Nobody changes it.
local function sent_of(text)
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
