/** Teams on a leaderboard: what their members earned while in them, in one run. */
import type { Redis } from 'ioredis';
import type { Leaderboard } from '../../domain/catalog.ts';
import { turned } from '../../domain/leaderboard.ts';
import { decimalNumber, decimalOfMicros, type Micros } from '../../domain/decimal.ts';
import { TEAM_SUM } from '../../packed/call-fields.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import { teamsKey } from '../../redis/keys.ts';
import { tenantParts } from '../../redis/parts.ts';
import { KeptResults } from '../../pacing/kept-results.ts';
import { Slices, sortedInSlices } from '../../pacing/slices.ts';
import { type RankedGroup } from './live-standings.ts';
import { compareBytes, type Member, type Standing, type Standings } from './standings.ts';

/** A team that is ranked. */
export interface TeamScore {
  team: string;
  /** What members earned, or the mean of it. */
  score: number;
  /** Members who earned something. */
  members: number;
}

/** Hashes of up to this many fields are read with one command, so that the sums of a team fit together. */
const MOST_AT_ONCE = 20_000;

/**
 * The sums of teams, as columns: collecting objects for tens of thousands of teams, some for each field, would stop the process
 * for tens of milliseconds.
 */
class TeamSums {
  readonly teams: string[] = [];
  readonly whole: number[] = [];
  readonly micros: number[] = [];
  readonly members: number[] = [];
  private readonly places = new Map<string, number>();

  /** Where a team stands in the columns; at their end if it is new. */
  placeOf(team: string): number {
    let place = this.places.get(team);
    if (place === undefined) {
      place = this.teams.push(team) - 1;
      this.places.set(team, place);
      for (const column of [this.whole, this.micros, this.members]) column.push(0);
    }
    return place;
  }
}

/**
 * The teams of a run that are ranked, in no order: those that earned more than 0 and have enough members. The sums are exact;
 * a mean is cut to six decimals. On a wide tenant, an event in between may count in one part and not in another.
 */
export async function teamScores(
  redis: Redis,
  board: Leaderboard,
  run: Omit<RankedGroup, 'group'>,
): Promise<TeamScore[]> {
  const [sums = new TeamSums(), ...others] = await Promise.all(
    tenantParts(redis, run.tenantNo).map((part) => sumsOf(connectionOf(redis, part.shard), teamsKey(part, run))),
  );
  const slices = new Slices();
  for (const part of others)
    for (const [at, team] of part.teams.entries()) {
      const place = sums.placeOf(team);
      for (const column of COLUMNS) sums[column][place]! += part[column][at]!;
      if (slices.over) await slices.turn();
    }
  const ranked: TeamScore[] = [];
  for (const [at, team] of sums.teams.entries()) {
    if (slices.over) await slices.turn();
    const members = sums.members[at]!;
    const score = scoreOf(board, BigInt(sums.whole[at]!) * 1_000_000n + BigInt(sums.micros[at]!), members);
    if (score > 0n) ranked.push({ team, score: decimalNumber(decimalOfMicros(score)), members });
  }
  return ranked;
}

/** The ranking of the teams of a run, as columns. */
export class TeamStandings implements Standings {
  private readonly teams: string[] = [];
  private readonly scores: number[] = [];
  private readonly ranks: number[] = [];
  private readonly members: number[] = [];

  private constructor() {}

  /** Ranks the teams, in slices. */
  static async of(teams: readonly TeamScore[], board: Leaderboard): Promise<TeamStandings> {
    const standings = new TeamStandings();
    const { scores, ranks } = standings;
    const sorted = await sortedInSlices(
      teams,
      (a, b) => turned(board, b.score - a.score) || compareBytes(b.team, a.team),
    );
    const slices = new Slices();
    for (const [place, { team, score, members }] of sorted.entries()) {
      const isTie = board.ties !== 'first' && place > 0 && scores[place - 1] === score;
      standings.teams.push(team);
      scores.push(score);
      ranks.push(isTie ? ranks[place - 1]! : place + 1);
      standings.members.push(members);
      if (slices.over) await slices.turn();
    }
    return standings;
  }

  get count(): number {
    return this.teams.length;
  }

  /** How many members the team at a place has. */
  membersAt(place: number): number {
    return this.members[place]!;
  }

  async page(from: number, count: number): Promise<Member[]> {
    const { scores, ranks } = this;
    return this.teams
      .slice(from, from + count)
      .map((team, at) => ({ userId: team, score: scores[from + at]!, rank: ranks[from + at]! }));
  }

  async rankOf({ userId }: Member): Promise<number> {
    return this.ranks[this.teams.indexOf(userId)]!;
  }

  async find(team: string): Promise<Standing | null> {
    const place = this.teams.indexOf(team);
    return place < 0 ? null : { place, rank: this.ranks[place]!, score: this.scores[place]!, isOn: true };
  }

  async scored(): Promise<number> {
    return this.count;
  }

  async participants(): Promise<number> {
    return this.count;
  }

  async participantsOf(places: number): Promise<number> {
    return Math.min(places, this.count);
  }
}

/** Maximum number of teams in rankings that are kept, over all leaderboards: some 20 MB. */
const MOST_TEAMS_KEPT = 200_000;

/** Rankings of teams that are reused. */
export const createKeptTeams = (): KeptResults<TeamStandings> =>
  new KeptResults({ mostWeight: MOST_TEAMS_KEPT, weightOf: ({ count }) => count });

/** The score of a team, in millionths; 0 if it is not ranked. */
function scoreOf({ teamsBy, teamMinMembers }: Leaderboard, sum: Micros, members: number): Micros {
  if (members < Math.max(teamMinMembers ?? 1, 1)) return 0n;
  return teamsBy === 'mean' ? sum / BigInt(members) : sum;
}

/** What a part of a tenant counts for each team. */
async function sumsOf(redis: Redis, key: string): Promise<TeamSums> {
  const sums = new TeamSums();
  const slices = new Slices();
  // Counts are set, not added: a scan may return a field twice.
  const take = async (flat: readonly string[]): Promise<void> => {
    for (let at = 0; at < flat.length; at += 2) {
      const field = flat[at]!;
      sums[COLUMN_OF[field[0]!]!][sums.placeOf(field.slice(1))] = Number(flat[at + 1]);
      if (slices.over) await slices.turn();
    }
  };
  if ((await redis.hlen(key)) <= MOST_AT_ONCE) {
    // Not `hgetall`, which would make an object of so many fields in one go.
    await take((await redis.call('HGETALL', key)) as string[]);
    return sums;
  }
  let cursor = '0';
  do {
    const [next, flat] = await redis.hscan(key, cursor, 'COUNT', MOST_AT_ONCE / 10);
    await take(flat);
    cursor = next;
  } while (cursor !== '0');
  return sums;
}

const COLUMNS = Object.keys(TEAM_SUM) as (keyof typeof TEAM_SUM)[];
/** By the first character of a field. */
const COLUMN_OF = Object.fromEntries(COLUMNS.map((column) => [TEAM_SUM[column], column])) as Record<
  string,
  keyof typeof TEAM_SUM
>;
