/** Teams on a leaderboard: what their members earned while in them, in one run. */
import type { Redis } from 'ioredis';
import type { Leaderboard } from '../../domain/catalog.ts';
import { turned } from '../../domain/leaderboard.ts';
import { type Decimal, decimalNumber, decimalOfMicros, microsOf } from '../../domain/decimal.ts';
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

/** Fields that a scan visits at a time, a third of which name a team. Redis and this process take less than a millisecond for each step. */
const SCANNED_AT_ONCE = 1_200;
/** Teams between two checks of the slice. */
const TEAMS_AT_ONCE = 64;

/** What members of a team count together. The millionths may exceed a million. */
interface TeamSum extends Decimal {
  members: number;
}

/**
 * The teams of a run that are ranked, in no order: those that earned more than 0 and have enough members. The sums are exact;
 * a mean is cut to six decimals. The three sums of a team are from one moment, those of different teams may not be. On a wide
 * tenant, an event in between may count in one part and not in another.
 */
export async function teamScores(
  redis: Redis,
  board: Leaderboard,
  run: Omit<RankedGroup, 'group'>,
): Promise<TeamScore[]> {
  const [sums = new Map<string, TeamSum>(), ...others] = await Promise.all(
    tenantParts(redis, run.tenantNo).map((part) => sumsOf(connectionOf(redis, part.shard), teamsKey(part, run))),
  );
  const slices = new Slices(TEAMS_AT_ONCE);
  for (const part of others)
    for (const [team, { whole, micros, members }] of part) {
      const sum = sums.get(team);
      if (sum === undefined) sums.set(team, { whole, micros, members });
      else {
        sum.whole += whole;
        sum.micros += micros;
        sum.members += members;
      }
      if (slices.over) await slices.turn();
    }
  const ranked: TeamScore[] = [];
  for (const [team, sum] of sums) {
    const score = teamScore(board, sum);
    if (score > 0) ranked.push({ team, score, members: sum.members });
    if (slices.over) await slices.turn();
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

/**
 * How long a ranking is reused at least, for each of its teams: about a hundred times what ranking a team takes. 20,000 teams
 * are ranked at most every 8 s.
 */
const KEPT_MS_A_TEAM = 0.4;
const MOST_KEPT_MS = 10_000;

/** Rankings of teams that are reused. */
export const createKeptTeams = (): KeptResults<TeamStandings> =>
  new KeptResults({
    leastMs: ({ count }) => Math.min(KEPT_MS_A_TEAM * count, MOST_KEPT_MS),
    mostWeight: MOST_TEAMS_KEPT,
    weightOf: ({ count }) => count,
  });

/** The score of a team: the sum, or the mean cut to six decimals; 0 if too few members earned something. */
export function teamScore(
  { teamsBy, teamMinMembers }: Pick<Leaderboard, 'teamsBy' | 'teamMinMembers'>,
  { whole, micros, members }: TeamSum,
): number {
  if (members < Math.max(teamMinMembers ?? 1, 1)) return 0;
  const divisor = teamsBy === 'mean' ? members : 1;
  const sum = whole * 1e6 + micros;
  // The usual case, without large integers: millionths that a double represents exactly.
  if (Number.isSafeInteger(whole * 1e6) && Number.isSafeInteger(sum)) return (sum - (sum % divisor)) / divisor / 1e6;
  return decimalNumber(decimalOfMicros(microsOf({ whole, micros }) / BigInt(divisor)));
}

/** What a part of a tenant counts for each team. */
async function sumsOf(redis: Redis, key: string): Promise<Map<string, TeamSum>> {
  const sums = new Map<string, TeamSum>();
  let cursor = '0';
  do {
    // Teams without members count nothing.
    const [next, found] = await redis.hscan(key, cursor, 'MATCH', `${TEAM_SUM.members}*`, 'COUNT', SCANNED_AT_ONCE);
    // A scan may return a team twice.
    const teams: string[] = [];
    for (let at = 0; at < found.length; at += 2) {
      const team = found[at]!.slice(TEAM_SUM.members.length);
      if (!sums.has(team)) teams.push(team);
    }
    if (teams.length > 0) await readSums(redis, key, teams, sums);
    cursor = next;
  } while (cursor !== '0');
  return sums;
}

/** Adds the sums of some teams, each from one moment: a scan may return the three fields of a team from different ones. */
async function readSums(
  redis: Redis,
  key: string,
  teams: readonly string[],
  sums: Map<string, TeamSum>,
): Promise<void> {
  const { whole, micros, members } = TEAM_SUM;
  const counts = await redis.hmget(key, ...teams.flatMap((team) => [whole + team, micros + team, members + team]));
  const countAt = (at: number): number => Number(counts[at] ?? 0);
  for (const [nth, team] of teams.entries())
    sums.set(team, { whole: countAt(3 * nth), micros: countAt(3 * nth + 1), members: countAt(3 * nth + 2) });
}
