import type { BoardMove } from './tenant-entries.ts';
import type { BoardPlace } from '../../domain/notifications/notification.ts';

/** A changed group of a board's run, and the users who moved in it. */
export interface ChangedGroup extends BoardPlace {
  /** The range of ranks that may have changed: from the best to the last rank that anybody left or reached. */
  best: number;
  last: number;
  /** Each user's moves, merged from the start of the first to the end of the last. */
  moved: Map<string, BoardMove>;
}

const behind = ({ from, previousScore, previousReached, earned }: BoardMove, later: BoardMove): BoardMove => ({
  ...later,
  from,
  previousScore,
  previousReached,
  earned: earned === null || later.earned === null ? null : earned + later.earned,
});

/** Unreported changes of boards. Only the latest state of each is reported. */
export class PendingBoards {
  /** By board, run and group. */
  readonly groups = new Map<string, ChangedGroup>();
  /** Whether all places must be compared again. */
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
