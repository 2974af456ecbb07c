/** Changes by local day, as of one moment. */
export interface DayRows {
  /** The user's packed state; null for one who is not stored yet. */
  state: Buffer | null;
  /** Sum of the changes after the last day that was asked for, as decimal text. */
  later: string;
  /** Epoch days on which something changed, in order. */
  days: number[];
  /** Decimal text, one for each of `days`. */
  changes: string[];
}
