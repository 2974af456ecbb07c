import { afterEach, describe, expect, test } from 'vitest';
import { CONFIGURATION, Reported, type StoredMessage } from './messages.ts';
import { opened } from '../../stack/opened.ts';

const DAYS = {
  key: 'days',
  name: 'Days',
  rankBy: 'metric',
  metricKey: 'flips',
  start: '2026-01-01',
  runUnit: 'day',
  runInterval: 1,
  status: 'active',
} as const;

/** Minutes cost points. */
const SPENDING = { type: 'metric', metricKey: 'minutes', metricThreshold: 1, points: -10, status: 'active' } as const;

const reported = opened(async () => {
  const [xp, coins] = CONFIGURATION.pointsSystems!;
  return Reported.start({
    ...CONFIGURATION,
    pointsSystems: [{ ...xp!, triggers: [...xp!.triggers!, SPENDING] }, coins!],
    leaderboards: [...CONFIGURATION.leaderboards!, DAYS],
  });
});
afterEach(() => reported.clean());

const DAY_MS = 86_400_000;

/** The stored messages, and the new ones since the last call. */
let seen = 0;
async function news(): Promise<StoredMessage[]> {
  await reported.persist();
  const messages = await reported.messages();
  const since = messages.slice(seen);
  seen = messages.length;
  return since;
}
afterEach(() => {
  seen = 0;
});

/** Lets the windows end, so that what follows is reported at once. */
const endWindows = () => reported.pool.query('DELETE FROM notification_windows');

async function send(id: string, value: number, more: object = {}): Promise<string> {
  const { status, body } = await reported.laurel.app.post('/v1/metrics/flips/event', { user: { id }, value, ...more });
  expect(status).toBe(201);
  return body.eventId;
}

async function reverse(eventId: string, more: object = {}): Promise<string> {
  const { status, body } = await reported.laurel.admin.post(`/v1/events/${eventId}/reverse`, more);
  expect(status).toBe(200);
  return body.reversalId;
}

const typesOf = (messages: readonly StoredMessage[]): string[] => messages.map(({ type }) => type);
// oxlint-disable-next-line typescript/no-explicit-any -- tests look into payloads of any type
const payloads = (messages: readonly StoredMessage[], type: string): any[] =>
  messages.filter((message) => message.type === type).map(({ payload }) => payload);
/** `leaderboard, first day of the run: previous rank (value) → rank (value)`, sorted. */
const places = (messages: readonly StoredMessage[]): string[] =>
  payloads(messages, 'leaderboard.rank_changed')
    .map(({ leaderboard: { key, start, rank, value, previousRank, previousValue } }) => {
      const place = (at: number | null, score: number | null): string => (at === null ? '-' : `${at} (${score})`);
      return `${key}, ${start}: ${place(previousRank, previousValue)} → ${place(rank, value)}`;
    })
    .toSorted();

/** The leaderboard of days, in the run of some days ago. */
const daysRun = (days = 0): string =>
  `days, ${new Date(reported.clock.now() - days * DAY_MS).toISOString().slice(0, 10)}`;

const daysAgo = (days: number): { occurredAt: string } => ({
  occurredAt: new Date(reported.clock.now() - days * DAY_MS).toISOString(),
});

describe('a late event', () => {
  test('reports what it changes now, of the runs in which it counts', async () => {
    await reported.webhook();
    await send('ana', 2);
    await news();
    await endWindows();
    await send('ana', 3, daysAgo(1));
    const late = await news();
    expect(typesOf(late)).toEqual(['streak.extended', 'points.changed', 'leaderboard.rank_changed']);
    expect(payloads(late, 'streak.extended')[0].streak.length).toBe(2);
    expect(payloads(late, 'points.changed')[0].points).toMatchObject({ added: 30, total: 50 });
    // The run of yesterday is open until noon; in the others the rank stays the same.
    expect(places(late)).toEqual([`${daysRun(1)}: - → 1 (3)`]);
    await endWindows();
    await send('ana', 4, daysAgo(2));
    expect(typesOf(await news())).toEqual(['streak.extended', 'points.changed']);
  });

  test('that joins a lost streak again reports its length, and not the loss a second time', async () => {
    await reported.webhook({ events: ['streak.started', 'streak.extended', 'streak.lost'] });
    await send('bob', 1);
    reported.clock.set(reported.clock.now() + 2 * DAY_MS);
    await send('bob', 1);
    expect(typesOf(await news())).toEqual(['streak.started', 'streak.lost', 'streak.started']);
    await send('bob', 1, daysAgo(1));
    const late = await news();
    expect(typesOf(late)).toEqual(['streak.extended']);
    expect(payloads(late, 'streak.extended')[0].streak.length).toBe(3);
  });
});

describe('a reversal', () => {
  test('reports points, level, ranks and the end of the streak as changes; undone, it reports them again', async () => {
    await reported.webhook();
    const eventId = await send('ana', 2);
    await news();
    await endWindows();
    const reversalId = await reverse(eventId);
    const reversed = await news();
    expect(typesOf(reversed)).toEqual([
      'streak.lost',
      'points.changed',
      'points.level_changed',
      'leaderboard.rank_changed',
      'leaderboard.rank_changed',
    ]);
    expect(payloads(reversed, 'streak.lost')[0].length).toBe(1);
    const [{ points }] = payloads(reversed, 'points.changed');
    expect(points).toMatchObject({ added: -20, total: 0, awards: [{ awarded: -20, total: 0 }] });
    expect(payloads(reversed, 'points.level_changed')[0]).toMatchObject({
      previousLevel: { key: 'novice' },
      newLevel: null,
    });
    expect(places(reversed)).toEqual([`${daysRun()}: 1 (2) → -`, 'top, 2026-01-01: 1 (2) → -']);
    await endWindows();
    await reverse(reversalId);
    const restored = await news();
    // Reports neither a restored streak nor an achievement that the user never lost.
    expect(typesOf(restored).toSorted()).toEqual([
      'leaderboard.rank_changed',
      'leaderboard.rank_changed',
      'points.changed',
      'points.level_changed',
    ]);
    expect(payloads(restored, 'points.changed')[0].points).toMatchObject({ added: 20, total: 20 });
  });

  test('of an event that others make up for keeps the streak, and reports nothing about it', async () => {
    await reported.webhook({ events: ['streak.lost', 'streak.started', 'streak.extended'] });
    await send('cyd', 1);
    const second = await send('cyd', 1);
    await news();
    await reverse(second);
    expect(await news()).toEqual([]);
  });

  test('that cannot take spent points reports no change of them', async () => {
    await reported.webhook({ events: ['points.changed'] });
    const earning = await send('dan', 5);
    await reported.laurel.app.post('/v1/metrics/minutes/event', { user: { id: 'dan' }, value: 5 });
    await news();
    await endWindows();
    const { body } = await reported.laurel.admin.post(`/v1/events/${earning}/reverse`, {});
    expect(body.points).toMatchObject([{ changed: 0, total: 0, shortfall: 50 }]);
    expect(await news()).toEqual([]);
  });

  test.each(['read', 'written', 'committed', 'trimmed'] as const)(
    'is reported once by a persister that ends after the step `%s`',
    async (at) => {
      await reported.webhook({ events: ['points.changed', 'streak.lost'] });
      const eventId = await send('eve', 1);
      await news();
      await endWindows();
      await reverse(eventId);
      const broken = reported.persist((step) => {
        if (step === at) throw new Error('ended here');
      });
      await expect(broken).rejects.toThrow('ended here');
      expect(typesOf(await news())).toEqual(['streak.lost', 'points.changed']);
    },
  );
});

describe('a hidden user', () => {
  const hide = (id: string, hidden: boolean) => reported.laurel.admin.patch(`/v1/users/${id}`, { hidden });

  test('is reported to have no rank, once; later reports contain everything but ranks, until the user is shown again', async () => {
    await reported.webhook();
    await send('ana', 2);
    await send('bob', 1);
    await news();
    await endWindows();
    await hide('ana', true);
    expect(places(await news())).toEqual([`${daysRun()}: 1 (2) → -`, 'top, 2026-01-01: 1 (2) → -']);
    await endWindows();
    await send('ana', 3);
    expect(typesOf(await news())).toEqual(['points.changed']);
    const { rows } = await reported.pool.query('SELECT FROM notification_windows WHERE type LIKE $1', ['leaderboard%']);
    expect(rows).toEqual([]);
    await hide('ana', false);
    expect(places(await news())).toEqual([`${daysRun()}: - → 1 (5)`, 'top, 2026-01-01: - → 1 (5)']);
  });
});
