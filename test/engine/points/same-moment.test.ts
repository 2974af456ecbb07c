import { beforeAll, beforeEach, expect, test } from 'vitest';
import { FixedClock } from '../../../src/clock.ts';
import { TimeTriggers } from '../../../src/engine/points/time-triggers.ts';
import { Persister } from '../../../src/engine/persist/persister.ts';
import type { DuePeriod } from '../../../src/postgres/time-triggers.ts';
import { knownParts } from '../../../src/redis/parts.ts';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

// Users of an import are created in the same millisecond: their periods end together, and are paid in pages.

const HOUR = 3_600_000;
const START = Date.UTC(2030, 2, 1, 9, 30, 0, 123);
const USERS = 35;
const AT_ONCE = 10;
const never = new AbortController().signal;
const trigger = { type: 'time', timeUnit: 'hours', timeInterval: 1, points: 1, status: 'active' } as const;

const laurel = opened(() =>
  startLaurel({
    spread: 1,
    clock: new FixedClock(START),
    configuration: { pointsSystems: [{ key: 'xp', name: 'XP', triggers: [trigger, { ...trigger, points: 2 }] }] },
  }),
);
beforeAll(async () => {
  const users = Array.from({ length: USERS }, (_, n) => laurel.app.put(`/v1/users/u${n}`, {}));
  if ((await Promise.all(users)).some(({ status }) => status >= 300)) throw new Error('A user was refused.');
  await new Persister({ redis: laurel.redis, pool: laurel.pool }).drain(knownParts(laurel.redis, 0)[0]!.shard);
});
beforeEach(() => laurel.pool.query('DELETE FROM time_trigger_progress'));

/** Performs all that is due. Returns the periods of each payment. `failing`: the payments that fail, from 0. */
async function paid(failing: readonly number[] = []): Promise<DuePeriod[][]> {
  const calls: DuePeriod[][] = [];
  const pay = async ({ periods }: { periods: readonly DuePeriod[] }): Promise<boolean> => {
    calls.push([...periods]);
    if (failing.includes(calls.length - 1)) throw new Error('cannot be paid');
    return true;
  };
  const triggers = new TimeTriggers({ pool: laurel.pool, payments: { pay }, atOnce: AT_ONCE });
  const upToMs = START + HOUR + 10;
  await expect
    .poll(async () => {
      const dueMs = await triggers.due(upToMs);
      if (dueMs !== null) await triggers.perform(dueMs, never, upToMs + 1);
      return dueMs === null && triggers.aside.length === 0;
    })
    .toBe(true);
  return calls;
}

test('no more are paid at once than anywhere else, each once, all periods of a user together', async () => {
  const calls = await paid();
  expect(Math.max(...calls.map((call) => call.length))).toBeLessThanOrEqual(AT_ONCE);
  const all = calls.flat();
  expect(new Set(all.map(({ dueMs }) => dueMs))).toEqual(new Set([START + HOUR]));
  expect(new Set(all.map(({ userId, triggerNo }) => `${userId} ${triggerNo}`)).size).toBe(all.length);
  expect(all.length).toBe(USERS * 2);
  for (const call of calls)
    for (const { userId } of call) expect(call.filter((period) => period.userId === userId).length).toBe(2);
});

test('if a page cannot be paid, nobody is left out', async () => {
  const calls = await paid([2]);
  const done = calls.filter((_, at) => at !== 2).flat();
  expect(new Set(done.map(({ userId, triggerNo }) => `${userId} ${triggerNo}`)).size).toBe(USERS * 2);
});
