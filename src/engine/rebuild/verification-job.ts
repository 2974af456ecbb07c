/** The job of a verification, slice by slice. */
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import { MOST_DIFFERENCES } from '../../domain/administration/verification.ts';
import type { CohortPosition } from '../../postgres/boards/league-checks.ts';
import { resourceNumbers } from '../../postgres/catalog.ts';
import { type UsedKey, usedKeysAfter } from '../../postgres/used-keys.ts';
import { countUsers, usersAfter } from '../../postgres/users/selections.ts';
import { estimateRows, storedStates } from '../../postgres/users/stored-states.ts';
import { noteDifferences, type VerificationJob } from '../../postgres/verifications.ts';
import { byServer, scanServers } from '../../redis/endpoints.ts';
import { pointsKey, shardOfKey, tenantKey, tenantPattern, userKey } from '../../redis/keys.ts';
import { knownPart, knownParts, tenantParts } from '../../redis/parts.ts';
import { readRedisProcessId } from '../../redis/server-info.ts';
import { whileWhole } from '../persist/cursor-wait.ts';
import { waitingKeys } from '../retention/waiting-keys.ts';
import type { JobWork, RecordSlice } from '../schedule/job-runner.ts';
import { compareUsers, nothingNoted } from './compared-users.ts';
import { createBoardsOfTenants, readState } from './derived-keys.ts';
import { shownDifference } from './shown-difference.ts';
import { suspectCohorts } from './suspect-leagues.ts';
import { suspectClaimCounts } from './suspect-rewards.ts';
import { hotUses, type HotUse, superfluousKeys, superfluousMembers, usesWithoutEvent } from './superfluous.ts';
import { confirm, type Difference, type Sides, stored, type Suspect } from './confirmation.ts';
import {
  counterSuspect,
  differingCounters,
  lowGenerations,
  suspectPoints,
  teamsSuspect,
  wholePartSuspects,
} from './suspects.ts';
import { missingUses } from './suspect-keys.ts';
import { SetMembers } from './set-members.ts';
import { behindPostgres } from './verify.ts';

/** Users of Postgres in a slice. Each is compared with its state and its places in Redis. */
const USERS_A_SLICE = 200;
/** Used keys of Postgres in a slice, those of other tenants included. */
const USES_A_SLICE = 1_000;
/** Keys that one SCAN looks at, and the most that a slice looks at. */
const KEYS_A_SCAN = 1_000;
const KEYS_A_SLICE = 10_000;
/** Keys of the tenant after which a slice stops looking for more. */
const KEYS_FOUND = 500;
/** Members of sets and fields of hashes in a slice. */
const MEMBERS_A_SLICE = 1_000;
/** Counters that differ, in a slice. Counting completions reads all of them, several times while they change. */
const COUNTERS_A_SLICE = 10;

/** Where a verification continues: a step, and the position in it (`''`: its beginning). */
interface Position {
  step: 'users' | 'used keys' | 'keys' | 'counters' | 'points' | 'cohorts' | 'rest';
  at: string;
}

const cursorOf = ({ step, at }: Position): string => `${step}:${at}`;
const positionOf = (cursor: string): Position => {
  const colon = cursor.indexOf(':');
  return { step: cursor.slice(0, colon) as Position['step'], at: cursor.slice(colon + 1) };
};

/** Position among the keys in Redis. SCAN's cursor is valid in one Redis process only. */
interface KeysPosition {
  redisProcessId: string;
  scan: string;
  /** Whether SCAN has returned all keys. */
  isEnd: boolean;
  /** Sets and hashes whose contents are not compared yet, each with its cursor. */
  open: [key: string, cursor: string][];
}

/** What a slice found. */
interface Compared {
  /** `null`: everything is compared. */
  next: Position | null;
  /** Users, used keys and keys compared. */
  done: number;
  suspects?: readonly Suspect[];
  /** Differences that need no second read. */
  differences?: readonly Difference[];
  total?: number;
}

/**
 * Compares what Redis holds of a tenant with Postgres, in both directions, like `verify`; changes nothing. A slice remembers
 * nothing but its position, so a crash or another worker continues there. It therefore finds superfluous members of sets
 * by their users' states, where `verify` compares sums. Waits while a shard of the tenant is not complete.
 */
export class Verifying implements JobWork<VerificationJob> {
  readonly kinds = ['verification'] as const;
  readonly title = 'verification';
  readonly rests = true;
  private readonly redis: Redis;
  private readonly pool: Pool;
  private readonly clock: Clock;

  constructor(redis: Redis, pool: Pool, clock: Clock) {
    this.redis = redis;
    this.pool = pool;
    this.clock = clock;
  }

  async slice(job: VerificationJob, record: RecordSlice): Promise<void> {
    const { redis, pool, clock } = this;
    const shards = tenantParts(redis, job.tenantNo).map(({ shard }) => shard);
    const sides: Sides = { redis, pool, shards, boards: createBoardsOfTenants(pool) };
    const { compared, found } = await whileWhole(pool, { redis, tenantNo: job.tenantNo }, async () => {
      const compared = await this.compare(sides, job);
      const confirmed = await confirm(sides, compared.suspects ?? []);
      return { compared, found: [...(compared.differences ?? []), ...confirmed].map(shownDifference) };
    });
    const { next, done, total = job.total ?? 0 } = compared;
    await record(async (client) => {
      const isEnd = (await noteDifferences(client, job, found)) >= MOST_DIFFERENCES || next === null;
      const all = job.done + done;
      return {
        done,
        total: isEnd ? all : Math.max(total, all),
        ...(next !== null && { cursor: cursorOf(next) }),
        ...(isEnd && { end: 'done', nowMs: clock.now() }),
      };
    });
  }

  private async compare(sides: Sides, job: VerificationJob): Promise<Compared> {
    if (job.cursor === '') return this.begin(sides, job);
    const { step, at } = positionOf(job.cursor);
    switch (step) {
      case 'users':
        return this.users(sides, job, at);
      case 'used keys':
        return this.usedKeys(sides, job, at);
      case 'keys':
        return this.keys(sides, job, at);
      case 'counters':
        return this.counters(sides, job, at);
      case 'points':
        return this.points(sides, job, at);
      case 'cohorts':
        return this.cohorts(sides, job, at);
      case 'rest':
        return this.rest(sides, job);
    }
  }

  /** Estimates the work, and checks that Redis is not older than Postgres. */
  private async begin(sides: Sides, { tenantNo }: VerificationJob): Promise<Compared> {
    const { redis, pool } = this;
    const [users, usedKeys, keys] = await Promise.all([
      countUsers(pool, tenantNo),
      estimateRows(pool, 'used_keys'),
      Promise.all(byServer(redis, sides.shards).map((server) => server.redis.dbsize())),
    ]);
    const differences = await behindPostgres(sides);
    // Otherwise each value that waits in the outbox would be read twice.
    await stored(sides);
    return {
      next: { step: 'users', at: '' },
      done: 0,
      total: users + usedKeys + keys.reduce((sum, each) => sum + each, 0),
      differences,
    };
  }

  /** The states of users, their places on leaderboards, and the generation of new users. */
  private async users(sides: Sides, { tenantNo }: VerificationJob, after: string): Promise<Compared> {
    const users = await usersAfter(this.pool, tenantNo, after, USERS_A_SLICE);
    const noted = nothingNoted(this.pool);
    const named = users.map(({ id, state }) => ({ tenantNo, id, state }));
    const { suspects, unreadable } = await compareUsers(sides, named, noted);
    const differences = unreadable.map(({ id }): Difference => {
      const key = userKey(knownPart(this.redis, tenantNo, id), id);
      return { key, part: '', redis: 'not compared', postgres: 'cannot be read' };
    });
    differences.push(...(await lowGenerations(this.redis, noted.generations)));
    // Existing hashes are found among the keys.
    for (const key of noted.teams.hashes.keys())
      if ((await this.redis.exists(key)) === 0) suspects.push(teamsSuspect(sides, key));
    // Users that come meanwhile need not be compared.
    const isEnd = users.length < USERS_A_SLICE;
    return {
      next: isEnd ? { step: 'used keys', at: '' } : { step: 'users', at: users.at(-1)!.id },
      done: users.length,
      suspects,
      differences,
    };
  }

  /** Used idempotency keys: those of stored events first, at the end those of events in dead letters. */
  private async usedKeys(sides: Sides, { tenantNo }: VerificationJob, after: string): Promise<Compared> {
    const { redis, pool } = this;
    const page = await usedKeysAfter(pool, after, USES_A_SLICE);
    const own = page.filter((used) => used.tenantNo === tenantNo);
    const isEnd = page.length < USES_A_SLICE;
    if (isEnd) {
      const isOwn = (shard: number): boolean => sides.shards.includes(shard);
      for await (const used of waitingKeys({ redis, pool }, isOwn)) if (used.tenantNo === tenantNo) own.push(used);
    }
    const states = await storedStates(pool, tenantNo, [...new Set(own.map(({ userId }) => userId))]);
    const generationOf = ({ userId }: UsedKey): number | undefined => {
      const state = states.get(userId);
      return state === undefined ? undefined : (readState({ state })?.generation ?? undefined);
    };
    return {
      next: isEnd ? { step: 'keys', at: '' } : { step: 'used keys', at: page.at(-1)!.eventId },
      done: page.length,
      suspects: await missingUses(sides, own, generationOf),
    };
  }

  /** The other direction: what Redis holds and Postgres does not. */
  private async keys(sides: Sides, job: VerificationJob, at: string): Promise<Compared> {
    const servers = byServer(this.redis, sides.shards);
    const processIds = await Promise.all(servers.map((server) => readRedisProcessId(server.redis)));
    const redisProcessId = processIds.join();
    const before = at === '' ? null : (JSON.parse(at) as KeysPosition);
    const position: KeysPosition =
      before?.redisProcessId === redisProcessId ? before : { redisProcessId, scan: '0', isEnd: false, open: [] };
    const { done, suspects } =
      position.open.length > 0
        ? { done: 0, suspects: await this.contents(sides, position.open) }
        : await this.nextKeys(sides, job, position);
    const isEnd = position.isEnd && position.open.length === 0;
    return {
      next: isEnd ? { step: 'counters', at: '' } : { step: 'keys', at: JSON.stringify(position) },
      done,
      suspects,
    };
  }

  /** Looks for more keys of the tenant, and moves the position. */
  private async nextKeys(
    sides: Sides,
    { tenantNo, done: doneBefore, total }: VerificationJob,
    position: KeysPosition,
  ): Promise<{ done: number; suspects: Suspect[] }> {
    const { shards } = sides;
    const match = tenantPattern(tenantNo);
    const keys: string[] = [];
    let done = 0;
    do {
      const scan = { match, count: KEYS_A_SCAN, shards };
      const [next, found] = await scanServers(this.redis, position.scan, scan);
      keys.push(...found.filter((key) => shards.includes(shardOfKey(key))));
      done += KEYS_A_SCAN;
      position.scan = next;
      position.isEnd = next === '0';
    } while (!position.isEnd && done < KEYS_A_SLICE && keys.length < KEYS_FOUND);
    const suspects = await superfluousKeys(sides, keys);
    const systems = new Set(await resourceNumbers(this.pool, tenantNo, 'points_system'));
    for (const key of keys) {
      const { kind, rest } = tenantKey(key) ?? {};
      if (kind === 'board' || kind === 'idempotency keys') position.open.push([key, '0']);
      if (kind === 'teams') suspects.push(teamsSuspect(sides, key));
      if (kind === 'points' && !systems.has(Number(rest)))
        suspects.push(...(await suspectPoints(sides, key, new SetMembers())));
    }
    // A SCAN near the end looks at fewer keys.
    return { done: Math.min(done, Math.max(0, total! - doneBefore)), suspects };
  }

  /** Members of boards and used idempotency keys, as many as fit into a slice; removes what it finished from `open`. */
  private async contents(sides: Sides, open: KeysPosition['open']): Promise<Suspect[]> {
    const suspects: Suspect[] = [];
    const uses: HotUse[] = [];
    let left = MEMBERS_A_SLICE;
    while (open.length > 0 && left > 0) {
      const first = open[0]!;
      const [key, cursor] = first;
      const isBoard = tenantKey(key)?.kind === 'board';
      const [next, flat] = isBoard
        ? await sides.redis.zscan(key, cursor, 'COUNT', left)
        : await sides.redis.hscan(key, cursor, 'COUNT', left);
      if (isBoard) {
        const ids = flat.filter((_, index) => index % 2 === 0);
        suspects.push(...(await superfluousMembers(sides, key, ids)));
      } else uses.push(...hotUses(key, flat));
      left -= 1 + flat.length / 2;
      if (next === '0') open.shift();
      else first[1] = next;
    }
    return [...suspects, ...(await usesWithoutEvent(sides, uses))];
  }

  /** The counters of users, and of the completions of each achievement, in the order of their names. */
  private async counters(sides: Sides, { tenantNo }: VerificationJob, after: string): Promise<Compared> {
    const parts = knownParts(this.redis, tenantNo);
    const fields = await Promise.all(parts.map((part) => differingCounters(sides, part)));
    // A character for the part, so that the order of names is that of parts.
    const differing = fields
      .flatMap((some, index) =>
        some.map((field) => ({ name: `${String.fromCharCode(256 + index)}${field}`, part: parts[index]!, field })),
      )
      .filter(({ name }) => name > after);
    const now = differing.slice(0, COUNTERS_A_SLICE);
    return {
      next: now.length < differing.length ? { step: 'counters', at: now.at(-1)!.name } : { step: 'points', at: '' },
      done: 0,
      suspects: now.map(({ part, field }) => counterSuspect(sides, part, field)),
    };
  }

  /** How many users have each total, one points system a slice. */
  private async points(sides: Sides, { tenantNo }: VerificationJob, after: string): Promise<Compared> {
    const systems = await resourceNumbers(this.pool, tenantNo, 'points_system');
    const next = systems.find((no) => no > Number(after));
    if (next === undefined) return { next: { step: 'cohorts', at: '' }, done: 0 };
    const suspects: Suspect[] = [];
    for (const part of knownParts(this.redis, tenantNo))
      suspects.push(...(await suspectPoints(sides, pointsKey(part, next), new SetMembers())));
    return { next: { step: 'points', at: String(next) }, done: 0, suspects };
  }

  /** Cohorts of leagues, a page a slice. */
  private async cohorts(sides: Sides, { tenantNo }: VerificationJob, at: string): Promise<Compared> {
    const after = at === '' ? null : (JSON.parse(at) as CohortPosition);
    const { suspects, next } = await suspectCohorts(sides, [tenantNo], after);
    const rest: Position = { step: 'rest', at: '' };
    return { next: next === null ? rest : { step: 'cohorts', at: JSON.stringify(next) }, done: 0, suspects };
  }

  /** Events in quarantine, merged users, and counts of claims. */
  private async rest(sides: Sides, { tenantNo }: VerificationJob): Promise<Compared> {
    const parts = knownParts(this.redis, tenantNo);
    const suspects = parts.flatMap((part) => wholePartSuspects(sides, part));
    return { next: null, done: 0, suspects: [...suspects, ...(await suspectClaimCounts(sides, [tenantNo]))] };
  }
}
