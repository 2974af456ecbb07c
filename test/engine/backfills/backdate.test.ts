import { expect, test } from 'vitest';
import { startLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { opened } from '../../stack/opened.ts';

const laurel = opened(() => startLaurel({ configuration: { ...STUDY_APP, leaderboards: [] }, workers: true }));

async function send(id: string, value: number, attributes?: Record<string, string>) {
  const user = { id, attributes: { plan: 'pro' } };
  const event = { user, value, ...(attributes && { attributes }) };
  const { status, body } = await laurel.app.post('/v1/metrics/minutes/event', event);
  expect(status).toBe(201);
  return body;
}

/** Resolves when no backdating is left; reads progress like an administrator. */
const done = () =>
  expect
    .poll(
      async () => {
        const { body } = await laurel.admin.get('/v1/backdatings');
        return body.filter(({ status }: { status: string }) => status !== 'done').length;
      },
      { interval: 100 },
    )
    .toBe(0);

test('activating an achievement completes it, with composites and points, for users who already qualify', async () => {
  await done();
  for (let first = 0; first < 450; first += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, n) => send(`user ${first + n}`, n % 2 === 0 ? 60 : 59.5)));
  }
  await send('verbs', 40, { deck: 'verbs' });
  await send('verbs', 50);
  await send('nouns', 100, { deck: 'nouns' });
  const { achievements, pointsSystems } = STUDY_APP;
  const metric = { trigger: 'metric', metricKey: 'minutes', status: 'active' } as const;
  const configuration = {
    achievements: [
      ...achievements!,
      { key: 'hour', name: 'An hour', metricValue: 60, ...metric },
      {
        key: 'more',
        name: 'An hour and a day',
        trigger: 'achievement',
        achievementKeys: ['hour', 'day'],
        status: 'active',
      },
      { key: 'verbs', name: 'Verbs', metricValue: 40, eventAttributes: [{ key: 'deck', value: 'verbs' }], ...metric },
    ],
    pointsSystems: [
      {
        ...pointsSystems![0]!,
        triggers: [
          ...pointsSystems![0]!.triggers!,
          { type: 'achievement', achievementKey: 'hour', points: 7, status: 'active' },
        ],
      },
    ],
  };
  // Events continue during the backdating: nobody completes anything twice.
  const applied = await laurel.admin.put('/v1/configuration', configuration);
  expect(applied.status).toBe(200);
  const meanwhile = Promise.all(Array.from({ length: 100 }, (_, n) => send(`user ${n}`, 1)));
  await meanwhile;
  await done();

  const { body: backdatings } = await laurel.admin.get('/v1/backdatings');
  expect(backdatings[0]).toMatchObject({ status: 'done', usersDone: 452, usersTotal: 452 });
  const { rows: achieved } = await laurel.pool.query<{ key: string; no: number }>(
    `SELECT doc->>'key' AS key, no FROM catalog_resources WHERE kind = 'achievement' AND deleted IS NULL`,
  );
  const no = Object.fromEntries(achieved.map(({ key, no: number }) => [key, number]));
  const counters = await laurel.redis.hgetall('{s0}:0:n');
  // 225 with 60, 50 more of those with 59.5 who got one more minute, and the two others.
  expect([counters[`a${no['hour']}`], counters[`a${no['more']}`], counters[`a${no['verbs']}`]]).toEqual([
    '277',
    '277',
    '1',
  ]);
  const stored = async () => {
    const { rows } = await laurel.pool.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM completions WHERE achievement_no = $1',
      [no['hour']],
    );
    return rows[0]!.n;
  };
  await expect.poll(stored).toBe(277);
  const again = await send('verbs', 1, { deck: 'verbs' });
  expect(again.achievements).toEqual([]);
  const { rows: paid } = await laurel.pool.query(
    `SELECT count(*)::int AS n, sum(awarded)::int AS points FROM awards WHERE trigger_no = (SELECT max(no) FROM catalog_resources WHERE kind = 'points_trigger')`,
  );
  expect(paid[0]).toEqual({ n: 277, points: 277 * 14 });
});

test('compares a count exactly: a millionth less than 1e12 does not complete an achievement that requires 1e12', async () => {
  await done();
  const words = { deck: 'words' };
  for (const id of ['short', 'there']) await send(id, 999_999_999_999, words);
  await send('short', 0.999999, words);
  await send('there', 1, words);
  const eventAttributes = [{ key: 'deck', value: 'words' }];
  const most = { key: 'most', name: 'Most', trigger: 'metric', metricKey: 'minutes', metricValue: 1e12 } as const;
  const applied = await laurel.admin.put('/v1/configuration', {
    ...STUDY_APP,
    achievements: [...STUDY_APP.achievements!, { ...most, eventAttributes, status: 'active' }],
    leaderboards: [],
  });
  expect(applied.status).toBe(200);
  await done();
  const completed = async (id: string): Promise<boolean> => {
    const { body } = await laurel.app.get(`/v1/users/${id}/achievements`);
    return (body as { key: string }[]).some(({ key }) => key === 'most');
  };
  expect([await completed('short'), await completed('there')]).toEqual([false, true]);
  expect((await send('short', 0.000001, words)).achievements).toMatchObject([{ key: 'most' }]);
});
