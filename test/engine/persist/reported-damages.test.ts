import { afterEach, beforeAll, expect, test } from 'vitest';
import { createDeadLetters } from '../../../src/engine/persist/dead-letters.ts';
import type { HappenedRecord } from '../../../src/packed/record.ts';
import { backlog } from '../../../src/redis/outbox.ts';
import { Reported } from './messages.ts';
import { eventRecord, newId, packedState, writeEntry } from './outbox-writer.ts';
import { opened } from '../../stack/opened.ts';

/** Numbers of the catalog's resources by their keys. */
let nos: Record<string, number>;
const reported = opened(() => Reported.start());
beforeAll(async () => {
  const { rows } = await reported.pool.query<{ key: string; no: number }>(
    "SELECT doc->>'key' AS key, no FROM catalog_resources WHERE doc->>'key' IS NOT NULL",
  );
  nos = Object.fromEntries(rows.map(({ key, no }) => [key, no]));
});
afterEach(() => reported.clean());

const completed = (u: string): HappenedRecord => eventRecord({ u, a: 1, m: nos['flips']!, c: [nos['first']!] });

const fullRecord = (): HappenedRecord =>
  eventRecord({
    u: 'bad',
    n: 1,
    a: 1,
    m: nos['flips']!,
    c: [nos['first']!, nos['tour']!],
    p: [[nos['xp']!, 0, 15, [[99, 15, 15, [98]]]]],
    b: [[nos['top']!, 20_454, '', -1, 1, 0]],
    x: '{"3":"blue"}',
    ik: newId(),
    y: 1,
    w: [[1, 3, 20_770, 20_774, 5]],
    fe: 1,
    fz: 1,
    pa: [[20_780, 20_790, newId()]],
    s: [1, 20_775, 20_775, 1, 0],
  });

/** Damaged values of a field. */
const DAMAGES: readonly unknown[] = [
  null,
  'another text\0',
  2 ** 60,
  0.5,
  -3_000_000_000,
  [[1, 'x'], 'y'],
  [null],
  { a: { b: 1 } },
  Buffer.from([0xff, 0x00]),
];

test('stores and reports the other records of an entry with a damaged one', async () => {
  await reported.webhook();
  const { redis, pool } = reported.laurel;
  const neighbours: string[] = [];
  for (const field of Object.keys(fullRecord()) as (keyof HappenedRecord)[]) {
    for (const damage of DAMAGES) {
      const user = `user-${neighbours.length}`;
      neighbours.push(user);
      const records = [{ ...fullRecord(), [field]: damage } as HappenedRecord, completed(user)];
      const states = { bad: packedState(), [user]: packedState() };
      await writeEntry(redis, 0, { records: field === 'at' ? records.slice(1) : records, states });
    }
  }
  await reported.persist();
  expect(await backlog(redis, 0)).toBe(0);
  const heard = await reported.messages("type = 'achievement.completed' AND user_id LIKE 'user-%'");
  expect(heard.map(({ user }) => user)).toEqual(neighbours);
  const { rows } = await pool.query("SELECT id FROM users WHERE id LIKE 'user-%'");
  expect(rows).toHaveLength(neighbours.length);
});

test('an unreadable state: stores the record, reports nothing of it, and reports the next one', async () => {
  await reported.webhook();
  const { redis } = reported.laurel;
  // Begins like a state, but MessagePack never uses the byte 0xc1.
  const unreadable = Buffer.concat([Buffer.from([1]), Buffer.alloc(100, 0xc1)]);
  await writeEntry(redis, 0, { records: [completed('cyd')], states: { cyd: unreadable } });
  await writeEntry(redis, 0, { records: [completed('dan')] });
  await reported.persist();
  expect((await reported.messages()).map(({ user }) => user)).toEqual(['dan']);
  expect(reported.leftOut.length).toBeGreaterThan(0);
  const { rows } = await reported.pool.query(
    'SELECT user_id FROM completions WHERE user_id IN ($1, $2) ORDER BY user_id',
    ['cyd', 'dan'],
  );
  expect(rows).toEqual([{ user_id: 'cyd' }, { user_id: 'dan' }]);
});

test('a retry of a dead letter reports exactly what it stores', async () => {
  await reported.webhook({ events: ['achievement.completed'] });
  const { redis, pool } = reported.laurel;
  await pool.query("ALTER TABLE completions ADD CONSTRAINT odd CHECK (user_id <> 'ana')");
  await writeEntry(redis, 0, { records: [completed('ana'), completed('bob')] });
  await reported.persist();
  await pool.query('ALTER TABLE completions DROP CONSTRAINT odd');
  expect((await reported.messages()).map(({ user }) => user)).toEqual(['bob']);
  const { reporter, clock } = reported;
  const letters = createDeadLetters({ redis, pool, clock, reporter, onRetried: () => undefined });
  const [letter] = await letters.list({ limit: 10, skip: 0 });
  expect((await letters.retry(letter!.id, { who: 'test' })).status).toBe('stored');
  await letters.retry(letter!.id, { who: 'test' });
  expect((await reported.messages()).map(({ user }) => user)).toEqual(['bob', 'ana']);
});
