/** Differences about rewards: users' points, awards for final ranks, and counts of claims. */
import { unpaidRankRewards } from '../../postgres/boards/rank-rewards.ts';
import { wrongClaimCounts } from '../../postgres/rewards.ts';
import { type StoredUser, storedPoints } from '../../postgres/users/stored-states.ts';
import { type TenantPart, userKey } from '../../redis/keys.ts';
import { knownPart } from '../../redis/parts.ts';
import { stateOf } from './derived-keys.ts';
import type { Sides, Suspect } from './confirmation.ts';

/** In place of a value of Redis if two tables of Postgres contradict each other. */
export const ONLY_POSTGRES = 'not compared';

/** The first word of the key of a reward's count, which only Postgres has. */
export const CLAIM_COUNT = 'reward_counts';

type NamedUser = Pick<StoredUser, 'tenantNo' | 'id'>;

/** Totals above 0 as text, by points system. */
const pointsText = (totals: Iterable<[systemNo: number, total: number]>): string =>
  Array.from(totals)
    .filter(([, total]) => total !== 0)
    .toSorted(([a], [b]) => a - b)
    .map(([systemNo, total]) => `${systemNo}: ${total}`)
    .join(', ');

const pointsOf = (state: Buffer | null): string => (state === null ? '' : pointsText(stateOf({ state }).points));

const storedText = (points: Record<string, number> | undefined): string =>
  pointsText(Object.entries(points ?? {}).map(([no, total]): [number, number] => [Number(no), total]));

/** Users whose points as Postgres lists them may not be those of their states, or whose awards for final ranks are not what was noted. */
export async function suspectRewards(sides: Sides, users: readonly StoredUser[]): Promise<Suspect[]> {
  const { redis, pool } = sides;
  const columns = await storedPoints(pool, users);
  const suspects = users
    .filter(({ state }, at) => pointsOf(state) !== storedText(columns[at]))
    .map((user) => pointsSuspect(sides, user));
  for (const reward of await unpaidRankRewards(pool, users)) {
    const { tenantNo, userId: id } = reward;
    const part = knownPart(redis, tenantNo, id);
    suspects.push(rankSuspect(sides, part, id, reward));
  }
  return suspects;
}

function pointsSuspect({ redis, pool }: Sides, { tenantNo, id }: NamedUser): Suspect {
  const key = userKey(knownPart(redis, tenantNo, id), id);
  return {
    key,
    part: 'points',
    redis: async () => pointsOf(await redis.getBuffer(key)),
    postgres: async () => storedText((await storedPoints(pool, [{ tenantNo, id }]))[0]),
  };
}

function rankSuspect(
  { pool }: Sides,
  part: TenantPart,
  id: string,
  reward: { boardNo: number; runDay: number; systemNo: number },
): Suspect {
  const { boardNo, runDay, systemNo } = reward;
  return {
    key: userKey(part, id),
    part: `rank reward ${boardNo} ${runDay} ${systemNo}`,
    redis: async () => ONLY_POSTGRES,
    postgres: async () => {
      const now = await unpaidRankRewards(pool, [{ tenantNo: part.tenantNo, id }]);
      const own = now.find((each) => each.boardNo === boardNo && each.runDay === runDay && each.systemNo === systemNo);
      return own === undefined ? ONLY_POSTGRES : `${own.points} points noted, ${own.awarded} awarded`;
    },
  };
}

/** Rewards whose count is not the number of claims. `tenantNos`: of these tenants only; `null`: of all. */
export async function suspectClaimCounts({ pool }: Sides, tenantNos: readonly number[] | null): Promise<Suspect[]> {
  const wrongCounts = await wrongClaimCounts(pool, tenantNos);
  return wrongCounts.map(({ tenantNo, rewardNo }) => ({
    key: `${CLAIM_COUNT} ${tenantNo} ${rewardNo}`,
    part: '',
    redis: async () => ONLY_POSTGRES,
    postgres: async () => {
      const own = (await wrongClaimCounts(pool, [tenantNo])).find((each) => each.rewardNo === rewardNo);
      return own === undefined ? ONLY_POSTGRES : `${own.counted} counted, ${own.claims} claims`;
    },
  }));
}
