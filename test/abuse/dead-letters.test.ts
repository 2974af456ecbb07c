import { expect, test } from 'vitest';
import { outboxKey } from '../../src/redis/keys.ts';
import { runAdminCli, type Ended } from '../cli/run-cli.ts';
import { eventRecord, newId, pack, packedState } from '../engine/persist/outbox-writer.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { sized } from './length.ts';
import { opened } from '../stack/opened.ts';

// Damaged entries among other users' events: those events are answered and stored, and the damaged entries are listed.
const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));

const USERS = 8;
const EVENTS_OF_EACH = sized({ short: 40, long: 1_000 });
const PLANTED = sized({ short: 24, long: 400 });

const damaged = (takenId: string): (string | number | Buffer)[][] => {
  const state = ['u', 'mallory', 's', packedState()];
  const record = (more: object): Buffer => pack({ ...eventRecord({ u: 'mallory', i: newId() }), ...more });
  return [
    ['t', 0, 'r', Buffer.from([0xc1]), ...state],
    ['t', 0, 'r', record({}).subarray(0, -3)],
    ['t', 0, 'r', record({ v: ['much', 0] }), ...state],
    ['t', 0, 'r', record({ i: takenId })],
    ['t', 0, 'r', record({ x: '{' }), ...state],
    ['t', 0, 'r', '', 'u', 'mallory', 's', Buffer.from([0xc1])],
    ['t', 'nobody', 'r', record({})],
    ['x', 'y'],
  ];
};

const cli = (...words: string[]): Promise<Ended> => runAdminCli(laurel, ['dead-letters', ...words]);

async function listed(): Promise<{ id: string; position: string; tenantNo: number | null }[]> {
  const all = [];
  for (let skip = 0; ; skip += 100) {
    const { body } = await laurel.admin.get(`/v1/dead-letters?limit=100&skip=${skip}`);
    all.push(...body);
    if (body.length < 100) return all;
  }
}

test('other events are answered and stored, and each damaged entry is listed once', async () => {
  const event = (id: string, key: string) =>
    laurel.app.post('/v1/metrics/flips/event', { user: { id }, value: 1 }, { headers: { 'Idempotency-Key': key } });
  const taken = String((await event('first', 'first')).body.eventId).replaceAll('-', '');
  const answered: string[] = [];
  const users = Array.from({ length: USERS }, async (_, user) => {
    for (let n = 0; n < EVENTS_OF_EACH; n += 1) {
      const { status, body } = await event(`user-${user}`, `${user}-${n}`);
      expect([status, body.total]).toEqual([201, n + 1]);
      answered.push(body.eventId);
    }
  });
  const positions: string[] = [];
  const planting = async (): Promise<void> => {
    for (let n = 0; n < PLANTED; n += 1) {
      const forms = damaged(taken);
      positions.push((await laurel.redis.xadd(outboxKey(0), '*', ...forms[n % forms.length]!)) as string);
    }
  };
  await Promise.all([...users, planting()]);
  expect((await event('last', 'last')).status).toBe(201);
  await expect.poll(() => laurel.redis.xlen(outboxKey(0))).toBe(0);

  expect((await listed()).map(({ position }) => position).toSorted()).toEqual(positions.toSorted());
  const { rows } = await laurel.pool.query<{ id: string }>(`SELECT id::text FROM events WHERE user_id LIKE 'user-%'`);
  expect(rows.map(({ id }) => id).toSorted()).toEqual(answered.toSorted());
  const { rows: totals } = await laurel.pool.query(
    `SELECT user_id, count(*)::int AS n, sum(value)::int AS total FROM events
      WHERE user_id LIKE 'user-%' GROUP BY user_id ORDER BY user_id`,
  );
  expect(totals).toEqual(
    Array.from({ length: USERS }, (_, user) => ({ user_id: `user-${user}`, n: EVENTS_OF_EACH, total: EVENTS_OF_EACH })),
  );
  const { body: board } = await laurel.app.get('/v1/leaderboards/flips');
  expect(board.rankings.slice(0, USERS).map(({ value }: { value: number }) => value)).toEqual(
    Array.from({ length: USERS }, () => EVENTS_OF_EACH),
  );
});

test('the command lists dead letters, and its exit codes report the result', async () => {
  const ids = (await listed()).map(({ id }) => id);
  const [list, retry, missing, unasked] = await Promise.all([
    cli('list'),
    cli('retry', ids[0]!),
    cli('show', '00000000-0000-4000-8000-000000000000'),
    cli('drop', ids[0]!),
  ]);
  expect([list.code, retry.code, missing.code, unasked.code]).toEqual([0, 1, 2, 2]);
  expect(list.out.trimEnd().split('\n')).toHaveLength(PLANTED);
  expect(list.out).not.toContain('mallory');
  expect((await cli('drop', '--yes', ...ids.slice(0, 100))).code).toBe(0);
  expect((await cli('drop', '--yes', ids[0]!)).code).toBe(1);
  expect(await listed()).toHaveLength(Math.max(0, PLANTED - 100));
});
