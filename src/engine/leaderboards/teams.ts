/** Teams on a leaderboard: what their members earned while in them, in one run. */
import type { Redis } from 'ioredis';
import type { Leaderboard } from '../../domain/catalog.ts';
import { decimalNumber, decimalOfMicros, type Micros } from '../../domain/decimal.ts';
import { TEAM_SUM } from '../../packed/call-fields.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import { teamsKey } from '../../redis/keys.ts';
import { tenantParts } from '../../redis/parts.ts';
import { Slices } from '../../pacing/slices.ts';
import { inOwnTurn } from '../../pacing/turns.ts';
import { GivenStandings } from './given-standings.ts';
import { type RankedGroup } from './live-standings.ts';

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
 * The teams of a run that are ranked, in no order: those that earned more than 0 and have enough members. The sums are exact;
 * a mean is cut to six decimals. On a wide tenant, an event in between may count in one part and not in another.
 */
export async function teamScores(
  redis: Redis,
  board: Leaderboard,
  run: Omit<RankedGroup, 'group'>,
): Promise<TeamScore[]> {
  const teams = new Map<string, { whole: bigint; micros: bigint; members: number }>();
  const parts = await Promise.all(
    tenantParts(redis, run.tenantNo).map((part) => fieldsOf(connectionOf(redis, part.shard), teamsKey(part, run))),
  );
  const slices = new Slices();
  for (const [field, text] of parts.flat()) {
    if (slices.over) await slices.turn();
    const name = field.slice(1);
    let team = teams.get(name);
    if (team === undefined) teams.set(name, (team = { whole: 0n, micros: 0n, members: 0 }));
    if (field.startsWith(TEAM_SUM.whole)) team.whole += BigInt(text);
    else if (field.startsWith(TEAM_SUM.micros)) team.micros += BigInt(text);
    else team.members += Number(text);
  }
  const ranked: TeamScore[] = [];
  for (const [team, { whole, micros, members }] of teams) {
    if (slices.over) await slices.turn();
    const score = scoreOf(board, whole * 1_000_000n + micros, members);
    if (score > 0n) ranked.push({ team, score: decimalNumber(decimalOfMicros(score)), members });
  }
  return ranked;
}

/** The ranking of the teams of a run. */
export interface TeamStandings {
  /** Teams instead of users. */
  standings: GivenStandings;
  /** Number of members by team. */
  sizes: ReadonlyMap<string, number>;
}

/** Ranks teams, in slices. */
export async function teamStandings(teams: readonly TeamScore[], board: Leaderboard): Promise<TeamStandings> {
  const standings = await GivenStandings.of(
    teams.map(({ team, score }) => ({ userId: team, score })),
    board,
  );
  return { standings, sizes: new Map(teams.map(({ team, members }) => [team, members])) };
}

/** How long a ranking is reused, in multiples of the time that it took. */
const KEPT = 20;
/** Maximum number of teams in rankings that are kept, over all leaderboards: some 50 MB. */
const MOST_TEAMS_KEPT = 200_000;

/** Reuses rankings of teams: each is made at most a twentieth of the time, once for all requests that wait for it. */
export class KeptTeams {
  /** Oldest first, with the number of teams; 0 until it is known. */
  private readonly kept = new Map<string, { made: Promise<TeamStandings>; teams: number }>();

  /** The ranking that `rank` made for this name, a moment ago or now. Rejects as it does. */
  of(name: string, rank: () => Promise<TeamStandings>): Promise<TeamStandings> {
    let kept = this.kept.get(name);
    if (kept === undefined) {
      this.kept.set(name, (kept = { made: rank(), teams: 0 }));
      void this.forgetLater(name, kept);
    }
    return inOwnTurn(kept.made);
  }

  private async forgetLater(name: string, kept: { made: Promise<TeamStandings>; teams: number }): Promise<void> {
    const begunMs = performance.now();
    const forget = (): void => {
      if (this.kept.get(name) === kept) this.kept.delete(name);
    };
    try {
      kept.teams = (await kept.made).sizes.size;
      setTimeout(forget, KEPT * (performance.now() - begunMs)).unref();
      this.makeRoomFor(name);
    } catch {
      forget();
    }
  }

  private makeRoomFor(newest: string): void {
    let sum = 0;
    for (const { teams } of this.kept.values()) sum += teams;
    for (const [name, { teams }] of this.kept) {
      if (sum <= MOST_TEAMS_KEPT) return;
      if (teams === 0 || name === newest) continue;
      this.kept.delete(name);
      sum -= teams;
    }
  }
}

/** The score of a team, in millionths; 0 if it is not ranked. */
function scoreOf({ teamsBy, teamMinMembers }: Leaderboard, sum: Micros, members: number): Micros {
  if (members < Math.max(teamMinMembers ?? 1, 1)) return 0n;
  return teamsBy === 'mean' ? sum / BigInt(members) : sum;
}

async function fieldsOf(redis: Redis, key: string): Promise<[field: string, value: string][]> {
  if ((await redis.hlen(key)) <= MOST_AT_ONCE) return Object.entries(await redis.hgetall(key));
  const fields = new Map<string, string>();
  let cursor = '0';
  do {
    const [next, flat] = await redis.hscan(key, cursor, 'COUNT', MOST_AT_ONCE / 10);
    for (let at = 0; at < flat.length; at += 2) fields.set(flat[at]!, flat[at + 1]!);
    cursor = next;
  } while (cursor !== '0');
  return [...fields];
}
