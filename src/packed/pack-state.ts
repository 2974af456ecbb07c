import { Packr } from 'msgpackr';
import { numbered, type Numbered, type PackedState } from './state.ts';
import { STREAK, USER } from './user-fields.ts';

const packr = new Packr({ useRecords: false });

/** Encodes a value as msgpack. Keys of a `Map` that are numbers stay numbers, as Lua has them. */
export const pack = (value: unknown): Buffer => packr.pack(value);

/** The fields whose keys are numbers. */
const NUMBERED = [USER.attributes, USER.totals, USER.counts, USER.points, USER.completions, USER.timePaid, USER.boards];

/** Encodes a state that was made in TypeScript, as scripts read one. */
export function packState(state: PackedState): Buffer {
  const fields: Record<string, unknown> = { ...state };
  for (const field of NUMBERED) if (state[field] !== undefined) fields[field] = byNumber(state[field]);
  const { [USER.streaks]: streaks } = state;
  if (streaks !== undefined)
    fields[USER.streaks] = streaks.map((streak) =>
      Array.from(Object.values(streak), (value, at) => (at === STREAK.sums ? byNumber(value) : value)),
    );
  return pack(fields);
}

const byNumber = (table: Numbered<unknown>): Map<number, unknown> => new Map(numbered(table));
