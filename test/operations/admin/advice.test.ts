import { expect, test } from 'vitest';
import { FixedClock } from '../../../src/clock.ts';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 10, 2, 9);
const clock = new FixedClock(START_MS);

const laurel = opened(() =>
  startLaurel({
    clock,
    configuration: { metrics: [{ key: 'flips', name: 'Flips' }] },
    workers: true,
  }),
);

interface Item {
  code: string;
  text: string;
  screen: string;
}
const list = async (): Promise<Item[]> => (await laurel.admin.get('/v1/advice')).body;
const codes = async (): Promise<string[]> => (await list()).map(({ code }) => code);
const sendMany = async (count: number, key = 'flips'): Promise<void> => {
  const events = Array.from({ length: count }, (_, no) => ({ key, user: { id: `user-${no % 21}` }, value: 1 }));
  expect((await laurel.admin.post('/v1/metrics/events?wait=true', events)).status).toBe(200);
};
const send = (user: string) => laurel.app.post('/v1/metrics/flips/event', { user: { id: user }, value: 1 });

test('nothing is advised about what is new; then what to create next', async () => {
  expect(await list()).toEqual([]);
  await send('user-0');
  expect(await list()).toEqual([
    {
      code: 'nothing_to_reach',
      text: 'Events are counted, but users can reach nothing with them.',
      advice: expect.any(String),
      screen: '/achievements#new-achievement',
    },
  ]);
});

test('a points system that awards nothing', async () => {
  const { body } = await laurel.admin.post('/v1/points?strict=true', [{ key: 'gems', name: 'Gems' }]);
  const [{ id }] = body.created;
  expect((await list()).at(-1)).toMatchObject({
    code: 'points_without_trigger',
    text: 'Users get no Gems: no active trigger awards points.',
    screen: `/points/${id}`,
  });
  await laurel.admin.delete(`/v1/points?ids=${id}`);
});

test('what nobody uses or reaches, once it is old enough', async () => {
  const { body } = await laurel.admin.put('/v1/configuration', {
    metrics: [
      { key: 'flips', name: 'Flips' },
      { key: 'idle', name: 'Idle' },
    ],
    achievements: [
      { key: 'first', name: 'First', trigger: 'metric', metricKey: 'flips', metricValue: 1, status: 'active' },
      { key: 'far', name: 'Far', trigger: 'streak', streakLength: 100, status: 'active' },
    ],
    pointsSystems: [
      {
        key: 'xp',
        name: 'XP',
        triggers: [
          { type: 'metric', metricKey: 'flips', metricThreshold: 1, points: 5, status: 'active' },
          { type: 'metric', metricKey: 'idle', metricThreshold: 1, points: 5, status: 'active' },
        ],
      },
    ],
    leaderboards: [
      { key: 'idle', name: 'Idlers', rankBy: 'metric', metricKey: 'idle', start: '2026-11-01', status: 'active' },
      { key: 'flips', name: 'Flippers', rankBy: 'metric', metricKey: 'flips', start: '2026-11-01', status: 'active' },
    ],
  });
  expect(body.error).toBeUndefined();
  for (let user = 0; user < 21; user += 1) await send(`user-${user}`);
  expect(await codes()).toEqual(['users_without_zone', 'points_without_use']);
  await laurel.app.put('/v1/users/user-0', { tz: 'Europe/Berlin' });
  clock.set(START_MS + 8 * DAY_MS);
  expect((await list()).map(({ code, text, screen }) => ({ code, text, screen }))).toEqual([
    {
      code: 'metrics_without_events',
      text: 'No event of Idle arrived in the last 30 days.',
      screen: expect.stringMatching(/^\/metrics#edit-/),
    },
    {
      code: 'achievements_of_nobody',
      text: 'None of 21 users has Far.',
      screen: expect.stringMatching(/^\/achievements#edit-/),
    },
    {
      code: 'achievements_of_everybody',
      text: 'Nearly every user has First.',
      screen: '/achievements#new-achievement',
    },
    {
      code: 'leaderboards_without_users',
      text: 'Nobody is on Idlers in the current run.',
      screen: expect.stringMatching(/^\/leaderboards#edit-/),
    },
    {
      code: 'points_without_use',
      text: 'XP only accumulates: no level, leaderboard or reward uses the points.',
      screen: expect.stringMatching(/^\/points\//),
    },
  ]);
});

test('rewards that are sold out, and how many are left', async () => {
  const [system] = (await laurel.admin.get('/v1/points')).body;
  const reward = { pointsSystemId: system.id, price: 1, status: 'active' };
  await laurel.admin.post('/v1/rewards?strict=true', [
    { ...reward, key: 'mug', name: 'Mug', stock: 1 },
    { ...reward, key: 'pen', name: 'Pen', stock: 3 },
    { ...reward, key: 'note', name: 'Note' },
  ]);
  expect(await codes()).not.toContain('points_without_use');
  for (const key of ['mug', 'pen'])
    expect(
      (await laurel.app.post(`/v1/rewards/${key}/claim`, { userId: 'user-1' }, { headers: { 'Idempotency-Key': key } }))
        .status,
    ).toBe(201);
  expect((await laurel.admin.get('/v1/analytics/rewards')).body).toMatchObject([
    { key: 'mug', claimed: 1, remaining: 0 },
    { key: 'pen', claimed: 1, remaining: 2 },
    { key: 'note', claimed: 0, remaining: null },
  ]);
  expect(await list()).toContainEqual(
    expect.objectContaining({ code: 'rewards_sold_out', text: 'Nothing is left of Mug.' }),
  );
  // The claims are new.
  expect(await codes()).not.toContain('claims_waiting');
});

test('refused events, with the key that most of them misspell', async () => {
  // Of a key, 20 requests a second are noted, so the events of earlier tests may displace some.
  await expect
    .poll(async () => {
      expect((await laurel.app.post('/v1/metrics/flip/event', { user: { id: 'ada' }, value: 1 })).status).toBe(422);
      return (await list())[0];
    })
    .toMatchObject({
      code: 'events_refused',
      text: expect.stringContaining("most name the metric 'flip', which does not exist (did you mean flips?)"),
      screen: '/requests',
    });
});

test('a first step that everybody takes is fine once there is a next one', async () => {
  const [metric] = (await laurel.admin.get('/v1/metrics?limit=1')).body;
  expect(await codes()).toContain('achievements_of_everybody');
  await laurel.admin.post('/v1/achievements?strict=true', [
    { key: 'ten', name: 'Ten', trigger: 'metric', metricId: metric.id, metricValue: 10, status: 'active' },
  ]);
  expect(await codes()).not.toContain('achievements_of_everybody');
});

test('rewards that will be sold out at the rate of the last claims', async () => {
  const [system] = (await laurel.admin.get('/v1/points')).body;
  const reward = { pointsSystemId: system.id, price: 1, status: 'active' };
  await laurel.admin.post('/v1/rewards?strict=true', [{ ...reward, key: 'cap', name: 'Cap', stock: 8 }]);
  const runOut = async () => (await list()).find(({ code }) => code === 'rewards_run_out')?.text;
  const claim = (user: number) =>
    laurel.app.post(
      '/v1/rewards/cap/claim',
      { userId: `user-${user}` },
      { headers: { 'Idempotency-Key': `cap ${user}` } },
    );
  for (let user = 1; user <= 4; user += 1) expect((await claim(user)).status).toBe(201);
  // Four claims are too few for a rate.
  expect(await runOut()).toBeUndefined();
  expect((await claim(5)).status).toBe(201);
  expect(await runOut()).toBe('If users go on claiming at this rate, nothing will be left of Cap within a week.');
  // Five claims in 12 days: the three that are left last for about 7.
  clock.set(START_MS + (8 + 12) * DAY_MS);
  expect(await runOut()).toBeUndefined();
});

test('claims that nobody delivers', async () => {
  const waiting = async () => (await list()).find(({ code }) => code === 'claims_waiting');
  // A tenant that does not record deliveries has no use for the advice.
  expect(await waiting()).toBeUndefined();
  const { claims } = (await laurel.admin.get('/v1/claims?limit=100')).body as { claims: { id: string }[] };
  const [last, other, first, ...more] = claims;
  const fulfil = async (id: string) => expect((await laurel.admin.post(`/v1/claims/${id}/fulfil`)).status).toBe(200);
  await fulfil(first!.id);
  expect(await waiting()).toMatchObject({
    text: '6 claims of rewards have waited for more than 3 days.',
    screen: '/rewards',
  });
  for (const { id } of more) await fulfil(id);
  await laurel.admin.post(`/v1/claims/${other!.id}/cancel`);
  expect((await waiting())?.text).toBe('1 claim of rewards has waited for more than 3 days.');
  await fulfil(last!.id);
  expect(await waiting()).toBeUndefined();
});

test('weeks with far fewer or far more events than the one before', async () => {
  const trends = async () =>
    (await list()).flatMap(({ code, text }) =>
      code === 'events_fell' || code === 'events_rose' ? [[code, text]] : [],
    );
  await sendMany(120);
  clock.set(START_MS + 22 * DAY_MS);
  expect(await trends()).toEqual([]);
  clock.set(START_MS + 28 * DAY_MS);
  expect(await trends()).toEqual([
    ['events_fell', 'Fewer events in the last 7 days than in the week before: Flips from 120 to 0.'],
  ]);
  await sendMany(1_000);
  clock.set(START_MS + 34 * DAY_MS);
  expect(await trends()).toEqual([
    ['events_rose', 'Far more events in the last 7 days than in the week before: Flips from 120 to 1,000.'],
  ]);
});

test('a trigger that awards nearly all points of a system, while another does not', async () => {
  const found = async () => (await list()).find(({ code }) => code === 'trigger_dominates');
  const [{ id }] = (await laurel.admin.get('/v1/points')).body;
  expect(await found()).toEqual({
    code: 'trigger_dominates',
    text: 'In the last 30 days, a single trigger awarded 100 % of XP (for Flips).',
    advice: expect.any(String),
    screen: `/points/${id}`,
  });
  // 1,120 of 1,240 awards are 90.3 %, and then 1,120 of 1,250 are less than 90 %.
  await sendMany(120, 'idle');
  expect((await found())?.text).toBe('In the last 30 days, a single trigger awarded 90 % of XP (for Flips).');
  await sendMany(10, 'idle');
  expect(await found()).toBeUndefined();
});

test('the last leaderboards end', async () => {
  const boards = (await laurel.admin.get('/v1/leaderboards')).body as { id: string }[];
  const endingOn = (end: string) =>
    laurel.admin.patch(
      '/v1/leaderboards',
      boards.map(({ id }) => ({ id, end })),
    );
  const text = async () => (await list()).find(({ code }) => code === 'leaderboards_end')?.text;
  await endingOn('2027-01-31');
  expect(await text()).toBeUndefined();
  await endingOn('2026-12-10');
  expect(await text()).toBe('After 10 December 2026, no leaderboard is left: Idlers and Flippers end.');
});

test('templates of messages that are never due', async () => {
  const { body } = await laurel.admin.put('/v1/configuration', {
    streaks: { enabled: false },
    messages: {
      templates: [
        {
          kind: 'streak_reminder',
          subject: 'Play',
          html: '<p><a href="{{unsubscribeUrl}}">No more</a></p>',
          text: 'No more: {{unsubscribeUrl}}',
        },
      ],
    },
  });
  expect(body.error).toBeUndefined();
  expect(await list()).toContainEqual(
    expect.objectContaining({
      code: 'messages_never_due',
      text: 'There are templates of streak reminders, but streaks are switched off.',
      screen: '/streaks',
    }),
  );
  expect(await codes()).toContain('emails_without_addresses');
  await laurel.app.put('/v1/users/user-0', { email: 'zero@example.com' });
  expect(await codes()).not.toContain('emails_without_addresses');
});

test('no trigger dominates unless another one could have awarded points for a week', async () => {
  const [{ id }] = (await laurel.admin.get('/v1/points')).body;
  const triggers = (await laurel.admin.get(`/v1/points/${id}/triggers`)).body as { id: string; metricId: string }[];
  const metrics = (await laurel.admin.get('/v1/metrics')).body as { id: string; key: string }[];
  const idle = metrics.find(({ key }) => key === 'idle')!;
  const other = triggers.find(({ metricId }) => metricId === idle.id)!;
  await laurel.admin.delete(`/v1/points/${id}/triggers?ids=${other.id}`);
  await sendMany(1_000);
  expect(await codes()).not.toContain('trigger_dominates');
  const metric = { type: 'metric', metricId: idle.id, metricThreshold: 1, points: 5, status: 'active' };
  const created = await laurel.admin.post(`/v1/points/${id}/triggers?strict=true`, [metric]);
  expect(created.status).toBe(201);
  expect(await codes()).not.toContain('trigger_dominates');
  clock.set(START_MS + 41 * DAY_MS);
  expect(await codes()).toContain('trigger_dominates');
});

test('keys that nobody uses are advised to a key of all tenants alone', async () => {
  await laurel.admin.post('/v1/admin-api-keys', [{ name: 'Forgotten' }]);
  clock.set(START_MS + 51 * DAY_MS);
  expect((await list()).at(-1)).toMatchObject({
    code: 'keys_unused',
    text: 'Nobody has used the admin key Forgotten.',
    screen: '/keys',
  });
  await laurel.admin.post('/v1/admin-api-keys', [{ name: 'Of a former colleague' }, { name: 'In use' }]);
  const usedOn = (name: string, atMs: number): Promise<unknown> =>
    laurel.pool.query('UPDATE admin_keys SET last_used = to_timestamp($2::float8 / 1000) WHERE name = $1', [
      name,
      atMs,
    ]);
  await usedOn('Of a former colleague', START_MS - 40 * DAY_MS);
  await usedOn('In use', START_MS - 38 * DAY_MS);
  expect((await list()).at(-1)!.text).toBe(
    'Nobody has used the admin key Forgotten. Nobody has used the admin key Of a former colleague for 90 days.',
  );
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  await laurel.admin.post('/v1/tenants', [{ customerId: 'acme', name: 'Acme' }]);
  const { body } = await laurel.admin.post('/v1/admin-api-keys', [{ name: 'Acme', tenantId: 'acme' }]);
  const headers = { 'X-API-KEY': body.created[0].key, 'Tenant-ID': 'acme' };
  expect(await laurel.admin.get('/v1/advice', { headers })).toMatchObject({ status: 200, body: [] });
});
