import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { countersKey } from '../../../src/redis/keys.ts';
import { startLaurel } from '../../laurel.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { opened } from '../../stack/opened.ts';

const CONFIGURATION: Configuration = {
  attributes: [{ key: 'kind', name: 'Kind', type: 'event' }],
  metrics: [
    { key: 'orders', name: 'Orders' },
    { key: 'spent', name: 'Spent' },
    { key: 'visits', name: 'Visits' },
    { key: 'won', name: 'Won' },
    { key: 'lost', name: 'Lost' },
    { key: 'trips', name: 'Trips' },
  ],
  achievements: [
    { key: 'first', name: 'First', trigger: 'metric', metricKey: 'visits', metricValue: 10, status: 'active' },
    {
      key: 'gifts',
      name: 'Gifts',
      trigger: 'metric',
      metricKey: 'orders',
      metricValue: 8,
      eventAttributes: [{ key: 'kind', value: 'gift' }],
      status: 'active',
    },
    { key: 'both', name: 'Both', trigger: 'achievement', achievementKeys: ['first', 'gifts'], status: 'active' },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [
        { type: 'metric', metricKey: 'orders', metricThreshold: 1, points: 2, status: 'active' },
        { type: 'metric', metricKey: 'spent', metricThreshold: 1, points: -1, status: 'active' },
        { type: 'achievement', achievementKey: 'both', points: 100, status: 'active' },
      ],
    },
    {
      key: 'miles',
      name: 'Miles',
      levels: [{ key: 'far', name: 'Far', points: 10 }],
      triggers: [{ type: 'metric', metricKey: 'trips', metricThreshold: 1, points: 1, status: 'active' }],
    },
    {
      key: 'honours',
      name: 'Honours',
      triggers: [{ type: 'achievement', pointsSystemKey: 'miles', levelKey: 'far', points: 50, status: 'active' }],
    },
    {
      key: 'lives',
      name: 'Lives',
      maxPoints: 10,
      triggers: [
        { type: 'metric', metricKey: 'won', metricThreshold: 1, points: 3, status: 'active' },
        { type: 'metric', metricKey: 'lost', metricThreshold: 1, points: -4, status: 'active' },
      ],
    },
  ],
  leaderboards: [
    { key: 'sales', name: 'Sales', rankBy: 'metric', metricKey: 'orders', start: '2020-01-01', status: 'active' },
    { key: 'points', name: 'Points', rankBy: 'points', pointsSystemKey: 'xp', start: '2020-01-01', status: 'active' },
  ],
  streaks: { enabled: true, frequency: 'daily' },
};

const laurel = opened(() => startLaurel({ workers: true, configuration: CONFIGURATION }));
beforeAll(async () => {
  // Activating an achievement examines all users.
  const isDone = async (): Promise<boolean> =>
    !/"status":"(?!done)/.test(JSON.stringify((await laurel.admin.get('/v1/backdatings')).body));
  while (!(await isDone())) await sleep(50);
});

let user: string;
let users = 0;
beforeEach(() => (user = `user ${(users += 1)}`));

async function event(metric: string, value: number, more: { attributes?: object; key?: string } = {}): Promise<string> {
  const { attributes, key } = more;
  const sent = { user: { id: user }, value, ...(attributes && { attributes }) };
  const headers = key === undefined ? {} : { headers: { 'Idempotency-Key': key } };
  const { status, body } = await laurel.app.post(`/v1/metrics/${metric}/event`, sent, headers);
  expect([201, 202]).toContain(status);
  return body.eventId as string;
}

const reverse = async (id: string, body: object = {}) => laurel.admin.post(`/v1/events/${id}/reverse`, body);

/** Everything the API reads of a user that a reversal may change. */
async function seen() {
  const id = encodeURIComponent(user);
  const [orders, spent, points, achievements, streak] = await Promise.all([
    laurel.app.get(`/v1/users/${id}/metrics/orders`),
    laurel.app.get(`/v1/users/${id}/metrics/spent`),
    laurel.app.get(`/v1/users/${id}/points/xp`),
    laurel.app.get(`/v1/users/${id}/achievements`),
    laurel.app.get(`/v1/users/${id}/streak`),
  ]);
  const place = async (board: string): Promise<number | null> => {
    const { body } = await laurel.app.get(`/v1/users/${id}/leaderboards/${board}`);
    return body.value as number | null;
  };
  return {
    orders: orders.body.current as number,
    spent: spent.body.current as number,
    points: points.body.total as number,
    completed: (achievements.body as { key: string }[]).map(({ key }) => key).toSorted(),
    streak: streak.body.length as number,
    sales: await place('sales'),
    board: await place('points'),
  };
}

test('what was awarded for a level goes with the event that reached it; then the level can be reached again', async () => {
  const honours = async () =>
    (await laurel.app.get(`/v1/users/${encodeURIComponent(user)}/points/honours`)).body.total as number;
  const first = await event('trips', 6);
  const second = await event('trips', 6);
  expect(await honours()).toBe(50);
  await reverse(first);
  await event('trips', 6);
  expect(await honours(), 'the award of the second event is in force').toBe(50);
  const { body } = await reverse(second);
  expect(await honours()).toBe(0);
  await event('trips', 6);
  expect(await honours(), 'reached again').toBe(50);
  await reverse(body.reversalId);
  expect(await honours(), 'the second event counts again').toBe(100);
});

test('a reversed event leaves no effect, and reversing the reversal restores every effect', async () => {
  await event('orders', 3);
  const before = await seen();
  const id = await event('orders', 8, { attributes: { kind: 'gift' } });
  const after = await seen();
  expect(after).toMatchObject({ orders: 11, spent: 0, points: 22, completed: ['gifts'], sales: 11, board: 22 });

  const dry = await reverse(id, { dryRun: true });
  expect(dry.status).toBe(200);
  expect(dry.body).toMatchObject({ status: 'reversed', dryRun: true, reversalId: null, total: 3 });
  const run = { start: '2020-01-01' };
  expect(dry.body.leaderboards).toHaveLength(2);
  expect(dry.body.leaderboards).toEqual(
    expect.arrayContaining([
      { leaderboardKey: 'sales', ...run, previousValue: 11, value: 3 },
      { leaderboardKey: 'points', ...run, previousValue: 22, value: 6 },
    ]),
  );
  expect(await seen()).toEqual(after);

  const { status, body } = await reverse(id);
  expect(status).toBe(200);
  expect(body).toEqual({ ...dry.body, dryRun: false, reversalId: expect.any(String) });
  expect(body).toMatchObject({
    eventId: id,
    userId: user,
    metricKey: 'orders',
    value: -8,
    points: [{ key: 'xp', total: 6, changed: -16, shortfall: 0 }],
    revokedAchievements: [],
  });
  expect(await seen()).toEqual({ ...before, completed: ['gifts'] });

  expect((await reverse(id)).body).toMatchObject({ status: 'unchanged', reversalId: body.reversalId });
  expect(await seen()).toEqual({ ...before, completed: ['gifts'] });

  const restored = await reverse(body.reversalId);
  expect(restored.body).toMatchObject({ status: 'restored', eventId: id, value: 8, total: 11 });
  expect(await seen()).toEqual(after);
  expect((await reverse(body.reversalId)).body.status).toBe('unchanged');
  const again = await reverse(id);
  expect(again.body).toMatchObject({ status: 'reversed', total: 3 });
  expect((await reverse(restored.body.reversalId)).body.status).toBe('unchanged');
  expect(await seen()).toEqual({ ...before, completed: ['gifts'] });
});

test('revokes achievements on request, with the composites that need them and their points; and restores them', async () => {
  const first = await event('visits', 10);
  await event('orders', 20, { attributes: { kind: 'gift' } });
  const all = await seen();
  expect(all).toMatchObject({ points: 140, completed: ['both', 'first', 'gifts'] });
  const holders = async (): Promise<[string, string][]> => {
    const counters = Object.entries(await laurel.redis.hgetall(countersKey(onlyPart(0))));
    return counters.filter(([name]) => name.startsWith('a')).toSorted(([a], [b]) => a.localeCompare(b));
  };
  const held = await holders();
  const { body } = await reverse(first, { revokeAchievements: true });
  expect(body).toMatchObject({
    revokedAchievements: expect.arrayContaining(['first', 'both']),
    points: [{ key: 'xp', total: 40, changed: -100, shortfall: 0 }],
  });
  expect(await seen()).toMatchObject({ orders: 20, points: 40, completed: ['gifts'] });
  expect(await holders()).not.toEqual(held);

  expect((await reverse(body.reversalId)).body.restoredAchievements.toSorted()).toEqual(['both', 'first']);
  expect(await seen()).toEqual(all);
  expect(await holders()).toEqual(held);
});

test("takes an achievement's points once, no matter which of its events are reversed, and restores them when none is", async () => {
  const first = await event('visits', 10);
  const gifts = await event('orders', 8, { attributes: { kind: 'gift' } });
  await event('orders', 50);
  const all = await seen();
  expect(all).toMatchObject({ points: 216, board: 216, completed: ['both', 'first', 'gifts'] });
  const reversed = async (id: string): Promise<string> => {
    const { body } = await reverse(id, { revokeAchievements: true });
    return body.reversalId;
  };
  const withoutFirst = await reversed(first);
  expect(await seen()).toMatchObject({ points: 116, board: 116, completed: ['gifts'] });
  const withoutGifts = await reversed(gifts);
  expect(await seen()).toMatchObject({ points: 100, board: 100, completed: [] });
  // The points of both achievements came with the gifts.
  await reverse(withoutFirst);
  expect(await seen()).toMatchObject({ points: 100, board: 100 });
  await reverse(withoutGifts);
  expect(await seen()).toEqual(all);

  const giftsFirst = await reversed(gifts);
  expect(await seen()).toMatchObject({ points: 100, board: 100, completed: ['first'] });
  const firstThen = await reversed(first);
  expect(await seen()).toMatchObject({ points: 100, board: 100, completed: [] });
  await reverse(firstThen);
  await reverse(giftsFirst);
  expect(await seen()).toEqual(all);
});

test('an achievement stays with a user who qualifies without the event', async () => {
  const first = await event('visits', 11);
  await event('visits', 12);
  const { body } = await reverse(first, { revokeAchievements: true });
  expect(body).toMatchObject({ total: 12, revokedAchievements: [] });
  expect(await seen()).toMatchObject({ completed: ['first'] });
});

test('points never fall below 0: later reversals that give points pay the debt first, in any order', async () => {
  const earned = await event('orders', 5);
  const spent = await event('spent', 10);
  expect((await seen()).points).toBe(0);
  expect((await reverse(earned)).body.points).toEqual([{ key: 'xp', total: 0, changed: 0, shortfall: 10 }]);
  expect((await reverse(spent)).body.points).toEqual([{ key: 'xp', total: 0, changed: 0, shortfall: 0 }]);
  expect(await seen()).toMatchObject({ orders: 0, spent: 0, points: 0 });
});

test('points never rise above the maximum: later reversals that take points use the excess first', async () => {
  await event('won', 4);
  const lost = await event('lost', 1);
  const won = await event('won', 1);
  const lives = async (): Promise<number> =>
    (await laurel.app.get(`/v1/users/${encodeURIComponent(user)}/points/lives`)).body.total;
  expect(await lives()).toBe(9);
  const notLost = (await reverse(lost)).body;
  expect(notLost.points).toEqual([{ key: 'lives', total: 10, changed: 1, shortfall: 0 }]);
  await reverse(notLost.reversalId);
  expect(await lives()).toBe(9);

  const again = (await reverse(lost)).body;
  const notWon = (await reverse(won)).body;
  // The maximum was reached before both.
  expect(notWon.points).toEqual([{ key: 'lives', total: 10, changed: 0, shortfall: 0 }]);
  await reverse(again.reversalId);
  expect(await lives()).toBe(6);
  await reverse(notWon.reversalId);
  expect(await lives()).toBe(9);
});

test('pays again for what is earned again after a reversal', async () => {
  const id = await event('orders', 10);
  await reverse(id);
  await event('orders', 10);
  expect(await seen()).toMatchObject({ orders: 10, points: 20 });
});

test('concurrent reversals of one event apply once, on all frontends', async () => {
  await event('orders', 1);
  const id = await event('orders', 7);
  const other = await laurel.another();
  const answers = await Promise.all(
    [laurel.admin, other.admin, laurel.admin, other.admin].map((admin) => admin.post(`/v1/events/${id}/reverse`, {})),
  );
  expect(answers.map(({ body }) => body.status as string).toSorted()).toEqual([
    'reversed',
    'unchanged',
    'unchanged',
    'unchanged',
  ]);
  expect(new Set(answers.map(({ body }) => body.reversalId as string)).size).toBe(1);
  expect(await seen()).toMatchObject({ orders: 1, points: 2 });
});

test('the idempotency key of a reversed event stays used', async () => {
  const id = await event('orders', 2, { key: 'order-1' });
  await reverse(id);
  expect(await event('orders', 2, { key: 'order-1' })).toBe(id);
  expect(await seen()).toMatchObject({ orders: 0, points: 0 });
});

test('reverses many by IDs, by idempotency keys or by time, and reports an issue for those it cannot', async () => {
  const ids = [await event('orders', 1), await event('orders', 2, { key: 'a' }), await event('spent', 1)];
  const unknown = '01890000-0000-7000-8000-000000000000';
  const byIds = await laurel.admin.post('/v1/events/reverse', { eventIds: [ids[0]!, unknown] });
  expect(byIds.status).toBe(200);
  expect(byIds.body.reversals).toMatchObject([{ eventId: ids[0], status: 'reversed' }]);
  expect(byIds.body.issues).toEqual([{ eventId: unknown, message: `There is no event with the ID '${unknown}'.` }]);

  const byKeys = await laurel.admin.post('/v1/events/reverse', { userId: user, idempotencyKeys: ['a', 'b'] });
  expect(byKeys.body.reversals).toMatchObject([{ eventId: ids[1], status: 'reversed' }]);
  expect(byKeys.body.issues).toEqual([
    { idempotencyKey: 'b', message: 'The user has no event with this idempotency key.' },
  ]);

  const time = { userId: user, from: '2020-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' };
  expect((await laurel.admin.post('/v1/events/reverse', { ...time, metricKey: 'orders' })).body.reversals).toEqual([]);
  const byTime = await laurel.admin.post('/v1/events/reverse', time);
  expect(byTime.body.reversals).toMatchObject([{ eventId: ids[2], status: 'reversed' }]);
  expect(await seen()).toMatchObject({ orders: 0, spent: 0, points: 0 });
});

test('bad requests say what is wrong', async () => {
  const refused = async (body: object): Promise<[number, string]> => {
    const answer = await laurel.admin.post('/v1/events/reverse', body);
    return [answer.status, answer.body.error as string];
  };
  expect((await refused({}))[0]).toBe(422);
  expect((await refused({ eventIds: ['x'] }))[0]).toBe(400);
  expect((await refused({ idempotencyKeys: ['a'] }))[1]).toContain('userId is needed');
  expect((await refused({ userId: user, from: '2030-01-01T00:00:00Z' }))[1]).toContain("both 'from' and 'to'");
  const time = { userId: user, from: '2030-01-01T00:00:00Z', to: '2030-12-31T23:59:60Z' };
  expect(await refused(time)).toEqual([422, expect.stringContaining('to must be a time')]);
  expect((await reverse('01890000-0000-7000-8000-000000000000')).status).toBe(404);
  const { key } = (await laurel.admin.post('/v1/application-api-keys', [{ userId: user }])).body.created[0];
  expect((await laurel.admin.post('/v1/events/reverse', { eventIds: [] }, { key })).status).toBe(403);
});

test('a misspelt request, or one for other events, reverses nothing', async () => {
  const id = await event('orders', 3);
  const misspelt = await reverse(id, { dryrun: true });
  expect([misspelt.status, misspelt.body.error]).toEqual([400, expect.stringContaining('did you mean dryRun?')]);
  const range = { userId: user, from: '2020-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' };
  const many = await laurel.admin.post('/v1/events/reverse', { ...range, metric: 'spent' });
  expect([many.status, many.body.error]).toEqual([400, expect.stringContaining('did you mean metricKey?')]);
  const others = await laurel.admin.post('/v1/events/reverse', { eventIds: [id], userId: 'somebody else' });
  expect([others.status, others.body.error]).toEqual([422, expect.stringContaining('userId')]);
  expect(await seen()).toMatchObject({ orders: 3, points: 6 });
});

test('refuses keys of more than 1,000 events in several metrics', async () => {
  const keys = Array.from({ length: 501 }, (_, n) => `key ${n}`);
  const all = ['orders', 'visits'].flatMap((key) =>
    keys.map((idempotencyKey) => ({ key, user: { id: user }, value: 0, idempotencyKey })),
  );
  for (const some of [all.slice(0, 1_000), all.slice(1_000)])
    expect((await laurel.admin.post('/v1/metrics/events?wait=true', some)).status).toBe(200);
  const asked = { userId: user, idempotencyKeys: keys, dryRun: true };
  const { status, body } = await laurel.admin.post('/v1/events/reverse', asked);
  expect([status, body.error]).toEqual([422, expect.stringContaining('idempotencyKeys')]);
});

test('a streak is as without the event: unbroken if another event meets the period, otherwise shorter', async () => {
  const streak = async (): Promise<number> => {
    const { body } = await laurel.app.get(`/v1/users/${encodeURIComponent(user)}/streak`);
    return body.length as number;
  };
  const once = await event('visits', 1);
  const twice = await event('visits', 1);
  expect(await streak()).toBe(1);
  expect((await reverse(once)).body).toMatchObject({ streak: 1 });
  const second = (await reverse(twice)).body;
  expect(second).toMatchObject({ streak: 0 });
  expect(await streak()).toBe(0);
  expect((await reverse(second.reversalId)).body).toMatchObject({ streak: 1 });
  expect(await streak()).toBe(1);
  await reverse(twice);
  await event('visits', 1);
  expect(await streak()).toBe(1);
});

/** A sample on every run; `npm run test:long` is a thorough one. */
const RUNS = Number(process.env['RUNS'] ?? 5);

test('reversing everything returns a user to the start, in any order', { timeout: 300_000 + RUNS * 10_000 }, () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          metric: fc.constantFrom('orders', 'spent', 'visits'),
          value: fc.integer({ min: -12, max: 30 }),
          gift: fc.boolean(),
          // When it is reversed, and whether that reversal is reversed and repeated.
          order: fc.integer(),
          twice: fc.boolean(),
        }),
        { minLength: 1, maxLength: 8 },
      ),
      async (events) => {
        user = `user ${(users += 1)}`;
        await event('orders', 0);
        const start = await seen();
        const sent: { id: string; order: number; twice: boolean }[] = [];
        for (const { metric, value, gift, order, twice } of events)
          sent.push({ id: await event(metric, value, gift ? { attributes: { kind: 'gift' } } : {}), order, twice });
        for (const { id, twice } of sent.toSorted((a, b) => a.order - b.order)) {
          const { status, body } = await reverse(id, { revokeAchievements: true });
          expect([status, body.status]).toEqual([200, 'reversed']);
          if (!twice) continue;
          expect((await reverse(body.reversalId)).body.status).toBe('restored');
          expect((await reverse(id, { revokeAchievements: true })).body.status).toBe('reversed');
        }
        // A leaderboard entry without a score is 0 or missing.
        expect(await seen()).toEqual({ ...start, sales: start.sales ?? expect.toBeOneOf([0, null]) });
      },
    ),
    { numRuns: RUNS, endOnFailure: true },
  ),
);
