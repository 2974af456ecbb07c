import { expect, test } from 'vitest';
import { inlineNames, luaTokens } from '../../src/redis/lua-library.ts';

test('replaces names of keys, positions, offsets and values by their values', () => {
  expect(inlineNames('step[STEP_PART.answered][words[BLOCK.uses]]', 'a.lua')).toBe('step[8][words[8]]');
  expect(inlineNames('uses[at + USE.field]', 'a.lua')).toBe('uses[at + 2]');
  expect(inlineNames('{ [RECORD.kind] = KIND.event }', 'a.lua')).toBe("{ ['k'] = 'e' }");
  expect(inlineNames('keys >= USED.wideKeys', 'a.lua')).toBe('keys >= 128');
});

test('leaves other names alone, in comments and strings too', () => {
  const text =
    "local FIRST = KEYS[1] .. 'USER.x' -- USER.y, NONE.such\n--[[ USER.z ]] plan.KEYS = a.USER.b + [=[USER.c]=]";
  expect(inlineNames(text, 'a.lua')).toBe(text);
});

test('refuses an undeclared name with its file and line', () => {
  expect(() => inlineNames('local a\n\nreturn a[USER.nonsense]', 'lib/a.lua')).toThrow(
    'lib/a.lua:3: USER.nonsense is not declared',
  );
  expect(() => inlineNames('a[NONE.such]', 'a.lua')).toThrow('a.lua:1: NONE.such is not declared');
  expect(() => inlineNames('a[USER.constructor]', 'a.lua')).toThrow('USER.constructor is not declared');
});

test('tokens are the whole text', () => {
  const text = `local a = 'it\\'s' .. "x" --[==[ long\n]] ]==] if a ~= 1.5e3 then a.b = ... end -- end`;
  const tokens = luaTokens(text);
  expect(tokens.map((token) => token.text).join('')).toBe(text);
  expect(tokens.filter(({ kind }) => kind === 'string').map((token) => token.text)).toEqual([`'it\\'s'`, '"x"']);
  expect(tokens.filter(({ kind }) => kind === 'number').map((token) => token.text)).toEqual(['1.5e3']);
});
