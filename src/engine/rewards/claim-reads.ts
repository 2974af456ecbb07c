import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { type CompiledCatalog, withDeleted } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { isoTimeOrNull } from '../../domain/periods.ts';
import type { Claim, Claims, ClaimsQuery, RewardStock, UserReward } from '../../domain/reward.ts';
import { uuidText } from '../../domain/schemas.ts';
import { AppError } from '../../errors.ts';
import { CLAIM_STATE, claimCounts, type ClaimRow, listClaims, readClaim } from '../../postgres/rewards.ts';
import { packedUser } from '../../redis/parts.ts';
import { balanceOf } from '../../rules/points.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import { findReward } from '../find-configured.ts';
import { pageOf } from '../page.ts';

const remainingOf = (stock: number | null, claimed: number): number | null =>
  stock === null ? null : Math.max(0, stock - claimed);

/** Rewards with their stock, and their claims. */
export function createClaimReads(
  redis: Redis,
  pool: Pool,
  clock: Clock,
  persisted: (tenantNo: number, userId: string) => Promise<void>,
) {
  /** A claim. Throws 404. */
  async function get(compiled: CompiledCatalog, id: string): Promise<Claim> {
    return shownClaim(pool, compiled, await findClaim(pool, compiled, id));
  }

  /** The active rewards, oldest first, with what they mean for a user. Throws 404. */
  async function offers(
    compiled: CompiledCatalog,
    userId: string,
    { skip, limit, byClient }: { skip: number; limit: number; byClient: boolean },
  ): Promise<UserReward[]> {
    const { tenantNo, rewards } = compiled.catalog;
    const state = await stateOf(redis, tenantNo, userId);
    await persisted(tenantNo, userId);
    const page = rewards.filter(({ status }) => status === 'active').slice(skip, skip + limit);
    const counts = await claimCounts(
      pool,
      tenantNo,
      page.map(({ no }) => no),
      userId,
    );
    const nowMs = clock.now();
    return page.map((reward) => {
      const { claimed, own } = counts.get(reward.no) ?? { claimed: 0, own: 0 };
      const system = compiled.pointsSystemsById.get(reward.pointsSystemId!)!;
      const balance = balanceOf(state, system.no, nowMs);
      const remaining = remainingOf(reward.stock, claimed);
      const affordable = balance >= reward.price;
      const isFree = remaining !== 0 && (reward.limitPerUser === null || own < reward.limitPerUser);
      return {
        id: reward.id,
        key: reward.key,
        name: reward.name,
        description: reward.description,
        badgeUrl: reward.badgeUrl,
        pointsSystem: system.key,
        price: reward.price,
        stock: reward.stock,
        remaining,
        limitPerUser: reward.limitPerUser,
        claims: own,
        balance,
        affordable,
        claimable: affordable && isFree && (reward.claimableByUsers || !byClient),
      };
    });
  }

  /** The stock of all rewards, oldest first. */
  async function stock({ catalog: { tenantNo, rewards } }: CompiledCatalog): Promise<RewardStock[]> {
    const counts = await claimCounts(
      pool,
      tenantNo,
      rewards.map(({ no }) => no),
      null,
    );
    return rewards.map(({ id, key, name, no, stock }) => {
      const claimed = counts.get(no)?.claimed ?? 0;
      return { id, key, name, claimed, remaining: remainingOf(stock, claimed) };
    });
  }

  /** A page of claims, newest first. Includes everything answered before. Throws 404 for an unknown reward. */
  async function list(
    compiled: CompiledCatalog,
    { userId, reward, state, cursor, limit }: ClaimsQuery,
  ): Promise<Claims> {
    const { tenantNo } = compiled.catalog;
    const rows = await listClaims(pool, {
      tenantNo,
      userId: userId ?? null,
      rewardNo: reward === undefined ? null : findReward(compiled, reward).no,
      state: state === undefined ? null : CLAIM_STATE[state],
      before: cursor ?? null,
      limit: limit + 1,
    });
    const { rows: page, nextCursor } = pageOf(rows, limit, ({ id }) => uuidText(id));
    const named = await withDeleted(
      pool,
      compiled,
      page.flatMap(({ rewardNo, systemNo }) => [rewardNo, systemNo]),
    );
    return { claims: page.map((row) => claimAnswer(named, row)), nextCursor };
  }

  /** The same of a user. Throws 404 for an unknown user. */
  async function listOf(
    compiled: CompiledCatalog,
    userId: string,
    query: Omit<ClaimsQuery, 'userId'>,
  ): Promise<Claims> {
    const { tenantNo } = compiled.catalog;
    await stateOf(redis, tenantNo, userId);
    await persisted(tenantNo, userId);
    return list(compiled, { ...query, userId });
  }

  return { get, offers, stock, list, listOf };
}

/** Throws 404. */
export async function findClaim(pool: Pool, compiled: CompiledCatalog, id: string): Promise<ClaimRow> {
  const claim = await readClaim(pool, compiled.catalog.tenantNo, id);
  if (claim === null) throw new AppError('not_found', 'There is no claim with this ID.');
  return claim;
}

export async function shownClaim(pool: Pool, compiled: CompiledCatalog, row: ClaimRow): Promise<Claim> {
  return claimAnswer(await withDeleted(pool, compiled, [row.rewardNo, row.systemNo]), row);
}

/** Throws 404. */
export async function stateOf(redis: Redis, tenantNo: number, userId: string): Promise<User> {
  const packed = await packedUser(redis, tenantNo, userId);
  if (packed === null) throw new AppError('not_found', 'Unknown user: no event and no call has named this ID yet.');
  return decodeUser(packed);
}

const STATES = ['claimed', 'claimed', 'fulfilled', 'cancelled'] as const;

export function claimAnswer(compiled: CompiledCatalog, row: ClaimRow): Claim {
  const reward = compiled.rewardsByNo.get(row.rewardNo);
  return {
    id: uuidText(row.id),
    userId: row.userId,
    reward: { id: reward?.id ?? null, key: reward?.key ?? null, name: reward?.name ?? null },
    pointsSystem: compiled.pointsSystemsByNo.get(row.systemNo)?.key ?? null,
    price: row.price,
    state: STATES[row.state],
    reason: row.reason,
    claimedAt: isoTimeOrNull(row.claimedMs),
    fulfilledAt: isoTimeOrNull(row.fulfilledMs),
    cancelledAt: isoTimeOrNull(row.cancelledMs),
  };
}
