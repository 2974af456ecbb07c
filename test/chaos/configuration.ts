/** Numbers that the configuration and the model in `model.ts` share. */
export const RULES = {
  /** Points for a new user. */
  welcome: 5,
  cardsStep: 10,
  cardsPoints: 3,
  minutesStep: 7,
  minutesPoints: 2,
  /** Points that one unit of `spend` takes; an event without enough points is refused. */
  spendPoints: 4,
  cardsGoal: 100,
  goalPoints: 50,
  minutesGoal: 40,
} as const;

/** The configuration document of a run. Its names include `edition`, so that each edition is a change. */
export const configuration = (edition: number): object => ({
  attributes: [{ key: 'deck', name: 'Deck', type: 'event' }],
  metrics: [
    { key: 'cards', name: `Cards, edition ${edition}` },
    { key: 'minutes', name: 'Minutes' },
    { key: 'spend', name: 'Spent' },
  ],
  achievements: [
    {
      key: 'goal',
      name: 'Goal',
      status: 'active',
      trigger: 'metric',
      metricKey: 'cards',
      metricValue: RULES.cardsGoal,
    },
    {
      key: 'long',
      name: 'Long',
      status: 'active',
      trigger: 'metric',
      metricKey: 'minutes',
      metricValue: RULES.minutesGoal,
    },
    { key: 'begun', name: 'Begun', status: 'active', trigger: 'streak', streakLength: 1 },
    { key: 'both', name: 'Both', status: 'active', trigger: 'achievement', achievementKeys: ['goal', 'begun'] },
    { key: 'tour', name: 'Tour', status: 'active', trigger: 'api' },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [
        { type: 'user_creation', status: 'active', points: RULES.welcome },
        metricTrigger('cards', RULES.cardsStep, RULES.cardsPoints),
        metricTrigger('minutes', RULES.minutesStep, RULES.minutesPoints),
        { ...metricTrigger('spend', 1, -RULES.spendPoints), blockIfOutOfPoints: true },
        { type: 'achievement', status: 'active', points: RULES.goalPoints, achievementKey: 'goal' },
      ],
    },
  ],
  leaderboards: [
    { key: 'cards', name: 'Cards', status: 'active', rankBy: 'metric', metricKey: 'cards', start: '2025-01-01' },
    { key: 'minutes', name: 'Minutes', status: 'active', rankBy: 'metric', metricKey: 'minutes', start: '2025-01-01' },
    { key: 'xp', name: 'XP', status: 'active', rankBy: 'points', pointsSystemKey: 'xp', start: '2025-01-01' },
  ],
  streaks: { enabled: true, frequency: 'daily', weekStart: 'sunday' },
});

const metricTrigger = (metricKey: string, metricThreshold: number, points: number): object => ({
  type: 'metric',
  status: 'active',
  metricKey,
  metricThreshold,
  points,
});
