import { existsSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Pool } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPool } from '../../src/postgres/pool.ts';
import { testStack, type TestStack } from '../stack/stack.ts';

let stack: TestStack;
let pool: Pool;

beforeEach(async () => {
  stack = await testStack({ redis: false });
  pool = createPool(stack.databaseUrl, { max: 1 });
});
afterEach(async () => {
  await pool.end();
  await stack.close();
});

const CONNECTIONS = ['/proc/net/tcp', '/proc/net/tcp6'];

const ESTABLISHED = '01';
const KEEPALIVE = '02';

/**
 * Seconds until the system checks whether the peer of a local connection is still there; null while it waits for something
 * else. A former connection may still be known by the same port.
 */
function asksInSeconds(port: number): number | null {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const fields = CONNECTIONS.filter(existsSync)
    .flatMap((file) => readFileSync(file, 'utf8').split('\n'))
    .map((line) => line.trim().split(/\s+/))
    .find(([, local, , state]) => local?.endsWith(`:${hex}`) && state === ESTABLISHED);
  const [timer, ticks] = fields![5]!.split(':') as [string, string];
  return timer === KEEPALIVE ? parseInt(ticks, 16) / 100 : null;
}

const isLinux = CONNECTIONS.some(existsSync);

test.skipIf(!isLinux)('checks for a silently vanished server within 10 s', async () => {
  const client = await pool.connect();
  const { localPort } = (client as unknown as { connection: { stream: Socket } }).connection.stream;
  client.release();
  await expect.poll(() => asksInSeconds(localPort!) ?? Infinity).toBeLessThanOrEqual(10);
});

test.skipIf(!isLinux)(
  'Postgres ends the session of a vanished machine, with its locks, within half a minute',
  async () => {
    const { rows } = await pool.query<{ name: string; setting: string }>(
      "SELECT name, setting FROM pg_settings WHERE name LIKE 'tcp_%'",
    );
    const setting = Object.fromEntries(rows.map(({ name, setting: value }) => [name, Number(value)]));
    const { tcp_keepalives_idle: idle, tcp_keepalives_interval: interval, tcp_keepalives_count: count } = setting;
    expect(idle! + interval! * count!).toBeLessThanOrEqual(30);
    expect(idle! * interval! * count! * setting['tcp_user_timeout']!).toBeGreaterThan(0);
    expect(setting['tcp_user_timeout']).toBeLessThanOrEqual(30_000);
  },
);

test('connections used every 10 s, as by an idle worker, stay open', () => {
  expect(pool.options.idleTimeoutMillis).toBeGreaterThan(2 * 10_000);
});
