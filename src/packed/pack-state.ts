import { Packr } from 'msgpackr';
import { numbered, type Numbered } from './unpack-state.ts';
import type { PackedState, PackedStreak } from './state.ts';
import { STATE_SIZE, STREAK, USER } from './user-fields.ts';

const packr = new Packr({ useRecords: false });

/** Encodes a value as msgpack. Numeric keys of a `Map` stay numbers, as in Lua. */
export const pack = (value: unknown): Buffer => packr.pack(value);

/** Fields with numeric keys. */
const NUMBERED = [
  USER.attributes,
  USER.totals,
  USER.counts,
  USER.points,
  USER.completions,
  USER.paidMs,
  USER.spent,
  USER.quests,
];

/** Encodes a state created in TypeScript in the scripts' format. */
export function packState(state: PackedState): Buffer {
  const values: unknown[] = Array.from(
    { length: STATE_SIZE },
    (_, at) => (state as unknown as Record<number, unknown>)[at],
  );
  for (const field of NUMBERED) if (state[field] !== undefined) values[field] = byNumber(state[field]);
  const [daily, weekly, monthly] = state[USER.streaks] ?? [];
  const streaks = [daily, weekly, monthly].flatMap(streakValues);
  values.splice(USER.streaks, streaks.length, ...streaks);
  const size = Math.max(USER.streaks + streaks.length, values.findLastIndex((value) => value !== undefined) + 1);
  return Buffer.concat(values.slice(0, size).map((value) => pack(value ?? null)));
}

function streakValues(streak: PackedStreak | undefined): unknown[] {
  const values: unknown[] = Array.from(
    { length: STREAK.size },
    (_, at) => (streak as Record<number, unknown> | undefined)?.[at],
  );
  const sums = byNumber(streak?.[STREAK.sums]);
  values[STREAK.sums] = sums.size === 0 ? undefined : sums;
  return values;
}

const byNumber = (table: Numbered<unknown> | undefined): Map<number, unknown> => new Map(numbered(table));
