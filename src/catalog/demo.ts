import type { Configuration } from '../domain/configuration.ts';
import type { ConfigurationStore } from './configuration/store.ts';

/** A study app. The answer to the first event has a total, a streak, achievements, boosted points, a level and ranks. */
export const DEMO: Configuration = {
  attributes: [
    { key: 'country', name: 'Country', type: 'user' },
    { key: 'plan', name: 'Plan', type: 'user' },
    { key: 'subject', name: 'Subject', type: 'event' },
  ],
  metrics: [
    { key: 'flashcards-flipped', name: 'Flashcards flipped', units: 'cards' },
    { key: 'minutes-studied', name: 'Minutes studied', units: 'minutes' },
  ],
  achievements: [
    {
      key: 'first-flip',
      name: 'First flip',
      description: 'Flip a flashcard.',
      status: 'active',
      trigger: 'metric',
      metricKey: 'flashcards-flipped',
      metricValue: 1,
    },
    {
      key: 'card-shark',
      name: 'Card shark',
      description: 'Flip 1,000 flashcards.',
      status: 'active',
      trigger: 'metric',
      metricKey: 'flashcards-flipped',
      metricValue: 1_000,
    },
    {
      key: 'polyglot',
      name: 'Polyglot',
      description: 'Flip 50 flashcards of languages.',
      status: 'active',
      trigger: 'metric',
      metricKey: 'flashcards-flipped',
      metricValue: 50,
      eventAttributes: [{ key: 'subject', value: 'languages' }],
    },
    {
      key: 'deep-work',
      name: 'Deep work',
      description: 'Study for 10 hours, on the pro plan.',
      status: 'active',
      trigger: 'metric',
      metricKey: 'minutes-studied',
      metricValue: 600,
      userAttributes: [{ key: 'plan', value: 'pro' }],
    },
    {
      key: 'day-one',
      name: 'Day one',
      description: 'Begin a streak.',
      status: 'active',
      trigger: 'streak',
      streakLength: 1,
    },
    {
      key: 'week-of-study',
      name: 'A week of study',
      description: 'Study on seven days in a row.',
      status: 'active',
      trigger: 'streak',
      streakLength: 7,
    },
    {
      key: 'tour-taken',
      name: 'Tour taken',
      description: 'See all that the app can do.',
      status: 'active',
      trigger: 'api',
    },
    {
      key: 'off-to-a-start',
      name: 'Off to a good start',
      description: 'First flip and day one.',
      status: 'active',
      trigger: 'achievement',
      achievementKeys: ['first-flip', 'day-one'],
    },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      description: 'Experience, for everything that is learned.',
      levels: [
        { key: 'novice', name: 'Novice', points: 10, description: 'The first steps are made.' },
        { key: 'scholar', name: 'Scholar', points: 500, description: 'It has become a habit.' },
        { key: 'sage', name: 'Sage', points: 5_000, description: 'Others come to ask.' },
      ],
      triggers: [
        { type: 'user_creation', status: 'active', points: 10 },
        { type: 'metric', status: 'active', points: 5, metricKey: 'flashcards-flipped', metricThreshold: 10 },
        {
          type: 'metric',
          status: 'active',
          points: 2,
          metricKey: 'flashcards-flipped',
          metricThreshold: 10,
          eventAttributes: [{ key: 'subject', value: 'languages' }],
        },
        { type: 'metric', status: 'active', points: 10, metricKey: 'minutes-studied', metricThreshold: 15 },
        { type: 'streak', status: 'active', points: 20, streakLength: 7 },
        { type: 'achievement', status: 'active', points: 25, achievementKey: 'off-to-a-start' },
      ],
      boosts: [{ name: 'Opening season', start: '2025-01-01', multiplier: 1.5, rounding: 'down' }],
    },
  ],
  leaderboards: [
    {
      key: 'most-xp',
      name: 'Most XP of all time',
      status: 'active',
      rankBy: 'points',
      pointsSystemKey: 'xp',
      start: '2025-01-01',
    },
    {
      key: 'flips-of-the-week',
      name: 'Flips of the week',
      status: 'active',
      rankBy: 'metric',
      metricKey: 'flashcards-flipped',
      maxParticipants: 100,
      // A Monday.
      start: '2025-01-06',
      runUnit: 'day',
      runInterval: 7,
    },
    {
      key: 'flips-by-country',
      name: 'Flips by country',
      status: 'active',
      rankBy: 'metric',
      metricKey: 'flashcards-flipped',
      start: '2025-01-01',
      breakdownAttributes: ['country'],
    },
  ],
  streaks: { enabled: true, frequency: 'daily', weekStart: 'sunday' },
};

/** Configures the organisation's own tenant with the demo if nothing was ever configured. Returns whether it did. */
export const loadDemo = (store: ConfigurationStore): Promise<boolean> =>
  store.applyDemo(0, DEMO, { who: 'first start' });
