import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import type { Pool } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { exclusively } from '../../src/postgres/transaction.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { testStack, type TestStack } from '../stack/stack.ts';

const LOCK = 1;

let stack: TestStack;
let other: Pool;

beforeEach(async () => {
  stack = await testStack({ redis: false });
  other = createPool(stack.databaseUrl, { max: 1 });
});
afterEach(async () => {
  await other.end();
  await stack.close();
});

test('one of two at once works, and the other is refused', async () => {
  const pool = createPool(stack.databaseUrl, { max: 1 });
  expect(await exclusively(pool, LOCK, () => exclusively(other, LOCK, async () => 'both'))).toBe(null);
  expect(await exclusively(other, LOCK, async () => 'after it')).toBe('after it');
  await pool.end();
});

test('releases a lock whose answer came too late, so that no forgotten connection holds it', async () => {
  const slow = await slowWay(stack.databaseUrl);
  const pool = createPool(slow.url, { max: 1, timeoutMs: 1_000 });
  // On a busy machine opening the connection may take longer.
  const isOpen = (): Promise<boolean> =>
    pool.query('SELECT 1').then(
      () => true,
      () => false,
    );
  await expect.poll(isOpen).toBe(true);
  slow.hold();
  await expect(exclusively(pool, LOCK, async () => 'done')).rejects.toThrow('Query read timeout');
  slow.pass();
  const again = async (): Promise<string | null> => {
    // A connection that is used now and then is not closed as idle.
    await pool.query('SELECT 1');
    return exclusively(other, LOCK, async () => 'done');
  };
  await expect.poll(again).toBe('done');
  await pool.end();
  slow.close();
});

/** A proxy to a server that can hold back answers. */
async function slowWay(url: string) {
  const target = new URL(url);
  let held: (() => void)[] | null = null;
  const server: Server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    client.pipe(upstream);
    upstream.on('data', (chunk: Buffer) =>
      held === null ? client.write(chunk) : held.push(() => client.write(chunk)),
    );
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.on('close', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const way = new URL(url);
  way.hostname = '127.0.0.1';
  way.port = String((server.address() as AddressInfo).port);
  return {
    url: way.href,
    hold: (): void => void (held = []),
    pass: (): void => {
      for (const write of held ?? []) write();
      held = null;
    },
    close: (): void => void server.close(),
  };
}
