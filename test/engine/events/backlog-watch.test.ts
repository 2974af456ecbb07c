import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { BacklogWatch } from '../../../src/engine/events/backlog-watch.ts';
import { outboxKey } from '../../../src/redis/keys.ts';
import { connectedRedis } from '../../stack/connected-redis.ts';

const redis = await connectedRedis();

/** Number of requests for the length of a stream. */
const measures = async (): Promise<number> =>
  Number(/cmdstat_xlen:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);

test('measures while somebody asks or the backlog is too long, but not while idle', async () => {
  const watch = new BacklogWatch({ redis, backlogLimit: 2, backlogLimitBytes: 1e12 });
  watch.start();
  try {
    expect(watch.exceeded()).toBe(false);
    await redis.xadd(outboxKey(3), '*', 'a', '1');
    await redis.xadd(outboxKey(3), '*', 'a', '1');
    await expect.poll(watch.exceeded, { interval: 10 }).toBe(true);
    // Nobody asks any more. It still finds that the backlog is short again, and only then becomes idle.
    await redis.del(outboxKey(3));
    const duringASecond = async (): Promise<number> => {
      const before = await measures();
      await sleep(1_000);
      return (await measures()) - before;
    };
    await expect.poll(duringASecond).toBe(0);
    const atRest = await measures();
    await redis.xadd(outboxKey(5), '*', 'a', '1');
    await redis.xadd(outboxKey(5), '*', 'a', '1');
    // It knows of no backlog yet. The first question after an idle time is followed by a measurement.
    expect(watch.exceeded()).toBe(false);
    await expect.poll(measures, { interval: 10 }).toBeGreaterThan(atRest);
    await expect.poll(watch.exceeded, { interval: 10 }).toBe(true);
  } finally {
    watch.stop();
  }
});
