import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { type AdminOptions, askAdmin } from '../src/cli/admin-api.ts';
import type { Configuration } from '../src/domain/configuration.ts';
import { dayOf } from '../src/domain/periods.ts';
import { loadCatalog } from '../src/postgres/catalog.ts';
import { boardKey } from '../src/redis/keys.ts';
import { onlyPart } from '../test/stack/only-part.ts';

const START = '2025-01-01';
const CROWDS = { small: 1_000, large: 1_000_000 };
const CHUNK = 10_000;

/** Keys of two metrics, each with a perpetual leaderboard: one with 1,000 members, one with 1,000,000. */
export interface Crowds {
  small: string;
  large: string;
}

/**
 * Adds the two metrics and leaderboards to the catalog, like an admin, and members directly to their sorted sets: they
 * represent earlier users.
 */
export async function makeCrowds(options: { admin: AdminOptions; redis: Redis; pool: Pool }): Promise<Crowds> {
  const { admin, redis, pool } = options;
  const crowds: Crowds = { small: 'crowd-of-a-thousand', large: 'crowd-of-a-million' };
  const path = '/v1/configuration';
  const now = await askAdmin<Required<Configuration>>(admin, { method: 'GET', path });
  const keys = Object.values(crowds) as string[];
  const body = {
    metrics: [...now.metrics, ...keys.map((key) => ({ key, name: key }))],
    leaderboards: [
      ...now.leaderboards,
      ...keys.map((key) => ({ key, name: key, rankBy: 'metric', metricKey: key, start: START, status: 'active' })),
    ],
  };
  await askAdmin(admin, { method: 'PUT', path: `${path}?demo=keep`, body });

  const catalog = await loadCatalog(pool, 0);
  for (const [size, members] of Object.entries(CROWDS)) {
    const board = catalog?.leaderboards.find(({ key }) => key === crowds[size as keyof Crowds]);
    if (board === undefined) throw new Error('A leaderboard of the crowds is missing.');
    const set = boardKey(onlyPart(0), { boardNo: board.no, runDay: dayOf(START), group: '' });
    for (let from = 0; from < members; from += CHUNK) {
      const scored = Array.from({ length: Math.min(CHUNK, members - from) }, (_, at) => [
        // Spread over the ranks, unordered.
        String(((from + at) * 7_919) % members),
        `member-${from + at}`,
      ]);
      await redis.zadd(set, ...scored.flat());
    }
  }
  return crowds;
}
