import type { StreakState, UserState } from '../../../src/packed/state.ts';

const noStreak: StreakState = {
  length: 0,
  startDay: null,
  lastPeriod: null,
  extendedMs: null,
  currentPeriod: null,
  sums: {},
};

/** The state of a user who has done nothing yet, but for what is given. */
export const userState = (fields: Partial<UserState> = {}): UserState => ({
  createdMs: Date.UTC(2026, 0, 1),
  updatedMs: Date.UTC(2026, 0, 1),
  name: null,
  email: null,
  tz: null,
  offsetSeconds: 0,
  deviceTokens: null,
  subscribed: true,
  attributes: {},
  totals: {},
  peaks: {},
  counts: {},
  countPeaks: {},
  streaks: { daily: noStreak, weekly: noStreak, monthly: noStreak },
  freezes: 0,
  earnedDay: null,
  settledMs: null,
  pauses: [],
  notifications: null,
  streakRule: null,
  daysOff: null,
  signUp: null,
  points: {},
  completions: {},
  timePaid: {},
  boards: {},
  ...fields,
});
