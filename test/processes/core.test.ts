import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { FORM_LOCK } from '../../src/postgres/running-versions.ts';
import { openLaurel } from '../../src/processes/composition.ts';
import { startWorkers } from '../../workers/start.ts';
import { testDatabase } from '../postgres/database.ts';
import { opened } from '../stack/opened.ts';

const database = opened(() => testDatabase());

const log = createLog({ level: 'silent', name: 'test' });
const OTHER_FORM = 999_999;

const sockets = (): number => process.getActiveResourcesInfo().filter((name) => /TCPSocket|TCPWrap/.test(name)).length;

test.each([
  ['frontend', openLaurel],
  ['worker', startWorkers],
])('a %s that may not start leaves no connection open, and starts when it may', async (_, start) => {
  const { redisUrl, databaseUrl } = database.stack;
  const options = { redisUrl, databaseUrl, clock: systemClock, backlogLimit: 100, log };
  const client = await database.pool.connect();
  try {
    await client.query('SELECT pg_advisory_lock_shared($1, $2)', [FORM_LOCK, OTHER_FORM]);
    const before = sockets();
    await expect(start(options)).rejects.toThrow('cannot run beside');
    await expect.poll(sockets).toBeLessThanOrEqual(before);
    await client.query('SELECT pg_advisory_unlock_shared($1, $2)', [FORM_LOCK, OTHER_FORM]);
    const started = await start(options);
    expect(sockets()).toBeGreaterThan(before);
    await started.close();
    await expect.poll(sockets).toBeLessThanOrEqual(before);
  } finally {
    client.release(true);
  }
});
