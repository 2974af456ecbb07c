import type { ReactNode } from 'react';

export interface Option {
  value: string;
  text: string;
}

export type Values = Readonly<Record<string, unknown>>;

/** A field of an editor. `New`: what the API takes for a new item, whose fields alone may be named. */
export interface Field<New> {
  name: keyof New & string;
  label: string;
  hint?: string;
  kind: 'text' | 'area' | 'number' | 'day' | 'choice' | 'many' | 'yes' | 'conditions' | 'guards' | 'picture';
  /** Of a choice, or of many. */
  options?: readonly Option[];
  /** What a new item has. */
  initial?: unknown;
  required?: boolean;
  /** It cannot be changed later. */
  fixed?: boolean;
  /** A sentence about what is wrong with a value that is filled in; `null` if nothing is. */
  check?: (value: unknown) => string | null;
  /** Shown below the input, for its present value. */
  below?: (value: unknown) => ReactNode;
  /** Shown and sent only then. */
  when?: (values: Values) => boolean;
}

/** Options that are their own text, as the API has them. */
export const named = (values: readonly string[]): Option[] => values.map((value) => ({ value, text: value }));

/** Options that are IDs. */
export const byId = (items: readonly { id: string; name: string }[] | undefined): Option[] =>
  (items ?? []).map(({ id, name }) => ({ value: id, text: name }));

/** Whether nothing is filled in. */
export const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === '';

/** A field's value as the API takes it; undefined: it is not sent, or null: what there was is cleared. */
function toSend<New>({ kind, required }: Field<New>, value: unknown, isNew: boolean): unknown {
  if (isEmpty(value)) return isNew || required ? undefined : null;
  return kind === 'number' ? Number(value) : value;
}

/** What is sent for a new item, or of a changed one what is different. */
export function sentOf<New>(fields: readonly Field<New>[], values: Values, before: Values | null): Values {
  const sent: Record<string, unknown> = {};
  for (const field of fields) {
    if (field.when?.(values) === false || (before !== null && field.fixed)) continue;
    const value = toSend(field, values[field.name], before === null);
    if (value === undefined) continue;
    if (before !== null && JSON.stringify(value) === JSON.stringify(before[field.name] ?? null)) continue;
    sent[field.name] = value;
  }
  return sent;
}

/** What is wrong with a value before it is sent: `null` if nothing is known to be. */
export function problemOf<New>({ required, check }: Field<New>, value: unknown): string | null {
  if (isEmpty(value)) return required === true ? 'Fill in this field.' : null;
  return check?.(value) ?? null;
}

/** The field that a message of the API is about: the one that it names first; null: none of them. */
export function fieldOf<New>(fields: readonly Field<New>[], message: string): string | null {
  const named_ = /^(?:Body|Item|body)?[\s/.[\]0-9]*(\w+)/.exec(message)?.[1];
  return fields.find(({ name }) => name === named_)?.name ?? null;
}
