import type { ShownDeadLetter } from '../../domain/dead-letters.ts';
import { readEntry } from '../../redis/outbox-entry.ts';
import { namedState } from '../../packed/unpack-state.ts';

/** What the fields of an entry hold, as far as it can be read. */
export function readableEntry(fields: readonly Buffer[]): NonNullable<ShownDeadLetter['entry']> {
  const { records, states } = readEntry([...fields]);
  return {
    records: records.map(({ value }) => value),
    states: states.map(({ userId, packed }) => ({ user: userId, state: readable(packed) })),
    fields: fields.map((field) => field.toString('base64')),
  };
}

/** Decoded; null where it cannot be. */
function readable(packed: Buffer): unknown {
  try {
    return namedState(packed);
  } catch {
    return null;
  }
}
