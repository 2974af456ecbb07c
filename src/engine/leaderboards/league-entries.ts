import type { Redis } from 'ioredis';
import type { PoolClient } from 'pg';
import { RECORD, RECORDED_LEAGUE } from '../../packed/record-fields.ts';
import {
  addCohorts,
  addMembers,
  type CohortKey,
  type Entrant,
  type LeagueRun,
  leagueBoards,
  lockSeats,
  lockOpenRun,
  newestCohorts,
  putMembers,
  tiersOf,
} from '../../postgres/boards/leagues.ts';
import type { Leagues } from '../../domain/leagues.ts';
import { knownPart } from '../../redis/parts.ts';
import { type OpenCohort, ruleOf, seatUsers, tierIn } from '../../rules/leagues.ts';
import type { HappenedEntry } from '../notifications/entry-notifications.ts';
import { groupedBy } from '../../grouped.ts';

/**
 * Gives cohorts to the users whose first scores in a run some entries contain, in the transaction that stores the entries, so
 * each user gets one. Users of a run after the open one wait until that is closed. A user whose first score is not in a record,
 * because it came from history, gets a cohort with the next change of the score.
 */
export async function enterLeagues(client: PoolClient, redis: Redis, entries: readonly HappenedEntry[]): Promise<void> {
  const entrants = entrantsIn(redis, entries);
  if (entrants.length === 0) return;
  const tenants = new Set(entrants.map(({ tenantNo }) => tenantNo));
  const boards = new Map((await leagueBoards(client, [...tenants])).map((board) => [boardKey(board), board.leagues]));
  const added = await addMembers(
    client,
    entrants.filter((entrant) => boards.has(boardKey(entrant))),
  );
  for (const [key, members] of byBoard(added)) {
    const { tenantNo, boardNo } = members[0]!;
    const openRunDay = await lockOpenRun(client, { tenantNo, boardNo });
    const seated = members.filter(({ runDay }) => runDay === openRunDay);
    if (openRunDay !== null)
      await seatMembers(client, { tenantNo, boardNo, runDay: openRunDay }, boards.get(key)!, seated);
  }
}

/** Gives cohorts of a run to users, in order. Waits for other transactions that do so on the same shards. */
export async function seatMembers(
  client: PoolClient,
  run: LeagueRun,
  leagues: Leagues,
  members: readonly Pick<Entrant, 'userId' | 'shard' | 'group'>[],
): Promise<void> {
  if (members.length === 0) return;
  await lockSeats(
    client,
    run,
    members.map(({ shard }) => shard),
  );
  const tiers = await tiersOf(
    client,
    run,
    members.map(({ userId }) => userId),
  );
  const keys = members.map(({ userId, shard, group }): CohortKey => {
    const tier = tierIn(ruleOf(leagues), tiers.get(userId) ?? 0);
    return { shard, tier, group };
  });
  const names = keys.map((key) => JSON.stringify(key));
  const distinct = new Map(names.map((name, at) => [name, keys[at]!]));
  const newest = await newestCohorts(client, run, [...distinct.values()]);
  const open = new Map<string, OpenCohort>();
  for (const [at, name] of [...distinct.keys()].entries()) {
    const cohort = newest[at];
    if (cohort) open.set(name, cohort);
  }
  const seats = seatUsers(names, open, leagues.cohortUsers);
  const cohorts = new Map(seats.map((cohort, at) => [cohort, keys[at]!]));
  const created = [...cohorts].filter(([{ id }]) => id === null);
  const ids = await addCohorts(
    client,
    run,
    created.map(([{ members: count }, key]) => ({ ...key, members: count })),
  );
  for (const [at, [cohort]] of created.entries()) cohort.id = ids[at]!;
  await putMembers(
    client,
    run,
    [...cohorts.keys()].map(({ id, members: count }) => ({ id: id!, members: count })),
    seats.map(({ id }: OpenCohort, at) => ({ userId: members[at]!.userId, cohort: id! })),
  );
}

const boardKey = ({ tenantNo, boardNo }: { tenantNo: number; boardNo: number }): string => `${tenantNo}:${boardNo}`;

/** By leaderboard, in the order in which all transactions lock them. */
function byBoard(entrants: readonly Entrant[]): [string, Entrant[]][] {
  return [...groupedBy(entrants, boardKey)].toSorted(
    ([, [a]], [, [b]]) => a!.tenantNo - b!.tenantNo || a!.boardNo - b!.boardNo,
  );
}

/** The users whose scores changed on leaderboards with leagues, once per run, in the order of their records. */
function entrantsIn(redis: Redis, entries: readonly HappenedEntry[]): Entrant[] {
  const entrants = new Map<string, Entrant>();
  for (const { tenantNo, records } of entries)
    for (const record of records)
      for (const entered of record[RECORD.leagues] ?? []) {
        const userId = record[RECORD.userId];
        const [boardNo, runDay] = [entered[RECORDED_LEAGUE.board], entered[RECORDED_LEAGUE.runDay]];
        const key = `${tenantNo}:${boardNo}:${runDay}:${userId}`;
        if (entrants.has(key)) continue;
        const { shard } = knownPart(redis, tenantNo, userId);
        entrants.set(key, { tenantNo, boardNo, runDay, userId, shard, group: entered[RECORDED_LEAGUE.group] });
      }
  return [...entrants.values()];
}
