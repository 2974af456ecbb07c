import { expect, test } from 'vitest';
import { leftOut } from '../../../src/engine/notifications/left-out.ts';
import { failedWork } from '../../../src/redis/work-counts.ts';
import { connectedRedis } from '../../stack/connected-redis.ts';

const redis = await connectedRedis();

test('counts each notification that could not be made, and logs it once', async () => {
  const lines: [object, string][] = [];
  const note = leftOut(redis, { error: (fields, message) => void lines.push([fields, message]) });
  const error = new Error('a payload is too large');
  for (let n = 0; n < 3; n++) note(error);
  await expect.poll(async () => (await failedWork(redis)).get('notifications'), { interval: 10 }).toBe(3);
  expect(lines).toEqual([
    [{ err: error, suppressed: 0 }, 'A notification could not be made; everything else is stored'],
  ]);
});
