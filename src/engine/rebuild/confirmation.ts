/** Confirms or dismisses suspects: reads both sides again while the outbox is stored. */
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { readUsers } from '../../postgres/users/stored-states.ts';
import { shardsWithEntries } from '../../redis/outbox.ts';
import { knownPart } from '../../redis/parts.ts';
import { isPersisted } from '../persist/cursor-wait.ts';
import { type BoardsOfTenants, stateOf, TeamSums } from './derived-keys.ts';

export interface Sides extends Servers {
  boards: BoardsOfTenants;
}

const USERS_A_PAGE = 1_000;

/** What several suspects read of Postgres, so that a round of `confirm` reads it once. */
class Round {
  private readonly teams = new Map<number, Promise<TeamSums>>();

  /** What users of a tenant earned for teams. Reads all of them. */
  teamsOf(sides: Sides, tenantNo: number): Promise<TeamSums> {
    let sums = this.teams.get(tenantNo);
    if (sums === undefined) this.teams.set(tenantNo, (sums = storedTeams(sides, tenantNo)));
    return sums;
  }
}

async function storedTeams({ redis, pool, boards }: Sides, tenantNo: number): Promise<TeamSums> {
  const sums = new TeamSums();
  for await (const page of readUsers(pool, USERS_A_PAGE, [tenantNo]))
    for (const user of page) sums.add(knownPart(redis, tenantNo, user.id), stateOf(user), await boards.of(tenantNo));
  return sums;
}

/** A value in Redis that differs from Postgres. */
export interface Difference {
  /** The Redis key. */
  key: string;
  /** The member, field or user; '' for the whole key. */
  part: string;
  redis: string;
  postgres: string;
}

/** A value that seemed different, and functions that read both sides again (`null` if there is no value). */
export interface Suspect {
  key: string;
  part: string;
  redis: () => Promise<string | null>;
  postgres: (round: Round) => Promise<string | null>;
}

interface Servers {
  redis: Redis;
  pool: Pool;
  shards: readonly number[];
}

const PATIENCE = { stillMs: 30_000, movingMs: 30_000 };
const TRIES = 10;

/** Postgres does not catch up with the outbox, so nothing can be compared. */
class NotStored extends Error {}

/** Resolves when Postgres holds everything that the outboxes of some shards held at the call. Throws NotStored after 30 s. */
export async function stored({ redis, pool, shards }: Servers): Promise<void> {
  const waiting = await shardsWithEntries(redis, shards);
  const reached = await Promise.all(waiting.map((shard) => isPersisted({ redis, pool }, shard, PATIENCE)));
  if (reached.includes(false)) throw new NotStored('The outbox is not being stored: is a worker running?');
}

/** The suspects that really differ while Redis did not change. A value that never rests counts as equal. */
export async function confirm(servers: Servers, suspects: readonly Suspect[]): Promise<Difference[]> {
  const differences: Difference[] = [];
  let open = [...suspects];
  for (let tries = 0; open.length > 0 && tries < TRIES; tries += 1) {
    const before = await Promise.all(open.map((suspect) => suspect.redis()));
    await stored(servers);
    const round = new Round();
    const again: Suspect[] = [];
    for (const [index, suspect] of open.entries()) {
      const expected = await suspect.postgres(round);
      const now = await suspect.redis();
      if (now === expected) continue;
      if (now !== before[index]) again.push(suspect);
      else
        differences.push({
          key: suspect.key,
          part: suspect.part,
          redis: now ?? 'nothing',
          postgres: expected ?? 'nothing',
        });
    }
    open = again;
  }
  return differences;
}
