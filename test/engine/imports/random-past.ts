import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import type { Configuration } from '../../../src/domain/configuration.ts';
import type { TestLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';

/** A history of some users in one tenant, made with the operations of clients and administrators. */

export const USERS = ['ada', 'bo', 'cy', 'dee', 'el/6', 'fay'] as const;
const ZONES = ['', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Kiritimati'];
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export const CATALOG: Configuration = {
  ...STUDY_APP,
  streaks: {
    enabled: true,
    frequency: 'daily',
    weekStart: 'monday',
    evaluationMode: 'OR',
    daysOff: [],
    metrics: [
      { metricKey: 'flips', threshold: 2 },
      { metricKey: 'minutes', threshold: 5 },
    ],
    freezes: { enabled: true, initial: 1, max: 4, autoEarnInterval: 6, autoEarnAmount: 1 },
    personalization: true,
  },
  pointsSystems: [
    ...STUDY_APP.pointsSystems!,
    {
      key: 'coins',
      name: 'Coins',
      maxPoints: 60,
      triggers: [
        { type: 'streak', streakLength: 2, points: 7, status: 'active' },
        { type: 'time', timeUnit: 'days', timeInterval: 3, points: 2, status: 'active' },
        { type: 'metric', metricKey: 'minutes', metricThreshold: 10, points: -3, status: 'active' },
      ],
    },
  ],
  leaderboards: [
    ...STUDY_APP.leaderboards!,
    { key: 'streaks', name: 'Streaks', rankBy: 'streak', start: '2026-01-01', status: 'active' },
    { key: 'coins', name: 'Coins', rankBy: 'points', pointsSystemKey: 'coins', start: '2026-01-01', status: 'active' },
  ],
};

const someone = fc.constantFrom(...USERS);
const event = fc.record({
  do: fc.constant('event' as const),
  user: someone,
  metric: fc.constantFrom('flips', 'flips', 'minutes'),
  value: fc.constantFrom(1, 2, 3, 5, 12, 0.5, 0.1, -1, 2.25),
  hoursAgo: fc.constantFrom(0, 0, 0, 0, 30, 80),
  plan: fc.constantFrom(null, null, 'free', 'pro'),
});
const step = fc.oneof(
  { weight: 14, arbitrary: event },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('freeze' as const), user: someone }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pause' as const), user: someone, days: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restore' as const), user: someone }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reset' as const), user: someone }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('complete' as const), user: someone }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reverse' as const), user: someone }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Days with their events. */
const past = fc.record({
  zones: fc.array(fc.constantFrom(...ZONES), { minLength: USERS.length, maxLength: USERS.length }),
  days: fc.array(fc.array(step, { minLength: 1, maxLength: 9 }), { minLength: 24, maxLength: 24 }),
});

/** Plays a random history of at most 24 days in a tenant; returns the time afterwards, epoch ms. */
export async function happen(
  laurel: TestLaurel,
  at: { tenantId: string; seed: number; from: string; days?: number },
): Promise<number> {
  const [drawn] = fc.sample(past, { seed: at.seed, numRuns: 1 });
  const { tenantId } = at;
  let nowMs = Date.parse(at.from);
  const setClock = async (): Promise<void> => {
    const { status, body } = await laurel.admin.put('/v1/clock', { now: new Date(nowMs).toISOString() });
    if (status !== 200) throw new Error(JSON.stringify(body));
  };
  await setClock();
  const last = new Map<string, string>();
  await settle(laurel, tenantId, drawn!.zones);
  for (const steps of drawn!.days.slice(0, at.days)) {
    for (const each of steps) await take(laurel, { tenantId, nowMs, last }, each);
    nowMs += DAY_MS - 7 * 60_000;
    await setClock();
  }
  return nowMs;
}

async function settle({ app }: TestLaurel, tenantId: string, zones: readonly string[]): Promise<void> {
  for (const [index, user] of USERS.entries()) {
    const path = `/v1/users/${encodeURIComponent(user)}`;
    const email = index % 2 === 0 ? { email: `${index}@example.org`, name: `User ${user}` } : {};
    const signUpDate = index === 1 ? { signUpDate: '2024-02-29' } : {};
    await app.put(path, { ...(zones[index] && { tz: zones[index] }), ...email, ...signUpDate }, { tenantId });
  }
  await app.patch('/v1/users/bo', { deviceTokens: ['t1', 't2'] }, { tenantId });
  await app.patch(
    '/v1/users/cy/preferences',
    { notifications: { recap: ['push'], streak_reminder: [] } },
    { tenantId },
  );
  const streak = { evaluationMode: 'AND', metrics: [{ key: 'flips', threshold: 1 }] };
  await app.patch('/v1/users/dee/preferences', { streak, leaderboards: { hidden: true } }, { tenantId });
  await app.patch('/v1/users/ada', { subscribeToEmails: false }, { tenantId });
}

async function take(
  { app, admin }: TestLaurel,
  { tenantId, nowMs, last }: { tenantId: string; nowMs: number; last: Map<string, string> },
  step: Step,
): Promise<void> {
  const { user: userId } = step;
  switch (step.do) {
    case 'event': {
      const { metric, hoursAgo, plan } = step;
      // Leaderboard scores are whole in the contract.
      const value = metric === 'flips' ? Math.ceil(step.value) : step.value;
      const user = { id: userId, ...(plan !== null && { attributes: { plan } }) };
      const occurredAt = hoursAgo === 0 ? {} : { occurredAt: new Date(nowMs - hoursAgo * HOUR_MS).toISOString() };
      const send = () =>
        app.post(
          `/v1/metrics/${metric}/event`,
          { user, value, attributes: { deck: 'verbs' }, ...occurredAt },
          { tenantId },
        );
      // A process may refuse events for a moment after a rebuild.
      let { status, body } = await send();
      for (let tries = 0; status === 503 && tries < 50; tries += 1) {
        await sleep(100);
        ({ status, body } = await send());
      }
      if (status === 201) last.set(userId, body.eventId);
      // A late event may come too late.
      else if (hoursAgo === 0) throw new Error(JSON.stringify(body));
      return;
    }
    case 'freeze':
      await admin.post('/v1/streaks/freezes', { freezes: [{ userId }] }, { tenantId });
      return;
    case 'pause': {
      const date = (days: number): string => new Date(nowMs + days * DAY_MS).toISOString().slice(0, 10);
      const pauses = [{ userId, start: date(1), end: date(1 + step.days) }];
      await admin.post('/v1/streaks/pauses', { pauses }, { tenantId });
      return;
    }
    case 'restore':
    case 'reset':
      await admin.post(`/v1/streaks/${step.do}`, { users: [{ id: userId }] }, { tenantId });
      return;
    case 'complete':
      await app.post('/v1/achievements/tour/complete', { user: { id: userId } }, { tenantId });
      return;
    case 'reverse': {
      const eventId = last.get(userId);
      if (eventId !== undefined) await admin.post(`/v1/events/${eventId}/reverse`, {}, { tenantId });
    }
  }
}

/** One event of a user on most days, so that streaks live, use freezes and are lost; little else, and nothing late. */
const busyDay = fc
  .tuple(
    ...USERS.map((user) =>
      fc.option(
        event.map((each) => ({ ...each, user, hoursAgo: 0 as const })),
        { freq: 3 },
      ),
    ),
    fc.option(fc.record({ do: fc.constant('pause' as const), user: someone, days: fc.nat(1) }), { freq: 1 }),
  )
  .map((steps): Step[] => steps.filter((each) => each !== null));

/** Plays the same busy days in some tenants; returns the time afterwards, epoch ms. */
export async function happenInAll(
  laurel: TestLaurel,
  at: { tenantIds: readonly string[]; seed: number; from: string; days: number },
): Promise<string> {
  const days = fc.array(busyDay, { minLength: at.days, maxLength: at.days });
  const [drawn] = fc.sample(days, { seed: at.seed, numRuns: 1 });
  let nowMs = Date.parse(at.from);
  for (const steps of drawn!) {
    for (const each of steps)
      for (const tenantId of at.tenantIds) await take(laurel, { tenantId, nowMs, last: new Map() }, each);
    nowMs += DAY_MS;
    const { status, body } = await laurel.admin.put('/v1/clock', { now: new Date(nowMs).toISOString() });
    if (status !== 200) throw new Error(JSON.stringify(body));
  }
  return new Date(nowMs).toISOString();
}
