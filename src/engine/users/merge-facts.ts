/** What a merge of two users takes from Postgres. */
import type { Pool, PoolClient } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { dayIn } from '../../domain/zone.ts';
import { boardsRankingBoth } from '../../postgres/boards/rank-rewards.ts';
import { firstEventDay, hasMoreEvents, keysToMove, type OwnKey, questsOfBoth } from '../../postgres/users/merges.ts';
import { inSnapshot } from '../../postgres/transaction.ts';
import type { MergedStreaks } from '../../rules/record.ts';
import type { MergeFacts } from '../../rules/merge.ts';
import { replayStreaks, type StreakFacts } from '../../rules/streak-replay.ts';
import type { User } from '../../rules/user.ts';
import { repairsOf, replayedStreaks } from '../corrections/packed-replay.ts';
import { streakFactsOf, type UserFacts } from '../corrections/streak-facts.ts';

/** Larger users are no guests; their merge would hold up the shard. */
export const MOST_MERGED = { events: 100_000, keys: 20_000 } as const;

/** The two users as Postgres has them, and what their history gives. */
export interface TwoUsers {
  from: { user: User; packed: Buffer };
  into: { user: User; packed: Buffer };
  keys: OwnKey[];
  quests: MergeFacts['quests'];
  bothRanked: MergeFacts['bothRanked'];
  streaks: ChosenStreaks;
}

export interface ChosenStreaks extends Pick<MergeFacts, 'streaks' | 'length'> {
  basis: 'recomputed' | 'from' | 'into';
  /** Lengths and freezes of the two, settled up to now. */
  lengths: { from: number; into: number };
  freezes: { from: number; into: number };
  changes: MergedStreaks;
}

/**
 * Reads both users in one snapshot, which lacks what only Redis holds: wait with `untilPersisted` before, and compare `packed` after. Returns
 * the name of a user who is unknown to Postgres, or `tooLarge` if `from` has more than `MOST_MERGED`.
 */
export function readTwoUsers(
  pool: Pool,
  compiled: CompiledCatalog,
  { from, into, nowMs }: { from: string; into: string; nowMs: number },
): Promise<TwoUsers | 'from' | 'into' | 'tooLarge'> {
  return inSnapshot(pool, async (client) => {
    const merged = { tenantNo: compiled.catalog.tenantNo, from, into };
    const isLarge = await hasMoreEvents(client, { tenantNo: merged.tenantNo, userId: from }, MOST_MERGED.events);
    if (isLarge) return 'tooLarge';
    const keys = await keysToMove(client, merged, MOST_MERGED.keys + 1);
    if (keys.length > MOST_MERGED.keys) return 'tooLarge';
    const both = await readBoth(client, compiled, { ...merged, nowMs });
    if (typeof both === 'string') return both;
    const [of, other] = [both.from, both.into];
    return {
      from: { user: of.user, packed: of.packed! },
      into: { user: other.user, packed: other.packed! },
      keys,
      quests: await questsOfBoth(client, merged),
      bothRanked: await boardsRankingBoth(client, merged),
      streaks: chooseStreaks(compiled, of, other),
    };
  });
}

async function readBoth(
  client: PoolClient,
  compiled: CompiledCatalog,
  { tenantNo, from, into, nowMs }: { tenantNo: number; from: string; into: string; nowMs: number },
): Promise<{ from: UserFacts; into: UserFacts } | 'from' | 'into'> {
  const first = await firstEventDay(client, { tenantNo, userId: from });
  const firstDay = first ?? dayIn(null, nowMs);
  const of = await streakFactsOf(client, compiled, { userId: from, nowMs, firstDay });
  if (of === null) return 'from';
  const other = await streakFactsOf(client, compiled, { userId: into, nowMs, firstDay });
  return other === null ? 'into' : { from: of, into: other };
}

/**
 * The streak of the merged user: what the events of both give, from the records of `into`. The longer streak of one of the two is kept if
 * that is shorter, since freezes, pauses and administrators may have saved it.
 */
function chooseStreaks(compiled: CompiledCatalog, from: UserFacts, into: UserFacts): ChosenStreaks {
  const { frequency } = compiled.catalog.streaks;
  const facts: StreakFacts = { ...into.facts, pauses: joinedPauses(into.facts.pauses, from.facts.pauses) };
  const replay = replayStreaks(facts, { add: from.facts.events });
  const lengthOf = ({ facts: { now } }: UserFacts): number => now.streaks[frequency].length;
  const lengths = { from: lengthOf(from), into: lengthOf(into) };
  const freezes = { from: from.facts.now.freezes, into: into.facts.now.freezes };
  const recomputed = replay.streaks[frequency].length;
  const of = { lengths, freezes };
  const most = Math.max(0, facts.maxFreezes);
  /** The freezes of the merged user: the more of the two. The difference is a gift, which is recorded. */
  const added = (own: number, other: number): number => Math.max(0, Math.min(other, most) - own);
  const giftOf = (count: number): MergedStreaks['settlements'] =>
    count === 0 ? null : { streaks: [], beside: [{ kind: 'given', day: facts.now.day, count }] };
  if (recomputed >= Math.max(lengths.from, lengths.into)) {
    const { streaks, freezes: left, earnedDay, settlements } = replayedStreaks(replay);
    const gift = added(left, freezes.from);
    const beside = [...settlements.beside, ...(giftOf(gift)?.beside ?? [])];
    return {
      ...of,
      basis: 'recomputed',
      length: recomputed,
      streaks: { ...settledOf(into.user), streaks, freezes: left + gift, earnedDay },
      changes: { settlements: { streaks: settlements.streaks, beside }, ...changedRecords(repairsOf(replay)) },
    };
  }
  const [basis, kept, left, right] =
    lengths.into >= lengths.from
      ? (['into', into.user, freezes.into, freezes.from] as const)
      : (['from', from.user, freezes.from, freezes.into] as const);
  const gift = added(left, right);
  const { streaks, earnedDay } = kept;
  return {
    ...of,
    basis,
    length: lengths[basis],
    streaks: { ...settledOf(kept), streaks, freezes: kept.freezes + gift, earnedDay },
    changes: { settlements: giftOf(gift), superseded: [], repairs: [] },
  };
}

const settledOf = ({ settledMs, begunDay }: User): Pick<User, 'settledMs' | 'begunDay'> => ({ settledMs, begunDay });

const changedRecords = ({
  superseded,
  repairs,
}: ReturnType<typeof repairsOf>): Pick<MergedStreaks, 'superseded' | 'repairs'> => ({ superseded, repairs });

/** The paused days of both, sorted; spans that overlap are one. */
function joinedPauses(one: StreakFacts['pauses'], other: StreakFacts['pauses']): { from: number; to: number }[] {
  const joined: { from: number; to: number }[] = [];
  for (const { from, to } of [...one, ...other].toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else joined.push({ from, to });
  }
  return joined;
}
