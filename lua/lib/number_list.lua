-- Lists as split, by their text: there are few, the sets of conditions that an event can match. Beyond so many all are
-- forgotten.
local MOST_LISTS = 1024
local number_lists, list_count = {}, 0

-- The numbers of a comma-separated text. Nobody changes the list.
local function number_list(text)
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
