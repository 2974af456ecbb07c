/** Teams on a leaderboard: what their members earned while in them, in one run. */
import type { Redis } from 'ioredis';
import type { Leaderboard } from '../../domain/catalog.ts';
import { decimalNumber, decimalOfMicros, type Micros } from '../../domain/decimal.ts';
import { TEAM_SUM } from '../../packed/call-fields.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import { teamsKey } from '../../redis/keys.ts';
import { tenantParts } from '../../redis/parts.ts';
import type { RankedGroup } from './standings.ts';

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
  for (const [field, text] of parts.flat()) {
    const name = field.slice(1);
    let team = teams.get(name);
    if (team === undefined) teams.set(name, (team = { whole: 0n, micros: 0n, members: 0 }));
    if (field.startsWith(TEAM_SUM.whole)) team.whole += BigInt(text);
    else if (field.startsWith(TEAM_SUM.micros)) team.micros += BigInt(text);
    else team.members += Number(text);
  }
  return Array.from(teams).flatMap(([team, { whole, micros, members }]) => {
    const score = scoreOf(board, whole * 1_000_000n + micros, members);
    return score > 0n ? [{ team, score: decimalNumber(decimalOfMicros(score)), members }] : [];
  });
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
