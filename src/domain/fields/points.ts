import { ROUNDINGS, TRIGGER_TYPES, type TriggerType } from '../rule-kinds.ts';
import { Type } from 'typebox';
import { KEY_PATTERN, LocalDate, Uuid } from '../schemas.ts';
import { UserId } from '../user.ts';
import {
  BADGE,
  DESCRIPTION,
  EVENT_CONDITIONS,
  field,
  KEY,
  METRIC_ID,
  NAME,
  only,
  STREAK_LENGTH,
  TODAY,
  USER_CONDITIONS,
} from './field.ts';
import { rankFields } from './rank.ts';

export const POINTS_SYSTEM = {
  name: NAME,
  key: { ...KEY, fixed: true },
  description: { ...DESCRIPTION, ifUnset: 'empty' },
  badge: BADGE,
  maxPoints: field(Type.Integer({ minimum: 1 }), {
    label: 'Maximum points of a user',
    description: 'The most points that a user can have; null: any number.',
    clearable: true,
    default: null,
    form: { hint: 'Empty: no maximum' },
  }),
  spendableByUsers: field(Type.Boolean(), {
    label: "Users' keys may spend points",
    description: "Whether users' keys may spend points of their user; null or false: no. Admin keys always may.",
    clearable: true,
    default: null,
    ifUnset: 'omitted',
    addition: true,
    normalise: (allowed: boolean) => (allowed ? true : null),
  }),
  expiresAfterDays: field(Type.Integer({ minimum: 1, maximum: 3_650 }), {
    label: 'Days until points expire',
    description:
      'How many whole UTC days points can be spent after the day on which they were earned; null: for ever. A change applies from the next day on.',
    clearable: true,
    default: null,
    ifUnset: 'omitted',
    addition: true,
    form: { hint: 'Empty: points never expire' },
  }),
} as const;

export const POINTS_LEVEL = {
  name: NAME,
  key: { ...KEY, fixed: true },
  points: field(Type.Integer({ minimum: 0 }), {
    label: 'Points needed',
    description: 'Points from which on a user has the level.',
    required: true,
  }),
  description: { ...DESCRIPTION, default: '' },
  badge: BADGE,
} as const;

/** What gives points, as the console names it. */
const TRIGGER_NAMES: Readonly<Record<TriggerType, string>> = {
  metric: 'the total of a metric',
  achievement: 'an achievement, a level or a final rank',
  streak: 'the length of a streak',
  time: 'elapsed time',
  user_creation: 'a new user',
};

/** What fires a trigger. The contract has no type for levels and ranks, so for its clients they are achievements without an ID. */
export type TriggerKind = TriggerType | 'level' | 'rank';

export function kindOf(trigger: {
  type: TriggerType;
  pointsSystemId?: string | null;
  leaderboardId?: string | null;
}): TriggerKind {
  const { type, pointsSystemId = null, leaderboardId = null } = trigger;
  if (type !== 'achievement') return type;
  if (pointsSystemId !== null) return 'level';
  return leaderboardId === null ? type : 'rank';
}

/** The type of a trigger in answers of the Application API. */
export const AnsweredTriggerType = Type.Enum([...TRIGGER_TYPES]);

export const POINTS_TRIGGER = {
  type: field(Type.Enum([...TRIGGER_TYPES]), {
    label: 'Awarded for',
    description: 'What gives the points.',
    required: true,
    form: { initial: 'metric', options: TRIGGER_NAMES },
  }),
  points: field(Type.Integer(), {
    label: 'Points',
    description: 'Points that a user gets, or loses if it is below 0.',
    example: 10,
    required: true,
    form: { hint: 'A negative number deducts points' },
  }),
  metricId: { ...METRIC_ID, required: true, when: only('type', 'metric') },
  metricThreshold: field(Type.Integer({ minimum: 1 }), {
    label: 'For every',
    description: 'Points are given for each multiple of it that the total newly crosses.',
    default: null,
    required: true,
    when: only('type', 'metric'),
    form: {
      initial: 1,
      hint: 'In the unit of the metric. With 10, points are given at totals of 10, 20, 30 and so on',
    },
  }),
  achievementId: field(Uuid, {
    label: 'Achievement',
    description: 'ID of the achievement.',
    default: null,
    when: only('type', 'achievement'),
    refersTo: 'achievement',
  }),
  streakLength: {
    ...STREAK_LENGTH,
    label: 'For every streak of this length',
    description: 'Points are given for each multiple of this length that the streak reaches.',
    when: only('type', 'streak'),
  },
  timeInterval: field(Type.Integer({ minimum: 1 }), {
    label: 'Every',
    description: 'How many `timeUnit`s lie between two payments.',
    default: null,
    required: true,
    when: only('type', 'time'),
  }),
  timeUnit: field(Type.Enum(['hours', 'days']), {
    label: 'Unit',
    description: 'Unit of time between two payments.',
    default: null,
    required: true,
    when: only('type', 'time'),
    form: { initial: 'days' },
  }),
  pointsSystemId: field(Uuid, {
    label: 'Or levels of the points system',
    description: 'The points system whose levels count, instead of an achievement; it may be the one of the trigger.',
    default: null,
    when: only('type', 'achievement'),
    addition: true,
    refersTo: 'points system',
  }),
  levelKey: field(Type.String({ pattern: KEY_PATTERN, minLength: 1, maxLength: 255 }), {
    label: 'Only this level',
    description: 'Key of the only level that counts; without it, every level counts.',
    example: 'scholar',
    default: null,
    when: { field: 'pointsSystemId', is: [], called: 'triggers for levels' },
    addition: true,
    form: { hint: 'Key of a level. Empty: every level' },
  }),
  ...rankFields(only('type', 'achievement')),
  userAttributes: USER_CONDITIONS,
  eventAttributes: { ...EVENT_CONDITIONS, when: only('type', 'metric') },
  blockIfOutOfPoints: field(Type.Boolean(), {
    label: 'Refuse events that would take the points below zero',
    description: 'Whether an event is refused whose deduction would take the points below zero.',
    default: false,
  }),
  status: field(Type.Enum(['active', 'inactive']), {
    label: 'Status',
    description: 'An inactive trigger has no effect.',
    default: 'inactive',
    form: { initial: 'active' },
  }),
} as const;

export const POINTS_BOOST = {
  name: NAME,
  multiplier: field(Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 100 }), {
    label: 'Multiplier',
    description: 'What awards are multiplied by.',
    example: 1.5,
    required: true,
    form: { initial: 2 },
  }),
  start: field(LocalDate, {
    label: 'First day',
    description: 'The first day.',
    required: true,
    form: { initial: TODAY },
  }),
  end: field(LocalDate, {
    label: 'Last day',
    description: 'The last day; null: it has none.',
    clearable: true,
    default: null,
    form: { hint: 'Empty: no end' },
  }),
  rounding: field(Type.Enum([...ROUNDINGS]), {
    label: 'Round fractions',
    description: 'How multiplied points are made whole.',
    default: 'down',
  }),
  userId: field(UserId, {
    label: 'Limit to one user',
    description: 'Your own ID of the only user that the boost is for; null: it is for every user.',
    example: '18',
    fixed: true,
    clearable: true,
    default: null,
    form: { hint: 'User ID. Empty: all users' },
  }),
  userAttributes: USER_CONDITIONS,
} as const;
