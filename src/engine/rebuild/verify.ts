import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { readCursors, readSpreads } from '../../postgres/shards.ts';
import type { CohortPosition } from '../../postgres/boards/league-checks.ts';
import { readIdempotencyKeys, type UsedKey } from '../../postgres/used-keys.ts';
import { estimateRows, readUsers, tenantsOfShards } from '../../postgres/users/stored-states.ts';
import { compareProgress } from '../../redis/batches.ts';
import { scanServers } from '../../redis/endpoints.ts';
import { comparePositions, lastPosition, OUTBOX_START } from '../../redis/outbox.ts';
import {
  ALL_SHARDS_PATTERN,
  batchProgressKey,
  outboxKey,
  SHARD_NUMBERS,
  shardOfKey,
  shardPattern,
  tenantKey,
  type TenantPart,
} from '../../redis/keys.ts';
import { knownParts, noteSpreads } from '../../redis/parts.ts';
import { waitingKeys } from '../retention/waiting-keys.ts';
import { confirm, type Difference, type Sides, stored, type Suspect } from './confirmation.ts';
import {
  counterSuspect,
  differingCounters,
  lowGenerations,
  suspectPoints,
  suspectTeams,
  wholePartSuspects,
} from './suspects.ts';
import { missingUses } from './suspect-keys.ts';
import { compareUsers, type Noted, nothingNoted } from './compared-users.ts';
import { createBoardsOfTenants, totalsOf } from './derived-keys.ts';
import { suspectCohorts } from './suspect-leagues.ts';
import { suspectClaimCounts } from './suspect-rewards.ts';
import { superfluous } from './superfluous.ts';
import type { OnUnreadable } from './shard-filling.ts';

export interface VerifyProgress {
  step: 'users' | 'idempotency keys' | 'keys';
  done: number;
  total: number | null;
}

export interface VerifyOptions {
  redis: Redis;
  pool: Pool;
  shards?: readonly number[];
  onProgress?: (progress: VerifyProgress) => void;
  onDifference: (difference: Difference) => void;
  onUnreadable?: OnUnreadable;
}

const PAGE = 1_000;

/**
 * Compares everything that some shards of Redis hold with Postgres, key by key (`derived-keys.ts`) and in both
 * directions: missing, different and superfluous values. Events may arrive meanwhile: a value that differs only because
 * Postgres is behind is read again. Values that only Redis stores are not compared. Changes nothing; returns the number
 * of differences. Throws NotStored if no worker runs.
 */
export async function verify(options: VerifyOptions): Promise<number> {
  const { redis, pool, shards = SHARD_NUMBERS } = options;
  noteSpreads(redis, await readSpreads(pool));
  const tenants = shards.length === SHARD_NUMBERS.length ? null : await tenantsOfShards(pool, shards);
  const verification = new Verification(options, tenants);
  await verification.positions();
  await verification.users();
  await verification.idempotencyKeys();
  await verification.keys();
  await verification.wholeParts();
  await verification.pointsTotals();
  await verification.teamSums();
  await verification.claimCounts();
  await verification.cohorts();
  return verification.count;
}

/** One pass over both sides. Each step uses what the earlier ones noted. */
class Verification {
  count = 0;
  private readonly options: VerifyOptions;
  private readonly sides: Sides;
  /** The tenants of the shards; null for all. */
  private readonly tenants: readonly number[] | null;
  private readonly reported = new Set<string>();
  private readonly noted: Noted;
  /** The keys of hashes of teams in Redis. */
  private readonly teamKeys = new Set<string>();
  /** The parts of which Redis holds anything, and those of all tenants. */
  private readonly parts = new Map<string, TenantPart>();
  /** The keys of points systems' counts on either side. */
  private readonly points = new Set<string>();

  constructor(options: VerifyOptions, tenants: readonly number[] | null) {
    const { redis, pool, shards = SHARD_NUMBERS } = options;
    this.options = options;
    this.tenants = tenants;
    this.noted = nothingNoted(pool);
    this.sides = { redis, pool, shards, boards: createBoardsOfTenants(pool) };
  }

  /** Checks that Redis is not older than Postgres, then waits until the outbox is stored. */
  async positions(): Promise<void> {
    for (const difference of await behindPostgres(this.sides)) this.report(difference);
    await stored(this.sides);
  }

  async users(): Promise<void> {
    const { pool, onProgress, onUnreadable } = this.options;
    const { tenants, sides, noted } = this;
    const total = tenants === null ? await estimateRows(pool, 'users') : null;
    let done = 0;
    for await (const page of readUsers(pool, PAGE, tenants)) {
      const { suspects, readable, unreadable } = await compareUsers(sides, page, noted);
      for (const user of unreadable) onUnreadable?.(user);
      for (const { part, state } of readable) {
        for (const [key, counted] of totalsOf(part, state)) {
          this.points.add(key);
          for (const field of counted) noted.members.note(key, field);
        }
      }
      await this.settle(suspects);
      done += page.length;
      onProgress?.({ step: 'users', done, total: total && Math.max(total, done) });
    }
  }

  /** Every used idempotency key is in Redis, hot or old. */
  async idempotencyKeys(): Promise<void> {
    const { redis, pool, onProgress } = this.options;
    let done = 0;
    await readIdempotencyKeys(pool, PAGE, this.tenants, async (used) => {
      await this.areUsed(used);
      done += used.length;
      onProgress?.({ step: 'idempotency keys', done, total: null });
    });
    const isWanted = (shard: number): boolean => this.sides.shards.includes(shard);
    for await (const used of waitingKeys({ redis, pool }, isWanted)) await this.areUsed([used]);
  }

  private async areUsed(used: readonly UsedKey[]): Promise<void> {
    await this.settle(await missingUses(this.sides, used, (key) => this.noted.generations.of(key)));
  }

  async keys(): Promise<void> {
    const { redis, onProgress } = this.options;
    const { shards } = this.sides;
    const own = new Set(shards);
    const pattern = shards.length === 1 ? shardPattern(shards[0]!) : ALL_SHARDS_PATTERN;
    let done = 0;
    let cursor = '0';
    do {
      const [next, found] = await scanServers(redis, cursor, { match: pattern, count: PAGE, shards });
      const keys = found.filter((key) => own.has(shardOfKey(key)));
      await this.settle(await superfluous(this.sides, keys, this.noted.members));
      for (const key of keys) {
        const of = tenantKey(key);
        if (of !== null) this.notePart(of);
        if (of?.kind === 'points') this.points.add(key);
        if (of?.kind === 'teams') this.teamKeys.add(key);
      }
      done += keys.length;
      onProgress?.({ step: 'keys', done, total: null });
      cursor = next;
    } while (cursor !== '0');
  }

  /** Each part's counters, events in quarantine and merged users. Redis may hold parts that no tenant has. */
  async wholeParts(): Promise<void> {
    const { redis, pool } = this.options;
    const { sides, parts } = this;
    for (const tenantNo of await tenantsOfShards(pool, sides.shards))
      for (const part of knownParts(redis, tenantNo)) if (sides.shards.includes(part.shard)) this.notePart(part);
    for (const part of parts.values()) {
      const fields = await differingCounters(sides, part);
      const counters = fields.map((field) => counterSuspect(sides, part, field));
      await this.settle([...counters, ...wholePartSuspects(sides, part)]);
    }
    for (const difference of await lowGenerations(redis, this.noted.generations)) this.report(difference);
  }

  private notePart({ tenantNo, shard }: TenantPart): void {
    this.parts.set(`${tenantNo}:${shard}`, { tenantNo, shard });
  }

  /** The number of users with each total of points, in both directions. */
  async pointsTotals(): Promise<void> {
    for (const key of this.points) await this.settle(await suspectPoints(this.sides, key, this.noted.members));
  }

  /** What each run's teams earned, in both directions. */
  async teamSums(): Promise<void> {
    const keys = new Set([...this.teamKeys, ...this.noted.teams.hashes.keys()]);
    await this.settle(await suspectTeams(this.sides, keys, this.noted.teams));
  }

  /** How many claims each reward has. */
  async claimCounts(): Promise<void> {
    await this.settle(await suspectClaimCounts(this.sides, this.tenants));
  }

  /** The cohorts of leagues, page by page. */
  async cohorts(): Promise<void> {
    let after: CohortPosition | null = null;
    do {
      const { suspects, next } = await suspectCohorts(this.sides, this.tenants, after);
      await this.settle(suspects);
      after = next;
    } while (after !== null);
  }

  private async settle(suspects: readonly Suspect[]): Promise<void> {
    for (const difference of await confirm(this.sides, suspects)) this.report(difference);
  }

  private report(difference: Difference): void {
    const name = `${difference.key}\0${difference.part}`;
    // Otherwise each member of an unlisted group would report it.
    if (this.reported.has(name)) return;
    this.reported.add(name);
    this.count += 1;
    this.options.onDifference(difference);
  }
}

/** Shards whose outbox, or whose progress of batches, ends before the position that Postgres holds. */
export async function behindPostgres(sides: Pick<Sides, 'redis' | 'pool' | 'shards'>): Promise<Difference[]> {
  const { redis, pool, shards } = sides;
  const differences: Difference[] = [];
  // Postgres first: Redis is ahead of it, and moves on.
  const { cursors } = await readCursors(pool);
  for (const shard of shards) {
    const { position, batchProgress } = cursors[shard]!;
    const last = await lastPosition(redis, shard);
    if (comparePositions(last, position) < 0) {
      differences.push({
        key: outboxKey(shard),
        part: '',
        redis: last === OUTBOX_START ? 'nothing' : last,
        postgres: position,
      });
    }
    const inRedis = await redis.get(batchProgressKey(shard));
    if (compareProgress(inRedis ?? '', batchProgress) < 0) {
      differences.push({
        key: batchProgressKey(shard),
        part: '',
        redis: inRedis ?? 'nothing',
        postgres: batchProgress,
      });
    }
  }
  return differences;
}
