import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { WebSocket } from 'undici';
import { afterEach, expect, test } from 'vitest';
import { mostConnections, mostOpenFiles } from '../../src/http/access/connection-limit.ts';
import { startLaurel } from '../laurel.ts';
import { opened } from '../stack/opened.ts';

/** 80 connections of the application port, 20 of the admin port. */
const laurel = opened(() => startLaurel({ openFiles: 200 }));
const proxied = opened(() => startLaurel({ openFiles: 200, trustedProxies: '127.0.0.1' }));

const MOST = 80;
const CROWDED = 60;
/** While the port is crowded, a network may open this many at once, and 0.8 more a second. */
const BURST = 4;

interface Client {
  socket: Socket;
  /** Everything received so far. */
  read: () => string;
  isOpen: () => boolean;
  ended: Promise<unknown>;
}

const clients: Client[] = [];
afterEach(async () => {
  for (const { socket } of clients) socket.destroy();
  await Promise.all(clients.splice(0).map(({ ended }) => ended));
});

async function open(url: string, localAddress = '127.0.0.1'): Promise<Client> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  let text = '';
  let isOpen = true;
  socket.setEncoding('latin1').on('data', (data: string) => (text += data));
  // One that is closed at once may be reset.
  socket.on('error', () => undefined);
  const ended = new Promise((resolve) => socket.once('close', resolve)).then(() => (isOpen = false));
  const client = { socket, read: () => text, isOpen: () => isOpen, ended };
  clients.push(client);
  await Promise.race([once(socket, 'connect'), ended]);
  return client;
}

const openMany = (url: string, count: number): Promise<Client[]> =>
  Promise.all(Array.from({ length: count }, () => open(url)));

/** Sends a request and waits for the whole answer. */
async function ask({ socket, read }: Client, path = '/healthz'): Promise<string> {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await expect.poll(read).toMatch(/\r\n\r\n./s);
  return read();
}

const openOf = (all: readonly Client[]): number => all.filter(({ isOpen }) => isOpen()).length;

async function valueOf({ adminUrl }: { adminUrl: string }, metric: string): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`, { headers: { Connection: 'close' } })).text();
  return Number(new RegExp(`^${metric}\\{[^}]*surface="application"[^}]*\\} (\\S+)$`, 'm').exec(text)?.[1]);
}

const refusedOf = (of: { adminUrl: string }): Promise<number> => valueOf(of, 'laurel_http_connections_refused_total');

test('an address that opens many connections leaves some to others, and the admin port is unaffected', async () => {
  const { appUrl, adminUrl } = laurel;
  const beganMs = performance.now();
  const idle = await openMany(appUrl, 200);
  const allowed = (): number => CROWDED + BURST + (MOST / 100) * Math.ceil((performance.now() - beganMs) / 1_000);
  // The kernel accepts a connection before the process refuses it.
  await expect.poll(() => openOf(idle)).toBeLessThanOrEqual(allowed());
  const refused = await refusedOf(laurel);
  expect(refused).toBeGreaterThan(0);
  expect(refused).toBeLessThanOrEqual(200 - CROWDED);

  expect(await valueOf(laurel, 'laurel_http_connections_limit')).toBe(MOST);

  // Open connections lose their places with their next answers, until there is room again.
  const other = async (): Promise<string> => {
    await openMany(appUrl, MOST);
    return ask(await open(appUrl, '127.0.0.2'));
  };
  await expect.poll(other).toMatch(/^HTTP\/1.1 200 OK.*connection: close/is);
  expect(await ask(await open(adminUrl))).not.toMatch(/connection: close/i);
  for (const { socket } of clients) socket.destroy();
  await expect.poll(() => valueOf(laurel, 'laurel_http_connections')).toBeLessThan(CROWDED);
  expect(await ask(await open(appUrl))).not.toMatch(/connection: close/i);
});

test('the connections of a trusted proxy are those of many clients; further ones than there are files for are refused', async () => {
  const { appUrl, adminUrl } = proxied;
  const all = await openMany(appUrl, MOST + 20);
  await expect.poll(() => openOf(all)).toBeLessThanOrEqual(MOST);
  const refused = await refusedOf(proxied);
  expect(refused).toBeGreaterThan(0);
  expect(refused).toBeLessThanOrEqual(20);
  expect(await ask(await open(adminUrl))).toMatch(/^HTTP\/1.1 200 OK/);
  for (const { socket } of all) socket.destroy();
  await expect.poll(() => valueOf(proxied, 'laurel_http_connections')).toBeLessThan(MOST);
  expect(await ask(await open(appUrl))).toMatch(/^HTTP\/1.1 200 OK/);
});

async function watch(url: string): Promise<WebSocket> {
  const { body } = await laurel.app.post('/v1/live/tickets', {});
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/live/ws?ticket=${body.ticket as string}`);
  await once(socket as never, 'open');
  return socket;
}

test('WebSockets count until they are closed', async () => {
  const { appUrl } = laurel;
  const before = await valueOf(laurel, 'laurel_http_connections');
  const sockets = [await watch(appUrl), await watch(appUrl), await watch(appUrl)];
  expect(await valueOf(laurel, 'laurel_http_connections')).toBeGreaterThanOrEqual(before + 3);
  for (const socket of sockets) socket.close();
  // Those of `app` end by themselves when they are idle.
  await expect.poll(() => valueOf(laurel, 'laurel_http_connections')).toBeLessThanOrEqual(before + 2);
});

test('a shutdown does not wait for WebSockets that have closed', async () => {
  const other = await laurel.another();
  const socket = await watch(other.appUrl);
  socket.close();
  await once(socket as never, 'close');
  // It would wait longer than a test may take.
  expect(await other.drain({ graceMs: 0, lingerMs: 3_600_000, timeoutMs: 3_600_000 })).toBe(0);
});

test('the number of connections follows from the number of files', () => {
  expect(mostConnections(1_024)).toEqual({ application: 614, admin: 153 });
  expect(mostConnections(20_000)).toEqual({ application: 15_795, admin: 3_948 });
  expect(mostConnections(null)).toEqual({ application: 40_000, admin: 10_000 });
  if (process.platform === 'linux') expect(mostOpenFiles()).toBeGreaterThan(0);
});
