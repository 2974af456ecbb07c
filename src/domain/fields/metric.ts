import { Type } from 'typebox';
import { MetricGuards } from '../administration/guards.ts';
import { Units } from '../schemas.ts';
import { DESCRIPTION, field, KEY, NAME } from './field.ts';

export const METRIC = {
  name: NAME,
  key: { ...KEY, fixed: true, form: { hint: 'Events name the metric by its key' } },
  description: {
    ...DESCRIPTION,
    description: 'What the metric counts and when events are sent, for your team; null: none. Users do not see it.',
    clearable: true,
    ifUnset: 'omitted',
    addition: true,
  },
  unitType: field(Type.Enum(['number', 'currency']), {
    label: 'Counts',
    description: 'Whether the metric counts a number or money.',
    default: 'number',
    form: { options: { number: 'a number', currency: 'money' } },
  }),
  units: field(Units, {
    label: 'Unit',
    description: 'What the metric counts, for people; of money the currency.',
    example: 'cards',
    default: '',
    form: { hint: 'Such as minutes or EUR' },
  }),
  guards: field(MetricGuards, {
    label: 'Guards',
    description:
      'Limits for the events of each user. They are checked before anything of an event is applied, in this order: the value, the time ' +
      'since the previous event, the sums, the total. A request replaces all guards; null or an empty object: none.',
    clearable: true,
    default: null,
    ifUnset: 'omitted',
    addition: true,
    normalise: (guards: MetricGuards) => (Object.keys(guards).length === 0 ? null : guards),
    form: {
      hint: 'Limits for each user, checked before an event is applied. A value equal to a limit is allowed.',
    },
  }),
  onOverview: field(Type.Boolean(), {
    label: 'Show on the Overview',
    description:
      "Whether the console's Overview compares the metric's last days with the week before; null or false: no. Without any such metric, it " +
      'shows the first three.',
    clearable: true,
    default: null,
    ifUnset: 'omitted',
    addition: true,
    normalise: (shown: boolean) => (shown ? true : null),
  }),
} as const;
