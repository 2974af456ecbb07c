import { DEMO } from '../../src/catalog/demo.ts';
import type { Configuration } from '../../src/domain/configuration.ts';

const LINK = '<p><a href="{{unsubscribeUrl}}">Unsubscribe</a></p>';

/** The demo, and something of every other feature that the console shows. */
export const CONFIGURATION: Configuration = {
  ...DEMO,
  attributes: [...DEMO.attributes!, { key: 'moves', name: 'Moves', type: 'event' }],
  metrics: DEMO.metrics!.map((metric) => ({
    ...metric,
    ...(metric.key === 'flashcards-flipped' && {
      guards: { maxValue: { limit: 400, action: 'quarantine' as const } },
    }),
  })),
  achievements: [
    ...DEMO.achievements!,
    {
      key: 'daily-20',
      name: 'Daily 20',
      description: 'Flip 20 flashcards today.',
      status: 'active',
      trigger: 'metric',
      metricKey: 'flashcards-flipped',
      metricValue: 20,
      repeat: 'daily',
    },
    {
      key: 'podium',
      name: 'Podium',
      description: 'Finish a week among the best three.',
      status: 'active',
      trigger: 'api',
      leaderboardKey: 'flips-of-the-week',
      rankTo: 3,
    },
  ],
  pointsSystems: [
    ...DEMO.pointsSystems!,
    {
      key: 'gems',
      name: 'Gems',
      description: 'Earned by daily quests, spent on rewards.',
      triggers: [
        { type: 'achievement', status: 'active', points: 5, achievementKey: 'daily-20' },
        { type: 'achievement', status: 'active', points: 50, leaderboardKey: 'flips-of-the-week', rankTo: 3 },
      ],
    },
  ],
  leaderboards: [
    ...DEMO.leaderboards!,
    {
      key: 'leagues',
      name: 'Weekly leagues',
      status: 'active',
      rankBy: 'points',
      pointsSystemKey: 'xp',
      start: '2029-12-31',
      runUnit: 'day',
      runInterval: 7,
      leagues: {
        tiers: [{ name: 'Bronze' }, { name: 'Silver' }, { name: 'Gold' }],
        cohortUsers: 30,
        promoted: 7,
        demoted: 5,
        inactive: 'fall',
      },
    },
    {
      key: 'best-round',
      name: 'Best round',
      status: 'active',
      rankBy: 'metric',
      metricKey: 'flashcards-flipped',
      aggregate: 'max',
      ties: 'first',
      secondaryAttributeKey: 'moves',
      secondaryOrder: 'ascending',
      start: '2029-12-31',
    },
  ],
  rewards: [
    { key: 'sticker-pack', name: 'Sticker pack', pointsSystemKey: 'gems', price: 20, stock: 80, status: 'active' },
    {
      key: 'month-free',
      name: 'A month for free',
      pointsSystemKey: 'gems',
      price: 90,
      limitPerUser: 1,
      status: 'active',
    },
  ],
  streaks: {
    ...DEMO.streaks!,
    weekStart: 'monday',
    freezes: { enabled: true, initial: 1, max: 3, autoEarnInterval: 7, autoEarnAmount: 1 },
  },
  messages: {
    templates: [
      {
        kind: 'achievement_completed',
        subject: '{{user.name|Hello}}, you completed {{achievement.name}}',
        html: `<h1>{{achievement.name}}</h1><p>{{achievement.description}}</p>${LINK}`,
        text: '{{achievement.name}}: {{achievement.description}}\n\nUnsubscribe: {{unsubscribeUrl}}',
      },
      {
        kind: 'streak_reminder',
        subject: 'Keep your streak of {{streak.length}}',
        html: `<p>It ends today.</p>${LINK}`,
        text: 'It ends today.\n\nUnsubscribe: {{unsubscribeUrl}}',
      },
    ],
  },
};
