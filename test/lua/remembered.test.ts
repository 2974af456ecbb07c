import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { readScript } from '../../src/redis/script.ts';
import { connectedRedis } from '../stack/connected-redis.ts';

// What is remembered is forgotten at 4,096 or less: more than that, twice, in one run of a script.
const NUMBERS = Array.from({ length: 5_000 }, (_, at) => (at % 2 === 0 ? at : at / 3));

const redis = await connectedRedis();

/** Runs Lua with an include of its own; its result of every number, twice. */
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

test('the text of a number stands for that very number, remembered or not', async () => {
  const texts = await resultsOf('text_of', 'tonumber(text_of(number))', NUMBERS);
  expect(texts.map(Number)).toEqual([...NUMBERS, ...NUMBERS]);
});

test('a boosted award is rounded from 15 digits, remembered or not', async () => {
  const awards = Array.from({ length: 5_000 }, (_, at) => at + 1).concat(12_345_678_900);
  const boosts = '{ { no = 1, from = 0, multiplier = 1.1, rounding = 3 } }';
  const boosted = await resultsOf('boosted', `(boosted(number, ${boosts}, nil, 1))`, awards);
  const exact = awards.map((award) => Math.ceil((award * 11) / 10));
  expect(boosted.map(Number)).toEqual([...exact, ...exact]);
});

test('a list of numbers is what its text says, remembered or not', async () => {
  const numbers = Array.from({ length: 5_000 }, (_, at) => at);
  const lists = await resultsOf('number_list', "number_list(text .. ',7')[1] + number_list(text .. ',7')[2]", numbers);
  const sums = numbers.map((number) => number + 7);
  expect(lists.map(Number)).toEqual([...sums, ...sums]);
});
