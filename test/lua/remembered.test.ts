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
  const texts = await resultsOf('moves', 'tonumber(text_of(number))', NUMBERS);
  expect(texts.map(Number)).toEqual([...NUMBERS, ...NUMBERS]);
});
