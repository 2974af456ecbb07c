-- Texts of numbers as redis.call makes them, which takes 2,000 instructions each: the same few come again and again. Beyond
-- so many all are forgotten.
local MOST_TEXTS = 4096
local texts, text_count = {}, 0

-- The shortest text of 17 digits that stands for a number.
local function text_of(number)
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
