import type { BoardMove } from './live-notifications.ts';

/** A group of a run of a board that changed, and who moved on it. */
export interface ChangedGroup {
  boardNo: number;
  runDay: number;
  group: string;
  /** Ranks between the best and the last that anybody came from or went to may be others now. */
  best: number;
  last: number;
  /** Each user's moves as one: from where the first began to where the last ended. */
  moved: Map<string, BoardMove>;
}

/** Two moves of a user as one. */
const behind = ({ from, previousValue, earned }: BoardMove, later: BoardMove): BoardMove => ({
  ...later,
  from,
  previousValue,
  earned: earned === null || later.earned === null ? null : earned + later.earned,
});

/** Changes of boards that are still to be reported: of each only the latest is. */
export class PendingBoards {
  /** By board, run and group. */
  readonly groups = new Map<string, ChangedGroup>();
  /** Whether every place is to be looked at again. */
  everyPlace = false;

  get isEmpty(): boolean {
    return this.groups.size === 0 && !this.everyPlace;
  }

  add(move: BoardMove): void {
    const { boardNo, runDay, group, userId, from, to } = move;
    const key = `${boardNo}:${runDay}:${group}`;
    const best = Math.min(from, to);
    const last = Math.max(from, to);
    const known = this.groups.get(key);
    if (known === undefined) {
      this.groups.set(key, { boardNo, runDay, group, best, last, moved: new Map([[userId, move]]) });
      return;
    }
    known.best = Math.min(known.best, best);
    known.last = Math.max(known.last, last);
    const earlier = known.moved.get(userId);
    known.moved.set(userId, earlier === undefined ? move : behind(earlier, move));
  }

  /** Takes in what came later than this. */
  addAll(later: PendingBoards): void {
    for (const { moved, best, last, ...group } of later.groups.values()) {
      for (const move of moved.values()) this.add(move);
      const own = this.groups.get(`${group.boardNo}:${group.runDay}:${group.group}`)!;
      own.best = Math.min(own.best, best);
      own.last = Math.max(own.last, last);
    }
    this.everyPlace ||= later.everyPlace;
  }
}
