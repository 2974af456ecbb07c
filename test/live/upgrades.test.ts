import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'undici';
import { expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { opened } from '../stack/opened.ts';

/** About one in 1,000 was closed at once when a stream began within its upgrade. */
const OPENED = 1_500;
const AT_ONCE = 20;
/** Clients that leave during their upgrade. */
const LEFT = 1_000;

const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));

/** The type of the first message of a WebSocket; null: it was closed without any. */
async function firstMessage(): Promise<string | null> {
  const { body } = await laurel.app.post('/v1/live/tickets', {});
  const socket = new WebSocket(`${laurel.appUrl.replace('http', 'ws')}/v1/live/ws?ticket=${body.ticket as string}`);
  const first = await Promise.race([
    once(socket as never, 'message').then(([{ data }]) => (JSON.parse(String(data)) as { type: string }).type),
    once(socket as never, 'close').then(() => null),
  ]);
  socket.close();
  return first;
}

test('every WebSocket that is opened stays open and says so', async () => {
  const seen: (string | null)[] = [];
  while (seen.length < OPENED) seen.push(...(await Promise.all(Array.from({ length: AT_ONCE }, firstMessage))));
  expect(seen).toEqual(seen.map(() => 'ready'));
});

/** Asks for a WebSocket and leaves after that many ms. Returns whether the connection was upgraded by then. */
async function leaveAfter(ms: number): Promise<boolean> {
  const { body } = await laurel.app.post('/v1/live/tickets', {});
  const { hostname, port } = new URL(laurel.appUrl);
  const socket = connect(Number(port), hostname).on('error', () => undefined);
  let isUpgraded = false;
  socket.on('data', (data) => (isUpgraded ||= data.toString().startsWith('HTTP/1.1 101')));
  const path = `/v1/live/ws?ticket=${body.ticket as string}`;
  const headers = ['Upgrade: websocket', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version: 13'];
  socket.write([`GET ${path} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n'));
  await sleep(ms);
  if (Math.random() < 0.5) socket.resetAndDestroy();
  else socket.destroy();
  return isUpgraded;
}

// A connection that was gone before its stream began was an unhandled error, which ends the process.
test('clients may leave at any time during the upgrade', async () => {
  let upgraded = 0;
  // About half of them leave before the upgrade.
  let longestMs = 20;
  for (let round = 0; round < LEFT / AT_ONCE; round += 1) {
    const leaving = Array.from({ length: AT_ONCE }, () => leaveAfter(longestMs * Math.random()));
    const before = (await Promise.all(leaving)).filter((isUpgraded) => !isUpgraded).length;
    upgraded += AT_ONCE - before;
    longestMs *= before > AT_ONCE / 2 ? 1.1 : 0.9;
  }
  expect(upgraded).toBeGreaterThan(0);
  expect(upgraded).toBeLessThan(LEFT);
  expect(await firstMessage()).toBe('ready');
});
