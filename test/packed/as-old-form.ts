import { Packr } from 'msgpackr';
import { numbered, type Numbered } from '../../src/packed/numbered.ts';
import { stateValues } from '../../src/packed/unpack-state.ts';
import { OLD_USER, SCORE, STREAK, USER } from '../../src/packed/user-fields.ts';

const packr = new Packr({ useRecords: false });

/** The same state as the last version packed it that wrote one map: the inverse of what is read of such a state. */
export function asOldForm(packed: Buffer): Buffer {
  const values = stateValues(packed);
  const old = new Map<string, unknown>();
  for (const [name, position] of Object.entries(USER)) {
    if (values[position] !== undefined) old.set(OLD_USER[name as keyof typeof USER], byNumber(values[position]));
  }
  old.set(OLD_USER.boards, boardsOf(values[USER.boards] as (number | string)[]));
  const streaks = values[USER.streaks] as unknown[][];
  old.set(
    OLD_USER.streaks,
    streaks.map((streak) => [...streak.slice(0, STREAK.sums), byNumber(streak[STREAK.sums] ?? {})]),
  );
  return packr.pack(old);
}

/** Tables by number are maps with numbers as keys, as Lua packs them. */
function byNumber(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return new Map(numbered(value as Numbered<unknown>));
}

function boardsOf(scores: readonly (number | string)[]): Map<number, (number | string)[]> {
  const boards = new Map<number, (number | string)[]>();
  for (let at = 0; at < scores.length; at += SCORE.size) {
    const no = scores[at] as number;
    boards.set(no, [...(boards.get(no) ?? []), ...scores.slice(at + SCORE.runDay, at + SCORE.size)]);
  }
  return boards;
}
