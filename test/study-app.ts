import type { Configuration } from '../src/domain/configuration.ts';

/** A configuration for tests over HTTP: a bit of everything. */
export const STUDY_APP: Configuration = {
  attributes: [
    { key: 'plan', name: 'Plan', type: 'user' },
    { key: '__proto__', name: 'An awkward key', type: 'user' },
    { key: 'deck', name: 'Deck', type: 'event' },
  ],
  metrics: [
    { key: 'flips', name: 'Flashcards flipped' },
    { key: 'minutes', name: 'Minutes studied' },
  ],
  achievements: [
    { key: 'ten', name: 'Ten flips', trigger: 'metric', metricKey: 'flips', metricValue: 10, status: 'active' },
    { key: 'day', name: 'First day', trigger: 'streak', streakLength: 1, status: 'active' },
    { key: 'tour', name: 'Took the tour', trigger: 'api', status: 'active' },
    { key: 'both', name: 'Ten and a day', trigger: 'achievement', achievementKeys: ['ten', 'day'], status: 'active' },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      levels: [{ key: 'novice', name: 'Novice', points: 10 }],
      triggers: [
        { type: 'user_creation', points: 5, status: 'active' },
        { type: 'metric', metricKey: 'flips', metricThreshold: 5, points: 10, status: 'active' },
        { type: 'achievement', achievementKey: 'ten', points: 50, status: 'active' },
      ],
      boosts: [{ name: 'Double', start: '2026-01-01', multiplier: 2 }],
    },
  ],
  leaderboards: [
    { key: 'flips', name: 'Flips', rankBy: 'metric', metricKey: 'flips', start: '2026-01-01', status: 'active' },
    {
      key: 'weekly',
      name: 'Week',
      rankBy: 'points',
      pointsSystemKey: 'xp',
      start: '2026-01-01',
      runUnit: 'day',
      runInterval: 7,
      teamAttributeKey: 'plan',
      status: 'active',
    },
    {
      key: 'plans',
      name: 'By plan',
      rankBy: 'metric',
      metricKey: 'flips',
      start: '2026-01-01',
      breakdownAttributes: ['plan'],
      status: 'active',
    },
  ],
};
