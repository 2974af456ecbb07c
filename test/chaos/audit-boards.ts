import type { Redis } from 'ioredis';
import { boardKey, pointsKey } from '../../src/redis/keys.ts';
import type { HttpClient } from './http.ts';
import { microsText } from './micros.ts';
import type { ModelUser } from './model.ts';
import { onlyPart } from '../stack/only-part.ts';

const BOARDS: Record<string, (model: ModelUser) => string> = {
  cards: ({ totals }) => microsText(totals.cards),
  minutes: ({ totals }) => microsText(totals.minutes),
  xp: ({ points }) => String(points),
};
const RUN_DAY = Date.parse('2025-01-01') / 86_400_000;

/** Compares leaderboards in the API and in Redis: entries, scores and how many users have which points. */
export async function auditBoards(
  {
    models,
    app,
    redis,
    tenantNo,
    numbers,
  }: {
    models: Map<string, ModelUser>;
    app: HttpClient;
    redis: Redis;
    tenantNo: number;
    numbers: Map<string, number>;
  },
  differences: string[],
): Promise<void> {
  const compare = (what: string, found: string[], expected: string[]): void => {
    if (found.toSorted().join(' ') !== expected.toSorted().join(' '))
      differences.push(`${what}: ${found.toSorted().join(' ')}; expected ${expected.toSorted().join(' ')}`);
  };
  for (const [key, score] of Object.entries(BOARDS)) {
    const expected = [...models].map(([id, model]) => `${id}=${score(model)}`).filter((text) => !/=(-|0$)/.test(text));
    const { body } = await app.read(`/v1/leaderboards/${key}?limit=100`);
    const { rankings } = body as { rankings: { userId: string; rank: number; value: number }[] };
    compare(
      `board ${key}`,
      rankings.map(({ userId, value }) => `${userId}=${value}`),
      expected,
    );
    for (const { userId, rank, value } of rankings) {
      const above = rankings.filter((other) => other.value > value).length;
      if (rank !== above + 1) differences.push(`board ${key}: ${userId} has rank ${rank}, ${above} are above`);
    }
    const boardNo = numbers.get(`leaderboard ${key}`)!;
    const set = boardKey(onlyPart(tenantNo), { boardNo, runDay: RUN_DAY, group: '' });
    compare(`set of board ${key}`, await members(redis, set), expected);
  }
  compare(
    'points totals',
    await countedUsers(redis, pointsKey(onlyPart(tenantNo), numbers.get('points_system xp')!)),
    [...models.values()].flatMap(({ points }) => (points > 0 ? [String(points)] : [])),
  );
  const { body } = await app.read('/v1/achievements');
  for (const { key, completions } of body as { key: string; completions: number }[]) {
    const expected = [...models.values()].filter(({ achieved }) => achieved.has(key as never)).length;
    if (completions !== expected)
      differences.push(`${key}: ${completions} completions are counted, expected ${expected}`);
  }
}

async function members(redis: Redis, key: string): Promise<string[]> {
  const flat = (await redis.call('ZRANGE', key, '0', '-1', 'WITHSCORES')) as (string | [string, string])[];
  // RESP3 answers pairs, RESP2 a flat list.
  const pairs = flat.flat().map(String);
  return pairs.flatMap((id, at) => (at % 2 === 0 ? [`${id}=${Number(pairs[at + 1])}`] : []));
}

/** Counts each total by the number of users that have it; omits the counts of ranges. */
async function countedUsers(redis: Redis, key: string): Promise<string[]> {
  const counts = Object.entries(await redis.hgetall(key)).filter(([field]) => /^\d/.test(field));
  return counts.flatMap(([total, users]) => Array.from({ length: Number(users) }, () => total));
}
