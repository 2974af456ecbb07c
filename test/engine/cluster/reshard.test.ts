import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { diagnose } from '../../../src/cli/doctor.ts';
import { RedisGuard } from '../../../src/engine/availability/redis-guard.ts';
import { slotOfShard } from '../../../src/redis/cluster-layout.ts';
import { findRedisProgram } from '../../../src/local/redis-server.ts';
import { connectionOf } from '../../../src/redis/endpoints.ts';
import { markKey } from '../../../src/redis/keys.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { addTenants } from '../../several-tenants.ts';
import { findValkey9, OwnCluster } from '../../stack/own-cluster.ts';
import type { OwnRedis } from '../rebuild/own-redis.ts';
import { Load } from './load.ts';

/** In the order of their numbers, which begin at 1. */
const TENANTS = ['one', 'two', 'three', 'four', 'five', 'six'];
const LAST_SLOT = 16_383;
const BEFORE_MS = 1_000;
/** How long a tenant's event may wait while its slot moves: at most a second on a quiet machine. */
const MOST_MS = 30_000;

let cluster: OwnCluster;
let laurel: TestLaurel;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function start(program: string): Promise<void> {
  cluster = await OwnCluster.start({ program });
  laurel = await startLaurel({ redisUrl: cluster.url, workers: true });
  await addTenants(laurel, TENANTS);
}

async function close(): Promise<void> {
  await laurel.close();
  await cluster.close();
}

describe('slots that move atomically (Valkey 9)', () => {
  const program = findValkey9();

  beforeEach(async ({ skip }) => {
    if (program === null) skip('There is no Valkey 9: set VALKEY9 to its valkey-server, or put it on the PATH.');
    else await start(program);
  });
  afterEach(async () => {
    if (program !== null) await close();
  });

  test('adding a node under load, moving half of the slots to it and removing a node loses nothing and counts nothing twice', async () => {
    const [first, second, third] = cluster.nodes as [OwnRedis, OwnRedis, OwnRedis];
    const load = new Load(laurel, TENANTS);
    await pause(BEFORE_MS);
    const added = await cluster.add();
    await cluster.migrate(first, added, [[0, 2_730]]);
    await cluster.migrate(second, added, [[5_461, 8_191]]);
    await cluster.migrate(third, added, [[10_923, 13_652]]);
    await cluster.migrate(third, added, [[13_653, LAST_SLOT]]);
    // It has no slots any more, and is removed.
    const gone = (await third.command('CLUSTER', 'MYID')) as string;
    await pause(BEFORE_MS);
    await third.kill();
    for (const node of [first, second, added]) await node.command('CLUSTER', 'FORGET', gone);
    await pause(BEFORE_MS);
    await load.end();
    const refused = [...load.refusals.values()].flat();
    expect(refused.filter((status) => status !== 503)).toEqual([]);
    expect(load.longestMs(TENANTS)).toBeLessThan(MOST_MS);
    expect(await load.differences()).toEqual([]);
  });
});

describe('a new master while replicas must acknowledge (Valkey 9)', () => {
  const program = findValkey9();
  let logged: { msg: string }[] = [];
  const log = pino({ level: 'error' }, { write: (line) => void logged.push(JSON.parse(line) as { msg: string }) });

  beforeEach(async ({ skip }) => {
    if (program === null) return skip('There is no Valkey 9: set VALKEY9 to its valkey-server, or put it on the PATH.');
    logged = [];
    cluster = await OwnCluster.start({ program, replicas: 1 });
    laurel = await startLaurel({ redisUrl: cluster.url, acknowledgeMs: 1_000, log });
    await addTenants(laurel, TENANTS);
  });
  afterEach(async () => {
    if (program !== null) await close();
  });

  const replicaFindings = async () =>
    (await diagnose({ REDIS_URL: cluster.url, REDIS_ACKNOWLEDGE: 'replica', DATABASE_URL: laurel.databaseUrl })).filter(
      ({ check }) => check === 'Redis replicas',
    );
  const missing = (): string[] => logged.map(({ msg }) => msg).filter((msg) => msg.includes('has no replica'));
  /** Moves the shard of the first tenant to a node. */
  const moveTo = async (node: OwnRedis): Promise<void> => {
    const slot = slotOfShard(1);
    await cluster.migrate(await cluster.masterOf(1), node, [[slot, slot]]);
  };

  test('its replica first: its writes are accepted all the time', async () => {
    await expect.poll(replicaFindings).toMatchObject([{ status: 'ok' }]);
    const added = await cluster.add();
    const name = `127.0.0.1:${added.port}`;
    await expect.poll(replicaFindings).toMatchObject([{ status: 'warning', found: `${name} has none` }]);
    await cluster.addReplica(added);
    await expect.poll(replicaFindings).toMatchObject([{ status: 'ok' }]);
    const load = new Load(laurel, TENANTS);
    await pause(BEFORE_MS);
    await moveTo(added);
    const before = load.acknowledged.get('one')!;
    await expect.poll(() => load.acknowledged.get('one')! > before + 5).toBe(true);
    await load.end();
    expect(load.longestMs(TENANTS)).toBeLessThan(MOST_MS);
    expect(missing()).toEqual([]);
  });

  test('without a replica: the log and the doctor name it, and writes go on when it has one', async () => {
    const added = await cluster.add();
    const load = new Load(laurel, TENANTS);
    await pause(BEFORE_MS);
    await moveTo(added);
    await expect.poll(missing).toEqual([expect.stringContaining('Add one')]);
    expect(await replicaFindings()).toMatchObject([
      { status: 'failed', found: expect.stringContaining(`127.0.0.1:${added.port} serves slots without one`) },
    ]);
    const before = load.acknowledged.get('one')!;
    await cluster.addReplica(added);
    await expect.poll(() => load.acknowledged.get('one')! > before + 5).toBe(true);
    await load.end();
  });
});

describe('slots that move key by key', () => {
  beforeEach(() => start(findRedisProgram()!));
  afterEach(close);

  /** The whole move as `redis-cli --cluster reshard` makes it, stopped after some keys. */
  async function beginMove(slot: number, [from, to]: [OwnRedis, OwnRedis]): Promise<() => Promise<number>> {
    const [fromId, toId] = await Promise.all([from, to].map((node) => node.command('CLUSTER', 'MYID')));
    await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId as string);
    await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId as string);
    return async () => {
      const [key] = (await from.command('CLUSTER', 'GETKEYSINSLOT', slot, 1)) as string[];
      if (key !== undefined) await from.command('MIGRATE', '127.0.0.1', to.port, key, 0, 5_000);
      return Number(await from.command('CLUSTER', 'COUNTKEYSINSLOT', slot));
    };
  }

  const notices = async (): Promise<string[]> =>
    ((await (await fetch(`${laurel.adminUrl}/readyz`)).json()) as { notices?: string[] }).notices ?? [];

  test('closes the shard with a reason until the move is over; loses nothing and counts nothing twice', async () => {
    const from = await cluster.masterOf(1);
    const to = cluster.nodes.find((node) => node !== from)!;
    const slot = slotOfShard(1);
    const load = new Load(laurel, TENANTS);
    await pause(BEFORE_MS);
    const moveKey = await beginMove(slot, [from, to]);
    await expect.poll(notices).toEqual([expect.stringContaining('moving the keys of shards 1 away from 127.0.0.1')]);
    // Those that were sent before the shard was closed may still be accepted.
    await load.answered('one');
    const before = load.acknowledged.get('one')!;
    await moveKey();
    await pause(BEFORE_MS);
    while ((await moveKey()) > 0);
    expect(load.acknowledged.get('one')).toBe(before);
    const metrics = await (await fetch(`${laurel.adminUrl}/metrics`)).text();
    expect(metrics).toMatch(
      new RegExp(`laurel_redis_shards_moved_key_by_key\\{process="frontend",server="127.0.0.1:${from.port}"\\} 1`),
    );
    const id = (await to.command('CLUSTER', 'MYID')) as string;
    for (const node of [to, from, ...cluster.nodes]) await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', id);
    await expect.poll(() => load.acknowledged.get('one')! > before + 5).toBe(true);
    await load.end();
    for (const tenantId of TENANTS.slice(1)) expect([tenantId, load.refusals.get(tenantId)]).toEqual([tenantId, []]);
    expect(await notices()).toEqual([]);
    expect(await load.differences()).toEqual([]);
  });

  test('an interrupted move has the shard rebuilt, since some keys are on the other node', async () => {
    const from = await cluster.masterOf(1);
    const to = cluster.nodes.find((node) => node !== from)!;
    const slot = slotOfShard(1);
    const load = new Load(laurel, TENANTS);
    await pause(BEFORE_MS);
    await load.end();
    // Entries that are not stored yet may be left on the other node.
    expect(await load.differences()).toEqual([]);
    const moveKey = await beginMove(slot, [from, to]);
    await expect.poll(notices).toEqual([expect.stringContaining('shards 1 ')]);
    const keys = Number(await from.command('CLUSTER', 'COUNTKEYSINSLOT', slot));
    while ((await moveKey()) > keys / 2);
    for (const node of [from, to]) await node.command('CLUSTER', 'SETSLOT', slot, 'STABLE');
    await expect.poll(notices).toEqual([]);
    const read = async (): Promise<number> =>
      (await laurel.app.get('/v1/users/user-0/metrics/flips', { tenantId: 'one' })).status;
    await expect.poll(read).toBe(200);
    expect(await load.differences()).toEqual([]);
  });

  /** Another process as far as shard 1 is concerned. It is held back while it has no connection. */
  async function anotherProcess() {
    let checks = 0;
    const cluster = await laurel.connect();
    const redis = connectionOf(cluster, 1);
    const guard = new RedisGuard({
      redis,
      shards: [1],
      pool: laurel.pool,
      log: pino({ enabled: false }),
      onRedisTime: () => void (checks += 1),
    });
    onTestFinished(async () => {
      await guard.close();
      cluster.disconnect();
    });
    await guard.start(0);
    return {
      isOpen: () => guard.gate.isOpen(1),
      rebuilds: () => guard.rebuilds,
      /** Resolves when a check that saw the move has ended: the second next one begins. */
      seesMove: async () => {
        await expect.poll(() => guard.keyByKey).toEqual([1]);
        const before = checks;
        await expect.poll(() => checks).toBeGreaterThanOrEqual(before + 2);
      },
      holdBack: () => redis.disconnect(),
      goOn: () => redis.connect(),
    };
  }

  test('a shard that was rebuilt after an interrupted move is not rebuilt again by processes that find out later', async () => {
    const from = await cluster.masterOf(1);
    const to = cluster.nodes.find((node) => node !== from)!;
    const slot = slotOfShard(1);
    const mark = () => from.command('GET', markKey(1)) as Promise<string | null>;
    const before = await mark();
    const early = await anotherProcess();
    await expect.poll(early.isOpen).toBe(true);
    await beginMove(slot, [from, to]);
    // It has never accepted the shard.
    const late = await anotherProcess();
    for (const process of [early, late]) await process.seesMove();
    for (const process of [early, late]) process.holdBack();

    for (const node of [from, to]) await node.command('CLUSTER', 'SETSLOT', slot, 'STABLE');
    await expect.poll(async () => [before, null].includes(await mark())).toBe(false);
    const rebuilt = await mark();
    for (const process of [early, late]) {
      await process.goOn();
      await expect.poll(process.isOpen).toBe(true);
      expect(await mark()).toBe(rebuilt);
      expect(process.rebuilds()).toBe(0);
    }
  });
});
