import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { WEBHOOK_EVENTS } from '../../../src/domain/notifications/webhook.ts';
import type { NotificationType } from '../../../src/domain/notifications/notification.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { startWorkers } from '../../../workers/start.ts';
import { Listening, type Message } from './listening.ts';

const CONFIGURATION: Configuration = {
  metrics: [{ key: 'flips', name: 'Flips' }],
  achievements: [
    { key: 'ten', name: 'Ten', trigger: 'metric', metricKey: 'flips', metricValue: 10, status: 'active' },
    { key: 'thirty', name: 'Thirty', trigger: 'metric', metricKey: 'flips', metricValue: 30, status: 'active' },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      levels: [{ key: 'novice', name: 'Novice', points: 10 }],
      triggers: [{ type: 'metric', metricKey: 'flips', metricThreshold: 1, points: 1, status: 'active' }],
      boosts: [
        { name: 'For all', start: '2030-03-03', end: '2030-03-03', multiplier: 2 },
        { name: 'For Ada', start: '2030-03-03', end: '2030-03-03', multiplier: 2, userId: 'ada' },
      ],
    },
  ],
  leaderboards: [
    { key: 'open', name: 'Open', rankBy: 'metric', metricKey: 'flips', start: '2030-03-01', status: 'active' },
    {
      key: 'cup',
      name: 'Cup',
      rankBy: 'metric',
      metricKey: 'flips',
      start: '2030-03-03',
      end: '2030-03-03',
      status: 'active',
    },
  ],
  streaks: {
    enabled: true,
    frequency: 'daily',
    freezes: { enabled: true, initial: 1, max: 1, autoEarnInterval: 5, autoEarnAmount: 1 },
  },
};

let listening: Listening;
beforeEach(async () => {
  listening = await Listening.start('2030-03-01T09:00', CONFIGURATION);
  await listening.listen(...WEBHOOK_EVENTS);
  await listening.to('2030-03-01T09:59');
});
afterEach(() => listening.close());

const ada = { id: 'ada', tz: 'Europe/Berlin', email: 'ada@example.com' };
const bob = { id: 'bob', email: 'bob@example.com' };
const event = async (user: object, value: number): Promise<void> => {
  const { status } = await listening.laurel.app.post('/v1/metrics/flips/event', { user, value });
  if (status !== 201) throw new Error('An event was refused.');
};

/** The first is a Friday. Ada is an hour ahead of UTC. */
async function someDays(between: () => Promise<void> = async () => undefined): Promise<void> {
  const steps: [time: string, happens?: () => Promise<void>][] = [
    ['2030-03-01T10:00', () => event(ada, 12)],
    // Bob overtakes Ada, who is notified when the places are compared.
    ['2030-03-01T10:05', () => event(bob, 40)],
    ['2030-03-02T12:00', () => event(ada, 3)],
    ['2030-03-03T12:00', () => event(bob, 1)],
    ['2030-03-04T13:00'],
    ['2030-03-07T12:00'],
  ];
  for (const [time, happens] of steps) {
    await listening.to(time);
    await happens?.();
    await listening.stored();
    await between();
  }
}

const EXPECTED: readonly [user: string | null, messages: string[]][] = [
  [
    'ada',
    [
      '2030-03-01T10:00 streak.started',
      '2030-03-01T10:00 achievement.completed',
      '2030-03-01T10:00 points.changed',
      '2030-03-01T10:00 points.level_changed',
      '2030-03-01T10:00 leaderboard.rank_changed',
      '2030-03-01T10:15 leaderboard.rank_changed',
      '2030-03-01T16:00 emails.achievement_due',
      '2030-03-02T12:00 streak.extended',
      '2030-03-02T12:00 points.changed',
      '2030-03-02T23:00 points.boost_started',
      '2030-03-03T23:00 streak.freeze_consumed',
      '2030-03-03T23:00 points.boost_finished',
      '2030-03-04T08:00 emails.recap_due',
      '2030-03-04T19:00 emails.streak_reminder_due',
      '2030-03-04T23:00 streak.lost',
      '2030-03-05T09:00 emails.reactivation_due',
      '2030-03-05T23:00 streak.freeze_earned',
      '2030-03-07T09:00 emails.reactivation_due',
    ],
  ],
  [
    'bob',
    [
      '2030-03-01T10:05 streak.started',
      '2030-03-01T10:05 achievement.completed',
      '2030-03-01T10:05 achievement.completed',
      '2030-03-01T10:05 points.changed',
      '2030-03-01T10:05 points.level_changed',
      '2030-03-01T10:05 leaderboard.rank_changed',
      '2030-03-01T17:00 emails.achievement_due',
      '2030-03-01T17:00 emails.achievement_due',
      '2030-03-03T00:00 streak.freeze_consumed',
      '2030-03-03T12:00 streak.extended',
      '2030-03-03T12:00 points.changed',
      // Of the cup, where Bob is the only one.
      '2030-03-03T12:00 leaderboard.rank_changed',
      '2030-03-04T09:00 emails.recap_due',
      '2030-03-04T20:00 emails.streak_reminder_due',
      '2030-03-05T00:00 streak.lost',
      '2030-03-06T00:00 streak.freeze_earned',
      '2030-03-06T10:00 emails.reactivation_due',
    ],
  ],
  [
    null,
    [
      '2030-03-02T10:00 leaderboard.started',
      '2030-03-02T10:00 points.boost_started',
      '2030-03-04T13:00 leaderboard.finished',
      '2030-03-04T13:00 points.boost_finished',
    ],
  ],
];

/** The reported messages, in the form of `EXPECTED`. */
function reported(messages: readonly Message[]): [user: string | null, messages: string[]][] {
  const of = (user: string | null): string[] =>
    messages
      // Their number depends on how soon each is stored.
      .filter((message) => message.user === user && message.type !== 'leaderboard.changed')
      .map(({ at, type }) => `${at} ${type}`);
  return EXPECTED.map(([user]) => [user, of(user)]);
}

test('all types but those of spendings, expiries, rewards, leagues and merges, each at its minute', async () => {
  await someDays();
  const messages = await listening.messages();
  expect(reported(messages)).toEqual(EXPECTED);
  expect(new Set(messages.map(({ type }) => type))).toEqual(
    new Set(
      WEBHOOK_EVENTS.filter(
        (type) =>
          !/^(?:points\.(?:spent|refunded|expiring|expired)|user\..*|reward\..*|leaderboard\.(?:rewarded|tier_changed))$/.test(
            type,
          ),
      ),
    ),
  );
  const payloads = (type: NotificationType, user: string | null) =>
    messages.filter((message) => message.type === type && message.user === user).map(({ payload }) => payload);

  expect(payloads('leaderboard.rank_changed', 'ada').map(({ leaderboard }) => leaderboard)).toMatchObject([
    { rank: 1, value: 12, previousRank: null, previousValue: null },
    { rank: 2, value: 12, previousRank: 1, previousValue: 12 },
  ]);
  expect(payloads('leaderboard.started', null)[0].leaderboard).toMatchObject({ status: 'scheduled', rankings: [] });
  expect(payloads('leaderboard.finished', null)[0].leaderboard).toMatchObject({
    key: 'cup',
    status: 'finished',
    rankings: [{ userId: 'bob', rank: 1, value: 1 }],
  });
  expect(payloads('leaderboard.changed', null).at(-1).leaderboard).toMatchObject({
    rankings: [
      { userId: 'bob', value: 41 },
      { userId: 'ada', value: 15 },
    ],
  });
  expect(payloads('emails.recap_due', 'ada')).toMatchObject([
    { timestamp: '2030-03-04T08:00:00.000Z', recap: { periodStart: '2030-02-25', periodEnd: '2030-03-03' } },
  ]);
  expect(payloads('emails.reactivation_due', 'ada').map(({ reactivation }) => reactivation)).toEqual([
    { messageNumber: 1, daysSinceLastActive: 3 },
    { messageNumber: 2, daysSinceLastActive: 5 },
  ]);
  expect(payloads('emails.streak_reminder_due', 'ada')[0].streak).toMatchObject({
    length: 2,
    expires: '2030-03-04',
    freezes: 0,
    streakHistory: [{ periodStart: '2030-03-04', length: 2 }],
  });
  expect(payloads('emails.achievement_due', 'bob').map(({ achievement }) => achievement.name)).toEqual([
    'Ten',
    'Thirty',
  ]);
  expect(payloads('points.boost_finished', 'ada')).toMatchObject([{ boost: { name: 'For Ada', status: 'finished' } }]);
});

test('the same with two workers, one of which is replaced again and again', async () => {
  const { redisUrl, databaseUrl } = listening.laurel;
  const delivery = { allowPrivate: true };
  const start = () =>
    startWorkers({ redisUrl, databaseUrl, clock: 'test', log: createLog({ level: 'fatal', name: 'test' }), delivery });
  let second = await start();
  try {
    await someDays(async () => {
      await second.close(0);
      second = await start();
    });
    expect(reported(await listening.messages())).toEqual(EXPECTED);
  } finally {
    await second.close();
  }
});
