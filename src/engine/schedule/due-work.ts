import type { Pieces } from './pieces.ts';

/**
 * A kind of work that falls due by the clock: the streaks of a zone whose day ended, a final run, points for time. The
 * schedule asks every kind what is due first, has that done, and asks again. So work is done in the order of its times,
 * however long nobody did any. All times are epoch ms of Laurel's clock.
 */
export interface DueWork {
  readonly name: string;
  /** Whether it sees its own results before Postgres has them, and gives other kinds nothing to do. */
  readonly seesItself?: boolean;
  /** Whether it writes nothing to the outbox and changes nothing that another kind reads, so that any work may follow at once. */
  readonly isUpkeep?: boolean;
  readonly apartFrom?: readonly string[];
  /** Whether its `due` reads what other such kinds read. They are asked at the same time, so that one statement serves them all. */
  readonly sharesReads?: boolean;
  /** Pieces that failed and wait for a retry, for operators. `due` ignores them. */
  readonly aside?: readonly string[];
  /** The earliest time, not after `upToMs`, at which unfinished work fell due; `null` if there is none. */
  due(upToMs: number): Promise<number | null>;
  /**
   * Does the work that fell due at `dueMs`, or a bounded part of it (`due` then returns the same time again).
   * Idempotent, even if two processes do it at once; a crash at any point leaves it due. Up to `beforeMs` no other
   * kind, except those in `apartFrom`, has anything to do. So a kind may continue up to that time, each piece at its
   * own time, and up to `upToMs`, the clock's time, with work that concerns no other kind.
   */
  perform(dueMs: number, ending: AbortSignal, beforeMs: number, upToMs: number): Promise<void>;
}

export interface ScheduledWork extends DueWork {
  /**
   * The earliest time, not after `untilMs`, at which known work falls due; `null` if there is none. Called when nothing
   * is due; changes nothing. Work that an edit or a later row makes due is not included: those wake the schedule. A
   * kind that could not answer would force a check of all kinds every second, which is more than half of the load of an
   * idle installation.
   */
  upcoming(untilMs: number): Promise<number | null>;
}

/**
 * Scheduled work of independent pieces: those that failed are set aside, and the others go on. Without `upcoming`, `due`
 * must change nothing, since it answers both.
 */
export const workInPieces = (
  pieces: Pieces,
  work: Omit<ScheduledWork, 'name' | 'aside' | 'upcoming'> & Partial<Pick<ScheduledWork, 'upcoming'>>,
): ScheduledWork => ({
  name: pieces.kind,
  get aside() {
    return pieces.aside.map(({ name }) => name);
  },
  upcoming: work.due,
  ...work,
});

interface Upkeep {
  /** When the work that is left in the period of `upToMs` fell due; `null` if none is left, `'waits'` if it cannot be done yet. */
  dueMs(upToMs: number): Promise<number | null | 'waits'>;
  /** Does the work or a part of it. Returns `true` if none is left in the period. */
  perform(upToMs: number, ending: AbortSignal): Promise<boolean | void>;
}

/** Upkeep for each period of UTC, such as a day. Only memory knows whether a period is done, so a restart checks again. */
export function periodicUpkeep(name: string, periodMs: number, work: Upkeep): ScheduledWork {
  const periodOf = (ms: number): number => Math.floor(ms / periodMs);
  let donePeriod: number | null = null;
  return {
    name,
    isUpkeep: true,
    due: async (upToMs) => {
      const period = periodOf(upToMs);
      if (donePeriod === period) return null;
      const dueMs = await work.dueMs(upToMs);
      if (dueMs === null) donePeriod = period;
      return dueMs === 'waits' ? null : dueMs;
    },
    upcoming: async (untilMs) => {
      const period = periodOf(untilMs);
      return donePeriod === period ? null : period * periodMs;
    },
    perform: async (_dueMs, ending, _beforeMs, upToMs) => {
      if ((await work.perform(upToMs, ending)) === true) donePeriod = periodOf(upToMs);
    },
  };
}
