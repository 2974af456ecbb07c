import { beforeAll, expect, test } from 'vitest';
import { FixedClock } from '../../src/clock.ts';
import { createLaurel, LaurelError, type Laurel, type UserCalls } from '../../clients/typescript/src/index.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { opened } from '../stack/opened.ts';

// Calls every method of the TypeScript client on a running Laurel.
const CONFIGURATION = {
  ...STUDY_APP,
  rewards: [{ key: 'hat', name: 'Hat', pointsSystemKey: 'xp', price: 1, status: 'active' as const }],
  leaderboards: [
    ...STUDY_APP.leaderboards!,
    {
      key: 'league',
      name: 'League',
      rankBy: 'metric' as const,
      metricKey: 'flips',
      runUnit: 'week' as const,
      status: 'active' as const,
      leagues: { tiers: [{ name: 'Bronze' }, { name: 'Silver' }], cohortUsers: 10, promoted: 3, demoted: 3 },
    },
  ],
  achievements: [
    ...STUDY_APP.achievements!,
    {
      key: 'daily',
      name: 'Daily 20',
      trigger: 'metric' as const,
      metricKey: 'flips',
      metricValue: 20,
      repeat: 'daily' as const,
      status: 'active' as const,
    },
  ],
};

/** Stands still, so that a run over midnight has one day. */
const clock = new FixedClock(Date.now());

/** With an admin key. */
let laurel: Laurel;
const server = opened(() => startLaurel({ clock, configuration: CONFIGURATION, workers: true }));
beforeAll(async () => {
  laurel = createLaurel({ url: server.appUrl, adminUrl: server.adminUrl, key: server.adminKey, user: 'ada' });
});

const today = new Date(clock.now()).toISOString().slice(0, 10);
const range = { aggregation: 'daily', startDate: today, endDate: today } as const;

/** A call of each method with a part of its answer, in an order in which each finds what it needs. */
const CALLS: Record<string, [call: () => Promise<unknown>, answer: unknown]> = {
  track: [
    () => laurel.track('flips', 12, { attributes: { deck: 'verbs' } }),
    { total: 12, currentStreak: { length: 1 } },
  ],
  'user.track': [
    () =>
      laurel
        .user({ id: 'bob', tz: 'Europe/Oslo', attributes: { plan: 'pro' } })
        .track('flips', 30, { occurredAt: new Date(clock.now()) }),
    { total: 30 },
  ],
  'user.get': [() => laurel.user('bob').get(), { id: 'bob', tz: 'Europe/Oslo' }],
  'user.identify': [() => laurel.user('cleo/&?').identify({ name: 'Cleo' }), { id: 'cleo/&?', name: 'Cleo' }],
  'user.update': [
    () => laurel.user('cleo/&?').update({ attributes: { plan: 'free' } }),
    { attributes: { plan: 'free' } },
  ],
  'user.updatePreferences': [
    () => laurel.user().updatePreferences({ notifications: { recap: ['email'] } }),
    { notifications: { recap: ['email'] } },
  ],
  'user.preferences': [() => laurel.user().preferences(), { notifications: { recap: ['email'] } }],
  'user.metrics': [() => laurel.user().metrics(), [{ key: 'flips', current: 12 }, { current: 0 }]],
  'user.metric.get': [() => laurel.user().metric('flips').get(), { current: 12 }],
  'user.metric.summary': [() => laurel.user().metric('flips').summary(range), [{ change: 12 }]],
  'user.achievements': [
    async () =>
      (await laurel.user().achievements({ includeIncomplete: true })).length -
      (await laurel.user().achievements()).length,
    2,
  ],
  'user.quests': [() => laurel.user().quests(), [{ key: 'daily', period: { progress: 12, completed: false } }]],
  'user.complete': [() => laurel.user().complete('tour'), { achievement: { key: 'tour' } }],
  'user.streak': [async () => (await laurel.user().streak({ historyPeriods: 3 })).streakHistory.length, 3],
  'user.leaderboard': [
    () => laurel.user().leaderboard('flips', { numEvents: 0 }),
    { rank: 2, value: 12, participants: 2 },
  ],
  'user.wrapped': [() => laurel.user().wrapped({ year: Number(today.slice(0, 4)) }), { activity: { daysActive: 1 } }],
  'user.points.get': [() => laurel.user().points('xp').get({ awards: 1 }), { awards: [{}] }],
  'user.points.summary': [() => laurel.user().points('xp').summary(range), [{}]],
  'user.points.boosts': [() => laurel.user().points('xp').boosts(), [{ name: 'Double' }]],
  'user.points.spend': [
    () => laurel.user('bob').points('xp').spend(10, { reason: 'A hat' }),
    { type: 'spend', reason: 'A hat' },
  ],
  'user.points.refund': [
    async () => {
      const points = laurel.user('bob').points('xp');
      return points.refund((await points.spend(3)).id);
    },
    { type: 'refund', amount: 3 },
  ],
  'user.points.hold': [
    () => laurel.user('bob').points('xp').hold(2, { expiresIn: 60, reference: 'order' }),
    { type: 'hold' },
  ],
  'user.points.capture': [
    async () => {
      const points = laurel.user('bob').points('xp');
      return points.capture((await points.hold(1, { expiresIn: 60 })).id);
    },
    { type: 'capture' },
  ],
  'user.points.release': [
    async () => {
      const points = laurel.user('bob').points('xp');
      return points.release((await points.hold(1, { expiresIn: 60 })).id);
    },
    { type: 'release' },
  ],
  'user.league': [
    () => laurel.user('bob').league('league'),
    { leaderboardKey: 'league', tier: { number: 1, name: 'Bronze' }, tiers: 2 },
  ],
  'user.rewards': [() => laurel.user('bob').rewards({ limit: 1 }), [{ key: 'hat', affordable: true, claimable: true }]],
  'user.claim': [() => laurel.user('bob').claim('hat'), { state: 'claimed', price: 1, reward: { key: 'hat' } }],
  'user.claims': [() => laurel.user('bob').claims({ limit: 1 }), { claims: [{ reward: { key: 'hat' } }] }],
  achievements: [async () => (await laurel.achievements()).map(({ key }) => key).includes('ten'), true],
  leaderboards: [async () => (await laurel.leaderboards({ includeFinished: true })).length, 4],
  'leaderboard.get': [() => laurel.leaderboard('flips').get({ limit: 1 }), { rankings: [{ userId: 'bob', rank: 1 }] }],
  'leaderboard.around': [
    () => laurel.leaderboard('flips').around('ada', { above: 1, below: 0 }),
    { rankings: [{ userId: 'bob' }, { userId: 'ada' }] },
  ],
  'leaderboard.among': [
    () => laurel.leaderboard('flips').among(['ada', 'nobody'], { limit: 5 }),
    { rankings: [{ userId: 'ada', rank: 1 }] },
  ],
  'leaderboard.teams': [() => laurel.leaderboard('weekly').teams({ limit: 3 }), { rankings: [{ team: 'pro' }] }],
  'points.get': [() => laurel.points('xp').get(), { name: 'XP' }],
  'points.summary': [() => laurel.points('xp').summary({ userAttributes: ['plan:pro'] }), expect.arrayContaining([])],
  'points.boosts': [() => laurel.points('xp').boosts({ includeFinished: true }), [{ name: 'Double' }]],
  'points.levels': [() => laurel.points('xp').levels(), [{ key: 'novice' }]],
  'points.levelSummary': [() => laurel.points('xp').levelSummary(), [{ level: { key: 'novice' } }]],
  streaks: [() => laurel.streaks(['ada', 'nobody']), [{ userId: 'ada', streakLength: 1 }, { streakLength: 0 }]],
  streakRankings: [() => laurel.streakRankings({ limit: 1, type: 'longest' }), [{ streakLength: 1 }]],
  events: [
    () =>
      laurel.events([
        { metric: 'flips', user: 'dan', value: 2, idempotencyKey: 'once' },
        { metric: 'unknown', user: 'dan' },
        { metric: 'flips', user: { id: 'dan', name: 'Dan' }, value: 2, idempotencyKey: 'once' },
      ]),
    [
      { status: 201, total: 2 },
      { status: 404, code: 'not_found' },
      { status: 202, replayed: true },
    ],
  ],
  createKey: [
    () => laurel.createKey('ada', { scope: 'read' }),
    { userId: 'ada', scope: 'read', key: expect.any(String) },
  ],
  send: [() => laurel.send({ method: 'GET', path: '/jobs', admin: true }), expect.anything()],
};

/** All methods, such as `user.points.spend`. */
function methods(): string[] {
  const within = (name: string, calls: object): string[] =>
    Object.entries(calls)
      .filter(([, value]) => typeof value === 'function')
      .map(([method]) => (name === '' ? method : `${name}.${method}`));
  const user: UserCalls = laurel.user();
  // `live.test.ts` calls `live`.
  const others = ['user', 'leaderboard', 'points', 'user.points', 'user.metric', 'live'];
  return [
    ...within('', laurel),
    ...within('user', user),
    ...within('user.points', user.points('xp')),
    ...within('user.metric', user.metric('flips')),
    ...within('leaderboard', laurel.leaderboard('flips')),
    ...within('points', laurel.points('xp')),
  ].filter((name) => !others.includes(name));
}

test('every method has a call', () => expect(Object.keys(CALLS).toSorted()).toEqual(methods().toSorted()));

test.each(Object.entries(CALLS))('%s', async (_, [call, answer]) => {
  const received = await call();
  if (typeof answer === 'object') expect(received).toMatchObject(answer as object);
  else expect(received).toBe(answer);
});

test('an error has the code, hint and balance of the answer', async () => {
  const error = await laurel
    .user('ada')
    .points('xp')
    .spend(1_000_000)
    .catch((failed: unknown) => failed);
  expect(error).toBeInstanceOf(LaurelError);
  expect(error).toMatchObject({
    code: 'insufficient_balance',
    status: 409,
    balance: expect.any(Number),
    isTransient: false,
  });
  await expect(laurel.track('flip')).rejects.toMatchObject({ code: 'unprocessable', hint: "Did you mean 'flips'?" });
  await expect(laurel.createKey('.')).rejects.toMatchObject({ code: 'invalid' });
});

test('a call with its own idempotency key can be repeated', async () => {
  const points = laurel.user('bob').points('xp');
  const first = await points.spend(1, { idempotencyKey: 'order-1' });
  expect(await points.spend(1, { idempotencyKey: 'order-1' })).toEqual(first);
  await laurel.user('eve').track('flips', 1, { idempotencyKey: 'once' });
  const again = await laurel.user('eve').track('flips', 1, { idempotencyKey: 'once' });
  expect(again).toMatchObject({ idempotentReplayed: true, total: 1 });
});

test('a key that a function provides is fetched again after a 401', async () => {
  const made = await laurel.createKey('ada');
  const keys = ['wrong', made.key];
  const page = createLaurel({ url: `${server.appUrl}/v1/`, key: async () => keys.shift()!, user: { id: 'ada' } });
  expect(await page.user().get()).toMatchObject({ id: 'ada' });
  expect(await page.track('minutes')).toMatchObject({ total: 1 });
  await expect(page.user('bob').get()).rejects.toMatchObject({ code: 'forbidden', status: 403 });
  expect(keys).toEqual([]);
});
