import { ACHIEVEMENT_TRIGGERS } from '../rule-kinds.ts';
import { Type } from 'typebox';
import { Repeat } from '../repeat.ts';
import { LocalDate, Uuid } from '../schemas.ts';
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
  USER_CONDITIONS,
} from './field.ts';
import { ACHIEVEMENT_RANKS } from './rank.ts';

/** Maximum number of achievements that one requires. */
export const MOST_REQUIRED = 20;

export const ACHIEVEMENT = {
  name: NAME,
  key: {
    ...KEY,
    required: only('trigger', 'api'),
    default: null,
    form: { hint: 'Calls of your server name the achievement by its key. A key cannot be changed later.' },
  },
  description: { ...DESCRIPTION, clearable: true },
  badge: BADGE,
  trigger: field(Type.Enum([...ACHIEVEMENT_TRIGGERS]), {
    label: 'Completed by',
    description: 'What completes the achievement.',
    required: true,
    form: {
      initial: 'metric',
      options: {
        metric: 'the total of a metric',
        streak: 'the length of a streak',
        api: 'a call from your server, or a final rank',
        achievement: 'other achievements',
        anniversary: 'an anniversary of the sign-up',
      },
    },
  }),
  metricId: { ...METRIC_ID, required: true, when: only('trigger', 'metric') },
  metricValue: field(Type.Number({ exclusiveMinimum: 0 }), {
    label: 'Total that completes it',
    description: 'The total that completes the achievement.',
    default: null,
    required: true,
    when: only('trigger', 'metric'),
  }),
  repeat: field(Repeat, {
    label: 'Repeats',
    description:
      'How often users can complete it: `daily`, `weekly`, `monthly` or every `days` days, by the user’s local days. Only the ' +
      'events of a period count towards `metricValue`. If omitted, users complete it once. Cannot be changed later.',
    default: null,
    fixed: true,
    when: only('trigger', 'metric'),
    addition: true,
    form: {
      hint: 'Whether users complete it once, or once a period of their local days. This cannot be changed later.',
    },
  }),
  startDate: field(LocalDate, {
    label: 'First day',
    description: 'First local day on which events count and it can be completed.',
    example: '2026-12-01',
    default: null,
    clearable: true,
    ifUnset: 'omitted',
    when: only('trigger', 'metric'),
    addition: true,
    form: { hint: 'Only events from this local day of the user on count. Empty: all events' },
  }),
  endDate: field(LocalDate, {
    label: 'Last day',
    description: 'Last local day on which events count and it can be completed.',
    example: '2026-12-24',
    default: null,
    clearable: true,
    ifUnset: 'omitted',
    when: only('trigger', 'metric'),
    addition: true,
    form: { hint: 'The last local day of the user on which events count. Empty: no end' },
  }),
  ...ACHIEVEMENT_RANKS,
  streakLength: { ...STREAK_LENGTH, when: only('trigger', 'streak') },
  achievementIds: field(Type.Array(Uuid), {
    label: 'All of these achievements',
    description: 'IDs of the achievements that must all be completed.',
    default: [],
    required: true,
    when: only('trigger', 'achievement'),
    refersTo: 'achievement',
  }),
  anniversaryYears: field(Type.Integer({ minimum: 1 }), {
    label: 'Years since the sign-up',
    description: 'Full years since the user’s `signUpDate`.',
    default: null,
    required: true,
    when: only('trigger', 'anniversary'),
  }),
  requires: field(Type.Array(Uuid), {
    label: 'Only after these achievements',
    description:
      `IDs of up to ${MOST_REQUIRED} achievements that the user must have completed before this one can be completed. ` +
      'Progress counts before, too.',
    default: [],
    ifUnset: 'omitted',
    refersTo: 'achievement',
    addition: true,
    form: {
      hint: `Users complete this achievement only after all of these (at most ${MOST_REQUIRED}). Their progress counts from the beginning.`,
    },
  }),
  secret: field(Type.Boolean(), {
    label: 'Secret',
    description:
      'True: application keys see neither its name nor its rule nor progress until the user has completed it.',
    default: null,
    addition: true,
    normalise: (secret: boolean) => (secret ? true : null),
    form: { hint: 'Users see that it exists. They see its name, rule and progress only after they have completed it.' },
  }),
  userAttributes: USER_CONDITIONS,
  eventAttributes: { ...EVENT_CONDITIONS, when: only('trigger', 'metric') },
  status: field(Type.Enum(['inactive', 'active', 'locked']), {
    label: 'Status',
    description: 'Only active achievements can be completed; users see locked ones, and not inactive ones.',
    default: 'inactive',
    form: {
      initial: 'active',
      hint: 'When it becomes active, users who already qualify complete it. Users see locked achievements, and not inactive ones.',
    },
  }),
} as const;
