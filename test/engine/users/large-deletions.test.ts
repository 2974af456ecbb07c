import { beforeAll, beforeEach, expect, test } from 'vitest';
import { rebuildByHand } from '../rebuild/by-hand.ts';
import { createSnapshotPacker, withoutEntry } from '../../../src/engine/leaderboards/snapshot-parts.ts';
import { rowRemoval } from '../../../src/engine/users/row-removal.ts';
import { USER_TABLES } from '../../../src/postgres/users/user-tables.ts';
import { differencesIn } from '../../differences.ts';
import type { TestLaurel } from '../../laurel.ts';
import { largeUsers, ROWS } from './large-users.ts';

// A deletion of a user with many rows is stored at once, and a job deletes the rows in slices, while a new user with the ID may have rows.

let redis: TestLaurel['redis'];
let nth = 0;
let id = '';

const { laurel, rows, countOf: countOfUser, persist, send: sendOf, makeLarge, runnerOf } = largeUsers();
beforeAll(async () => {
  redis = await laurel.connect();
});
beforeEach(async () => {
  nth += 1;
  id = `large-${nth}`;
  await send('first');
  await persist();
  await makeLarge(id, { withKeys: true });
});

const send = (key: string, isNew?: boolean): Promise<void> => sendOf(id, key, isNew);
const runner = ({ stops = false } = {}) => runnerOf(rowRemoval(laurel.redis), stops);
const isOpen = async (): Promise<boolean> => (await rows(`SELECT FROM jobs WHERE kind = 'user_deletion'`)).length > 0;

async function removeAll(): Promise<void> {
  const working = runner();
  while (await isOpen()) await working.step();
}

const countOf = (table: string): Promise<number> => countOfUser(table, id);
const TABLES = ['events', 'awards', 'used_keys'];
const counts = (): Promise<number[]> => Promise.all(TABLES.map(countOf));

async function remove(): Promise<void> {
  await laurel.admin.delete(`/v1/users/${id}`);
  await persist();
}

/** The sums of the user's days: of events and of points. */
async function sums(): Promise<unknown[]> {
  const [events] = await rows('SELECT sum(events)::int AS n FROM event_days WHERE user_id = $1', id);
  const [awards] = await rows('SELECT sum(awarded)::int AS n FROM award_days WHERE user_id = $1', id);
  return [events!['n'], awards!['n']];
}

const differences = () => differencesIn({ redis, pool: laurel.pool });

async function expectNothing(): Promise<void> {
  for (const { table, user, kept } of USER_TABLES)
    if (kept !== true) expect([table, await rows(`SELECT FROM ${table} WHERE ${user} = $1`, id)]).toEqual([table, []]);
  expect(await rows('SELECT FROM rows_to_delete')).toEqual([]);
}

test('the deletion is stored at once, and a new user with the ID keeps every row', async () => {
  await remove();
  expect(await rows('SELECT FROM users WHERE id = $1', id)).toEqual([]);
  expect(await counts()).toEqual([ROWS + 1, ROWS + 1, ROWS + 1]);
  expect(await sums()).toEqual([null, null]);

  // The key belongs to the deleted user.
  await send('first');
  await persist();
  expect((await laurel.app.get(`/v1/users/${id}/metrics/m`)).body.current).toBe(1);
  expect(await differences()).toEqual([]);
  const exported = laurel.admin.get(`/v1/users/${id}/export`);

  const stopping = runner({ stops: true });
  await stopping.step();
  expect(await counts()).toEqual([ROWS + 2, ROWS + 2, ROWS + 2]);
  let most = 0;
  let sent = 1;
  while (await isOpen()) {
    const left = (await countOf('events')) + (await countOf('awards'));
    sent += 1;
    await send(`key ${sent}`);
    // The persister holds no lock that a slice waits for, and the other way round.
    await Promise.all([stopping.step(), persist()]);
    // The end of the job holds the cursor for a moment.
    await persist();
    most = Math.max(most, left - (await countOf('events')) - (await countOf('awards')));
    expect(await sums()).toEqual([sent, sent]);
  }
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(2_000);
  expect(await counts()).toEqual([sent, sent, sent]);
  expect(await sums()).toEqual([sent, sent]);
  expect(await rows('SELECT FROM rows_to_delete')).toEqual([]);
  // 503 if the machine is so slow that it waited for the rows in vain.
  const { status, body } = await exported;
  expect([200, 503]).toContain(status);
  expect(body.events?.length ?? 0).toBeLessThanOrEqual(sent);
  await send('key 2', false);
  expect((await laurel.app.get(`/v1/users/${id}/metrics/m`)).body.current).toBe(sent);
  expect(await differences()).toEqual([]);
});

test('of a user who does not come back nothing is left, also after a second deletion', async () => {
  await remove();
  await runner().step();
  await remove();
  await removeAll();
  await expectNothing();
  expect(await differences()).toEqual([]);
});

test('deleted again while rows are deleted: no row and no key of either is left', async () => {
  await remove();
  await send('first');
  await send('second');
  await persist();
  await runner().step();
  await remove();
  await send('first');
  await persist();
  await removeAll();
  expect(await counts()).toEqual([1, 1, 1]);
  expect(await sums()).toEqual([1, 1]);
  expect(await differences()).toEqual([]);
  await remove();
  await expectNothing();
});

test('a rebuild meanwhile takes no key of the deleted user for one of the new user', async () => {
  await remove();
  await send('second');
  await persist();
  await rebuildByHand(laurel, redis);
  await send('first');
  await send('key 7');
  await persist();
  expect((await laurel.app.get(`/v1/users/${id}/metrics/m`)).body.current).toBe(3);
  await removeAll();
  expect(await counts()).toEqual([3, 3, 3]);
  expect(await differences()).toEqual([]);
});

test('the log of a webhook shows no message about a deleted user whose messages are still to be deleted', async () => {
  const hook = { name: 'Hook', url: 'https://hooks.example.com/x', events: ['points.changed'] };
  const { body } = await laurel.admin.post('/v1/webhooks', [hook]);
  const [{ id: webhookId }] = body.created;
  const messages = await rows(
    `INSERT INTO webhook_messages (day, id, webhook_id, tenant_no, type, user_id, sequence, at, created, payload, status)
     SELECT 20000, gen_random_uuid(), $1, 0, 'points.changed', u, row_number() OVER (), now(), now(), '{}', 'delivered'
       FROM unnest(ARRAY [$2, $2, 'another']) AS u RETURNING id, user_id`,
    webhookId,
    id,
  );
  const path = `/v1/webhooks/${webhookId}/deliveries`;
  const shown = async (): Promise<(string | null)[]> =>
    (await laurel.admin.get(path)).body.deliveries.map((each: { userId: string | null }) => each.userId);
  expect((await shown()).length).toBe(3);
  await remove();
  expect(await countOf('webhook_messages')).toBe(2);
  expect(await shown()).toEqual(['another']);
  expect((await laurel.admin.get(`${path}?userId=${id}`)).body.deliveries).toEqual([]);
  const statuses = messages.map(async (each) => (await laurel.admin.get(`${path}/${String(each['id'])}`)).status);
  expect(await Promise.all(statuses)).toEqual([404, 404, 200]);
  await removeAll();
  expect(await countOf('webhook_messages')).toBe(0);
  expect(await shown()).toEqual(['another']);
  await laurel.admin.delete(`/v1/webhooks?ids=${webhookId}`);
});

test('snapshots of a tenant with many are searched in slices; those of a new user stay', async () => {
  const { pool } = laurel;
  const packer = createSnapshotPacker(1);
  for (const userId of ['before', id, 'behind']) packer.add({ userId, rank: 1, score: 2 });
  const withUser = packer.packed()[0]!;
  const without = withoutEntry(withUser, id);
  await rows(
    `INSERT INTO board_snapshots SELECT 0, board, run, run + n, now(), 1
       FROM generate_series(1, 3) AS board, generate_series(100, 2500, 20) AS run, generate_series(0, 3) AS n`,
  );
  const addParts = `INSERT INTO board_snapshot_parts SELECT 0, board, run, 1, 0, run + n, $1
       FROM generate_series(1, 3) AS board, generate_series($2::int, $3::int, 20) AS run, generate_series(0, 3) AS n`;
  await pool.query(addParts, [withUser, 100, 2_500]);
  await remove();
  const count = async (packed: Buffer): Promise<number> =>
    (await pool.query('SELECT FROM board_snapshot_parts WHERE packed = $1', [packed])).rowCount!;
  const all = 3 * 121 * 4;
  expect(await count(withUser)).toBe(all);
  // Snapshots of the new user, in a known run, a new run and on a new leaderboard.
  await pool.query(addParts, [withUser, 2_520, 2_520]);
  await rows(
    'INSERT INTO board_snapshot_parts VALUES (0, 2, 2500, 1, 0, 2504, $1), (0, 9, 100, 1, 0, 100, $1)',
    withUser,
  );
  const stopping = runner({ stops: true });
  let most = 0;
  while (await isOpen()) {
    const before = await count(without);
    await stopping.step();
    most = Math.max(most, (await count(without)) - before);
  }
  expect(most).toBe(50 * 4);
  expect([await count(without), await count(withUser)]).toEqual([all, 3 * 4 + 2]);
  await rows('DELETE FROM board_snapshots');
  await rows('DELETE FROM board_snapshot_parts');
  await expectNothing();
});

test('a small user has no job', async () => {
  id = `small-${nth}`;
  await send('only');
  await persist();
  await remove();
  expect(await isOpen()).toBe(false);
  await expectNothing();
});
