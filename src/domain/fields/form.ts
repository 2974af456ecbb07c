import type { TSchema } from 'typebox';
import { type Kind, LISTS } from '../kinds.ts';
import { Badge, Description, TIME_OF_DAY_PATTERN, WebhookFilter } from '../schemas.ts';
import { MetricGuards } from '../administration/guards.ts';
import { Leagues } from '../leagues.ts';
import { Repeat } from '../repeat.ts';
import type { Field, Fields, When } from './field.ts';
import { Picture } from '../settings.ts';
import { ADMIN_KEY, APPLICATION_KEY, BRANDING, ORGANISATION, SETTINGS, TENANT } from './organisation.ts';
import { FIELDS } from './kinds.ts';
import { DaysOff, EVENTS, FREEZES, STREAKS, Thresholds } from './tenant-settings.ts';

// The console's forms, from the declarations of fields. The console's build includes them as plain data.

export type Input =
  | 'text'
  | 'secret'
  | 'area'
  | 'number'
  | 'day'
  | 'time'
  | 'moment'
  | 'choice'
  | 'many'
  | 'yes'
  | 'conditions'
  | 'guards'
  | 'repeat'
  | 'leagues'
  | 'json'
  | 'picture'
  | 'filter'
  | 'weekdays'
  | 'thresholds';

export type Choices = 'metric' | 'achievement' | 'points system' | 'leaderboard' | 'user attribute' | 'event attribute';

export interface FormField {
  name: string;
  label: string;
  hint?: string;
  input: Input;
  /** For a single or multiple choice: the values of an enumeration. */
  options?: { value: string; text: string }[];
  /** For a choice or for conditions: the resources that the values refer to. */
  choices?: Choices;
  /** Value in the form of a new resource; `'today'` means the earliest local day of any user. */
  initial?: unknown;
  required?: true | When;
  /** `null` removes the value. */
  clearable?: true;
  fixed?: true;
  onlyChanged?: true;
  when?: When;
}

const OTHERS = {
  admin_key: ADMIN_KEY,
  application_key: APPLICATION_KEY,
  tenant: TENANT,
  organisation: ORGANISATION,
  branding: BRANDING,
  settings: SETTINGS,
  streaks: STREAKS,
  freezes: FREEZES,
  events: EVENTS,
} as const;

export type FormKind = Kind | keyof typeof OTHERS;

const INPUTS = new Map<TSchema, Input>([
  [Badge, 'picture'],
  [Picture, 'picture'],
  [Description, 'area'],
  [MetricGuards, 'guards'],
  [Repeat, 'repeat'],
  [Leagues, 'leagues'],
  [WebhookFilter, 'filter'],
  [DaysOff, 'weekdays'],
  [Thresholds, 'thresholds'],
]);

const FORMATS: Readonly<Record<string, Input>> = { date: 'day', 'date-time': 'moment' };

function inputOf({ schema, conditionsOn, refersTo }: Field): Input {
  const {
    type,
    format = '',
    pattern,
    enum: values,
  } = schema as {
    type?: string;
    format?: string;
    pattern?: string;
    enum?: string[];
  };
  const own = INPUTS.get(schema);
  if (own !== undefined) return own;
  if (conditionsOn !== undefined) return 'conditions';
  if (type === 'array') return 'many';
  if (values !== undefined || refersTo !== undefined) return 'choice';
  if (type === 'boolean') return 'yes';
  if (type === 'number' || type === 'integer') return 'number';
  if (pattern === TIME_OF_DAY_PATTERN) return 'time';
  return FORMATS[format] ?? 'text';
}

function choicesOf({ conditionsOn, refersTo }: Field): Choices | undefined {
  return conditionsOn === undefined ? refersTo : `${conditionsOn} attribute`;
}

function formField(name: string, one: Field): FormField {
  const { schema, form = {}, label, required, fixed, onlyChanged, clearable, when } = one;
  const { enum: values, items } = schema as { enum?: string[]; items?: { enum?: string[] } };
  const choices = choicesOf(one);
  // The named options of a field with aliases include these, in their order.
  const choosable = one.aliases === undefined ? (values ?? items?.enum) : Object.keys(form.options ?? {});
  const options = choosable?.map((value) => ({ value, text: form.options?.[value] ?? value }));
  const initial = form.initial ?? one.defaultWhen ?? one.default ?? undefined;
  // A field with a default always has a value.
  const hasDefault = one.defaultWhen !== undefined || (typeof one.default === 'string' && one.default !== '');
  const isNeeded = required ?? (hasDefault && !clearable);
  return {
    name,
    label,
    input: inputOf(one),
    ...(form.hint !== undefined && { hint: form.hint }),
    ...(options !== undefined && { options }),
    ...(choices !== undefined && { choices }),
    ...(initial !== undefined && { initial }),
    ...(isNeeded !== false && { required: isNeeded }),
    ...(clearable && { clearable }),
    ...(fixed && { fixed }),
    ...(onlyChanged && { onlyChanged }),
    ...(when !== undefined && { when }),
  };
}

const formOf = (fields: Fields): FormField[] => Object.entries(fields).map(([name, one]) => formField(name, one));

export const FORMS = Object.fromEntries([
  ...(Object.keys(LISTS) as Kind[]).map((kind) => [kind, formOf(FIELDS[kind])] as const),
  ...Object.entries(OTHERS).map(([kind, fields]) => [kind, formOf(fields)] as const),
]) as Record<FormKind, FormField[]>;
