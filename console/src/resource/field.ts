import type { ReactNode } from 'react';
// oxlint-disable-next-line no-restricted-imports -- types of what the build includes as data
import type { FormField } from '../../../src/domain/fields/form.ts';

export interface Option {
  value: string;
  text: string;
}

export type Values = Readonly<Record<string, unknown>>;

/** A field of an editor: as the server declares it, with the resources to choose from. */
export interface Field extends Omit<FormField, 'choices'> {
  /** Lists of a filter. */
  lists?: readonly { name: string; label: string; options: readonly Option[] }[];
  /** The problem of a filled-in value as a sentence; `null` if there is none. */
  check?: (value: unknown) => string | null;
  /** Lines of an area. */
  rows?: number;
  /** The input, for a value that no other input fits. */
  custom?: (input: { value: unknown; onChange: (value: unknown) => void; problem: string | undefined }) => ReactNode;
  /** Shown below the input for the current value. */
  below?: (value: unknown) => ReactNode;
}

/** What the input of one field gets. `Changed`: the values that it may set, if these are not those that it shows. */
export interface InputOf<Shown, Changed = Shown> {
  label: string;
  hint: string | undefined;
  value: Shown;
  onChange: (value: Changed) => void;
  problem: string | undefined;
}

/** Options that are IDs. */
export const byId = (items: readonly { id: string; name: string }[] | undefined): Option[] =>
  (items ?? []).map(({ id, name }) => ({ value: id, text: name }));

/** A key made from a name: `Cards flipped` gives `cards-flipped`. */
export const keyOf = (name: unknown): string =>
  (typeof name === 'string' ? name : '')
    .normalize('NFD')
    .replaceAll(/\p{Mn}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z\d]+/g, '-')
    .replaceAll(/^-|-$/g, '');

/** Whether nothing is filled in. */
export const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === '';

function holds(when: Field['when'], values: Values): boolean {
  if (when === undefined) return true;
  const value = values[when.field];
  return when.is.length === 0 ? !isEmpty(value) : when.is.includes(value as string | boolean);
}

/** A field's value in an answer. Answers omit defaults of fields that other servers lack. */
export const valueIn = (item: Values, { name, initial }: Field): unknown =>
  item[name] === undefined ? initial : item[name];

/** Whether the form of a resource shows a field, and sends it. */
export const isShown = ({ when, onlyChanged }: Field, values: Values, isNew: boolean): boolean =>
  holds(when, values) && !(isNew && onlyChanged === true);

export const isRequired = ({ required }: Field, values: Values): boolean =>
  required !== undefined && (required === true || holds(required, values));

/** A field's value in a request; `undefined` if it is not sent. */
function toSend({ input, clearable, initial }: Field, value: unknown, isNew: boolean): unknown {
  if (!isEmpty(value)) return input === 'number' ? Number(value) : value;
  // Otherwise the default would apply.
  if (isNew) return clearable && !isEmpty(initial) ? null : undefined;
  if (clearable) return null;
  // Fields that cannot be null are cleared with an empty text.
  return input === 'text' || input === 'area' ? '' : undefined;
}

/** The fields of a new resource, or the changed ones of an existing resource. */
export function sentOf(fields: readonly Field[], values: Values, before: Values | null): Values {
  const sent: Record<string, unknown> = {};
  for (const field of fields) {
    if (!isShown(field, values, before === null) || (before !== null && field.fixed)) continue;
    const value = toSend(field, values[field.name], before === null);
    if (value === undefined) continue;
    const was = before === null ? undefined : valueIn(before, field);
    if (before !== null && (JSON.stringify(value) === JSON.stringify(was) || (isEmpty(value) && isEmpty(was))))
      continue;
    sent[field.name] = value;
  }
  return sent;
}

const MISSING: Partial<Record<Field['input'], string>> = { choice: 'Choose one.', many: 'Choose at least one.' };

/** The problem with a value that can be found before it is sent; `null` if there is none. */
export function problemOf(field: Field, values: Values): string | null {
  const value = values[field.name];
  if (isEmpty(value) || (Array.isArray(value) && value.length === 0))
    return isRequired(field, values) ? (MISSING[field.input] ?? 'Enter a value.') : null;
  return field.check?.(value) ?? null;
}

const NAMED = /^(?:Body|Item|body)?[\s/.[\]0-9]*(\w+)/;

/** The field that an API message names first; `null` if none. */
export function fieldOf(fields: readonly Field[], message: string): string | null {
  const named = NAMED.exec(message)?.[1];
  return fields.find(({ name }) => name === named)?.name ?? null;
}

/** An API message at the field that it names first, whose label replaces the name: `Must be greater than 0`. */
export function textAtField(message: string): string {
  const rest = message.replace(NAMED, '').replace(/^:\s*/, ' ');
  // A message about a part of the field names the part.
  if (!rest.startsWith(' ')) return message;
  const text = rest.trimStart();
  return text.charAt(0).toUpperCase() + text.slice(1);
}
