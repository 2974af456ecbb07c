import type { ReadEntry } from '../../redis/outbox-entry.ts';

/** The user of a record; undefined where it names none. */
export function userOf(record: unknown): string | undefined {
  const user = (record as { u?: unknown } | null)?.u;
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
