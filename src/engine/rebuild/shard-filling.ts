import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { COUNTER } from '../../packed/call-fields.ts';
import { waitingEvents, waitingTenants } from '../../postgres/corrections/quarantine.ts';
import { readAgeing, readIdempotencyKeys } from '../../postgres/used-keys.ts';
import { estimateRows, readUsers, type StoredUser, tenantsOfShards } from '../../postgres/users/stored-states.ts';
import type { Belief } from '../../redis/gate.ts';
import { packedUse, UNKNOWN_BODY, USED } from '../../redis/idempotency.ts';
import { readAliases, tenantsWithMerges } from '../../postgres/users/merges.ts';
import {
  aliasesKey,
  countersKey,
  oldKeysKey,
  quarantineKey,
  SHARD_NUMBERS,
  shardOfKey,
  type TenantPart,
  userKey,
} from '../../redis/keys.ts';
import { isConverting, knownPart, knownParts } from '../../redis/parts.ts';
import { type BucketKeys, loadOldKeys } from '../../redis/old-keys.ts';
import { scriptNamed } from '../../redis/script.ts';
import { waitingKeys } from '../retention/waiting-keys.ts';
import {
  createBoardsOfTenants,
  bucketOf,
  countersOf,
  Generations,
  placesOf,
  quarantineOf,
  readState,
  TeamSums,
  totalsOf,
} from './derived-keys.ts';
import { addTo } from '../../grouped.ts';

/**
 * Called for each user whose stored state cannot be read. The state is loaded unchanged, since no other source has it.
 * The user is on no leaderboard and in no count, and each call for the user fails until the user is deleted or a
 * readable state is stored.
 */
export type OnUnreadable = (user: { tenantNo: number; id: string }) => void;

interface FillOptions {
  redis: Redis;
  pool: Pool;
  loaders: Loaders;
  report: (progress: { step: 'users' | 'idempotency keys'; done: number; total: number | null }) => Promise<void>;
  onUnreadable: OnUnreadable;
  /** Only these tenants, although they are being converted; default: all others. */
  tenants?: readonly number[];
}

const USERS_A_PAGE = 2_000;
const KEYS_A_PAGE = 5_000;
/** Number of old keys to collect before they are loaded. Those of a bucket form one segment, which is then written once. */
const OLD_AT_ONCE = 200_000;

/** Fills empty shards from Postgres. Throws errors of Redis, of Postgres and of `Loader`. */
export async function fillShards(options: FillOptions): Promise<void> {
  const { pool, loaders } = options;
  const isAll = loaders.size === SHARD_NUMBERS.length;
  const { tenants = isAll ? null : await tenantsOfShards(pool, [...loaders.keys()]) } = options;
  const filling = createFilling(options, tenants);
  await filling.loadUsers();
  await filling.loadIdempotencyKeys();
  await filling.loadQuarantine();
  await filling.loadAliases();
}

function createFilling(options: FillOptions, tenants: readonly number[] | null) {
  const { onUnreadable, loaders, redis, pool, report } = options;
  const generations = new Generations();
  const teams = new TeamSums();
  /** The tenants of the shards; null for all. */

  const boardsOfTenants = createBoardsOfTenants(options.pool);
  const counts = new Counts(options.loaders);

  /** All users, their places in sorted sets, and the counts. */
  async function loadUsers(): Promise<void> {
    const total = tenants === null ? await estimateRows(pool, 'users') : null;
    let done = 0;
    for await (const page of readUsers(pool, USERS_A_PAGE, tenants)) {
      const byPart = new Map<TenantPart, StoredUser[]>();
      for (const user of page) {
        if (isLeftOut(user.tenantNo)) continue;
        const part = knownPart(redis, user.tenantNo, user.id);
        if (!loaders.has(part.shard)) continue;
        addTo(byPart, part, user);
      }
      for (const [part, users] of byPart) await loadPage(part, users);
      await counts.relieve();
      done += page.length;
      await report({ step: 'users', done, total: total && Math.max(total, done) });
    }
    await counts.load();
    for (const [key, sums] of teams.hashes) {
      const fields = Array.from(sums, ([field, sum]) => [field, String(sum)]).flat();
      await loaders.get(shardOfKey(key))!.addPairs(['HSET', key], fields);
    }
    for (const [key, generation] of generations.youngest)
      await loaders.get(shardOfKey(key))!.add(['HSET', key, COUNTER.generation, String(generation)]);
    await flushed(loaders);
  }

  async function loadPage(part: TenantPart, users: readonly StoredUser[]): Promise<void> {
    const loader = loaderOf(part)!;
    const boards = await boardsOfTenants.of(part.tenantNo);
    const states: (string | Buffer)[] = [];
    const sets = new Map<string, string[]>();
    const groups = new Map<string, Set<string>>();
    for (const user of users) {
      states.push(userKey(part, user.id), user.state);
      const state = readState(user);
      if (state === null) {
        onUnreadable(user);
        continue;
      }
      generations.note(part, user.id, state);
      for (const { key, member, score, listedIn } of placesOf(part, user.id, state, boards)) {
        addTo(sets, key, score, member);
        if (listedIn !== null) groups.set(listedIn.key, (groups.get(listedIn.key) ?? new Set()).add(listedIn.group));
      }
      teams.add(part, state, boards);
      counts.add(countersKey(part), countersOf(state));
      for (const [key, fields] of totalsOf(part, state)) counts.add(key, fields);
    }
    await loader.addPairs(['MSET'], states);
    for (const [key, members] of sets) await loader.addPairs(['ZADD', key], members);
    for (const [key, listed] of groups) await loader.addPairs(['SADD', key], [...listed]);
  }

  /** All used idempotency keys, including those of events in dead letters. Old ones are loaded in the compact form. */
  async function loadIdempotencyKeys(): Promise<void> {
    const { beforeMs } = await readAgeing(pool);
    const loadHot = async ({ tenantNo, key, field, value }: ReturnType<typeof bucketOf>): Promise<void> => {
      const part = { tenantNo, shard: shardOfKey(key) };
      await loaderOf(part)?.add([USED.note, oldKeysKey(part), key, field, packedUse(value, UNKNOWN_BODY)]);
    };
    let done = 0;
    let old = new Map<string, BucketKeys>();
    let collected = 0;
    const loadOld = async (): Promise<void> => {
      await loadOldKeys(redis, [...old.values()], (shard) => loaders.get(shard)!.belief);
      old = new Map();
      collected = 0;
    };
    await readIdempotencyKeys(pool, KEYS_A_PAGE, tenants, async (keys) => {
      for (const used of keys) {
        const bucket = bucketOf(redis, used, generations.of(used));
        const { tenantNo, key, field } = bucket;
        if (!loaders.has(shardOfKey(key)) || isLeftOut(tenantNo)) continue;
        if (Number(bucket.value) >= beforeMs) {
          await loadHot(bucket);
          continue;
        }
        const together = old.get(key);
        if (together === undefined) old.set(key, { tenantNo, bucket: key, fields: [field] });
        else together.fields.push(field);
        collected += 1;
      }
      if (collected >= OLD_AT_ONCE) await loadOld();
      done += keys.length;
      await report({ step: 'idempotency keys', done, total: null });
    });
    await loadOld();
    // Even old ones: the compact form relies on the event in Postgres.
    for await (const used of waitingKeys({ redis, pool }, (shard) => loaders.has(shard)))
      await loadHot(bucketOf(redis, used, generations.of(used)));
    await flushed(loaders);
  }

  async function loadQuarantine(): Promise<void> {
    for (const tenantNo of await waitingTenants(pool)) {
      const parts = knownParts(redis, tenantNo).filter(({ shard }) => loaders.has(shard));
      if (parts.length === 0 || isLeftOut(tenantNo)) continue;
      const events = await waitingEvents(pool, tenantNo);
      for (const part of parts) {
        const own = events.filter(({ userId }) => knownPart(redis, tenantNo, userId) === part);
        await loaderOf(part)!.addPairs(['HSET', quarantineKey(part)], [...quarantineOf(own)].flat());
      }
    }
    await flushed(loaders);
  }

  /** The IDs that stand for other users. Reads look for them only in parts whose new users have a generation. */
  async function loadAliases(): Promise<void> {
    for (const tenantNo of await tenantsWithMerges(pool)) {
      if (isLeftOut(tenantNo)) continue;
      for await (const page of readAliases(pool, tenantNo)) {
        for (const { oldId, userId } of page) {
          const part = knownPart(redis, tenantNo, oldId);
          const loader = loaders.get(part.shard);
          if (loader === undefined) continue;
          await loader.add(['HSET', aliasesKey(part), oldId, userId]);
          const counters = countersKey(part);
          if (!generations.youngest.has(counters)) await loader.add(['HSET', counters, COUNTER.generation, '1']);
        }
      }
    }
    await flushed(loaders);
  }

  /** A rebuild leaves a tenant that is being converted to its conversion. */
  function isLeftOut(tenantNo: number): boolean {
    const { redis, tenants } = options;
    return tenants === undefined ? isConverting(redis, tenantNo) : !tenants.includes(tenantNo);
  }

  /** `undefined` for a part whose shard is not filled. */
  function loaderOf({ shard }: TenantPart): Loader | undefined {
    return loaders.get(shard);
  }

  return { loadUsers, loadIdempotencyKeys, loadQuarantine, loadAliases };
}

/** Number of counts to collect before they are loaded, since there may be as many point totals as users. */
const COLLECTED = 100_000;

class Counts {
  private readonly loaders: Loaders;
  private readonly keys = new Map<string, Map<string, number>>();
  private size = 0;

  constructor(loaders: Loaders) {
    this.loaders = loaders;
  }

  add(key: string, fields: readonly string[]): void {
    let counts = this.keys.get(key);
    if (counts === undefined) this.keys.set(key, (counts = new Map()));
    for (const field of fields) {
      const count = counts.get(field);
      if (count === undefined) this.size += 1;
      counts.set(field, (count ?? 0) + 1);
    }
  }

  async relieve(): Promise<void> {
    if (this.size >= COLLECTED) await this.load();
  }

  async load(): Promise<void> {
    for (const [key, counts] of this.keys) {
      const loader = this.loaders.get(shardOfKey(key))!;
      for (const [field, count] of counts) await loader.add(['HINCRBY', key, field, String(count)]);
    }
    this.keys.clear();
    this.size = 0;
  }
}

/** Pairs of one command. */
const MAX_PAIRS = 500;
/** Words of one call. Redis answers others in between: ten times as many words saved no time, and doubled their p99. */
const MAX_WORDS = 2_000;
/** Words that all loaders of a rebuild hold together: memory must not grow with the number of shards. */
const MAX_WAITING = 200_000;

/** The rebuild must not continue: another one has begun, or the Redis process has changed. */
export class RebuildOvertaken extends Error {}

type Word = string | Buffer;

/** Writes to one shard for a rebuild, many commands in a call. Throws RedisNotReady after another rebuild. */
export class Loader {
  /** Shared by the loaders of all shards, so that an empty Redis receives the library once. */
  private readonly script = scriptNamed('load_rebuilt');
  private readonly redis: Redis;
  private readonly maxWords: number;
  /** Proof that this rebuild is the current one of the shard (`rebuildingKey`). */
  readonly belief: Belief;
  private words: Word[] = [];
  private sending: Promise<void> = Promise.resolve();

  /** `beside`: number of other loaders that work at the same time. */
  constructor({ redis, belief, beside = 0 }: { redis: Redis; belief: Belief; beside?: number }) {
    this.redis = redis;
    this.maxWords = Math.min(MAX_WORDS, Math.ceil(MAX_WAITING / (beside + 1)));
    this.belief = belief;
  }

  /** Adds a command with any number of pairs after its first words (MSET, ZADD, HSET). Resolves when there is room for more. */
  async addPairs(head: Word[], pairs: Word[]): Promise<void> {
    for (let at = 0; at < pairs.length; at += MAX_PAIRS * 2) {
      await this.add([...head, ...pairs.slice(at, at + MAX_PAIRS * 2)]);
    }
  }

  /** Adds a command, or USED.note. Resolves when there is room for more. */
  async add(command: Word[]): Promise<void> {
    this.words.push(String(command.length), ...command);
    if (this.words.length >= this.maxWords) await this.send();
  }

  /** Resolves when Redis has everything. */
  async flush(): Promise<void> {
    await this.send();
    await this.sending;
  }

  /** Sends a call. The next one is assembled while it is in flight. */
  private async send(): Promise<void> {
    const { words } = this;
    if (words.length === 0) return;
    this.words = [];
    await this.sending;
    this.sending = this.call(words);
    this.sending.catch(() => undefined);
  }

  private async call(words: Word[]): Promise<void> {
    await this.script.runBelieving(this.redis, this.belief, { keys: [this.belief.key], args: words });
  }
}

export type Loaders = ReadonlyMap<number, Loader>;

/** Resolves when Redis has everything from all loaders. */
export async function flushed(loaders: Loaders): Promise<void> {
  const [first, ...others] = loaders.values();
  // The first call loads the library into an empty Redis. Otherwise the calls of all shards would fail and be made again.
  await first?.flush();
  await Promise.all(others.map((loader) => loader.flush()));
}
