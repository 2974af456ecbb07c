import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { readScript } from '../../src/redis/lua-library.ts';
import { connectedRedis } from '../stack/connected-redis.ts';

// A cache is cleared at 4,096 entries or fewer: more than that, twice, in one run of a script.
const NUMBERS = Array.from({ length: 5_000 }, (_, at) => (at % 2 === 0 ? at : at / 3));

const redis = await connectedRedis();

/** Runs Lua with its own include; returns its result for every number, twice. */
const resultsOf = async (include: string, call: string, numbers: readonly number[]): Promise<string[]> =>
  (await redis.eval(
    `${readScript(join(PACKAGE_ROOT, `lua/lib/${include}.lua`))}
local results = {}
for round = 1, 2 do
  for _, text in ipairs(cjson.decode(ARGV[1])) do
    local number = tonumber(text)
    results[#results + 1] = string.format('%.17g', ${call})
  end
end
return results`,
    0,
    JSON.stringify(numbers.map(String)),
  )) as string[];

test('the text of a number represents that exact number, cached or not', async () => {
  const texts = await resultsOf('remembered', 'tonumber(text_of(number))', NUMBERS);
  expect(texts.map(Number)).toEqual([...NUMBERS, ...NUMBERS]);
});

test('a boosted award is rounded from 15 digits, cached or not', async () => {
  const awards = Array.from({ length: 5_000 }, (_, at) => at + 1).concat(12_345_678_900);
  const ledger = '{ boosts = { { no = 1, from = 0, multiplier = 1.1, rounding = 3 } } }';
  const boosted = await resultsOf('points', `(boosted(number, ${ledger}, nil, 1))`, awards);
  const exact = awards.map((award) => Math.ceil((award * 11) / 10));
  expect(boosted.map(Number)).toEqual([...exact, ...exact]);
});

test('a list of numbers equals its text, cached or not', async () => {
  const numbers = Array.from({ length: 5_000 }, (_, at) => at);
  const lists = await resultsOf('remembered', "number_list(text .. ',7')[1] + number_list(text .. ',7')[2]", numbers);
  const sums = numbers.map((number) => number + 7);
  expect(lists.map(Number)).toEqual([...sums, ...sums]);
});
