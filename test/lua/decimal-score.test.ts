import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { readScript } from '../../src/redis/lua-library.ts';
import { connectedRedis } from '../stack/connected-redis.ts';

const redis = await connectedRedis();

const SEED = Number(process.env['SEED']);

const TEXT = `${readScript(join(PACKAGE_ROOT, 'lua/lib/decimals.lua'))}
local scores = {}
for i, decimal in ipairs(cjson.decode(ARGV[1])) do
  scores[i] = string.format('%.17g', decimal_score(decimal[1], decimal[2]))
end
return scores`;

test('a score of any size is the double nearest to its decimal', async () => {
  const whole = fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.maxSafeInteger().map(Math.abs), fc.constant(9007199254));
  const decimal = fc
    .tuple(whole, fc.integer({ min: 0, max: 999_999 }), fc.constantFrom(1, -1))
    .map(([units, micros, sign]) => [units * sign, micros * sign] as const);
  await fc.assert(
    fc.asyncProperty(fc.array(decimal, { minLength: 50, maxLength: 200 }), async (decimals) => {
      const scores = (await redis.eval(TEXT, 0, JSON.stringify(decimals))) as string[];
      const nearest = decimals.map(([units, micros]) => {
        const sign = units < 0 || micros < 0 ? '-' : '';
        return Number(`${sign}${Math.abs(units)}.${String(Math.abs(micros)).padStart(6, '0')}`);
      });
      expect(scores.map(Number)).toEqual(nearest);
    }),
    { numRuns: 100, ...(Number.isNaN(SEED) ? {} : { seed: SEED }) },
  );
});
