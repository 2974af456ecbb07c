import { expect, test, vi } from 'vitest';
import type { Leaderboard } from '../../../src/domain/catalog.ts';
import { readPlaces } from '../../../src/engine/live/stream-listener.ts';
import { boardKey } from '../../../src/redis/keys.ts';
import { connectedRedis } from '../../stack/connected-redis.ts';
import { onlyPart } from '../../stack/only-part.ts';

const redis = await connectedRedis();
const SEAT = { runDay: 0, group: '' };
const KEY = boardKey(onlyPart(0), { boardNo: 1, ...SEAT });

test('a rank and its score are of one moment, though the user rises meanwhile', async () => {
  await redis.zadd(KEY, 12, 'ada', 30, 'bob');
  const pipeline = redis.pipeline.bind(redis);
  let pipelines = 0;
  const spy = vi.spyOn(redis, 'pipeline').mockImplementation((...commands) => {
    pipelines += 1;
    // After the score was read, before the scores above it are counted.
    if (pipelines === 2) void redis.zincrby(KEY, 20, 'ada');
    return pipeline(...commands);
  });
  const board = { no: 1, maxParticipants: 2 } as Leaderboard;
  const places = await readPlaces(
    redis,
    ['ada', 'bob', 'cleo'].map((userId) => ({ tenantNo: 0, board, seat: SEAT, userId })),
  );
  expect(places).toEqual([{ rank: 1, value: 32 }, expect.objectContaining({ value: 30 }), null]);
  expect(spy).toHaveBeenCalledTimes(5);
});
