/**
 * What an event costs that webhooks hear of: events of the demo are recorded by the script and persisted in turn with no
 * webhook and with three that want every type; prints the CPU an event of Redis, of the persister and of Postgres for each,
 * and their ratios (medians of paired rounds). Nothing is sent.
 *
 *   npm run bench:reports -- [events a round] [rounds] [users]
 *
 * Uses a Redis (every answer on disk) and a Postgres of its own.
 */
import { randomBytes } from 'node:crypto';
import { loadavg } from 'node:os';
import { Catalogs } from '../src/catalog/catalogs.ts';
import { compileCatalog } from '../src/catalog/compiled-catalog.ts';
import { Resources } from '../src/catalog/resources.ts';
import { systemClock } from '../src/clock.ts';
import { WEBHOOK_EVENTS } from '../src/domain/webhook.ts';
import type { EventBatcher } from '../src/engine/events/event-batcher.ts';
import { eventCall } from '../src/engine/events/event-call.ts';

import { EventEngine, type OccurredEvents } from '../src/engine/events/event-engine.ts';
import { KeyedIds } from '../src/engine/ids/keyed-ids.ts';
import { Reporter } from '../src/engine/notifications/reporter.ts';
import { Persister } from '../src/engine/persist/persister.ts';
import { loadCatalog } from '../src/postgres/load-catalog.ts';
import { Script } from '../src/redis/script.ts';
import { childrenOf, redisUse, treeCpu } from './cpu.ts';
import { median } from './rows.ts';
import { EventMaker, shapeOf } from './shape.ts';
import { demoCatalog, temporaryServers, type TemporaryServers } from './temporary-servers.ts';

const EVENTS = Number(process.argv[2] ?? 10_000);
const ROUNDS = Number(process.argv[3] ?? 7);
const USERS = Number(process.argv[4] ?? 5_000);
const WEBHOOKS = 3;
const AT_ONCE = 64;
const TENANT = 0;
const SHARD = 0;

/** CPU seconds. */
interface Use {
  redis: number;
  persister: number;
  postgres: number;
}
const PARTS = ['redis', 'persister', 'postgres'] as const;

async function main(): Promise<void> {
  console.log(`Load of the machine before: ${loadavg()[0]!.toFixed(1)}`);
  const servers = await temporaryServers({ durable: true });
  try {
    await demoCatalog(servers.pool);
    const ids = await makeWebhooks(servers);
    const rounds: Record<'none' | 'all', Use[]> = { none: [], all: [] };
    for (let round = 0; round <= ROUNDS; round++) {
      for (const which of round % 2 === 0 ? (['none', 'all'] as const) : (['all', 'none'] as const)) {
        await enable(servers, ids, which === 'all');
        const use = await playRound(servers, round * 2 + Number(which === 'all'));
        // In the first one users are new.
        if (round > 0) rounds[which].push(use);
      }
    }
    const { rows } = await servers.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM webhook_messages');
    console.log(`${(rows[0]!.n / WEBHOOKS / ((ROUNDS + 1) * EVENTS)).toFixed(2)} messages an event and webhook`);
    for (const part of PARTS) {
      const each = (which: 'none' | 'all'): number[] => rounds[which].map((use) => (use[part] * 1e6) / EVENTS);
      const ratios = each('all').map((micros, index) => micros / each('none')[index]!);
      console.log(
        `${part}: ${median(each('none')).toFixed(1)} µs an event without, ${median(each('all')).toFixed(1)} with ${WEBHOOKS} webhooks; ` +
          `ratio ${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
      );
    }
  } finally {
    await servers.close();
  }
}

const resourcesOf = ({ pool }: TemporaryServers): Resources =>
  new Resources({ pool, announce: async () => undefined, clock: systemClock });

async function makeWebhooks(servers: TemporaryServers): Promise<string[]> {
  const { result } = await resourcesOf(servers).edit(TENANT, { who: 'bench' }, (draft) =>
    Array.from({ length: WEBHOOKS }, (_, n) => {
      const url = 'https://example.com/';
      const fields = { name: `Webhook ${n}`, url, events: [...WEBHOOK_EVENTS], enabled: false, secretNo: 1 };
      return draft.create('webhook', fields).id;
    }),
  );
  return result;
}

async function enable(servers: TemporaryServers, ids: readonly string[], enabled: boolean): Promise<void> {
  await resourcesOf(servers).edit(TENANT, { who: 'bench' }, (draft) => {
    for (const id of ids) draft.update('webhook', id, { ...draft.get('webhook', id)!, enabled });
  });
}

/** Records events and persists them. */
async function playRound(servers: TemporaryServers, seed: number): Promise<Use> {
  const { redis, pool } = servers;
  const calls = await readyCalls(servers, seed);
  const script = new Script('record_events');
  const redisBefore = (await redisUse(redis)).cpu;
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < calls.length) {
      const { keys, args } = eventCall(TENANT, calls[next++]!, {
        nowMs: Date.now(),
        retryPosition: '',
        keysPerDay: 1_000_000,
      });
      await script.run(redis, keys, args);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
  const recorded = (await redisUse(redis)).cpu - redisBefore;

  const postgres = childrenOf(process.pid).find(({ command }) => command.includes('postgres'))!.pid;
  const catalogs = new Catalogs({ pool });
  const onLeftOut = (error: unknown): void => console.error(error);
  const reporter = new Reporter({ pool, catalogs, onLeftOut });
  const persister = new Persister({ redis, pool, reporter });
  const before = { postgres: treeCpu(postgres), own: process.cpuUsage() };
  const stored = await persister.drain(SHARD, AbortSignal.abort());
  if (stored !== EVENTS) throw new Error(`${stored} of ${EVENTS} events were stored.`);
  const own = process.cpuUsage(before.own);
  return {
    redis: recorded,
    persister: (own.user + own.system) / 1e6,
    postgres: treeCpu(postgres) - before.postgres,
  };
}

async function readyCalls({ pool }: TemporaryServers, seed: number) {
  const compiled = compileCatalog((await loadCatalog(pool, TENANT))!);
  const maker = new EventMaker({ shape: shapeOf(compiled.catalog), crowd: { users: USERS }, seed, keyed: 0 });
  // Only its checks are used.
  const engine = new EventEngine({
    catalogs: { get: () => compiled, load: async () => compiled },
    batcher: null as unknown as EventBatcher,
    ids: new KeyedIds(randomBytes(32)),
    clock: systemClock,
    overloaded: () => false,
    late: null as unknown as OccurredEvents,
  });
  return Array.from({ length: EVENTS }, () => {
    const { metricKey, event, idempotencyKey } = maker.next();
    return [engine.prepare(compiled, metricKey, { event, idempotencyKey })];
  });
}

await main();
