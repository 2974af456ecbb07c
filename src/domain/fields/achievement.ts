import { Type } from 'typebox';
import { Uuid } from '../schemas.ts';
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

export const ACHIEVEMENT = {
  name: NAME,
  key: {
    ...KEY,
    required: only('trigger', 'api'),
    default: null,
    form: { hint: 'Your server completes an achievement of trigger api by it. Once set, it never changes.' },
  },
  description: { ...DESCRIPTION, clearable: true },
  badge: BADGE,
  trigger: field(Type.Enum(['metric', 'streak', 'api', 'achievement', 'anniversary']), {
    label: 'Completed by',
    description: 'What completes the achievement.',
    required: true,
    form: { initial: 'metric' },
  }),
  metricId: { ...METRIC_ID, required: true, when: only('trigger', 'metric') },
  metricValue: field(Type.Number({ exclusiveMinimum: 0 }), {
    label: 'Total that completes it',
    description: 'The total that completes the achievement.',
    default: null,
    required: true,
    when: only('trigger', 'metric'),
  }),
  streakLength: { ...STREAK_LENGTH, when: only('trigger', 'streak') },
  achievementIds: field(Type.Array(Uuid), {
    label: 'All of',
    description: 'IDs of the achievements that must all be completed.',
    default: [],
    required: true,
    when: only('trigger', 'achievement'),
    refersTo: 'achievement',
  }),
  anniversaryYears: field(Type.Integer({ minimum: 1 }), {
    label: 'Full years since the sign-up',
    description: 'Full years since the user’s `signUpDate`.',
    default: null,
    required: true,
    when: only('trigger', 'anniversary'),
  }),
  userAttributes: USER_CONDITIONS,
  eventAttributes: { ...EVENT_CONDITIONS, when: only('trigger', 'metric') },
  status: field(Type.Enum(['inactive', 'active', 'locked']), {
    label: 'Status',
    description: 'Only active achievements can be completed; users see locked ones, and not inactive ones.',
    default: 'inactive',
    form: { initial: 'active', hint: 'Users who qualify already complete it when it becomes active' },
  }),
} as const;
