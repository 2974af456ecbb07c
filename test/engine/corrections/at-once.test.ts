import { beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { untilPersisted } from '../../../src/engine/persist/cursor-wait.ts';
import { startLaurel } from '../../laurel.ts';
import { atRest } from '../recomputations/recompute-laurel.ts';
import { differencesIn } from '../../differences.ts';
import { opened } from '../../stack/opened.ts';

// Concurrent corrections of all kinds, with events beside them, lose nothing and count nothing twice.

const BOARD = { start: '2030-01-01', status: 'active' } as const;
const CONFIGURATION: Configuration = {
  metrics: [{ key: 'm', name: 'M' }],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [{ type: 'metric', metricKey: 'm', metricThreshold: 1, points: 1, status: 'active' }],
    },
  ],
  leaderboards: [
    { ...BOARD, key: 'sum', name: 'Sum', rankBy: 'metric', metricKey: 'm' },
    { ...BOARD, key: 'points', name: 'Points', rankBy: 'points', pointsSystemKey: 'xp' },
  ],
  streaks: { enabled: true, frequency: 'daily' },
};

const laurel = opened(() => startLaurel({ workers: true, testClock: true, configuration: CONFIGURATION }));
beforeAll(async () => {
  await laurel.admin.put('/v1/clock', { now: '2030-03-20T12:00:00.000Z' });
});

/** Retries while a user has too many requests in progress. */
async function answered<T extends { status: number }>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 503) return answer;
  }
}

const at = (day: number): string => `2030-03-${String(day).padStart(2, '0')}T10:00:00Z`;
const send = (id: string, key: string, occurredAt?: string) =>
  answered(() =>
    laurel.app.post(
      '/v1/metrics/m/event',
      { user: { id }, value: 1, ...(occurredAt !== undefined && { occurredAt }) },
      { headers: { 'Idempotency-Key': key } },
    ),
  );
const reverse = (eventId: string) => answered(() => laurel.admin.post(`/v1/events/${eventId}/reverse`, {}));

async function seen(id: string): Promise<object> {
  const read = async (path: string) => (await laurel.app.get(`/v1/users/${id}/${path}`)).body;
  const { length, started, expires, streakHistory } = await read('streak?historyPeriods=20');
  return {
    total: (await read('metrics/m')).current,
    points: (await read('points/xp')).total,
    boards: [(await read('leaderboards/sum')).value, (await read('leaderboards/points')).value],
    streak: { length, started, expires, streakHistory },
  };
}

const differences = () => differencesIn(laurel);

/** Days of the events that are sent first. The second half is reversed while late events arrive. */
const FIRST = [2, 3, 4, 10, 11, 12, 13, 14];
const LATE = [5, 6, 9, 15, 16, 18];

test('concurrent reversals, late events, a recomputation and events of one user have the effect of some sequence', async () => {
  const eventIds: string[] = [];
  for (const day of FIRST) eventIds.push((await send('ada', `first ${day}`, at(day))).body.eventId);
  const recomputed = laurel.admin.post('/v1/recomputations', { what: ['points', 'boards'], dryRun: false });
  await Promise.all([
    ...eventIds.slice(FIRST.length / 2).flatMap((eventId) => [reverse(eventId), reverse(eventId)]),
    ...LATE.map((day) => send('ada', `late ${day}`, at(day))),
    ...[1, 2, 3].map((no) => send('ada', `now ${no}`)),
  ]);
  const { status } = await atRest(laurel, (await recomputed).body.id);
  expect(status).toBe('applied');

  for (const day of FIRST.slice(0, FIRST.length / 2)) await send('twin', `first ${day}`, at(day));
  for (const day of LATE) await send('twin', `late ${day}`, at(day));
  for (const no of [1, 2, 3]) await send('twin', `now ${no}`);
  const expected = await seen('twin');
  expect(expected).toMatchObject({ total: 13, points: 13, boards: [13, 13] });
  expect(await seen('ada')).toEqual(expected);
  expect(await differences()).toEqual([]);
});

/** Runs `work` after a reversal has read its input and before it is applied. */
async function whileReversing(eventId: string, work: () => Promise<unknown>): Promise<void> {
  await untilPersisted(laurel, 0);
  const client = await laurel.pool.connect();
  try {
    await client.query('BEGIN');
    // The awards of an event are read last.
    await client.query('LOCK TABLE awards IN ACCESS EXCLUSIVE MODE');
    const reversed = reverse(eventId);
    // The databases of other tests have a table of the same number.
    const waits = `SELECT FROM pg_locks WHERE relation = 'awards'::regclass AND NOT granted
                      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    await expect.poll(async () => (await client.query(waits)).rowCount).toBeGreaterThan(0);
    await work();
    await client.query('COMMIT');
    expect((await reversed).body.status).toBe('reversed');
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

test('an event that arrives while the only other one of its day is reversed keeps the streak', async () => {
  await send('cleo', 'yesterday', at(19));
  const { eventId } = (await send('cleo', 'first')).body;
  await whileReversing(eventId, () => send('cleo', 'second'));
  expect((await laurel.app.get('/v1/users/cleo/streak')).body).toMatchObject({ length: 2, started: '2030-03-19' });
});

test('a late event that arrives while another one is reversed takes its place', async () => {
  for (const day of [5, 6, 10]) await send('dora', `day ${day}`, at(day));
  const { eventId } = (await send('dora', 'day 7', at(7))).body;
  await whileReversing(eventId, () => send('dora', 'day 8', at(8)));
  for (const day of [5, 6, 8, 10]) await send('doras-twin', `day ${day}`, at(day));
  expect(await seen('dora')).toEqual(await seen('doras-twin'));
});

test('an import and the events of its user lose nothing, in either order', async () => {
  const ids = Array.from({ length: 8 }, (_, no) => `imported-${no}`);
  const results = await Promise.all(
    ids.map(async (id) => {
      const past = { id, metrics: { m: { total: 20, days: { '2030-03-01': 20 } } } };
      const [{ body }] = await Promise.all([
        laurel.admin.post('/v1/imports?import=crm', [past]),
        ...[1, 2, 3].map((no) => send(id, `${no}`)),
      ]);
      return { id, isImported: body.users.length === 1 };
    }),
  );
  for (const { id, isImported } of results)
    expect([id, await seen(id)]).toMatchObject([id, { total: isImported ? 23 : 3, points: 3 }]);
  expect(await differences()).toEqual([]);
});
