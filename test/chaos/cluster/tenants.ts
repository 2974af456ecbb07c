import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type pg from 'pg';
import { slotOfShard } from '../../../src/redis/cluster-layout.ts';
import { audit, type Findings } from '../audit.ts';
import { Client } from '../client.ts';
import { configuration } from '../configuration.ts';
import { HttpClient, knownEverywhere } from '../http.ts';
import { Ledger, type OwnUser } from '../ledger.ts';
import { ModelUser } from '../model.ts';
import type { Random } from '../random.ts';
import { API_KEY, type ChaosStack } from '../stack.ts';
import type { RedisCluster, RedisGroup } from './redis-cluster.ts';
import { onlyPart } from '../../stack/only-part.ts';

const OWN_USERS = 3;
const RETRY_MS = 50;

/** A tenant of the run, with its own clients and ledger. Users of all tenants have the same IDs. */
export interface ChaosTenant {
  id: string;
  no: number;
  app: HttpClient;
  admin: HttpClient;
  ledger: Ledger;
  clients: readonly Client[];
}

/** Creates tenants until each master has one; returns one per master. */
export async function makeTenants(options: {
  stack: ChaosStack;
  sql: pg.Client;
  seed: number;
  clients: number;
  random: Random;
}): Promise<ChaosTenant[]> {
  const { stack, sql, seed, clients, random } = options;
  const organisation = new HttpClient(stack.adminPort, API_KEY);
  const tenants: ChaosTenant[] = [];
  try {
    await expectStatus(() => organisation.send('PATCH', '/v1/organisation', { body: { multiTenancy: true } }), 200);
    const groups = new Set(stack.redisCluster.groups);
    for (let n = 1; groups.size > 0; n += 1) {
      const id = `tenant-${n}`;
      await expectStatus(() => organisation.send('POST', '/v1/tenants', { body: [{ customerId: id, name: id }] }), 201);
      const no = await numberOf(sql, id);
      if (!groups.delete(await groupOf(stack.redisCluster, no))) continue;
      const app = new HttpClient(stack.appPort, API_KEY, id);
      const admin = new HttpClient(stack.adminPort, API_KEY, id);
      await expectStatus(() => admin.send('PUT', '/v1/configuration', { body: configuration(0) }), 200);
      await knownEverywhere(app, '/v1/achievements', 5);
      const ledger = new Ledger(`c${seed}-${n}`);
      const made = Array.from({ length: clients }, (_, client) => {
        const own = Array.from({ length: OWN_USERS }, (_each, user): OwnUser => ({
          id: `own-${client}-${user}`,
          model: new ModelUser(),
        }));
        for (const user of own) ledger.own.set(user.id, user);
        return new Client({ app, admin, ledger, random: random.fork(), own });
      });
      tenants.push({ id, no, app, admin, ledger, clients: made });
    }
    return tenants;
  } finally {
    organisation.close();
  }
}

/** The audit results of all tenants, each difference with its tenant. */
export async function auditTenants(
  tenants: readonly ChaosTenant[],
  { sql, redis }: { sql: pg.Client; redis: Redis },
): Promise<Findings> {
  const sum: Findings = { differences: [], lost: 0, duplicated: 0, stored: 0, messages: 0 };
  for (const { id, no, app, ledger } of tenants) {
    const found = await audit({ app, sql, redis, ledger, tenantNo: no, planted: [], received: null });
    sum.differences.push(...found.differences.map((text) => `${id}: ${text}`));
    sum.lost += found.lost;
    sum.duplicated += found.duplicated;
    sum.stored += found.stored;
  }
  return sum;
}

async function numberOf(sql: pg.Client, customerId: string): Promise<number> {
  const { rows } = await sql.query<{ no: number }>('SELECT no FROM tenants WHERE customer_id = $1', [customerId]);
  return rows[0]!.no;
}

/** The group that holds a tenant's shard now. */
export async function groupOf(cluster: RedisCluster, tenantNo: number): Promise<RedisGroup> {
  const port = await cluster.masterPort(slotOfShard(onlyPart(tenantNo).shard));
  return cluster.groups.find(({ nodes }) => nodes.some((node) => node.port === port))!;
}

async function expectStatus(call: () => Promise<{ status: number; body: unknown }>, expected: number): Promise<void> {
  let answer = await call();
  // Shortly after the start, the shard of a new tenant may still be inspected.
  while (answer.status === 503) answer = await sleep(RETRY_MS).then(call);
  const { status, body } = answer;
  if (status !== expected) throw new Error(`Setup was answered ${status}: ${JSON.stringify(body)}`);
}
