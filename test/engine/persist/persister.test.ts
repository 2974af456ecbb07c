import { beforeAll, describe, expect, test } from 'vitest';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { createRedis, redisReady } from '../../../src/redis/client.ts';
import { outboxKey } from '../../../src/redis/keys.ts';
import type { HappenedRecord } from '../../../src/packed/record.ts';
import { backlog } from '../../../src/redis/outbox.ts';
import { testDatabase } from '../../postgres/database.ts';
import { eventRecord, NOW, packedState, writeEntry } from './outbox-writer.ts';
import { opened } from '../../stack/opened.ts';

const hurry = AbortSignal.abort();

const database = opened(() => testDatabase());
const redis = opened(() => createRedis(database.stack.redisUrl), 'disconnect');
beforeAll(async () => {
  await redisReady(redis);
});

const persister = (): Persister => new Persister({ redis, pool: database.pool });

async function rows(statement: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  return (await database.pool.query<Record<string, unknown>>(statement, values)).rows;
}

const count = async (table: string, tenantNo: number): Promise<number> =>
  Number((await rows(`SELECT count(*) AS n FROM ${table} WHERE tenant_no = $1`, [tenantNo]))[0]?.['n']);

const cursor = async (shard: number): Promise<unknown> =>
  (await rows('SELECT stream_id FROM outbox_cursors WHERE shard = $1', [shard]))[0]?.['stream_id'];

// Each test has its own shard and the tenant of the same number.
describe('the path of an entry', () => {
  test('an event, its awards and completions, its user', async () => {
    const record = eventRecord({
      i: '019a96e1d4007abc8def0123456f0000',
      u: 'zoë ☃ \t\n\\N',
      at: NOW + 1,
      d: -1,
      n: 1,
      m: 7,
      v: [-2, -500000],
      t: [999999999999, 123456],
      c: [11, 12],
      p: [
        [
          21,
          0,
          15,
          [
            [22, 10, 10, []],
            [23, 5, 15, [31, 32]],
          ],
        ],
        [24, 100, 70, [[25, -30, 70, []]]],
      ],
      b: [[41, 20775, '', -1, 1, 0]],
      x: '{"3":"a\\\\b\\n\\"c\\""}',
      ik: 'key\t1',
    });
    const state = packedState({
      createdMs: NOW - 5,
      attributes: new Map([
        [3, 'blue'],
        [9, '"'],
      ]),
      points: new Map([
        [1, 0],
        [2, 15],
      ]),
      name: 'Zoë',
    });
    await writeEntry(redis, 0, { records: [record], states: { [record.u]: state } });

    expect(await persister().drain(0, hurry)).toBe(1);

    expect(
      await rows(`SELECT id::text, user_id, metric_no, value::text, total::text, at, local_date::text, attributes,
                         idempotency_key FROM events WHERE tenant_no = 0`),
    ).toEqual([
      {
        id: '019a96e1-d400-7abc-8def-0123456f0000',
        user_id: record.u,
        metric_no: 7,
        value: '-2.5',
        total: '999999999999.123456',
        at: new Date(NOW + 1),
        local_date: '1969-12-31',
        attributes: { 3: 'a\\b\n"c"' },
        idempotency_key: 'key\t1',
      },
    ]);
    expect(
      await rows(`SELECT id::text, user_id, system_no, trigger_no, awarded, total, boost_nos, at, local_date::text
                    FROM awards WHERE tenant_no = 0 ORDER BY id`),
    ).toEqual(
      [
        { id: '0001', system_no: 21, trigger_no: 22, awarded: 10, total: 10, boost_nos: null },
        { id: '0002', system_no: 21, trigger_no: 23, awarded: 5, total: 15, boost_nos: [31, 32] },
        { id: '0003', system_no: 24, trigger_no: 25, awarded: -30, total: 70, boost_nos: null },
      ].map((award) => ({
        ...award,
        id: `019a96e1-d400-7abc-8def-0123456f${award.id}`,
        user_id: record.u,
        at: new Date(NOW + 1),
        local_date: '1969-12-31',
      })),
    );
    expect(await rows('SELECT user_id, achievement_no, at FROM completions WHERE tenant_no = 0 ORDER BY 2')).toEqual([
      { user_id: record.u, achievement_no: 11, at: new Date(NOW + 1) },
      { user_id: record.u, achievement_no: 12, at: new Date(NOW + 1) },
    ]);
    expect(await rows('SELECT id, created, state, attributes, points FROM users WHERE tenant_no = 0')).toEqual([
      {
        id: record.u,
        created: new Date(NOW - 5),
        state,
        attributes: { 3: 'blue', 9: '"' },
        points: { 1: 0, 2: 15 },
      },
    ]);
    expect(await backlog(redis, 0)).toBe(0);
  });

  test('a changed user and a completion by call leave no event', async () => {
    const changed = eventRecord({ k: 'u', n: 1, p: [[21, 0, 5, [[22, 5, 5, []]]]] });
    const completed = eventRecord({ k: 'c', c: [11] });
    await writeEntry(redis, 1, { records: [changed, completed] });
    await persister().drain(1, hurry);
    expect([await count('events', 1), await count('awards', 1), await count('completions', 1)]).toEqual([0, 1, 1]);
  });

  test('thousands of entries, several events in one, the last state of a user wins', async () => {
    const perEntry = 3;
    for (let n = 0; n < 5000; n++) {
      const records = Array.from({ length: perEntry }, () => eventRecord({ u: `user-${n % 70}`, a: 1 }));
      const states = { [`user-${n % 70}`]: packedState({ attributes: new Map([[1, String(n)]]) }) };
      // One by one would take longer than the rest of the test.
      const written = writeEntry(redis, 2, { records, states });
      if (n % 500 === 499) await written;
    }
    const youngest = (await redis.xrevrange(outboxKey(2), '+', '-', 'COUNT', 1))[0]?.[0];
    expect(await persister().drain(2, hurry)).toBe(5000);
    expect(await count('events', 2)).toBe(15_000);
    const users = await rows(`SELECT id, (attributes->>'1')::int AS n FROM users WHERE tenant_no = 2`);
    expect(users).toHaveLength(70);
    for (const { id, n } of users) {
      expect(Number(n)).toBeGreaterThanOrEqual(4930);
      expect(id).toBe(`user-${Number(n) % 70}`);
    }
    expect(await cursor(2)).toBe(youngest);
    expect(await backlog(redis, 2)).toBe(0);
  });

  test('moves only the state of a user without news for queries; writes a missing user completely', async () => {
    const users = (): Promise<Record<string, unknown>[]> =>
      rows(`SELECT id, state, attributes, points FROM users WHERE tenant_no = 10 ORDER BY id`);
    const states = [1, 2, 3].map((n) =>
      packedState({ attributes: new Map([[1, String(n)]]), points: new Map([[2, n]]), freezes: n }),
    );
    const write = async (n: number, more: Partial<HappenedRecord>, u = 'ada'): Promise<void> => {
      await writeEntry(redis, 2, { tenantNo: 10, records: [eventRecord({ u, ...more })], states: { [u]: states[n]! } });
      await persister().drain(2, hurry);
    };
    await write(0, { n: 1 });
    const ada = { id: 'ada', attributes: { 1: '1' }, points: { 2: 1 } };
    expect(await users()).toEqual([{ ...ada, state: states[0] }]);
    await write(1, {});
    expect(await users()).toEqual([{ ...ada, state: states[1] }]);
    await write(2, { a: 1 });
    const changed = { id: 'ada', attributes: { 1: '3' }, points: { 2: 3 }, state: states[2] };
    expect(await users()).toEqual([changed]);
    await write(0, {}, 'bob');
    expect(await users()).toEqual([changed, { ...ada, id: 'bob', state: states[0] }]);
  });

  test('merges changed points into the others; removes a total of 0; updates streaks and zone', async () => {
    const user = async (): Promise<unknown> =>
      (await rows(`SELECT state, attributes, points, zone, freezes FROM users WHERE tenant_no = 11`))[0];
    const paid = (systemNo: number, total: number): Partial<HappenedRecord> => ({ p: [[systemNo, 0, total, []]] });
    const write = async (states: Buffer[], more: Partial<HappenedRecord>[]): Promise<void> => {
      for (const [at, each] of more.entries()) {
        await writeEntry(redis, 3, { tenantNo: 11, records: [eventRecord(each)], states: { ada: states[at]! } });
      }
      await persister().drain(3, hurry);
    };
    const state = (p: Record<number, number>, more = {}): Buffer =>
      packedState({
        attributes: new Map([[7, 'x']]),
        points: new Map(Object.entries(p).map(([no, total]) => [Number(no), total])),
        ...more,
      });
    await write([state({ 21: 5, 22: 6 })], [{ n: 1 }]);
    const ada = { attributes: { 7: 'x' }, zone: '', freezes: 0 };
    const [first, second] = [state({ 21: 8, 22: 6 }), state({ 21: 9, 22: 6, 23: 4 })];
    await write([first, second, second], [paid(21, 8), { p: [...paid(21, 9).p!, ...paid(23, 4).p!] }, {}]);
    expect(await user()).toEqual({ ...ada, state: second, points: { 21: 9, 22: 6, 23: 4 } });
    const third = state({ 22: 6, 23: 4 });
    await write([third], [paid(21, 0)]);
    expect(await user()).toEqual({ ...ada, state: third, points: { 22: 6, 23: 4 } });
    const fourth = state({ 22: 7, 23: 4 }, { zone: 'Asia/Tokyo', freezes: 2 });
    await write([state({ 22: 7, 23: 4 }), fourth], [paid(22, 7), { y: 1 }]);
    expect(await user()).toEqual({ ...ada, state: fourth, points: { 22: 7, 23: 4 }, zone: 'Asia/Tokyo', freezes: 2 });
    expect(await rows(`SELECT zone FROM streak_zones WHERE tenant_no = 11 ORDER BY 1`)).toEqual([
      { zone: '' },
      { zone: 'Asia/Tokyo' },
    ]);
  });

  test('sweeps a zone from the first day on which its users changed', async () => {
    const written = [0, 5, 2].map((days) => ({ u: `u${days}`, at: 1_800_000_000_000 + days * 86_400_000 }));
    for (const { u, at } of written) {
      const states = { [u]: packedState({ zone: 'Asia/Kolkata', updatedMs: at }) };
      await writeEntry(redis, 3, { tenantNo: 12, records: [eventRecord({ u, at, n: 1 })], states });
    }
    await persister().drain(3, hurry);
    expect(await rows('SELECT zone, swept_day FROM streak_zones WHERE tenant_no = 12')).toEqual([
      { zone: 'Asia/Kolkata', swept_day: Math.floor(1_800_000_000_000 / 86_400_000) - 1 },
    ]);
  });

  test('text that Postgres cannot hold does not stop the rest', async () => {
    const record = eventRecord({ u: 'nul\0', x: '{"3":"\\u0000 \\ud800 \\\\u0000"}', ik: 'k\0' });
    const states = { 'nul\0': packedState({ attributes: new Map([[1, 'a\0']]) }) };
    await writeEntry(redis, 3, { records: [record], states });
    await persister().drain(3, hurry);
    expect(await rows('SELECT user_id, attributes, idempotency_key FROM events WHERE tenant_no = 3')).toEqual([
      { user_id: 'nul\uFFFD', attributes: { 3: '\uFFFD \uFFFD \\u0000' }, idempotency_key: 'k\uFFFD' },
    ]);
    expect(await rows('SELECT id, attributes FROM users WHERE tenant_no = 3')).toEqual([
      { id: 'nul\uFFFD', attributes: { 1: 'a\uFFFD' } },
    ]);
  });
});

describe('exactly once', () => {
  test('entries that stayed in the stream after their COMMIT are not written again, and leave it', async () => {
    const broken = new Persister({
      redis,
      pool: database.pool,
      onStep: (step) => {
        if (step === 'committed') throw new Error('ended here');
      },
    });
    await writeEntry(redis, 4, { records: [eventRecord()] });
    await expect(broken.drain(4, hurry)).rejects.toThrow('ended here');
    expect([await count('events', 4), await backlog(redis, 4)]).toEqual([1, 1]);
    expect(await persister().drain(4, hurry)).toBe(0);
    expect([await count('events', 4), await backlog(redis, 4)]).toEqual([1, 0]);
  });

  test('rows and cursor are atomic: stopping before COMMIT leaves neither', async () => {
    await writeEntry(redis, 5, { records: [eventRecord({ c: [1] })] });
    const broken = new Persister({
      redis,
      pool: database.pool,
      onStep: (step) => {
        if (step === 'written') throw new Error('ended here');
      },
    });
    await expect(broken.drain(5, hurry)).rejects.toThrow('ended here');
    expect([await count('events', 5), await count('users', 5), await count('completions', 5)]).toEqual([0, 0, 0]);
    expect(await cursor(5)).toBe('0-0');
    expect(await backlog(redis, 5)).toBe(1);
    await persister().drain(5, hurry);
    expect(await count('events', 5)).toBe(1);
  });

  test('concurrent persisters of one shard exclude each other', async () => {
    const entries = 3000;
    const writing = (async () => {
      for (let n = 0; n < entries; n++) await writeEntry(redis, 6, { records: [eventRecord({ u: `user-${n % 9}` })] });
    })();
    let stored = 0;
    let done = false;
    const work = async (): Promise<void> => {
      const mine = persister();
      while (!done || (await backlog(redis, 6)) > 0) {
        const mineNow = await mine.drain(6, hurry);
        stored += mineNow;
      }
    };
    const working = [work(), work(), work()];
    await writing;
    done = true;
    await Promise.all(working);
    expect(await count('events', 6)).toBe(entries);
    expect(stored).toBe(entries);
  });
});

describe('a shard that cannot continue', () => {
  test('an outbox that is younger than the cursor means that Redis lost data', async () => {
    await database.pool.query(`INSERT INTO outbox_cursors (shard, stream_id) VALUES (7, '99999999999999-0')`);
    await writeEntry(redis, 7, { records: [eventRecord()] });
    await expect(persister().drain(7, hurry)).rejects.toThrow('Redis lost data');
    expect(await backlog(redis, 7)).toBe(1);
  });
});
