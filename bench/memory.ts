/**
 * A user's memory in Redis by kind of key: users (default 20,000) of the demo catalog get some events each (default 11),
 * near a third of them with an idempotency key. Then it removes the keys of one kind after the other and measures the
 * difference. So the figures include the allocator's rounding, which `MEMORY USAGE` partly omits.
 *
 *   npm run bench -- memory [users] [events each] [folder of another checkout …]
 *
 * Every other checkout needs `npm run build` and `tsc -p tsconfig.bench.json`; it is measured with its own scripts. Uses
 * temporary servers. Counts instead of times, so other load on the machine does not matter.
 */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { addTo } from '../src/grouped.ts';
import { PACKAGE_ROOT } from '../src/package-root.ts';
import { ALL_SHARDS_PATTERN, handedKey, outboxKey, SHARD_NUMBERS, tenantKey } from '../src/redis/keys.ts';
import { redisUse } from './cpu.ts';
import type { DirectJob } from './jobs.ts';
import { askDirect } from './stack.ts';
import type { demoCatalog, temporaryServers } from './temporary-servers.ts';

const [users = 20_000, eventsEach = 11] = process.argv.slice(2, 4).map(Number);
const OTHERS = process.argv.slice(4);
const KEYS_AT_ONCE = 1_000;
const EVENTS_A_CALL = 50;

type Redis = Awaited<ReturnType<typeof temporaryServers>>['redis'];

const REST = 'all else';

async function keysByKind(redis: Redis): Promise<Map<string, string[]>> {
  const kinds = new Map<string, string[]>();
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', ALL_SHARDS_PATTERN, 'COUNT', KEYS_AT_ONCE);
    for (const key of keys) {
      const kind = tenantKey(key)?.kind ?? REST;
      addTo(kinds, kind, key);
    }
    cursor = next;
  } while (cursor !== '0');
  return kinds;
}

/** Bytes of each kind of key, and the rest without keys. */
async function measure(root: string): Promise<Map<string, number>> {
  const theirs = (await import(join(root, 'dist/bench/temporary-servers.js'))) as {
    demoCatalog: typeof demoCatalog;
    temporaryServers: typeof temporaryServers;
  };
  const servers = await theirs.temporaryServers({ durable: false });
  const { redis, redisUrl, pool, databaseUrl } = servers;
  const caller = fork(join(root, 'dist/bench/direct.js'));
  try {
    await theirs.demoCatalog(pool);
    const { bytes: empty } = await redisUse(redis);
    for (let seed = 1; seed <= eventsEach; seed += 1) {
      const job: DirectJob = {
        kind: 'direct',
        redisUrl,
        databaseUrl,
        batch: EVENTS_A_CALL,
        atOnce: 1,
        amount: users,
        crowd: { users },
        seed,
        everyUser: true,
      };
      const { processed, statuses } = await askDirect(caller, job);
      if (processed !== users) throw new Error(`Not every event was applied: ${JSON.stringify(statuses)}`);
      // Entries that are not stored yet, or were stored seconds ago, are not part of a user's memory.
      await redis.del([...SHARD_NUMBERS.map(outboxKey), ...SHARD_NUMBERS.map(handedKey)]);
    }
    const bytes = new Map<string, number>();
    let { bytes: before } = await redisUse(redis);
    const whole = before - empty;
    for (const [kind, keys] of await keysByKind(redis)) {
      for (let at = 0; at < keys.length; at += KEYS_AT_ONCE) await redis.del(keys.slice(at, at + KEYS_AT_ONCE));
      const { bytes: after } = await redisUse(redis);
      bytes.set(kind, before - after);
      before = after;
    }
    const counted = [...bytes.values()].reduce((sum, one) => sum + one, 0);
    return bytes.set('table of keys, functions', whole - counted).set('all', whole);
  } finally {
    caller.disconnect();
    await servers.close();
  }
}

for (const root of [PACKAGE_ROOT, ...OTHERS]) {
  const bytes = await measure(root);
  console.log(`${root}\n  bytes of Redis per user: ${users.toLocaleString('en')} users, ${eventsEach} events each`);
  for (const [kind, all] of [...bytes].toSorted(([, a], [, b]) => a - b))
    console.log(`  ${kind.padEnd(28)}${(all / users).toFixed(1).padStart(8)}`);
}
