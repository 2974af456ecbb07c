import { expect, test } from 'vitest';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

// Reads rankings like a client; Postgres is a moment behind, and an answer is cached for a second.
const laurel = opened(() =>
  startLaurel({
    testClock: true,
    workers: true,
    configuration: {
      metrics: [{ key: 'flips', name: 'Flips' }],
      streaks: {
        enabled: true,
        frequency: 'daily',
        metrics: [],
        freezes: { enabled: true, initial: 1, max: 2, autoEarnInterval: null, autoEarnAmount: null },
      },
    },
  }),
);

type Row = [userId: string, streakLength: number];
const path = (query: string): string => `/v1/streaks/rankings?${query}`;

async function ranked(query: string): Promise<Row[]> {
  const { status, body } = await laurel.app.get(path(query));
  expect([query, status]).toEqual([query, 200]);
  return (body as { userId: string; streakLength: number }[]).map((each) => [each.userId, each.streakLength]);
}

const setDay = async (day: number): Promise<void> => {
  const date = new Date(Date.UTC(2031, 2, day, 12)).toISOString();
  expect((await laurel.admin.put('/v1/clock', { now: date })).status).toBe(200);
};
const act = async (id: string): Promise<void> => {
  const sent = { user: { id, name: `Name of ${id}` }, value: 1 };
  expect((await laurel.app.post('/v1/metrics/flips/event', sent)).status).toBe(201);
};

/** The days of March on which each user acts. A missed day uses the freeze, a second one ends the streak. */
const DAYS: Record<string, number[]> = {
  steady: [1, 2, 3, 4, 5, 6, 7, 8],
  frozen: [1, 2, 3, 5, 6, 7, 8],
  lost: [1, 2, 3, 4, 5],
  again: [1, 2, 3, 7, 8],
  'new-1': [8],
  'new-2': [8],
  hidden: [1, 2, 3, 4, 5, 6, 7, 8],
  waiting: [2, 3, 4, 5, 6, 7],
};

test('active streaks and the longest ever, without hidden users; equal ones by ID, descending', async () => {
  for (let day = 1; day <= 8; day += 1) {
    await setDay(day);
    for (const [id, days] of Object.entries(DAYS)) if (days.includes(day)) await act(id);
  }
  await laurel.admin.patch('/v1/users/hidden', { hidden: true });
  await expect
    .poll(() => ranked('type=active'))
    .toEqual([
      ['steady', 8],
      ['frozen', 7],
      ['waiting', 6],
      ['again', 2],
      ['new-2', 1],
      ['new-1', 1],
    ]);
  await expect
    .poll(() => ranked('type=longest'))
    .toEqual([
      ['steady', 8],
      ['frozen', 7],
      ['waiting', 6],
      ['lost', 5],
      ['again', 3],
      ['new-2', 1],
      ['new-1', 1],
    ]);
  const { body } = await laurel.app.get(path('limit=1'));
  expect(body).toEqual([{ userId: 'steady', name: 'Name of steady', streakLength: 8 }]);
});

test('a midnight ends streaks in the rankings, and a deleted user leaves them', async () => {
  await setDay(12);
  await expect.poll(() => ranked('')).toEqual([]);
  expect((await ranked('type=longest')).slice(0, 2)).toEqual([
    ['steady', 8],
    ['frozen', 7],
  ]);
  await laurel.admin.delete('/v1/users?ids=steady');
  await expect.poll(async () => (await ranked('type=longest')).slice(0, 1)).toEqual([['frozen', 7]]);
});

test('refuses a limit outside 1 to 100 and an unknown type', async () => {
  for (const query of ['limit=0', 'limit=101', 'limit=-1'])
    expect((await laurel.app.get(path(query))).status).toBe(422);
  for (const query of ['type=best', 'limit=x'])
    expect((await laurel.app.get(path(query))).status).toBeOneOf([400, 422]);
});

test('an application key reads the rankings, as it reads leaderboards', async () => {
  const { body } = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'frozen', scope: 'all' }]);
  expect((await laurel.app.get(path('type=longest'), { key: body.created[0].key })).status).toBe(200);
});

test('the longest of more users than one read returns', async () => {
  const date = (day: number): string => new Date(Date.UTC(2031, 2, day)).toISOString().slice(0, 10);
  // Every seventh streak waited two days, so that it is shorter than others that began on its day.
  const users = Array.from({ length: 1_200 }, (_, n) => {
    const began = 12 - (n % 300);
    const length = 13 - began - (n % 7 === 0 ? 2 : 0);
    return { id: `many-${n}`, length: Math.max(1, length), started: date(Math.min(12, began)) };
  });
  for (let from = 0; from < users.length; from += 100) {
    const sent = users.slice(from, from + 100).map(({ id, length, started }) => ({
      id,
      streak: { frequency: 'daily', length, started, expires: date(13), extended: `${date(12)}T01:00:00Z` },
    }));
    const { status, body } = await laurel.admin.post('/v1/imports?import=many', sent);
    expect([status, body.issues]).toEqual([201, []]);
  }
  const expected = users
    .map(({ id, length }): Row => [id, length])
    .toSorted(([a, x], [b, y]) => y - x || (a < b ? 1 : -1))
    .slice(0, 100);
  await expect.poll(() => ranked('limit=100')).toEqual(expected);
});
