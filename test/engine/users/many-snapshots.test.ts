import { beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import {
  createSnapshotPacker,
  entryHead,
  userHash,
  withoutEntry,
} from '../../../src/engine/leaderboards/snapshot-parts.ts';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { JobRunner } from '../../../src/engine/schedule/job-runner.ts';
import { createMergeEnding } from '../../../src/engine/users/merge-ending.ts';
import { rowRemoval } from '../../../src/engine/users/row-removal.ts';
import { searchRuns } from '../../../src/postgres/boards/snapshots.ts';
import { knownParts } from '../../../src/redis/parts.ts';
import { differencesIn } from '../../differences.ts';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

// No search of the snapshots of leaderboards, of which a tenant may have very many, reads all at once: neither for an export nor for a merge.

/** A run that does not end, and many short ones. */
const [LONG, RUNS, DAYS] = [1_203, 120, 4];
const ALL = LONG + RUNS * DAYS;

let withGuest: Buffer;
const laurel = opened(() => startLaurel({ spread: 1, configuration: { metrics: [{ key: 'm', name: 'M' }] } }));
beforeAll(async () => {
  const packer = createSnapshotPacker(1);
  for (const userId of ['before', 'guest', 'behind']) packer.add({ userId, rank: 1, score: 2 });
  withGuest = packer.packed()[0]!;
});
beforeEach(async () => {
  const { pool } = laurel;
  await pool.query('TRUNCATE board_snapshots, board_snapshot_parts');
  await pool.query(
    `INSERT INTO board_snapshots
     SELECT 0, 1, 100, 100 + n, now(), 1 FROM generate_series(0, ${LONG - 1}) AS n
     UNION ALL
     SELECT 0, 2, run * 10, run * 10 + n, now(), 1
       FROM generate_series(1, ${RUNS}) AS run, generate_series(0, ${DAYS - 1}) AS n`,
  );
  await pool.query('INSERT INTO board_snapshot_parts SELECT 0, board_no, run_day, 1, 0, day, $1 FROM board_snapshots', [
    withGuest,
  ]);
});

const persist = (): Promise<number> =>
  new Persister({ redis: laurel.redis, pool: laurel.pool }).drain(knownParts(laurel.redis, 0)[0]!.shard);

async function send(userId: string): Promise<void> {
  expect((await laurel.app.post('/v1/metrics/m/event', { user: { id: userId }, value: 1 })).status).toBe(201);
  await persist();
}

const count = async (sql: string, ...values: unknown[]): Promise<number> =>
  (await laurel.pool.query(sql, values)).rowCount!;
const withoutGuest = (): Promise<number> =>
  count('SELECT FROM board_snapshot_parts WHERE packed = $1', withoutEntry(withGuest, 'guest'));

const jobs = (kind: string): Promise<number> => count('SELECT FROM jobs WHERE kind = $1', kind);

/** Does a slice of a job that deletes or moves rows. */
async function work(kind: 'user_deletion' | 'user_merge'): Promise<void> {
  const { redis, pool } = laurel;
  const ending = createMergeEnding({ redis, pool, clock: systemClock, onWritten: () => undefined });
  await pool.query('UPDATE jobs SET due = clock_timestamp()');
  await new JobRunner({ pool, works: kind === 'user_deletion' ? [rowRemoval(redis)] : [ending] }).step();
}

test('an export has all places, searched a few at a time', async () => {
  await send('guest');
  const where = { hash: userHash('guest'), bytes: entryHead('guest') };
  const found: string[] = [];
  for (let from: string | null = ''; from !== null;) {
    const { parts, cursor } = await searchRuns(laurel.pool, { tenantNo: 0, lastDays: null, cursor: from }, where);
    expect(parts.length).toBeLessThanOrEqual(500);
    found.push(...parts.map(({ boardNo, runDay, day }) => `${boardNo} ${runDay} ${day}`));
    from = cursor;
  }
  expect([found.length, new Set(found).size]).toEqual([ALL, ALL]);
  const { body } = await laurel.admin.get('/v1/users/guest/export');
  expect(body.leaderboardDays.length).toBe(ALL);
  expect(new Set(body.leaderboardDays.map((each: object) => JSON.stringify(each))).size).toBe(ALL);
});

test('the snapshots forget a merged user in slices, while the rows of the user are moved', async () => {
  await send('guest');
  await send('account');
  await laurel.pool.query(
    `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date)
     SELECT gen_random_uuid(), tenant_no, user_id, metric_no, value, total, at, local_date - (n % 50)
       FROM events CROSS JOIN generate_series(1, 5000) AS n WHERE user_id = 'guest'`,
  );
  const events = await count(`SELECT FROM events WHERE user_id IN ('guest', 'account')`);
  const asked = { from: 'guest', into: 'account', acrossControlGroup: true };
  expect(await laurel.admin.post('/v1/users/merge', asked)).toMatchObject({ status: 200 });
  await persist();
  expect([await withoutGuest(), await jobs('user_deletion'), await jobs('user_merge')]).toEqual([0, 1, 1]);
  for (let before = 0; (await jobs('user_deletion')) > 0; before = await withoutGuest()) {
    await work('user_deletion');
    expect((await withoutGuest()) - before).toBeLessThanOrEqual(500);
  }
  expect(await withoutGuest()).toBe(ALL);
  // The rows that are still to be moved are in the sums of days.
  expect(await count(`SELECT FROM summed_users WHERE user_id = 'guest'`)).toBe(1);
  while ((await jobs('user_merge')) > 0) await work('user_merge');
  expect(await count(`SELECT FROM summed_users WHERE user_id = 'guest'`)).toBe(0);
  expect(await count(`SELECT FROM events WHERE user_id = 'account'`)).toBe(events);
  expect((await laurel.app.get('/v1/users/guest')).body.id).toBe('account');
  expect((await differencesIn(laurel)).map(({ part }) => part)).toEqual([]);
});
