import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../../../src/domain/configuration.ts';
import { startLaurel } from '../../../laurel.ts';
import { keysOf } from '../../../stack/all-servers.ts';
import { differencesIn } from '../../../differences.ts';
import { opened } from '../../../stack/opened.ts';

const BOARD = { rankBy: 'metric', metricKey: 'm', status: 'active', start: '2030-01-01' } as const;
const CONFIGURATION: Configuration = {
  attributes: [{ key: 'land', name: 'Land', type: 'user' }],
  metrics: [{ key: 'm', name: 'M' }],
  leaderboards: [
    { ...BOARD, key: 'ever', name: 'Ever', maxParticipants: 3 },
    { ...BOARD, key: 'days', name: 'Days', runUnit: 'day', runInterval: 1 },
    { ...BOARD, key: 'lands', name: 'Lands', breakdownAttributes: ['land'] },
  ],
};

const laurel = opened(() => startLaurel({ testClock: true, workers: true }));
beforeAll(async () => {
  await to('2030-03-01T12:00:00Z');
  await laurel.admin.put('/v1/configuration', CONFIGURATION);
});

const to = (now: string) => laurel.admin.put('/v1/clock', { now });
const send = async (id: string, value: number, land?: string) =>
  (
    await laurel.app.post('/v1/metrics/m/event', {
      user: { id, ...(land !== undefined && { attributes: { land } }) },
      value,
    })
  ).body;
const hide = (id: string, hidden: boolean) => laurel.admin.patch(`/v1/users/${id}`, { hidden });
const board = async (key: string, query = '') =>
  (await laurel.app.get(`/v1/leaderboards/${key}?run=&${query}`.replace('run=&', ''))).body.rankings.map(
    ({ userId, rank, value }: { userId: string; rank: number; value: number }) => `${rank} ${userId} ${value}`,
  );
const place = async (id: string, key: string, query = '') => {
  const { body } = await laurel.app.get(`/v1/users/${id}/leaderboards/${key}?${query}`);
  return [body.rank, body.value];
};
const differences = () => differencesIn(laurel);

test('a hidden user keeps everything and has no rank; shown again, the rank of the score', async () => {
  for (const [id, value] of [
    ['ada', 50],
    ['bob', 40],
    ['cleo', 30],
    ['dora', 20],
  ] as const)
    await send(id, value, id === 'dora' ? 'fr' : 'de');
  expect(await board('ever')).toEqual(['1 ada 50', '2 bob 40', '3 cleo 30']);
  expect((await laurel.admin.get('/v1/users/ada')).body).toEqual({ id: 'ada', hidden: false, hiddenByUser: false });

  expect((await hide('ada', true)).body).toEqual({ id: 'ada', hidden: true, hiddenByUser: false });
  expect(await board('ever')).toEqual(['1 bob 40', '2 cleo 30', '3 dora 20']);
  expect(await board('days')).toEqual(['1 bob 40', '2 cleo 30', '3 dora 20']);
  expect(await board('lands', 'userAttributes=land:de')).toEqual(['1 bob 40', '2 cleo 30']);
  expect(await place('ada', 'ever')).toEqual([null, null]);
  expect(await place('ada', 'lands')).toEqual([null, null]);
  expect(await differences()).toEqual([]);

  const event = await send('ada', 5, 'fr');
  expect([event.total, event.leaderboards]).toEqual([55, {}]);
  const bobs = await send('bob', 1);
  expect(bobs.leaderboards.ever).toMatchObject({ rank: 1, previousRank: 1, threshold: 20 });
  expect(await board('lands', 'userAttributes=land:fr')).toEqual(['1 dora 20']);
  expect(await differences()).toEqual([]);

  expect((await hide('ada', true)).body.hidden).toBe(true);
  expect((await hide('ada', false)).body.hidden).toBe(false);
  expect(await board('ever')).toEqual(['1 ada 55', '2 bob 41', '3 cleo 30']);
  expect(await board('days')).toEqual(['1 ada 55', '2 bob 41', '3 cleo 30', '4 dora 20']);
  expect(await board('lands', 'userAttributes=land:fr')).toEqual(['1 ada 55', '2 dora 20']);
  expect(await board('lands', 'userAttributes=land:de')).toEqual(['1 bob 41', '2 cleo 30']);
  expect(await place('ada', 'ever')).toEqual([1, 55]);
  expect(await differences()).toEqual([]);
  const log = async () => (await laurel.admin.get('/v1/audit-log?userId=ada')).body as { after: object }[];
  await expect.poll(async () => (await log()).map(({ after }) => after)).toContainEqual({ hidden: true });
});

test('users can hide themselves; they are shown when neither they nor an administrator hide them', async () => {
  const path = '/v1/users/bob/preferences';
  expect((await laurel.app.get(path)).body.leaderboards).toBeUndefined();
  const { body } = await laurel.app.patch(path, {
    leaderboards: { hidden: true },
    notifications: { recap: ['email'] },
  });
  expect([body.leaderboards, body.notifications.recap]).toEqual([{ hidden: true }, ['email']]);
  expect((await hide('bob', true)).body).toEqual({ id: 'bob', hidden: true, hiddenByUser: true });
  expect((await laurel.app.patch(path, { leaderboards: { hidden: false } })).body.leaderboards).toBeUndefined();
  expect(await place('bob', 'ever')).toEqual([null, null]);
  await hide('bob', false);
  expect(await place('bob', 'ever')).toEqual([2, 41]);
  expect((await hide('nobody', true)).status).toBe(404);
  // With the key of their own app; nobody else's.
  const { key } = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'bob' }])).body.created[0];
  expect((await laurel.app.patch(path, { leaderboards: { hidden: true } }, { key })).status).toBe(200);
  expect(await place('bob', 'ever')).toEqual([null, null]);
  expect((await laurel.app.patch(path, { leaderboards: { hidden: false } }, { key })).status).toBe(200);
  const others = await laurel.app.patch('/v1/users/ada/preferences', { leaderboards: { hidden: true } }, { key });
  expect([others.status, (await laurel.admin.get('/v1/users/ada')).body.hiddenByUser]).toEqual([403, false]);
  expect((await laurel.admin.patch('/v1/users/bob', { hiden: true })).status).toBe(400);
});

test('a user who asks again to be hidden, or is shown, causes no reads of all leaderboards', async () => {
  const path = '/v1/users/ada/preferences';
  const groupsRead = async (): Promise<number> =>
    Number(/^cmdstat_smembers:calls=(\d+)/m.exec(await laurel.redis.info('commandstats'))?.[1] ?? 0);
  const readsOf = async (hidden: boolean): Promise<number> => {
    const before = await groupsRead();
    expect((await laurel.app.patch(path, { leaderboards: { hidden } })).status).toBe(200);
    return (await groupsRead()) - before;
  };
  expect(await readsOf(true)).toBeGreaterThan(0);
  expect(await readsOf(true)).toBe(0);
  expect(await readsOf(false)).toBe(0);
});

test('final runs contain the users who were not hidden then; a filled leaderboard omits hidden users', async () => {
  await hide('cleo', true);
  await to('2030-03-04T12:00:00Z');
  const past = await laurel.app.get('/v1/leaderboards/days?run=2030-03-01');
  expect(past.body.rankings.map(({ userId }: { userId: string }) => userId)).toEqual(['ada', 'bob', 'dora']);
  const { leaderboards } = CONFIGURATION;
  const filled = { ...BOARD, key: 'filled', name: 'Filled' };
  const filledDays = { ...filled, key: 'filled-days', name: 'Filled days', runUnit: 'day', runInterval: 1 } as const;
  await laurel.admin.put('/v1/configuration', { leaderboards: [...leaderboards!, filled, filledDays] });
  await expect.poll(() => board('filled')).toEqual(['1 ada 55', '2 bob 41', '3 dora 20']);
  await expect
    .poll(async () => (await laurel.app.get('/v1/leaderboards/filled-days?run=2030-03-01')).body.rankings.length)
    .toBe(3);
  expect(await differences()).toEqual([]);
  await hide('cleo', false);
  expect(await board('filled')).toEqual(['1 ada 55', '2 bob 41', '3 cleo 30', '4 dora 20']);
  expect(await place('cleo', 'days', 'run=2030-03-01')).toEqual([null, null]);
  expect(await differences()).toEqual([]);
});

test('events, pages around a user, histories, wrapped years and the ends of runs agree on who is hidden', async () => {
  await to('2030-03-10T12:00:00Z');
  // A day each: the daily snapshots keep their past ranks.
  for (const [id, value] of [
    ['eva', 500],
    ['finn', 400],
  ] as const)
    await send(id, value);
  await to('2030-03-11T13:00:00Z');
  const history = async (id: string) =>
    (await laurel.app.get(`/v1/users/${id}/leaderboards/ever?numEvents=2`)).body.history.map(
      ({ rank }: { rank: number | null }) => rank,
    );
  const before = await history('eva');
  expect(
    (await laurel.app.get('/v1/users/eva/wrapped?year=2030')).body.activity.entireYear.leaderboards.ever.rank,
  ).toBe(1);

  expect((await laurel.app.patch('/v1/users/eva/preferences', { leaderboards: { hidden: true } })).status).toBe(200);
  expect(await board('ever', 'userId=eva')).toEqual([]);
  expect(await board('ever', 'userId=finn')).toContain('1 finn 400');
  const finns = await send('finn', 1);
  expect(finns.leaderboards.ever).toMatchObject({ rank: 1, previousRank: 1 });
  const { body: of } = await laurel.app.get('/v1/users/eva/leaderboards/ever?numEvents=2');
  expect([of.rank, of.value]).toEqual([null, null]);
  expect((await history('eva')).slice(0, -1)).toEqual(before.slice(0, -1));
  expect((await history('eva')).at(-1)).toBe(null);
  const { body: wrapped } = await laurel.app.get('/v1/users/eva/wrapped?year=2030');
  expect(wrapped.activity.entireYear.leaderboards.ever).toBeUndefined();
  const { body: finnsYear } = await laurel.app.get('/v1/users/finn/wrapped?year=2030');
  expect(finnsYear.activity.entireYear.leaderboards.ever.rank).toBe(1);

  // Corrections made while they are hidden count when they are shown.
  const late = await laurel.app.post('/v1/metrics/m/event', {
    user: { id: 'eva' },
    value: 7,
    occurredAt: '2030-03-10T20:00:00Z',
  });
  expect([late.status, late.body.leaderboards]).toEqual([201, {}]);
  const { eventId } = await send('eva', 9);
  expect((await laurel.admin.post(`/v1/events/${eventId}/reverse`, {})).body.status).toBe('reversed');
  expect(await board('ever', 'userId=eva')).toEqual([]);
  expect(await differences()).toEqual([]);

  // The run of the 11th ends without her; she is on the perpetual leaderboard again when she is shown.
  await send('eva', 1);
  await to('2030-03-12T12:30:00Z');
  const { body: ended } = await laurel.app.get('/v1/leaderboards/days?run=2030-03-11');
  expect(ended.rankings.map(({ userId }: { userId: string }) => userId)).toEqual(['finn']);
  await laurel.app.patch('/v1/users/eva/preferences', { leaderboards: { hidden: false } });
  expect(await place('eva', 'ever')).toEqual([1, 508]);
  expect(await place('eva', 'days', 'run=2030-03-11')).toEqual([null, null]);
  expect(await differences()).toEqual([]);
});

const LANDS = ['fr', 'de', undefined];
const anySteps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ value: fc.integer({ min: -20, max: 60 }), land: fc.constantFrom(...LANDS) }) },
    {
      weight: 2,
      arbitrary: fc.record({ hidden: fc.boolean(), by: fc.constantFrom('admin' as const, 'user' as const) }),
    },
    { weight: 1, arbitrary: fc.record({ hours: fc.integer({ min: 1, max: 30 }) }) },
  ),
  { minLength: 3, maxLength: 14 },
);

test('hiding at any times, a user ends with the rank of one who did the same and was never hidden', async () => {
  let nowMs = Date.parse('2030-04-01T12:00:00Z');
  let round = 0;
  await fc.assert(
    fc.asyncProperty(anySteps, async (steps) => {
      round += 1;
      const [hider, twin] = [`hider-${round}`, `twin-${round}`];
      for (const id of [hider, twin]) await send(id, 1, 'fr');
      let hidden = 0;
      for (const step of steps) {
        if ('value' in step) for (const id of [hider, twin]) await send(id, step.value, step.land);
        else if ('hours' in step) await to(new Date((nowMs += step.hours * 3_600_000)).toISOString());
        else {
          const bit = step.by === 'admin' ? 1 : 2;
          hidden = step.hidden ? hidden | bit : hidden & ~bit;
          if (step.by === 'admin') await hide(hider, step.hidden);
          else await laurel.app.patch(`/v1/users/${hider}/preferences`, { leaderboards: { hidden: step.hidden } });
        }
        if (hidden !== 0) expect(await placesOf(hider)).toEqual([]);
      }
      await hide(hider, false);
      await laurel.app.patch(`/v1/users/${hider}/preferences`, { leaderboards: { hidden: false } });
      expect(await placesOf(hider)).toEqual(await placesOf(twin));
    }),
    { numRuns: 12 },
  );
  expect(await differences()).toEqual([]);
});

/** Where Redis has a user: sets of leaderboards, whatever their shards, and scores. */
async function placesOf(id: string): Promise<string[]> {
  const sets = await keysOf(laurel.redis, '{s*}:0:b:*');
  const scores = await Promise.all(sets.map((key) => laurel.redis.zscore(key, id)));
  const places = sets.flatMap((key, index) =>
    scores[index] === null ? [] : [`${key.slice(key.indexOf('}'))} ${scores[index]}`],
  );
  return places.toSorted();
}
