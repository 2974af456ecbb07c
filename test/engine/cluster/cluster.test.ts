import { beforeAll, describe, expect, test } from 'vitest';
import { SPREAD_ON_CLUSTER } from '../../../src/postgres/shards.ts';
import { connectRedis } from '../../../src/redis/client.ts';
import { slotOfShard } from '../../../src/redis/cluster-layout.ts';
import { endpointsOf } from '../../../src/redis/endpoints.ts';
import { shardPattern } from '../../../src/redis/keys.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { addTenants } from '../../several-tenants.ts';
import { STUDY_APP } from '../../study-app.ts';
import { makeCertificates } from '../../stack/certificates.ts';
import { CuttingProxy } from '../../stack/cutting-proxy.ts';
import { OwnCluster } from '../../stack/own-cluster.ts';
import { differencesIn } from '../../differences.ts';
import { opened } from '../../stack/opened.ts';

/** In the order of their numbers, which begin at 1. */
const TENANTS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'];

/** Permissions in addition to the harmless ones, as docs/operating/servers.md lists them. */
const ALLOWED = [
  '+info',
  '+role',
  '+cluster|shards',
  '+cluster|slots',
  '+cluster|info',
  '+client|kill',
  '+function|load',
  '+function|list',
  '+function|delete',
  '+config|get',
];

const cluster = opened(() => OwnCluster.start());
const laurel = opened(() => startLaurel({ redisUrl: cluster.url, workers: true }));
beforeAll(async () => {
  await addTenants(laurel, TENANTS);
});

test('each tenant lives on the master of its slot, and Redis as a whole agrees with Postgres', async () => {
  for (let n = 0; n < 5; n += 1)
    for (const tenantId of TENANTS) {
      const event = { user: { id: 'ada' }, value: 1 };
      expect((await laurel.app.post('/v1/metrics/flips/event', event, { tenantId })).status).toBe(201);
      expect((await laurel.app.get('/v1/users/ada/metrics/flips', { tenantId })).status).toBe(200);
    }
  for (const [index] of TENANTS.entries()) {
    const shard = index + 1;
    const master = await cluster.masterOf(shard);
    for (const { name, redis } of endpointsOf(laurel.redis))
      expect([name, (await redis.keys(shardPattern(shard))).length > 0]).toEqual([
        name,
        name === `127.0.0.1:${master.port}`,
      ]);
  }
  const stored = async (): Promise<number> =>
    (await laurel.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events')).rows[0]!.n;
  await expect.poll(stored).toBe(5 * TENANTS.length);
  expect(await differencesIn(laurel)).toEqual([]);
});

describe('a cluster that requires more', () => {
  test('TLS and a password of an ACL user; a new installation spreads its first tenant over the masters', async () => {
    const certificates = await makeCertificates();
    const secured = await OwnCluster.start({ secured: { certificates, password: 'not-a-secret' } });
    let own: TestLaurel | null = null;
    try {
      for (const node of secured.nodes)
        await node.command(
          'ACL',
          'SETUSER',
          'laurel',
          'on',
          '>another-secret',
          '~*',
          '&*',
          '+@all',
          '-@dangerous',
          ...ALLOWED,
        );
      const redisUrl = secured.url.replaceAll('rediss://:not-a-secret@', 'rediss://laurel:another-secret@');
      own = await startLaurel({ redisUrl, workers: true, spread: null });
      expect((await own.admin.get('/v1/spread')).body).toEqual({ shards: SPREAD_ON_CLUSTER, converting: false });
      await addTenants(own, TENANTS);
      for (const tenantId of TENANTS) {
        const event = { user: { id: 'ada' }, value: 1 };
        expect((await own.app.post('/v1/metrics/flips/event', event, { tenantId })).status).toBe(201);
      }
      const stored = async (): Promise<number> =>
        (await own!.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events')).rows[0]!.n;
      await expect.poll(stored).toBe(TENANTS.length);
    } finally {
      await own?.close();
      await secured.close();
      await certificates.remove();
    }
  });

  test('waits for a slot that no master serves yet, and names it if it stays unserved', async () => {
    const joining = await OwnCluster.start();
    try {
      const slot = slotOfShard(1);
      const owner = await joining.masterOf(1);
      // The owner first. The others may still hear once from before, and then believe again that it serves the slot.
      const nodes = joining.nodes.toSorted((one, other) => Number(other === owner) - Number(one === owner));
      const serving = async (): Promise<typeof nodes> => {
        const infos = await Promise.all(nodes.map((node) => node.command('CLUSTER', 'INFO')));
        return nodes.filter((_, index) => String(infos[index]).includes('cluster_slots_assigned:16384\r'));
      };
      await expect
        .poll(async () => {
          for (const node of await serving()) await node.command('CLUSTER', 'DELSLOTS', slot);
          return (await serving()).length;
        })
        .toBe(0);
      const refusal = (): Promise<string> =>
        connectRedis(owner.url, 500).then(
          () => 'connected',
          (error: Error) => error.message,
        );
      await expect.poll(refusal).toContain(`No master of the cluster serves slot ${slot}`);
      const connecting = connectRedis(joining.url);
      await owner.command('CLUSTER', 'ADDSLOTS', slot);
      (await connecting).disconnect();
    } finally {
      await joining.close();
    }
  });

  test('masters that announce host names', async () => {
    const named = await OwnCluster.start({
      settings: { 'cluster-announce-hostname': 'localhost', 'cluster-preferred-endpoint-type': 'hostname' },
    });
    try {
      // Nodes learn each other's names a moment after their addresses.
      const names = async (): Promise<string[]> =>
        ((await named.nodes[1]!.command('CLUSTER', 'SLOTS')) as [number, number, [string]][]).map(
          ([, , [name]]) => name,
        );
      await expect.poll(names).toEqual(named.nodes.map(() => 'localhost'));
      // One of the nodes suffices.
      const redis = await connectRedis(named.nodes[1]!.url);
      try {
        expect(
          endpointsOf(redis)
            .map(({ name }) => name)
            .toSorted(),
        ).toEqual(named.nodes.map(({ port }) => `localhost:${port}`).toSorted());
      } finally {
        redis.disconnect();
      }
    } finally {
      await named.close();
    }
  });

  test('masters behind addresses of a network that translates them', async () => {
    const hidden = await OwnCluster.start();
    const proxies = hidden.nodes.map(({ url }) => new CuttingProxy(url));
    let own: TestLaurel | null = null;
    try {
      const urls = await Promise.all(proxies.map((proxy) => proxy.listen()));
      const announced = urls.map((url) => Number(new URL(url).port)).toSorted((one, other) => one - other);
      await Promise.all(
        hidden.nodes.map((node, index) =>
          node.command('CONFIG', 'SET', 'cluster-announce-port', Number(new URL(urls[index]!).port)),
        ),
      );
      const known = (): Promise<number[][]> =>
        Promise.all(
          hidden.nodes.map(async (node) => {
            const ranges = (await node.command('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
            return ranges.map(([, , [, port]]) => port).toSorted((one, other) => one - other);
          }),
        );
      await expect.poll(known).toEqual(hidden.nodes.map(() => announced));
      own = await startLaurel({ redisUrl: urls[1]!, configuration: STUDY_APP, workers: true, spread: 4 });
      const sent = Array.from({ length: 20 }, (_, n) =>
        own!.app.post('/v1/metrics/flips/event', { user: { id: `user-${n}` }, value: 1 }),
      );
      expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(sent.map(() => 201));
      const ports = endpointsOf(own.redis).map(({ name }) => Number(name.split(':')[1]));
      expect(ports.toSorted((one, other) => one - other)).toEqual(announced);
      expect(proxies.filter(({ connections }) => connections === 0)).toEqual([]);
    } finally {
      await own?.close();
      for (const proxy of proxies) proxy.close();
      await hidden.close();
    }
  });
});
