import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { connectRedis, redisReady } from '../../../src/redis/client.ts';
import { endpointsOf, onServer } from '../../../src/redis/endpoints.ts';
import { isRedisOutage } from '../../../src/redis/outage.ts';
import { drained, type Findings } from '../audit.ts';
import type { Ledger } from '../ledger.ts';
import { eventually } from '../processes.ts';
import { Random } from '../random.ts';
import { ChaosStack } from '../stack.ts';
import { Bag } from '../suite.ts';
import { GROUP_FAULTS } from './faults.ts';
import { firstAfter, longestGapMs } from './gaps.ts';
import type { Arrangement, RedisGroup } from './redis-cluster.ts';
import { ReplicationWatch } from './replication-watch.ts';
import { auditTenants, groupOf, makeTenants, type ChaosTenant } from './tenants.ts';

export interface GroupChaosOptions {
  arrangement: Arrangement;
  rounds: number;
  seed: number;
  /** Per tenant; at first there is one tenant on each master. */
  clients?: number;
  /** Only faults whose names contain this text. */
  only?: string;
  /** The file to run instead of the build's. */
  main?: string;
  say: (line: string) => void;
}

export interface GroupRound {
  fault: string;
  group: string;
  /** The tenants whose shards the group held. */
  hit: string[];
  /** The longest time between two acknowledgements to the tenants of the group that was hit, and to the others. */
  hitGapMs: number;
  othersGapMs: number;
  /** From the end of the fault (see `GroupFault`) until each affected tenant had an answer. */
  answeredMs: number;
  drainedMs: number;
}

export interface GroupChaosResult {
  seed: number;
  arrangement: Arrangement;
  rounds: GroupRound[];
  sent: number;
  acknowledged: number;
  abandoned: number;
  requests: number;
  /** Requests of unaffected tenants that got no answer or a 5xx, although their replicas were fast enough. */
  othersFailures: number;
  seconds: number;
  findings: Findings;
}

const CLIENTS = 3;
/** Lines of Laurel's log to show if something differs. */
const LAST_LINES = 100;
const BEFORE_MS = { min: 150, max: 600 };
const AFTER_MS = { min: 250, max: 700 };
/** Within this time after the last fault, the tenants of its group are served again, or the run ends. */
const PATIENCE_MS = 60_000;
/** How often a round's audit is tried. */
const AUDITS = 3;

/**
 * Runs rounds that each hit one master of a cluster or its replicas, with `REDIS_ACKNOWLEDGE=replica`. After each round
 * every acknowledged event must exist once, and tenants of the other masters must have noticed nothing. The first difference
 * in storage ends the run; the differences at the end include what others noticed.
 */
export async function runGroupChaos(options: GroupChaosOptions): Promise<GroupChaosResult> {
  const { arrangement, rounds, seed, clients = CLIENTS, only = '', main, say } = options;
  const names = Object.keys(GROUP_FAULTS).filter((name) => name.includes(only));
  if (names.length === 0)
    throw new Error(`No fault's name contains "${only}": ${Object.keys(GROUP_FAULTS).join(', ')}`);
  const startedMs = performance.now();
  const random = new Random(seed);
  const stack = await ChaosStack.start({ REDIS_ACKNOWLEDGE: 'replica' }, { arrangement, ...(main && { main }) });
  const sql = new pg.Client({ connectionString: stack.databaseUrl });
  await sql.connect();
  let tenants: ChaosTenant[] = [];
  try {
    tenants = await makeTenants({ stack, sql, seed, clients, random });
    const done: GroupRound[] = [];
    let othersFailures = 0;
    const noticed: string[] = [];
    let findings: Findings = { differences: [], lost: 0, duplicated: 0, stored: 0, messages: 0 };
    const bag = new Bag(names, random);
    for (let no = 1; no <= rounds && findings.differences.length === 0; no++) {
      const fault = bag.next();
      const group = random.pick(await groupsWithTenants(stack, tenants));
      const replication = await watchOthers(stack, group);
      let round: GroupRound;
      try {
        round = await runRound({ stack, tenants, group, random, fault });
      } catch (error) {
        const said = await lastLines(stack);
        throw new Error(`Round ${no}, ${fault}, ${group.name}. Laurel's last log lines:\n${said}`, { cause: error });
      } finally {
        await replication.end();
      }
      done.push(round);
      findings = await auditNow({ stack, sql, tenants, say });
      const others = tenants.filter((tenant) => !round.hit.includes(tenant.id));
      for (const { id, ledger } of others) {
        const failures = ledger.failures.filter(
          (failure) => !(failure.what.startsWith('503 ') && replication.wasSlow(failure)),
        );
        const excused = ledger.failures.length - failures.length;
        if (excused > 0) say(`  ${id}: ${excused} requests refused, while the machine was too busy for its replicas`);
        if (failures.length === 0) continue;
        othersFailures += failures.length;
        const kinds = [...new Set(failures.map(({ what }) => what))].join('; ');
        noticed.push(
          `Round ${no}, ${id}: ${failures.length} requests failed, although its group was not hit: ${kinds}`,
        );
        say(`  DIFFERENCE  ${noticed.at(-1)}`);
      }
      const gaps = `${group.name} ${round.hitGapMs.toFixed(0)} ms, others ${round.othersGapMs.toFixed(0)} ms`;
      const answered = `answered ${round.answeredMs.toFixed(0)} ms after the fault was over`;
      say(`${no}/${rounds}  ${fault}: longest gap of ${gaps}; ${answered}; ${findings.stored} events stored`);
      for (const difference of findings.differences.slice(0, 20)) say(`  DIFFERENCE  ${difference}`);
      if (findings.differences.length > 0) say(`Laurel's last log lines:\n${await lastLines(stack)}`);
    }
    const sum = (of: (ledger: Ledger) => number): number => tenants.reduce((all, { ledger }) => all + of(ledger), 0);
    return {
      seed,
      arrangement,
      rounds: done,
      sent: sum((ledger) => ledger.events.size),
      acknowledged: sum((ledger) => ledger.count('acknowledged')),
      abandoned: sum((ledger) => ledger.count('abandoned')),
      requests: sum((ledger) => ledger.requests),
      othersFailures,
      seconds: (performance.now() - startedMs) / 1000,
      findings: { ...findings, differences: [...findings.differences, ...noticed] },
    };
  } finally {
    for (const { app, admin } of tenants) {
      app.close();
      admin.close();
    }
    await sql.end();
    await stack.stop();
  }
}

/** Slots move, so that a group may be without tenants for a while. */
async function groupsWithTenants(stack: ChaosStack, tenants: readonly ChaosTenant[]): Promise<RedisGroup[]> {
  const { redisCluster } = stack;
  const groups = await Promise.all(tenants.map(({ no }) => groupOf(redisCluster, no)));
  return redisCluster.groups.filter((group) => groups.includes(group));
}

async function watchOthers({ redisCluster }: ChaosStack, group: RedisGroup): Promise<ReplicationWatch> {
  const others = redisCluster.groups.filter((each) => each !== group);
  return new ReplicationWatch(await Promise.all(others.map(async (each) => (await redisCluster.roles(each)).master)));
}

const lastLines = async (stack: ChaosStack): Promise<string> =>
  (await readFile(stack.logFile, 'utf8')).split('\n').slice(-LAST_LINES).join('\n');

async function runRound(round: {
  stack: ChaosStack;
  tenants: readonly ChaosTenant[];
  group: RedisGroup;
  random: Random;
  fault: string;
}): Promise<GroupRound> {
  const { stack, tenants, group, random, fault } = round;
  const cluster = stack.redisCluster;
  const hit: ChaosTenant[] = [];
  for (const tenant of tenants) if ((await groupOf(cluster, tenant.no)) === group) hit.push(tenant);
  const ending = new AbortController();
  for (const { ledger } of tenants) {
    ledger.acknowledgements = [];
    ledger.failures = [];
  }
  const working = Promise.all(
    tenants.flatMap(({ clients }) => clients.map((client) => client.work(ending.signal))),
  ).finally(() => ending.abort());
  // A client that gives up ends the round at the await below.
  working.catch(() => undefined);
  await sleep(random.whole(BEFORE_MS.min, BEFORE_MS.max));
  const beganMs = performance.now();
  await GROUP_FAULTS[fault]!({ cluster, group, random });
  const overMs = performance.now();
  await eventually(
    `tenants of ${group.name} are served again`,
    () =>
      ending.signal.aborted ||
      hit.every(({ ledger }) => ledger.acknowledgements.some(({ sentMs }) => sentMs >= overMs)),
    PATIENCE_MS,
  );
  await sleep(random.whole(AFTER_MS.min, AFTER_MS.max));
  const endMs = performance.now();
  const gapOf = (some: readonly ChaosTenant[]): number =>
    Math.max(0, ...some.map(({ ledger }) => longestGapMs(ledger.acknowledgements, { beganMs, endMs })));
  const [hitGapMs, othersGapMs] = [gapOf(hit), gapOf(tenants.filter((tenant) => !hit.includes(tenant)))];
  const answeredMs = Math.max(0, ...hit.map(({ ledger }) => firstAfter(ledger.acknowledgements, overMs) - overMs));
  // Repairs under load what is still broken.
  if (!ending.signal.aborted) await cluster.mend();
  await sleep(random.whole(AFTER_MS.min, AFTER_MS.max));
  ending.abort();
  await working;
  await withRedis(stack, drained);
  return {
    fault,
    group: group.name,
    hit: hit.map(({ id }) => id),
    hitGapMs,
    othersGapMs,
    answeredMs,
    drainedMs: performance.now() - overMs,
  };
}

/** An audit only reads; so an audit whose own connection was cut by a late takeover is repeated. */
async function auditNow(audit: {
  stack: ChaosStack;
  sql: pg.Client;
  tenants: readonly ChaosTenant[];
  say: (line: string) => void;
}): Promise<Findings> {
  const { stack, sql, tenants, say } = audit;
  for (let no = 1; ; no += 1) {
    try {
      return await withRedis(stack, (redis) => auditTenants(tenants, { sql, redis }));
    } catch (error) {
      if (no === AUDITS || !(error instanceof Error && isRedisOutage(error))) throw error;
      say(`  Repeating the audit, since its connection was cut: ${error.message}`);
    }
  }
}

async function withRedis<T>(
  { redisUrl }: ChaosStack,
  work: (redis: Awaited<ReturnType<typeof connectRedis>>) => Promise<T>,
): Promise<T> {
  const redis = await connectRedis(redisUrl);
  redis.on('error', () => undefined);
  onServer(redis, (server) => void server.redis.on('error', () => undefined));
  try {
    for (const endpoint of endpointsOf(redis)) await redisReady(endpoint.redis);
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}
