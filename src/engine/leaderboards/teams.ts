/** Teams on a leaderboard: what their members earned while in them, in one run. */
import type { Redis } from 'ioredis';
import type { Leaderboard } from '../../domain/catalog.ts';
import { decimalNumber, decimalOfMicros, type Micros } from '../../domain/decimal.ts';
import { TEAM_SUM } from '../../packed/call-fields.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import { teamsKey } from '../../redis/keys.ts';
import { tenantParts } from '../../redis/parts.ts';
import { KeptResults } from '../../pacing/kept-results.ts';
import { mappedInSlices, Slices } from '../../pacing/slices.ts';
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
  for (const fields of parts)
    for (const [field, text] of fields) {
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
  const members = await mappedInSlices(teams, ({ team, score }) => ({ userId: team, score }));
  const standings = await GivenStandings.of(members, board);
  const sizes = new Map<string, number>();
  const slices = new Slices();
  for (const { team, members } of teams) {
    sizes.set(team, members);
    if (slices.over) await slices.turn();
  }
  return { standings, sizes };
}

/** Maximum number of teams in rankings that are kept, over all leaderboards: some 50 MB. */
const MOST_TEAMS_KEPT = 200_000;

/** Rankings of teams that are reused. */
export const createKeptTeams = (): KeptResults<TeamStandings> =>
  new KeptResults({ mostWeight: MOST_TEAMS_KEPT, weightOf: ({ sizes }) => sizes.size });

/** The score of a team, in millionths; 0 if it is not ranked. */
function scoreOf({ teamsBy, teamMinMembers }: Leaderboard, sum: Micros, members: number): Micros {
  if (members < Math.max(teamMinMembers ?? 1, 1)) return 0n;
  return teamsBy === 'mean' ? sum / BigInt(members) : sum;
}

async function fieldsOf(redis: Redis, key: string): Promise<ReadonlyMap<string, string>> {
  const fields = new Map<string, string>();
  const slices = new Slices();
  const add = async (flat: readonly string[]): Promise<void> => {
    for (let at = 0; at < flat.length; at += 2) {
      fields.set(flat[at]!, flat[at + 1]!);
      if (slices.over) await slices.turn();
    }
  };
  if ((await redis.hlen(key)) <= MOST_AT_ONCE) {
    // Not `hgetall`, which would make an object of so many fields in one go.
    await add((await redis.call('HGETALL', key)) as string[]);
    return fields;
  }
  let cursor = '0';
  do {
    const [next, flat] = await redis.hscan(key, cursor, 'COUNT', MOST_AT_ONCE / 10);
    await add(flat);
    cursor = next;
  } while (cursor !== '0');
  return fields;
}
