import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import { epochDay } from '../../domain/periods.ts';
import { earnedSince, lastDroppedDay } from '../../postgres/expiries.ts';
import { packedUsers } from '../../redis/parts.ts';
import { balanceOf } from '../../rules/points.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import { untilPersisted } from '../persist/cursor-wait.ts';

/** A user after the expiry. `unspent`: what is left of points earned up to the day before `warned`, and up to `warned`. */
export interface AfterExpiry {
  userId: string;
  packed: Buffer;
  balance: number;
  unspent: [number, number];
}

/** The same before the expiry of some of the points. */
export type ExpiringBalance = AfterExpiry & { expired: number };

/**
 * What expires of each user's points, if those earned up to the day `expired` do, and what is left of those earned up to the day
 * `warned`. Omits users without a balance.
 */
export async function readExpiringBalances(
  servers: { redis: Redis; pool: Pool },
  clock: Clock,
  system: { tenantNo: number; no: number },
  userIds: readonly string[],
  { expired, warned }: { expired: number; warned: number },
): Promise<ExpiringBalance[]> {
  const { tenantNo } = system;
  const packed = await packedUsers(servers.redis, tenantNo, userIds);
  const nowMs = clock.now();
  const users = userIds.flatMap((userId, index) => {
    const state = packed[index] ? decodeUser(packed[index]) : null;
    const balance = state === null ? 0 : balanceOf(state, system.no, nowMs);
    return state === null || balance <= 0 ? [] : [{ userId, packed: packed[index]!, state, balance }];
  });
  if (users.length === 0) return [];
  // Postgres then holds every award that is part of a state read above. Later ones make the state outdated.
  await untilPersisted(servers, tenantNo, undefined, 0);
  const since = { userIds: users.map(({ userId }) => userId), days: [expired + 1, warned, warned + 1] };
  const earned = await earnedSince(servers.pool, system, since);
  const dropped = await lastDroppedDay(servers.pool);
  return users.map(({ userId, packed: own, state, balance }) => {
    const [sinceExpired = 0, sinceWarned = 0, afterWarned = 0] = earned.get(userId) ?? [];
    const oldest = Math.max(dropped, importDayOf(state));
    const left = (upTo: number, earnedAfter: number): number =>
      upTo < oldest ? 0 : Math.max(0, balance - earnedAfter);
    return {
      userId,
      packed: own,
      balance,
      expired: left(expired, sinceExpired),
      unspent: [left(warned - 1, sinceWarned), left(warned, afterWarned)],
    };
  });
}

/** Imported points count as earned on the day of the import; -1 if nothing was imported. */
const importDayOf = ({ importedMs }: User): number => (importedMs === null ? -1 : epochDay(importedMs));
