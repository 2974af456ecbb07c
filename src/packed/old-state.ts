import { numbered, type Numbered } from './numbered.ts';
import { OLD_USER, SCORE, USER } from './user-fields.ts';

/** A state that an earlier version wrote (OLD_USER), by the positions of USER: the same as `lua/lib/packed_state.lua` makes of it. */
export function fromOldForm(old: Record<string, unknown>): Record<number, unknown> {
  const state: Record<number, unknown> = {};
  for (const [name, position] of Object.entries(USER)) {
    const value = old[OLD_USER[name as keyof typeof USER]];
    if (value !== undefined) state[position] = value;
  }
  state[USER.boards] = scoresOf(old[OLD_USER.boards] as Numbered<Scores> | undefined);
  return state;
}

type Scores = (number | string)[];

const OLD_SCORE_SIZE = SCORE.size - SCORE.runDay;

/** They were a list a board, each score without the board's number. */
function scoresOf(boards: Numbered<Scores> | undefined): Scores {
  const lists = [...numbered(boards)].toSorted(([a], [b]) => a - b);
  return lists.flatMap(([no, list]) =>
    list.flatMap((value, at) => (at % OLD_SCORE_SIZE === 0 ? [no, value] : [value])),
  );
}
