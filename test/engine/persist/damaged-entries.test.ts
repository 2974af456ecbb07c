import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createDeadLetters, type DeadLetters } from '../../../src/engine/persist/dead-letters.ts';
import { Persister, type PersistStep } from '../../../src/engine/persist/persister.ts';
import type { SetAside } from '../../../src/engine/persist/refused-entries.ts';
import { systemClock } from '../../../src/clock.ts';
import { createRedis, redisReady } from '../../../src/redis/client.ts';
import { keptEntriesKey, outboxKey } from '../../../src/redis/keys.ts';
import { backlog } from '../../../src/redis/outbox.ts';
import type { GoneRecord, HappenedRecord } from '../../../src/packed/record.ts';
import { testDatabase } from '../../postgres/database.ts';
import { eventRecord, newId, NOW, pack, packedState, writeEntry } from './outbox-writer.ts';
import { unpackAll } from '../../../src/packed/state.ts';
import { USER } from '../../../src/packed/user-fields.ts';
import { opened } from '../../stack/opened.ts';

let letters: DeadLetters;
const hurry = AbortSignal.abort();

const database = opened(() => testDatabase());
const redis = opened(() => createRedis(database.stack.redisUrl), 'disconnect');
beforeAll(async () => {
  await redisReady(redis);
  letters = createDeadLetters({ redis, pool: database.pool, clock: systemClock, onRetried: () => undefined });
});

afterEach(async () => {
  // What a test that failed has left in the way of the others.
  await database.pool.query(`
    DROP FUNCTION IF EXISTS full_disk CASCADE;
    ALTER TABLE users DROP CONSTRAINT IF EXISTS no_ada;
    ALTER TABLE events DROP CONSTRAINT IF EXISTS no_more;
    ALTER TABLE dead_letters DROP CONSTRAINT IF EXISTS no_bytes`);
});

// Each test has its own tenant on this shard.
const SHARD = 3;
let tenantNo = SHARD;
beforeEach(() => void (tenantNo += 8));

async function rows<T = Record<string, unknown>>(statement: string, values: unknown[] = []): Promise<T[]> {
  return (await database.pool.query(statement, values)).rows as T[];
}

/** Stores the outbox; returns what was set aside. */
async function drain(onStep?: (step: PersistStep) => void): Promise<SetAside[]> {
  const aside: SetAside[] = [];
  const persister = new Persister({
    redis,
    pool: database.pool,
    onSetAside: (entry) => void aside.push(entry),
    ...(onStep && { onStep }),
  });
  await persister.drain(SHARD, hurry);
  expect(await backlog(redis, SHARD)).toBe(0);
  return aside;
}

const addRaw = async (fields: (string | number | Buffer)[]): Promise<string> =>
  (await redis.xadd(outboxKey(SHARD), '*', ...fields)) as string;

const storedEvents = async (): Promise<string[]> =>
  (
    await rows<{ id: string }>(`SELECT replace(id::text, '-', '') AS id FROM events WHERE tenant_no = $1`, [tenantNo])
  ).map(({ id }) => id);

const attributesOf = async (id: string): Promise<unknown> =>
  (
    await rows<{ attributes: object }>('SELECT attributes FROM users WHERE tenant_no = $1 AND id = $2', [tenantNo, id])
  )[0]?.attributes;

const event = (u: string, more: Partial<HappenedRecord> = {}): HappenedRecord => eventRecord({ u, a: 1, ...more });
const state = (n: number | string): Buffer => packedState({ attributes: new Map([[1, String(n)]]) });

/** An event with everything that a record can hold. */
const fullRecord = (): HappenedRecord =>
  event('bad', {
    n: 1,
    c: [11, 12],
    p: [[21, 0, 15, [[22, 15, 15, [31, 32]]]]],
    b: [[41, 20775, 'x', -1, 1, 0]],
    x: '{"3":"blue"}',
    ik: 'key',
    y: 1,
    w: [[1, 3, 20770, 20774, 5]],
    pa: [[20780, 20790, newId()]],
    s: [1, 20775, 20775, 1, 0],
  });

/** Damaged values of a field. */
const DAMAGES: [string, unknown][] = [
  ['nothing', undefined],
  ['null', null],
  ['another text', 'x\0'.repeat(3)],
  ['a huge number', 2 ** 60],
  ['a fraction', 0.5],
  ['a negative number', -3_000_000_000],
  ['a list', [[1, 'x'], 'y']],
  ['a map', { a: { b: 1 } }],
  ['bytes', Buffer.from([0xff, 0x00])],
];

describe('a record damaged at each position', () => {
  const fields = Object.keys(fullRecord()) as (keyof HappenedRecord)[];

  test.each(fields)('%s', async (field) => {
    const neighbours: string[] = [];
    const damaged: { how: string; id: string; position: string }[] = [];
    for (const [how, value] of DAMAGES) {
      const [before, bad, after] = [event('before'), { ...fullRecord(), [field]: value }, event('after')];
      if (value === undefined) delete bad[field];
      neighbours.push(before.i, after.i);
      const fieldsOfEntry = [
        'u',
        'before',
        's',
        state(how),
        'u',
        'bad',
        's',
        state(how),
        'u',
        'after',
        's',
        state(how),
      ];
      const records = Buffer.concat([before, bad, after].map((record) => pack(record)));
      damaged.push({ how, id: String(bad.i), position: await addRaw(['t', tenantNo, 'r', records, ...fieldsOfEntry]) });
      const good = event('elsewhere');
      neighbours.push(good.i);
      await writeEntry(redis, SHARD, { tenantNo, records: [good], states: { elsewhere: state(how) } });
    }

    const aside = await drain();

    const stored = await storedEvents();
    expect(stored).toEqual(expect.arrayContaining(neighbours));
    for (const { id, position } of damaged) {
      const letter = aside.find((each) => each.position === position);
      // Postgres stores what it can, since damage may look like valid data; the rest is one complete dead letter.
      expect(stored.includes(id) !== (letter !== undefined) || field === 'i' || field === 'k').toBe(true);
      if (letter !== undefined) expect(letter.parts).toBe(1);
    }
    for (const user of ['before', 'after', 'bad', 'elsewhere'])
      expect(await attributesOf(user)).toEqual({ 1: 'bytes' });
    expect((await letters.list({ limit: 100, skip: 0, status: 'waiting' })).length).toBeGreaterThanOrEqual(
      aside.length,
    );
    for (const { id } of aside) expect(await letters.drop([id], { who: 'test' })).toEqual([id]);
  });
});

describe('a state damaged at each position', () => {
  const streak = { length: 1, startDay: 1, lastPeriod: 1, extendedMs: 1, currentPeriod: 1, sums: new Map() };
  const whole = unpackAll(
    packedState({
      name: 'Zoë',
      email: 'z@example.org',
      attributes: new Map([[1, 'x']]),
      points: new Map([[2, 3]]),
      streaks: { daily: streak, weekly: streak, monthly: streak },
      freezes: 1,
      earnedDay: 2,
      zone: 'Asia/Tokyo',
    }),
  );
  const places = [
    'createdMs',
    'updatedMs',
    'name',
    'email',
    'attributes',
    'points',
    'streaks',
    'freezes',
    'earnedDay',
  ] as const;

  test.each([...places, 'zone', 'all'] as const)('%s', async (field) => {
    const good: string[] = [];
    for (const [how, value] of DAMAGES) {
      const bad = [...whole];
      if (field !== 'all') bad.splice(USER[field], 1, ...(value === undefined ? [] : [value]));
      const packed = field === 'all' ? pack(value ?? null) : Buffer.concat(bad.map((each) => pack(each)));
      const records = [event('bad', { y: 1 }), event('other')];
      good.push(...records.map(({ i }) => i));
      await writeEntry(redis, SHARD, { tenantNo, records, states: { bad: packed, other: state(how) } });
    }

    // Truncated, so that it is unreadable in every way.
    const last = event('bad');
    await writeEntry(redis, SHARD, { tenantNo, records: [last], states: { bad: state(1).subarray(0, -1) } });

    const aside = await drain();

    expect(await storedEvents()).toEqual(expect.arrayContaining([...good, last.i]));
    expect(await attributesOf('other')).toEqual({ 1: 'bytes' });
    expect(aside.at(-1)?.reason).toBe('invalid user state');
    // The next state, of an event without news for queries, restores everything in the dead letters.
    const next = eventRecord({ u: 'bad' });
    await writeEntry(redis, SHARD, { tenantNo, records: [next], states: { bad: state('mended') } });
    expect(await drain()).toEqual([]);
    expect(await attributesOf('bad')).toEqual({ 1: 'mended' });
    for (const { id } of aside)
      expect(await letters.retry(id, { who: 'test' })).toMatchObject({ status: 'stored', parts: [] });
    expect(await attributesOf('bad')).toEqual({ 1: 'mended' });
  });
});

describe('entries without sense', () => {
  const cut = (record: HappenedRecord): Buffer => pack(record).subarray(0, -3);

  test.each<[string, (number | string | Buffer)[], string[]]>([
    ['records that are no msgpack', ['t', 11, 'r', Buffer.from([0xc1])], ['record']],
    ['records that break off', ['t', 11, 'r', Buffer.concat([pack(event('early')), cut(event('late'))])], ['rest']],
    ['no tenant', ['r', pack(event('x')), 'u', 'x', 's', state(1)], ['record', 'state']],
    ['an invalid tenant', ['t', 'eleven', 'r', pack(event('x')), 'u', 'x', 's', state(1)], ['record', 'state']],
    ['a tenant beyond the numbers', ['t', '3000000000', 'r', pack(event('x'))], ['record']],
    ['unknown field names', ['a', 'b', 'c', 'd'], ['rest']],
    ['a user without a state', ['t', 11, 'r', pack(event('x')), 'u', 'x', 'y', 'z'], ['state', 'rest']],
    ['a record of an unknown kind', ['t', 11, 'r', pack({ i: 'x', u: 'ada', at: NOW, d: 1 })], ['record']],
    ['a number instead of a record', ['t', 11, 'r', pack(7)], ['record']],
    ['invalid batch progress', ['t', 11, 'r', pack({ k: 'b', p: 5 })], ['record']],
    [
      'a user too long for an index',
      ['t', 11, 'r', pack(event('x'.repeat(1_000).replaceAll(/x/g, () => String(Math.random()))))],
      ['record'],
    ],
  ])('%s', async (_, fields, parts) => {
    const good = [event('before'), event('after')];
    await writeEntry(redis, SHARD, { tenantNo, records: [good[0]!] });
    await addRaw(fields);
    await writeEntry(redis, SHARD, { tenantNo, records: [good[1]!] });

    const [aside, ...more] = await drain();

    expect(more).toEqual([]);
    expect((await storedEvents()).toSorted()).toEqual(good.map(({ i }) => i).toSorted());
    const { letter, fields: kept } = await letters.show(aside!.id);
    expect(letter.parts.map(({ part }) => part)).toEqual(parts);
    expect(kept).toEqual(fields.map((field) => (Buffer.isBuffer(field) ? field : Buffer.from(String(field)))));
  });
});

describe('one bad record among many', () => {
  test('sets aside a record with an existing event ID, stores all others, and a retry stores it when the other is gone', async () => {
    const first = event('ada');
    await writeEntry(redis, SHARD, { tenantNo, records: [first], states: { ada: state(1) } });
    const records = Array.from({ length: 40 }, (_, n) =>
      event(`user-${n}`, { i: n === 17 ? first.i : newId(), c: [n] }),
    );
    await writeEntry(redis, SHARD, {
      tenantNo,
      records,
      states: Object.fromEntries(records.map(({ u }, n) => [u, state(n)])),
    });
    const [aside] = await drain();
    expect(aside?.reason).toMatch(/events_d\d+_pkey/);
    expect(await storedEvents()).toHaveLength(40);
    expect(await attributesOf('user-17')).toEqual({ 1: '17' });
    expect(await rows('SELECT achievement_no FROM completions WHERE tenant_no = $1', [tenantNo])).toHaveLength(39);
    const counted = (): Promise<unknown> =>
      rows('SELECT events::int, completions::int FROM tenant_days WHERE tenant_no = $1', [tenantNo]);
    expect(await counted()).toEqual([{ events: 40, completions: 39 }]);
    expect(await letters.retry(aside!.id, { who: 'test' })).toMatchObject({
      status: 'waiting',
      tries: 1,
      parts: [{ part: 'record', at: 17, user: 'user-17' }],
    });

    for (const table of ['events', 'used_keys'])
      await rows(`DELETE FROM ${table} WHERE tenant_no = $1 AND user_id = $2`, [tenantNo, 'ada']);
    expect(await letters.retry(aside!.id, { who: 'test' })).toMatchObject({ status: 'stored', tries: 2, parts: [] });
    expect(await letters.retry(aside!.id, { who: 'test' })).toMatchObject({ status: 'stored', tries: 2 });
    expect(
      await rows('SELECT user_id FROM events WHERE tenant_no = $1 AND user_id = $2', [tenantNo, 'user-17']),
    ).toHaveLength(1);
    expect(await rows('SELECT achievement_no FROM completions WHERE tenant_no = $1', [tenantNo])).toHaveLength(40);
    // A record counts once it is stored, however often that was tried.
    expect(await counted()).toEqual([{ events: 41, completions: 40 }]);
    // It contains nobody's data any more.
    expect((await letters.show(aside!.id)).fields).toBeNull();
    expect(await rows('SELECT user_ids FROM dead_letters WHERE id = $1', [aside!.id])).toEqual([{ user_ids: [] }]);
  });

  test('the newer of two states that could not be stored wins, in either order of retries', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      tenantNo += 8;
      await rows(`ALTER TABLE users ADD CONSTRAINT no_ada CHECK (id <> 'ada' OR tenant_no <> ${tenantNo})`);
      for (const n of [1, 2])
        await writeEntry(redis, SHARD, { tenantNo, records: [event('ada')], states: { ada: state(n) } });
      const aside = await drain();
      expect(aside).toHaveLength(2);
      await rows('ALTER TABLE users DROP CONSTRAINT no_ada');
      for (const at of order) await letters.retry(aside[at]!.id, { who: 'test' });
      expect(await attributesOf('ada')).toEqual({ 1: '2' });
    }
  });

  test('deleting a user removes it from dead letters; a retry stores the other user’s part', async () => {
    await rows(`ALTER TABLE events ADD CONSTRAINT no_more CHECK (tenant_no <> ${tenantNo})`);
    const [ada, bob] = [event('ada'), event('bob')];
    await writeEntry(redis, SHARD, { tenantNo, records: [ada, bob], states: { ada: state('secret'), bob: state(2) } });
    await writeEntry(redis, SHARD, { tenantNo, records: [event('ada')], states: { ada: state('secret') } });
    const [both, alone] = await drain();
    const gone: GoneRecord = { k: 'g', i: newId(), u: 'ada', at: NOW };
    await addRaw(['t', tenantNo, 'r', pack(gone)]);
    expect(await drain()).toEqual([]);
    await rows('ALTER TABLE events DROP CONSTRAINT no_more');
    await expect(letters.show(alone!.id)).rejects.toThrow('There is no dead letter');
    const { letter, fields } = await letters.show(both!.id);
    expect(letter.parts).toMatchObject([{ part: 'record', at: 1, user: 'bob' }]);
    expect(Buffer.concat(fields!).toString('latin1')).not.toMatch(/ada|secret/);
    expect(await letters.retry(both!.id, { who: 'test' })).toMatchObject({ status: 'stored' });
    expect(await storedEvents()).toEqual([bob.i]);
    expect(await attributesOf('ada')).toBeUndefined();
  });
});

describe('faults outside the entry', () => {
  test('a transient fault sets nothing aside', async () => {
    await rows(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$`);
    await rows('CREATE TRIGGER full_disk BEFORE INSERT ON events EXECUTE FUNCTION full_disk()');
    await writeEntry(redis, SHARD, { tenantNo, records: [event('ada')] });
    const before = await letters.list({ limit: 100, skip: 0 });
    await expect(drain()).rejects.toThrow('could not extend file');
    expect(await letters.list({ limit: 100, skip: 0 })).toEqual(before);
    await rows('DROP FUNCTION full_disk CASCADE');
    expect(await drain()).toEqual([]);
    expect(await storedEvents()).toHaveLength(1);
  });
});

describe('an entry that Postgres does not accept even as bytes', () => {
  test('stays in Redis, and a retry stores it', async () => {
    await rows('ALTER TABLE dead_letters ADD CONSTRAINT no_bytes CHECK (entry IS NULL) NOT VALID');
    await rows(`ALTER TABLE events ADD CONSTRAINT no_more CHECK (tenant_no <> ${tenantNo})`);
    const record = event('ada');
    const position = await writeEntry(redis, SHARD, { tenantNo, records: [record], states: { ada: state(1) } });

    // A crash between keeping it and the commit: everything is done again.
    await expect(
      drain((step) => {
        if (step === 'kept') throw new Error('ended here');
      }),
    ).rejects.toThrow('ended here');
    expect(await redis.hexists(keptEntriesKey(SHARD), position)).toBe(1);
    expect(await rows('SELECT FROM dead_letters WHERE position = $1', [position])).toEqual([]);

    const [aside] = await drain();
    expect(await attributesOf('ada')).toEqual({ 1: '1' });
    const { fields } = await letters.show(aside!.id);
    expect(fields?.[1]?.toString()).toBe(String(tenantNo));
    await rows('ALTER TABLE events DROP CONSTRAINT no_more');
    expect(await letters.retry(aside!.id, { who: 'test' })).toMatchObject({ status: 'stored' });
    expect(await storedEvents()).toEqual([record.i]);
    expect(await redis.exists(keptEntriesKey(SHARD))).toBe(0);
    await rows('ALTER TABLE dead_letters DROP CONSTRAINT no_bytes');
  });
});
