import { FREQUENCIES } from '../periods.ts';
import { Type, type Static } from 'typebox';
import { Uuid } from '../schemas.ts';
import { defaultsOf, field, objectOf, only } from './field.ts';

// A tenant's settings of streaks, and of late events and sign-up dates.

/** Weekdays, 0 = Sunday to 6. At most six, so that a streak can still be lost. */
export const DaysOff = Type.Array(Type.Integer({ minimum: 0, maximum: 6 }), { uniqueItems: true, maxItems: 6 });

/** Metrics with the total that a period needs of each. */
export const Thresholds = Type.Array(Type.Object({ metricId: Uuid, threshold: Type.Number() }));

const IF_ENABLED = only('enabled', true);
const FreezeCount = Type.Integer({ minimum: 0, maximum: 100 });
const Earned = Type.Integer({ minimum: 1 });

export const FREEZES = {
  enabled: field(Type.Boolean(), {
    label: 'Freezes protect the streak of a user who misses a period',
    description: 'Whether users can hold freezes.',
    default: false,
  }),
  initial: field(FreezeCount, {
    label: 'Freezes of a new user',
    description: 'Freezes that a new user gets.',
    required: true,
    default: 0,
    when: IF_ENABLED,
  }),
  max: field(FreezeCount, {
    label: 'Most freezes of a user',
    description: 'The most freezes that a user can have.',
    required: true,
    default: 0,
    when: IF_ENABLED,
  }),
  autoEarnInterval: field(Earned, {
    label: 'Periods until freezes are earned',
    description: 'Periods in a row after which freezes are earned; null: never.',
    clearable: true,
    default: null,
    when: IF_ENABLED,
    form: { hint: 'Empty: users earn no freezes' },
  }),
  autoEarnAmount: field(Earned, {
    label: 'Freezes earned each time',
    description: 'Freezes that are earned at a time; null: none.',
    clearable: true,
    default: null,
    when: IF_ENABLED,
  }),
} as const;

export const FreezeSettings = objectOf(FREEZES);

export const STREAKS = {
  enabled: field(Type.Boolean(), {
    label: 'Count streaks',
    description: 'Whether streaks are counted.',
    default: true,
  }),
  frequency: field(Type.Enum([...FREQUENCIES]), {
    label: 'Period',
    description: 'Length of a streak period.',
    default: 'daily',
    form: { options: { daily: 'Day', weekly: 'Week', monthly: 'Month' } },
  }),
  weekStart: field(Type.Enum(['sunday', 'monday']), {
    label: 'Weeks begin on',
    description: 'First day of a week.',
    default: 'sunday',
    form: { options: { sunday: 'Sunday', monday: 'Monday' } },
  }),
  evaluationMode: field(Type.Enum(['OR', 'AND']), {
    label: 'A period needs',
    description: 'Whether one threshold suffices (OR) or all are needed (AND).',
    default: 'OR',
    form: { options: { OR: 'one of the metrics below', AND: 'all of the metrics below' } },
  }),
  daysOff: field(DaysOff, {
    label: 'Days off',
    description:
      'Weekdays without activity that do not end a streak, 0 (Sunday) to 6, ascending. Only for the frequency `daily`.',
    default: [],
    when: only('frequency', 'daily'),
  }),
  personalization: field(Type.Boolean(), {
    label: 'Users may have their own rules',
    description:
      'Whether users may have metrics, thresholds, an evaluation mode and days off of their own. Switching the streak off is always ' +
      'allowed.',
    default: false,
  }),
  metrics: field(Thresholds, {
    label: 'Metrics that count',
    description:
      'Metrics that extend a streak, with the total that a period needs of each. Without any, every event with a positive value ' +
      'extends it.',
    default: [],
    refersTo: 'metric',
  }),
} as const;

export const StreakSettings = Type.Object({ ...objectOf(STREAKS).properties, freezes: FreezeSettings });
export type StreakSettings = Static<typeof StreakSettings>;

export const DEFAULT_STREAK_SETTINGS: StreakSettings = { ...defaultsOf(STREAKS), freezes: defaultsOf(FREEZES) };

export const EVENTS = {
  lateEventDays: field(Type.Integer({ minimum: 0, maximum: 400 }), {
    label: 'Accept late events for this many days',
    description: 'Greatest age of an event (`occurredAt`) in days. 0 means 24 hours.',
    required: true,
    default: 35,
    form: {
      hint:
        'A late event has occurredAt. It counts on that day: totals, streaks and open leaderboards change as if it had arrived then. ' +
        '0: only the last 24 hours, which are always accepted.',
    },
  }),
  clientsMaySendLate: field(Type.Boolean(), {
    label: 'Application keys may send late events, up to 48 hours back',
    description: 'Whether application keys may send `occurredAt`, up to 48 hours back.',
    default: false,
  }),
  signUpDateWritableBy: field(Type.Enum(['server', 'user']), {
    label: 'Sign-up dates are writable by',
    description:
      "Whose keys may change a user's `signUpDate`: `server`, admin keys only; `user`, the user's application keys too.",
    default: 'server',
    form: {
      hint: 'Achievements for anniversaries depend on these dates.',
      options: { server: 'servers only (admin keys)', user: 'users too (application keys)' },
    },
  }),
} as const;

/** A tenant's limits for late events and sign-up dates. */
export const EventSettings = objectOf(EVENTS);
export type EventSettings = Static<typeof EventSettings>;

export const DEFAULT_EVENT_SETTINGS: EventSettings = defaultsOf(EVENTS);
