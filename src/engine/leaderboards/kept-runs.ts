import type { Pool } from 'pg';
import {
  finalGroup,
  finalMember,
  finalOf,
  finalPage,
  finalPlaces,
  finalScores,
  finalTeams,
} from '../../postgres/boards/final-runs.ts';
import { rankRewards } from '../../postgres/boards/rank-rewards.ts';
import { lastSnapshots } from '../../postgres/boards/snapshots.ts';
import type { BoardRun } from '../../domain/runs.ts';
import type { PastPlace, Snapshot, UserReward } from './runs.ts';
import { entryOf, userHash } from './snapshot-parts.ts';
import type { Member, Standing, Standings } from './standings.ts';
import type { TeamScore } from './teams.ts';

/** The final standings of a group, in Postgres. Its members were determined when the run became final. */
class FinalStandings implements Standings {
  private readonly pool: Pool;
  private readonly tenantNo: number;
  /** `null` if nobody was in the group. */
  private readonly groupId: number | null;
  private readonly members: number;
  private readonly count: number;

  constructor(
    pool: Pool,
    {
      tenantNo,
      id,
      members,
      participants,
    }: { tenantNo: number; id: number | null; members: number; participants: number },
  ) {
    this.pool = pool;
    this.tenantNo = tenantNo;
    this.groupId = id;
    this.members = members;
    this.count = participants;
  }

  async page(from: number, count: number): Promise<Member[]> {
    return this.groupId === null ? [] : finalPage(this.pool, { groupId: this.groupId, from, count });
  }

  async rankOf({ userId }: Member): Promise<number> {
    const member = await this.member(userId);
    if (member === null) throw new Error('A user is not in the standings.');
    return member.rank;
  }

  async find(userId: string): Promise<Standing | null> {
    const member = await this.member(userId);
    return member && { ...member, isOn: member.place < this.count };
  }

  async scored(): Promise<number> {
    return this.members;
  }

  async participants(): Promise<number> {
    return this.count;
  }

  async participantsOf(places: number): Promise<number> {
    return Math.min(places, this.count);
  }

  private async member(userId: string): Promise<(Omit<Standing, 'isOn'> & Member) | null> {
    const { tenantNo, groupId } = this;
    return groupId === null ? null : finalMember(this.pool, tenantNo, groupId, userId);
  }
}

/** The stored results of boards in Postgres: standings of final runs, and daily snapshots. */
export function createKeptRuns(pool: Pool) {
  /** The final standings of a run and group; `null` if the run is not final, so that the scores in Redis count. */
  async function standings(run: BoardRun, group: string): Promise<Standings | null> {
    const stored = await finalGroup(pool, run, group);
    return stored === null ? null : new FinalStandings(pool, { ...stored, tenantNo: run.tenantNo });
  }

  /** The final scores of those of some users who have one, in any group if it is `null`; `null` if the run is not final. */
  async function scores(run: BoardRun, group: string | null, userIds: readonly string[]): Promise<Member[] | null> {
    return finalScores(pool, run, group, userIds);
  }

  /** The ranked teams of a final run; `null` if the run is not final. */
  async function teams(run: BoardRun): Promise<TeamScore[] | null> {
    return finalTeams(pool, run);
  }

  /** The group in which a user ended a final run; `null` if in none. */
  async function groupOf({ tenantNo, ...run }: BoardRun, userId: string): Promise<string | null> {
    const [place] = await finalPlaces(pool, tenantNo, userId, run);
    return place?.group ?? null;
  }

  /** A user's last `count` daily snapshots in a run, oldest first. Those of a final run end with its final place. */
  async function snapshots(run: BoardRun, userId: string, count: number): Promise<Snapshot[]> {
    const [taken, [final]] = await Promise.all([
      lastSnapshots(pool, run, { hash: userHash(userId), count }),
      finalOf(pool, run.tenantNo, [run]),
    ]);
    const snapshots = taken.map(({ day, atMs, packed }) => {
      const entry = packed === null ? null : entryOf(packed, userId);
      return { day, atMs, rank: entry?.rank ?? null, value: entry?.score ?? null };
    });
    if (final === undefined) return snapshots;
    const [end] = await finalPlaces(pool, run.tenantNo, userId, run);
    const on = end?.participates === true;
    const last = { day: final.lastDay, atMs: final.finalMs, rank: on ? end.rank : null, value: on ? end.score : null };
    return [...snapshots.filter(({ day }) => day < final.lastDay), last].slice(-count);
  }

  async function places(tenantNo: number, userId: string): Promise<PastPlace[]> {
    const places = await finalPlaces(pool, tenantNo, userId, null);
    return places.map(({ boardNo, runDay, rank, score, participates }) => ({
      boardNo,
      runDay,
      rank: participates ? rank : null,
      value: score,
    }));
  }

  /** What those of some users who were rewarded got in a final run, by user ID. */
  async function rewards(run: BoardRun, userIds: readonly string[]): Promise<ReadonlyMap<string, UserReward>> {
    return rankRewards(pool, run, userIds);
  }

  /** Those of the runs that are final. */
  async function kept<T extends { boardNo: number; runDay: number }>(
    tenantNo: number,
    runs: readonly T[],
  ): Promise<Set<T>> {
    const final = await finalOf(pool, tenantNo, runs);
    const names = new Set(final.map(({ boardNo, runDay }) => `${boardNo}:${runDay}`));
    return new Set(runs.filter(({ boardNo, runDay }) => names.has(`${boardNo}:${runDay}`)));
  }

  return { standings, scores, teams, groupOf, snapshots, places, rewards, kept };
}

export type KeptRuns = ReturnType<typeof createKeptRuns>;
