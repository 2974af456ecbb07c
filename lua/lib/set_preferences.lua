-- Lays sent preferences over a user's; what is not sent stays.
-- `sent`: np notifications, a digit a kind ('-' not sent; src/engine/users/preferences.ts), sp the streak's
-- { on, all, metrics } with -1 and false for what is not sent.
local function set_preferences(state, sent)
  if sent.np then
    local merged = {}
    for i = 1, #sent.np do
      local digit = string.sub(sent.np, i, i)
      merged[i] = digit ~= '-' and digit or state.np and string.sub(state.np, i, i) or '-'
    end
    state.np = table.concat(merged)
  end
  if sent.sp then
    local own = state.sp or { -1, -1, {} }
    for i = 1, 2 do
      own[i] = sent.sp[i] ~= -1 and sent.sp[i] or own[i]
    end
    own[3] = sent.sp[3] or own[3]
    state.sp = own
  end
end
