import { beforeAll, expect, test } from 'vitest';
import { startLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { opened } from '../../stack/opened.ts';

const laurel = opened(() =>
  startLaurel({
    workers: true,
    configuration: {
      ...STUDY_APP,
      attributes: [
        { key: 'plan', name: 'Plan', type: 'user' },
        { key: 'city', name: 'City', type: 'user' },
      ],
      leaderboards: [
        {
          key: 'cities',
          name: 'By city and plan',
          rankBy: 'metric',
          metricKey: 'flips',
          start: '2026-01-01',
          breakdownAttributes: ['city', 'plan'],
          status: 'active',
        },
      ],
    },
  }),
);
beforeAll(async () => {
  for (const [id, city, plan] of [
    ['ada', 'Washington, DC', 'pro: yearly'],
    ['grace', 'Washington', 'pro'],
  ] as const) {
    const user = { id, attributes: { city, plan } };
    await laurel.app.post('/v1/metrics/flips/event', { user, value: 5 });
  }
});

const query = (pairs: [string, string][]): string =>
  pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
const ranked = async (pairs: [string, string][]): Promise<unknown> => {
  const { status, body } = await laurel.app.get(`/v1/leaderboards/cities?${query(pairs)}`);
  return status === 200 ? body.rankings.map(({ userId }: { userId: string }) => userId) : [status, body.error];
};
const holders = async (pairs: [string, string][]): Promise<unknown> => {
  const { status, body } = await laurel.app.get(`/v1/points/xp/summary?${query(pairs)}`);
  const count = (sum: number, { users }: { users: number }): number => sum + users;
  return status === 200 ? body.reduce(count, 0) : [status, body.error];
};

const ONE = 'userAttributes';

test('a repeated parameter is one pair each, whose value may contain commas and colons', async () => {
  expect(
    await ranked([
      [ONE, 'city:Washington, DC'],
      [ONE, 'plan:pro: yearly'],
    ]),
  ).toEqual(['ada']);
  expect(
    await ranked([
      [ONE, 'plan:pro'],
      [ONE, 'city:Washington'],
    ]),
  ).toEqual(['grace']);
  expect(
    await ranked([
      [ONE, 'plan:pro,city:Washington'],
      [ONE, 'city:Washington'],
    ]),
  ).toEqual([]);
});

test('a list of one, or a pair given twice, is taken literally', async () => {
  expect(await holders([[`${ONE}[]`, 'city:Washington, DC']])).toBe(1);
  expect(
    await holders([
      [ONE, 'city:Washington, DC'],
      [ONE, 'city:Washington, DC'],
    ]),
  ).toBe(1);
  expect(
    await holders([
      [ONE, 'city:Washington, DC'],
      [ONE, ''],
    ]),
  ).toBe(1);
  const { status, body } = await laurel.app.get(`/v1/achievements?${query([[`${ONE}[]`, 'city:Washington, DC']])}`);
  expect([status, body.length]).toEqual([200, 4]);
});

test('a single parameter is pairs separated by commas, as before', async () => {
  expect(await ranked([[ONE, 'city:Washington,plan:pro']])).toEqual(['grace']);
  expect(await holders([[ONE, '']])).toBe(2);
  expect(await holders([[ONE, 'city:Washington, DC']])).toEqual([422, expect.stringContaining("' DC' is not one")]);
  expect(await holders([[ONE, 'plan:pro,plan:pro']])).toEqual([422, expect.stringContaining("'plan' is given twice")]);
});

test('an invalid list is 422, with its name', async () => {
  expect(
    await holders([
      [ONE, 'plan:pro'],
      [ONE, 'plan:free'],
    ]),
  ).toEqual([422, expect.stringContaining("'plan' is given twice")]);
  expect(
    await holders([
      [ONE, 'plan:pro'],
      [ONE, 'nope:x'],
    ]),
  ).toEqual([422, expect.stringContaining("'nope'")]);
  expect(
    await holders([
      [ONE, 'plan:pro'],
      [ONE, 'city'],
    ]),
  ).toEqual([422, expect.stringContaining("'city' is not one")]);
  const many = Array.from({ length: 101 }, (): [string, string] => [ONE, 'plan:pro']);
  expect(await holders(many)).toEqual([422, expect.stringContaining('userAttributes must have at most 100 items')]);
});
