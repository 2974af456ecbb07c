import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { pointsLimits } from '../../catalog/points-limits.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { RECOMPUTED } from '../../packed/call-fields.ts';
import type { StoredRecomputation } from '../../postgres/corrections/recomputations.ts';
import { eventId } from '../ids/event-id.ts';
import { callUsers } from '../scripts.ts';
import type { ScoredBoard } from './open-boards.ts';
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

export interface CalledUsers {
  users: readonly { userId: string; planned: PlannedUser }[];
  /** Null: boards of points follow awards in the run of today, and no other score is moved. */
  scored: readonly ScoredBoard[] | null;
  nowMs: number;
}

/** What became of each of some users, in their order. A step that is repeated changes nothing. */
export async function recomputeUsers(
  to: Parameters<typeof callUsers>[0],
  compiled: CompiledCatalog,
  { id, status, jobNo }: Pick<StoredRecomputation, 'id' | 'status' | 'jobNo'>,
  { users, scored, nowMs }: CalledUsers,
): Promise<Recomputed[]> {
  const { plan } = compiled.userPlan(Math.floor(nowMs / DAY_MS));
  const limits = pointsLimits(compiled.catalog);
  const replies = await callUsers(to, compiled.catalog.tenantNo, {
    script: 'recompute_users',
    nowMs,
    plan: JSON.stringify({ ...plan, limits, ...(scored !== null && { scored }) }),
    userIds: users.map(({ userId }) => userId),
    body: {
      step: jobNo,
      job: id.replaceAll('-', ''),
      reverts: status === 'reverting',
      users: users.map(({ userId, planned }) => ({ userId, id: eventId(nowMs), planned })),
    },
  });
  return replies as Recomputed[];
}
