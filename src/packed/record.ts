/**
 * What the script reports about one thing that happened: its answer to the caller and, for `e`, `u` and `c`,
 * the record in the outbox. A msgpack map with one-letter keys; this is its decoded form.
 */
export interface HappenedRecord {
  /**
   * `e` an event, `u` a user was created or changed, `c` an achievement was completed by call, `s` the clock or an
   * administrator changed a user's streaks.
   */
  k: 'e' | 'u' | 'c' | 's';
  /** ID of what happened: 32 hex digits of a UUIDv7 whose last 4 are 0; the nth award (from 1) has n there. */
  i: string;
  /** User ID. */
  u: string;
  /** Epoch ms. */
  at: number;
  /** Local day (epoch day) of the user. */
  d: number;
  /** 1: this is the first sight of the user. */
  n?: 1;
  /** 1: the user's attributes, name or e-mail changed (events; the others do not say). */
  a?: 1;
  /** Metric number, value and new total as `[whole, micros]` (events). */
  m?: number;
  v?: [number, number];
  t?: [number, number];
  /** The streak in the configured frequency (events). */
  s?: RecordedStreak;
  /** Numbers of the achievements completed. */
  c?: number[];
  /** Points systems changed. */
  p?: RecordedPoints[];
  /** Boards on which the user's score changed. */
  b?: RecordedBoard[];
  /** Event attributes, as JSON text. */
  x?: string;
  /** Idempotency key. */
  ik?: string;
  /** 1: what Postgres keeps beside the user's state for the sweep of streaks has changed (events). */
  y?: 1;
  /** What became of streaks by the clock or by an administrator, see `RecordedSettlement`. */
  w?: RecordedSettlement[];
  /** Freezes that were earned meanwhile, and freezes left after all of it. */
  fe?: number;
  fz?: number;
  /** Pauses that were made or, with `to` before `from`, taken back; cut short with a `to` before the one they had. */
  pa?: [from: number, to: number, id: string][];
  /** 1: an administrator changed the streak; Postgres keeps the ID for a retry of the call. */
  ad?: 1;
  /** 1: completions that were backdated: nobody is notified of them. */
  bd?: 1;
}

/** A user was deleted. What the outbox holds of the user before it is void; what comes after is of a new user. */
export interface GoneRecord {
  k: 'g';
  /** ID of the deletion: 32 hex digits. */
  i: string;
  /** User ID. */
  u: string;
  /** Epoch ms. */
  at: number;
  /** Generation of the user, see `idempotency.ts`; absent: the first. */
  g?: number;
}

/**
 * `[frequency 1 to 3, kind, first day, last day, length]`: kind 1 a freeze excused the days, 2 a pause did, 3 the streak
 * of that length and those days was lost, 4 a streak of that length was restored (it began on the first of the days and
 * waits, or was met already, on the last), 5 a streak of that length and those days gave way to the restored one,
 * 6 the days were days off, 7 an administrator reset the streak of that length and those days.
 */
export type RecordedSettlement = [number, number, number, number, number?];

/** What is in the outbox behind the records of a batch's step: the progress of the shard's batches (`batches.ts`). */
export interface ProgressRecord {
  k: 'b';
  p: string;
}

/** `[length, startDay, lastPeriod, extended 0|1, freezes, days off that follow]`; −1 stands for null. */
export type RecordedStreak = [number, number, number, number, number, number?];
/** `[system no, total before, total after, awards]`. */
export type RecordedPoints = [number, number, number, RecordedAward[]];
/** `[trigger no, awarded, total after, numbers of the boosts applied]`. */
export type RecordedAward = [number, number, number, number[]];
/** `[board no, run day, group, previous rank, rank, threshold]`; rank −1: not on the board. */
export type RecordedBoard = [number, number, string, number, number, number];

export type StreakRefusal = 'full' | 'past' | 'overlap' | 'many' | 'gone' | 'none' | 'idle' | 'large';

/** The other answers of the script; they are not recorded. */
export type Refusal =
  /** Replay: the key was used; `use` as in `lua/lib/used_key.lua`. */
  | { k: 'r'; use: number; t: [number, number]; s: RecordedStreak; d: number; tz?: string }
  /** Out of points: the number of the trigger that blocks. */
  | { k: 'o'; trigger: number }
  /**
   * A sum would leave its range (`SUM_BOUND`) by an event of a metric (its number): the total, the count of matching events of an achievement or
   * trigger, the sum of a streak's period, or the score on a board; `no`: of the achievement, trigger or board.
   */
  | { k: 'v'; m: number; of: 'total' | 'count' | 'period' | 'score'; no?: number }
  /** The user's packed state would have more bytes than it may (`STATE_BYTES`). */
  | { k: 'f' }
  /** The zone's offset is not known for this time: ask again with it. */
  | { k: 'z'; tz: string }
  /**
   * The idempotency key may have been used long ago: look in Postgres, then ask again with `v` and what was found. `g`:
   * the user's generation. Without `v`: an event behind such a one, of the same user; just ask again.
   */
  | { k: 'p'; v?: string; g?: number }
  /** `subscribeToEmails: true` for a user without an e-mail address. */
  | { k: 'm' }
  /** A call about a user never seen, that needs one who was. */
  | { k: 'n' }
  /** The achievement is locked, and the user does not have it. */
  | { k: 'l' }
  /** A change of a streak that cannot be: why (`lua/lib/change_streak.lua`), on the user's local day. */
  | { k: 'w'; why: StreakRefusal; d: number }
  /** The user's attributes do not meet the achievement's conditions. */
  | { k: 'q' }
  /** A retry whose first try may be in Postgres already: look there, then ask again with this position. */
  | { k: 'd'; upTo: string };

export type ScriptReply = HappenedRecord | GoneRecord | Refusal;
