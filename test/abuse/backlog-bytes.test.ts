import { expect, test } from 'vitest';
import { startWorkers } from '../../workers/start.ts';
import { systemClock } from '../../src/clock.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { startLaurel } from '../laurel.ts';
import { opened } from '../stack/opened.ts';

// A few large entries fill Redis as surely as many small ones.
const laurel = opened(async () => {
  const attributes = Array.from({ length: 20 }, (_, no) => ({ key: `a${no}`, name: `a${no}`, type: 'user' as const }));
  return startLaurel({
    configuration: { attributes, metrics: [{ key: 'flips', name: 'Flips' }] },
    backlogLimitBytes: 800_000,
  });
});

test('the backlog of Postgres is limited in bytes, and events are accepted again once it is stored', async () => {
  const attributes = Object.fromEntries(Array.from({ length: 20 }, (_, no) => [`a${no}`, 'x'.repeat(1_000)]));
  const send = async (): Promise<number> =>
    (await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'large', attributes }, value: 1 })).status;
  const statuses: number[] = [];
  // An entry takes 20 to 24 KB of Redis, so 33 to 40 entries reach the limit. The size is measured once a second.
  while (statuses.at(-1) !== 503 && statuses.length < 20_000) statuses.push(await send());
  expect(statuses.at(-1)).toBe(503);
  expect(statuses.length).toBeGreaterThan(32);
  expect(await laurel.redis.xlen('{s0}:outbox')).toBe(statuses.length - 1);

  const { redisUrl, databaseUrl } = laurel;
  const log = createLog({ level: 'fatal', name: 'test' });
  const workers = await startWorkers({ redisUrl, databaseUrl, clock: systemClock, log });
  await expect.poll(send).toBe(201);
  await workers.close();
});
