import type { ReadEntry } from '../../redis/outbox-entry.ts';
import { RECORD } from '../../packed/record-fields.ts';
import { type UncheckedRecord } from '../../packed/record.ts';

/** The user of a record; undefined where it names none. */
export function userOf(record: unknown): string | undefined {
  const user = (record as UncheckedRecord | null)?.[RECORD.userId];
  return typeof user === 'string' ? user : undefined;
}

/** The users that an entry names, each once. */
export const usersOf = ({ records, states }: ReadEntry): string[] => [
  ...new Set([
    ...states.map(({ userId }) => userId),
    ...records.flatMap(({ value }) => {
      const user = userOf(value);
      return user === undefined ? [] : [user];
    }),
  ]),
];
