/** The changes of a fair sample of a tenant's users: of all of them while there are not more than asked for. */
export interface SampledChanges {
  users: number;
  /** By number of the metric or points system: the changes of those users who had any in the days, unordered. */
  changes: Map<number, number[]>;
}

/** A row of the statements: without a number, the size of the sample; else the changes. */
export interface SampledRow {
  no: number | null;
  changes: number[];
  mayBeEarlier: boolean;
}

export function toSampledChanges(rows: readonly SampledRow[]): SampledChanges {
  const sampled: SampledChanges = { users: 0, changes: new Map() };
  for (const { no, changes } of rows) {
    if (no === null) sampled.users = changes[0] ?? 0;
    else sampled.changes.set(no, changes);
  }
  return sampled;
}
