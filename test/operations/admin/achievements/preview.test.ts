import { beforeAll, expect, test } from 'vitest';
import { CatalogIndex } from '../../../../src/catalog/catalog-index.ts';
import { startLaurel } from '../../../laurel.ts';
import { opened } from '../../../stack/opened.ts';

const PATH = '/v1/achievements/preview';
const DAYS = 8;

let ids: Record<string, string>;
const laurel = opened(() => startLaurel({ testClock: true, workers: true }));
beforeAll(async () => {
  const { admin, app } = laurel;
  await admin.put('/v1/clock', { now: '2044-02-20T12:00:00.000Z' });
  await admin.put('/v1/configuration', {
    metrics: [
      { key: 'flips', name: 'Flips' },
      { key: 'walks', name: 'Walks' },
    ],
    attributes: [
      { key: 'plan', name: 'Plan', type: 'user' },
      { key: 'subject', name: 'Subject', type: 'event' },
    ],
    achievements: [
      { key: 'begun', name: 'Begun', trigger: 'metric', metricKey: 'flips', metricValue: 1, status: 'active' },
      { key: 'invited', name: 'Invited', trigger: 'api', status: 'active' },
    ],
    streaks: { frequency: 'daily' },
  });
  const byKey = (list: { id: string; key: string }[]) => list.map(({ id, key }): [string, string] => [key, id]);
  ids = Object.fromEntries([
    ...byKey((await admin.get('/v1/metrics')).body),
    ...byKey((await admin.get('/v1/attributes')).body),
    ...byKey((await admin.get('/v1/achievements')).body),
  ]);
  // Every user is slightly different: totals with and without the subject, plans, zones, sign-ups, days in a row.
  for (let day = 0; day < DAYS; day += 1) {
    await admin.put('/v1/clock', { now: `2044-02-${21 + day}T12:00:00.000Z` });
    for (let n = 0; n < 12; n += 1) {
      // Some act every day, some stopped, some begin late.
      if (n % 4 === 1 && day > 4) continue;
      if (n % 4 === 2 && day < 5) continue;
      const user = {
        id: `user-${n}`,
        tz: ['UTC', 'Pacific/Kiritimati', 'Pacific/Niue'][n % 3],
        attributes: { plan: n % 2 === 0 ? 'pro' : 'free' },
        signUpDate: ['2040-02-29', '2043-02-28', '2042-03-01', '2043-02-27'][n % 4],
      };
      const attributes = { subject: (n + day) % 3 === 0 ? 'maths' : 'art' };
      await app.post('/v1/metrics/flips/event', { user, value: n + 0.5, attributes });
    }
  }
  for (const n of [0, 3, 5]) await app.post('/v1/achievements/invited/complete', { user: { id: `user-${n}` } });
  await app.post('/v1/users', { id: 'no events', signUpDate: '2001-01-01' });
});

const preview = async (body: object) => {
  const answer = await laurel.admin.post(PATH, body);
  expect([body, answer.status, answer.body]).toMatchObject([body, 200, {}]);
  return answer.body;
};
const metric = (part: object = {}) => ({ trigger: 'metric', metricId: ids['flips'], metricValue: 40, ...part });
const year = (anniversaryYears: number) => ({ trigger: 'anniversary', anniversaryYears });
const subject = () => ({ attributeId: ids['subject']!, attributeValue: 'maths' });
const pro = () => ({ attributeId: ids['plan']!, attributeValue: 'pro' });

test.each<[string, () => object]>([
  ['a total', () => metric()],
  ['a total to the last decimal', () => metric({ metricValue: 12 })],
  ['a total of a metric without events', () => metric({ metricId: ids['walks'], metricValue: 1 })],
  ['a total of users with an attribute', () => metric({ userAttributes: [pro()] })],
  ['a total of events with an attribute', () => metric({ metricValue: 11, eventAttributes: [subject()] })],
  ['both', () => metric({ metricValue: 11, eventAttributes: [subject()], userAttributes: [pro()] })],
  ['a streak', () => ({ trigger: 'streak', streakLength: 3 })],
  ['a long streak', () => ({ trigger: 'streak', streakLength: 8 })],
  ['a composite', () => ({ trigger: 'achievement', achievementIds: [ids['begun'], ids['invited']] })],
  ['an anniversary', () => ({ trigger: 'anniversary', anniversaryYears: 1 })],
  ['a later anniversary', () => ({ trigger: 'anniversary', anniversaryYears: 2, userAttributes: [pro()] })],
  ['a total that requires another', () => metric({ metricValue: 12, requires: [ids['invited']] })],
  ['a streak that requires another', () => ({ trigger: 'streak', streakLength: 2, requires: [ids['invited']] })],
  ['an anniversary that requires two', () => ({ ...year(1), requires: [ids['begun'], ids['invited']] })],
  ['one for nobody', () => ({ trigger: 'anniversary', anniversaryYears: 900 })],
])('the preview of %s names the users who really complete it', async (name, body) => {
  const found = await preview(body());
  expect(found).toMatchObject({ of: 13, figure: 'exact', examined: 13, reason: null });
  expect(found.sample).toHaveLength(Math.min(10, found.users));

  const { body: made } = await laurel.admin.post('/v1/achievements', [{ name, status: 'active', ...body() }]);
  const [{ id }] = made.created;
  const holders = async () => {
    const { rows } = await laurel.pool.query<{ id: string }>(
      `SELECT user_id AS id FROM completions JOIN catalog_resources ON no = achievement_no WHERE catalog_resources.id = $1`,
      [id],
    );
    return rows.map((row) => row.id);
  };
  // Consequences of the new one follow when the clock has advanced.
  await laurel.admin.put('/v1/clock', {
    now: new Date(Date.parse((await laurel.admin.get('/v1/clock')).body.now) + 5_000).toISOString(),
  });
  await expect.poll(async () => (await holders()).length).toBe(found.users);
  expect(await holders()).toEqual(expect.arrayContaining(found.sample));
  // Current holders count, even after a change.
  expect(await preview({ id })).toMatchObject({ users: found.users });
  expect((await preview({ id, userAttributes: [{ ...pro(), attributeValue: 'none' }] })).users).toBe(found.users);
  await laurel.admin.delete(`/v1/achievements?ids=${id}`);
});

test('cannot predict an achievement that is completed by call, and says so', async () => {
  const body = await preview({ trigger: 'api', key: 'shared' });
  expect(body).toMatchObject({ users: null, of: 13, examined: 0, sample: [], reason: expect.stringMatching(/calls/) });
});

test.each<[string, () => object, number, string]>([
  ['no trigger', () => ({}), 400, 'trigger'],
  ['no metric', () => ({ trigger: 'metric', metricValue: 1 }), 422, 'metricId'],
  ['an unknown metric', () => metric({ metricId: '00000000-0000-7000-8000-000000000000' }), 422, 'metricId'],
  ['a value of nothing', () => metric({ metricValue: 0 }), 400, 'metricValue'],
  ['a field of another trigger', () => metric({ streakLength: 3 }), 422, 'streakLength'],
  ['a misspelt field', () => metric({ metricVale: 3 }), 400, 'metricVale'],
  ['a circle', () => ({ trigger: 'achievement', achievementIds: [] }), 422, 'achievementIds'],
  ['an unknown ID', () => ({ id: '00000000-0000-7000-8000-000000000000' }), 422, 'There is no achievement'],
])('refuses %s and names the field', async (_, body, status, text) => {
  const answer = await laurel.admin.post(PATH, body());
  expect([answer.status, answer.body.error]).toEqual([status, expect.stringContaining(text)]);
});

test('stores and records nothing, and a read-only key may ask', async () => {
  const version = async () => (await laurel.pool.query('SELECT catalog_version FROM tenants WHERE no = 0')).rows;
  const audits = async () => (await laurel.pool.query('SELECT count(*) FROM audit_log')).rows;
  const states = async () => (await laurel.pool.query('SELECT id, md5(state) FROM users ORDER BY id')).rows;
  const made = await laurel.admin.post('/v1/admin-api-keys', [{ name: 'Looks', access: 'read' }]);
  const before = [await version(), await audits(), await states()];
  const { status } = await laurel.admin.post(PATH, metric(), { key: made.body.created[0].key });
  expect(status).toBe(200);
  expect([await version(), await audits(), await states()]).toEqual(before);
});

test('a process makes one preview at a time, and says so if there are too many', async () => {
  const { resources, achievementPreview } = laurel.services;
  const index = new CatalogIndex(await resources.read(0));
  const [achievement] = index.catalog.achievements;
  const asked = await Promise.allSettled(Array.from({ length: 7 }, () => achievementPreview.of(index, achievement!)));
  expect(asked.map(({ status }) => status)).toEqual([...Array<string>(5).fill('fulfilled'), 'rejected', 'rejected']);
  expect((asked[6] as PromiseRejectedResult).reason).toMatchObject({ status: 503 });
  expect((await achievementPreview.of(index, achievement!)).reason).toBeNull();
});
