/**
 * One kind of work that falls due by the clock: the streaks of a zone whose day ended, a run that is final, points
 * for time. The schedule asks every kind what is due first, has that done, and asks again: so work is done in the
 * order of its times, however long nobody did any. Every time is of Laurel's clock, in epoch ms.
 */
export interface DueWork {
  readonly name: string;
  /**
   * What it did itself it knows at once, not only when the outbox has brought it to Postgres, and it gives other
   * kinds nothing to do. So its next piece of work does not wait until Postgres holds the last one.
   */
  readonly seesItself?: boolean;
  /** Names of kinds that it shares nothing with: it does not matter which of two pieces of work comes first. */
  readonly apartFrom?: readonly string[];
  /**
   * What of it cannot be done at the moment, for a person, though the rest can: pieces that failed and wait to be tried
   * again. `due` does not count them.
   */
  readonly aside?: readonly string[];
  /** The earliest time, not after `upToMs`, at which something fell due that is not done; null: nothing is. */
  due(upToMs: number): Promise<number | null>;
  /**
   * Does what fell due at `dueMs`, or a bounded part of it (`due` then names the same time again). Doing it twice,
   * also from two processes at once, changes nothing; a crash at any point leaves it due. Until `beforeMs` no other
   * kind (but those it is apart from) has anything to do: a kind whose work comes at many times may go on up to
   * there, each piece at its own time; and up to `upToMs`, the clock's time, with work that concerns no other kind.
   */
  perform(dueMs: number, ending: AbortSignal, beforeMs: number, upToMs: number): Promise<void>;
}

/** Work that the schedule can wait for. */
export interface ScheduledWork extends DueWork {
  /**
   * The earliest time, not after `untilMs`, at which something falls due as far as can be known now; null: nothing does.
   * Asked when nothing is due, and changes nothing. What an edit or a row that is persisted later makes due is not in it:
   * those wake the schedule. A kind that could not answer would have all others looked at every second, which is more than
   * half of what an installation at rest would use.
   */
  upcoming(untilMs: number): Promise<number | null>;
}
