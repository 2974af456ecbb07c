import { existsSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Pool } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPool } from '../../src/postgres/pool.ts';
import { testStack, type TestStack } from '../stack/stack.ts';

let stack: TestStack;
let pool: Pool;

beforeEach(async () => {
  stack = await testStack();
  pool = createPool(stack.databaseUrl, { max: 1 });
});
afterEach(async () => {
  await pool.end();
  await stack.close();
});

const CONNECTIONS = ['/proc/net/tcp', '/proc/net/tcp6'];

/** Seconds until the system asks whether the other side of a connection of this machine is still there. */
function asksInSeconds(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const line = CONNECTIONS.filter(existsSync)
    .flatMap((file) => readFileSync(file, 'utf8').split('\n'))
    .find((each) => each.trim().split(/\s+/)[1]?.endsWith(`:${hex}`));
  const [timer, ticks] = line!.trim().split(/\s+/)[5]!.split(':') as [string, string];
  expect(timer).toBe('02');
  return parseInt(ticks, 16) / 100;
}

test.skipIf(!CONNECTIONS.some(existsSync))(
  'a server that vanished without a word is asked after within 10 s',
  async () => {
    const client = await pool.connect();
    const { localPort } = (client as unknown as { connection: { stream: Socket } }).connection.stream;
    client.release();
    expect(asksInSeconds(localPort!)).toBeLessThanOrEqual(10);
  },
);
