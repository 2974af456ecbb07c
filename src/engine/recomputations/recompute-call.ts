import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { pointsLimits } from '../../catalog/points-limits.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { RECOMPUTED } from '../../packed/call-fields.ts';
import type { StoredRecomputation } from '../../postgres/recomputations/recomputations.ts';
import { boardKeyPrefix, countersKey, outboxKey, pointsKeyPrefix, shardOf, userKey } from '../../redis/keys.ts';
import { Script } from '../../redis/script.ts';
import { eventId } from '../ids/event-id.ts';
import type { OpenBoard } from './open-boards.ts';
import type { PlannedUser } from './planned-user.ts';

/** What became of a user: RECOMPUTED. */
export type Recomputed = (typeof RECOMPUTED)[keyof typeof RECOMPUTED];

/** Why nothing was done of a user. */
export const SKIPPED: Partial<Record<Recomputed, string>> = {
  [RECOMPUTED.nothing]: 'Nothing of the plan was left to do: the user has changed since.',
  [RECOMPUTED.gone]: 'The user was deleted since.',
  [RECOMPUTED.large]: 'The user has as much data as a user may have.',
  [RECOMPUTED.corrected]: 'Events of the user were reversed since it was planned: plan it again.',
};

/** A board whose scores are computed again; `filled`: it was filled since the plan was made. */
export interface ScoredBoard extends OpenBoard {
  filled: boolean;
}

export interface CalledUsers {
  users: readonly { userId: string; planned: PlannedUser }[];
  /** Null: boards of points follow awards in the run of today, and no other score is moved. */
  scored: readonly ScoredBoard[] | null;
  nowMs: number;
}

/** Runs `lua/recompute_users.lua`. */
export class RecomputeCall {
  private readonly redis: Redis;
  private readonly onWritten: (shard: number) => void;
  private readonly script = new Script('recompute_users');

  constructor({ redis, onWritten }: { redis: Redis; onWritten: (shard: number) => void }) {
    this.redis = redis;
    this.onWritten = onWritten;
  }

  /** What became of each of some users, in their order. A step that is repeated changes nothing. */
  async run(
    compiled: CompiledCatalog,
    { id, status, jobNo }: Pick<StoredRecomputation, 'id' | 'status' | 'jobNo'>,
    { users, scored, nowMs }: CalledUsers,
  ): Promise<Recomputed[]> {
    const { tenantNo } = compiled.catalog;
    const shard = shardOf(tenantNo);
    const limits = pointsLimits(compiled.catalog);
    const { plan } = compiled.userPlan(Math.floor(nowMs / DAY_MS));
    const keys = [outboxKey(shard), countersKey(tenantNo), ...users.map(({ userId }) => userKey(tenantNo, userId))];
    const args: (string | number)[] = [
      nowMs,
      tenantNo,
      JSON.stringify({ ...plan, limits, ...(scored !== null && { scored }) }),
      boardKeyPrefix(tenantNo),
      pointsKeyPrefix(tenantNo),
      jobNo,
      id.replaceAll('-', ''),
      status === 'reverting' ? '1' : '',
    ];
    for (const { userId, planned } of users) args.push(userId, eventId(nowMs), JSON.stringify(planned));
    const replies = (await this.script.run(this.redis, keys, args)) as (number | Buffer)[];
    if (String(replies[users.length]) !== '') this.onWritten(shard);
    return replies.slice(0, users.length) as Recomputed[];
  }
}
