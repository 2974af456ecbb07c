/**
 * Rebuilds Redis from Postgres and compares both: users (default 1,000,000) of the demo catalog with generated states, and
 * as many events with idempotency keys.
 *
 *   npm run bench -- rebuild [users]
 *
 * Uses a temporary Postgres and a temporary Redis with `appendfsync always`.
 */
import { rebuildServers } from '../src/engine/availability/accept.ts';
import { verify } from '../src/engine/rebuild/verify.ts';
import { storeUsers } from './stored-users.ts';
import { demoCatalog, temporaryServers } from './temporary-servers.ts';

const users = Number(process.argv[2] ?? 1_000_000);
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const servers = await temporaryServers({ durable: true });
const { redis, pool } = servers;
try {
  const catalog = await demoCatalog(pool);
  await storeUsers(pool, catalog, users);
  const timed = async (name: string, work: () => Promise<number | void>): Promise<void> => {
    const startedMs = performance.now();
    const cpu = process.cpuUsage();
    const said = await work();
    const { user, system } = process.cpuUsage(cpu);
    const took = `${seconds(performance.now() - startedMs)}, CPU of this process ${seconds((user + system) / 1000)}`;
    console.log(`${name}: ${took}${said === undefined ? '' : ` (${said} differences)`}`);
  };
  await timed('rebuild of an empty Redis', () => rebuildServers({ redis, pool }));
  const beganMs = new Map<string, number>();
  await timed('verify', () =>
    verify({
      redis,
      pool,
      onDifference: console.log,
      onProgress: ({ step }) => void (beganMs.has(step) || beganMs.set(step, performance.now())),
    }),
  );
  const steps = [...beganMs].map(
    ([step, ms], index, all) => `${step} ${seconds((all[index + 1]?.[1] ?? performance.now()) - ms)}`,
  );
  console.log(`  steps: ${steps.join(', ')}`);
  const memory = /^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1];
  console.log(`Redis: ${Math.round(Number(memory) / users)} bytes per user, with an idempotency key each`);
} finally {
  await servers.close();
}
