import { afterAll, beforeEach, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/domain/periods.ts';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { StreakSweep, type StreakSweepOptions } from '../../../src/engine/streaks/streak-sweep.ts';
import { testDatabase } from '../../postgres/database.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { TestEngine } from '../events/engine.ts';
import { opened } from '../../stack/opened.ts';

const USERS = ['a', 'b', 'c', 'd', 'e'];
const DAY = 20_800;
/** Two days later they all have lost it. */
const DUE_MS = (DAY + 2) * DAY_MS;
const never = new AbortController().signal;

let engine: TestEngine;
const persist = (): Promise<number> =>
  new Persister({ redis: engine.redis, pool: database.pool }).drain(0, AbortSignal.abort());

const database = opened(() => testDatabase());
afterAll(async () => {
  await engine.close();
});
beforeEach(async () => {
  await database.pool.query('TRUNCATE users, events, streak_changes, streak_zones, outbox_cursors');
  const builder = new CatalogBuilder();
  builder.metric('m');
  await (engine as TestEngine | undefined)?.close();
  engine = new TestEngine(database.stack.redisUrl, { ...builder.catalog, tenantNo: 0 });
  await engine.ready();
  engine.clock.set(DAY * DAY_MS);
  for (const id of USERS) await engine.event('m', id, 1);
  engine.clock.set(DUE_MS);
  await persist();
});

const sweep = (over: Partial<StreakSweepOptions>): StreakSweep =>
  new StreakSweep({
    redis: engine.redis,
    pool: database.pool,
    catalogs: { of: () => engine.compiled(), atLeast: async () => undefined },
    onWritten: () => undefined,
    ...over,
  });

/** Sweeps the earlier days, on which nobody is due. */
async function upToTheMidnight(one: StreakSweep): Promise<void> {
  for (let due = await one.due(DUE_MS); due !== DUE_MS; due = await one.due(DUE_MS)) {
    await one.perform(due!, never, due! + 1);
  }
}

/** Users whose streak was lost, once for each loss. */
const lost = async (): Promise<string[]> => {
  await persist();
  const { rows } = await database.pool.query<{ id: string }>(
    'SELECT user_id AS id FROM streak_changes WHERE kind = 3 AND frequency = 1 ORDER BY user_id',
  );
  return rows.map(({ id }) => id);
};

/** Sweeps everything, cancelled after every call; returns the number of calls. */
async function inPieces(over: Partial<StreakSweepOptions>): Promise<number> {
  let off = new AbortController();
  const pieces = sweep({ ...over, workMs: Infinity, onWritten: () => off.abort() });
  await upToTheMidnight(pieces);
  for (let count = 0; ; count++) {
    const due = await pieces.due(DUE_MS);
    if (due === null) return count;
    expect(pieces.seesItself, 'it need not wait for Postgres in the middle of a zone').toBe(count > 0);
    off = new AbortController();
    await pieces.perform(due, off.signal, due + 1);
  }
}

test('cancelled after every call, it continues where it was: everybody is swept once', async () => {
  // Two calls are in flight at once.
  expect(await inPieces({ usersACall: 1 })).toBe(Math.ceil(USERS.length / 2));
  expect(await lost()).toEqual(USERS);
});

test('waits while too much is pending for Postgres, and says that it needs Postgres', async () => {
  const held = sweep({ maxAhead: 0, workMs: 100 });
  await upToTheMidnight(held);
  await engine.event('m', 'new', 1);
  await held.perform(DUE_MS, never, DUE_MS + 1);
  expect(await engine.redis.xlen('{s0}:outbox'), 'nothing but the event').toBe(1);
  expect(await held.due(DUE_MS)).toBe(DUE_MS);
  expect(held.seesItself).toBe(false);
  await persist();
  while ((await held.due(DUE_MS)) !== null) await held.perform(DUE_MS, never, DUE_MS + 1);
  expect(await lost()).toEqual(USERS);
});
