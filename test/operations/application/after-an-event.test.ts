import { beforeAll, expect, test } from 'vitest';
import { startLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { opened } from '../../stack/opened.ts';

// A read right after an event's answer includes that event, even if it comes from Postgres.

let year: string;

const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
beforeAll(async () => {
  year = new Date().toISOString().slice(0, 4);
});

const range = (): string => `aggregation=monthly&startDate=${year}-01-01&endDate=${year}-12-31`;

const READS: [string, (user: string) => Promise<unknown>, unknown][] = [
  ['awards', async (user) => (await laurel.app.get(`/v1/users/${user}/points/xp`)).body.awards.length, 2],
  [
    'event-summary of the metric',
    async (user) =>
      (await laurel.app.get(`/v1/users/${user}/metrics/flips/event-summary?${range()}`)).body.at(-1).total,
    5,
  ],
  [
    'event-summary of the points',
    async (user) => (await laurel.app.get(`/v1/users/${user}/points/xp/event-summary?${range()}`)).body.at(-1).total,
    30,
  ],
  [
    'wrapped',
    async (user) => (await laurel.app.get(`/v1/users/${user}/wrapped?year=${year}`)).body.activity.daysActive,
    1,
  ],
  [
    'points summary with a filter',
    async (user) => {
      const { body } = await laurel.app.get(`/v1/points/xp/summary?userAttributes=plan:${user}`);
      return body.reduce((sum: number, { users }: { users: number }) => sum + users, 0);
    },
    1,
  ],
  ['the list of users', async (user) => (await laurel.admin.get(`/v1/users?search=${user}`)).body.length, 1],
];

test.each(READS)('%s', async (what, read, expected) => {
  for (let round = 0; round < 5; round += 1) {
    const id = `${what.replaceAll(' ', '-')}-${round}`;
    const user = { id, attributes: { plan: id } };
    expect((await laurel.app.post('/v1/metrics/flips/event', { user, value: 5 })).status).toBe(201);
    expect([round, await read(id)]).toEqual([round, expected]);
  }
});

test('if nothing moves to Postgres, one reader waits for 2 seconds and the others get the stored state', async () => {
  const alone = await startLaurel({ configuration: STUDY_APP });
  try {
    await alone.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 5 });
    const points = async (): Promise<number> => {
      const began = performance.now();
      const { status, body } = await alone.app.get('/v1/users/ada/points/xp');
      expect([status, body.total, body.awards]).toEqual([200, 30, []]);
      return performance.now() - began;
    };
    expect(await points()).toBeGreaterThan(1_900);
    let together = 0;
    for (let n = 0; n < 10; n += 1) together += await points();
    // If they waited too, it would take 20 s.
    expect(together).toBeLessThan(16_000);
  } finally {
    await alone.close();
  }
});
