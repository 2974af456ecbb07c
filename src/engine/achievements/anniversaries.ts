import type { Pool } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';
import { type DueUser, dueUsers } from '../../postgres/users/anniversaries.ts';
import type { ScheduledWork } from '../schedule/due-work.ts';
import { Pieces, tenantPiece, type OnPieceFailed } from '../schedule/pieces.ts';
import type { YearCounts } from './year-counts.ts';

export interface AnniversariesOptions {
  pool: Pool;
  counts: Pick<YearCounts, 'count'>;
  /** Called when a tenant's years cannot be counted. */
  onFailed?: OnPieceFailed;
}

/** Users of a piece of work: a second of Redis, about. */
const AT_ONCE = 5_000;

/**
 * Years since users signed up: at the beginning of the local day on which one more is over the clock counts it, and
 * anniversaries complete; a date that was set late is counted at once. Postgres says who is due, by an index on the time
 * of the next count; what was counted is in the user's state, so whatever is repeated changes nothing. A tenant whose years
 * cannot be counted is set aside, and the others go on.
 */
export class Anniversaries implements ScheduledWork {
  readonly name = 'anniversaries';
  private readonly options: AnniversariesOptions;
  private readonly pieces: Pieces;

  constructor(options: AnniversariesOptions) {
    this.options = options;
    this.pieces = new Pieces({ kind: this.name, onFailed: options.onFailed });
  }

  get aside(): string[] {
    return this.pieces.aside.map(({ name }) => name);
  }

  async due(upToMs: number): Promise<number | null> {
    const [first] = await this.users(upToMs, 1);
    return first?.dueMs ?? null;
  }

  upcoming(untilMs: number): Promise<number | null> {
    return this.due(untilMs);
  }

  async perform(dueMs: number, ending: AbortSignal, beforeMs: number): Promise<void> {
    const users = await this.users(Math.max(dueMs, beforeMs - 1), AT_ONCE);
    for (const [tenantNo, ofTenant] of groups(users, (user) => user.tenantNo)) {
      if (ending.aborted) return;
      await this.pieces.attempt(tenantPiece(tenantNo), ending, async (signal) => {
        // A plan is one of a day.
        for (const ofDay of groups(ofTenant, (user) => Math.floor(user.dueMs / DAY_MS)).values())
          if (!(await this.options.counts.count(ofDay, signal))) return;
      });
    }
  }

  private users(upToMs: number, limit: number): Promise<DueUser[]> {
    const except = this.pieces.aside.map(({ key }) => Number(key));
    return dueUsers(this.options.pool, { upToMs, except, limit });
  }
}

/** In the order in which they come. */
function groups<T>(all: readonly T[], keyOf: (one: T) => number): Map<number, T[]> {
  const found = new Map<number, T[]>();
  for (const one of all) {
    const group = found.get(keyOf(one));
    if (group === undefined) found.set(keyOf(one), [one]);
    else group.push(one);
  }
  return found;
}
