/** How quickly a tenant's push notifications are sent, with the real queue and senders. */
import { createECDH, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer as createPlainServer } from 'node:http2';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createSilentServer, type Server as NetServer, type Socket } from 'node:net';
import { pino } from 'pino';
import { afterEach, describe, expect, test } from 'vitest';
import { occasionMessageId } from '../../../../src/engine/messages/message-queue.ts';
import { MessageDeliveries } from '../../../../src/engine/messages/message-deliveries.ts';
import {
  type DeliveryResult,
  MOST_NOTIFICATIONS,
  ProviderLane,
  type PushDelivery,
  sendToDevices,
} from '../../../../src/engine/messages/push/device-sends.ts';
import { domainOf, EndpointHosts, type HostAttempt } from '../../../../src/engine/messages/push/endpoint-hosts.ts';
import { createVapidKeys } from '../../../../src/engine/messages/push/push-credentials.ts';
import type { PushCredentials } from '../../../../src/engine/messages/push/push-sender.ts';
import { createPushSender, type PushSenderOptions } from '../../../../src/engine/messages/push/push-senders.ts';
import { addMessagesToSend } from '../../../../src/postgres/notifications/messages.ts';
import { transaction } from '../../../../src/postgres/transaction.ts';
import { testDatabase } from '../../../postgres/database.ts';
import { makeCertificates } from '../../../stack/certificates.ts';
import { ecKey, message } from './push-bed.ts';
import { opened } from '../../../stack/opened.ts';
import { until } from '../../../waiting.ts';

const NOW_MS = Date.UTC(2026, 10, 29, 9);
const SLOWLY_MS = 1_000;
const closing: (() => unknown)[] = [];

const database = opened(() => testDatabase({ redis: false }));
const certificates = opened(() => makeCertificates(), 'remove');
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  await database.pool.query('DELETE FROM email_messages');
});

/** Adds a push notification for each token, whose user is named after it, the first ones first. */
async function due(tokens: readonly string[]): Promise<void> {
  await database.pool.query(
    'INSERT INTO push_senders (tenant_no, enabled, updated) VALUES (0, true, now()) ON CONFLICT DO NOTHING',
  );
  const rows = tokens.map((userId, n) => ({
    id: occasionMessageId(0, 'recap', String(n), 'push'),
    tenantNo: 0,
    userId,
    kind: 'recap' as const,
    medium: 'push' as const,
    atMs: NOW_MS - tokens.length + n,
    payload: '{}',
  }));
  await transaction(database.pool, (client) => addMessagesToSend(client, rows));
}

/** Starts to send all that is due through one provider at the greatest pace. */
function startSending(credentials: PushCredentials, options: Partial<PushSenderOptions>): void {
  const sender = createPushSender(credentials, { allowPrivate: true, ...options });
  const { provider } = credentials;
  const lane = new ProviderLane({ provider, pace: 500, firstPauseMs: 60_000 });
  const providers = new Map([[provider, { lane, sender }]] as const);
  const never = new AbortController().signal;
  const startMs = performance.now();
  const deliveries = new MessageDeliveries<PushDelivery, DeliveryResult>({
    medium: 'push',
    pool: database.pool,
    clock: { now: () => Math.round(NOW_MS + performance.now() - startMs) },
    log: pino({ level: 'silent' }),
    mayWork: () => true,
    everyMs: 50,
    open: async () => ({
      pace: Infinity,
      mostAtATime: MOST_NOTIFICATIONS,
      leastAtATime: MOST_NOTIFICATIONS,
      prepare: async ({ id, userId }) => {
        if (!(await lane.hasPlace(never))) return { waitUntilMs: NOW_MS, reason: 'the provider is slow' };
        return { message: { tokens: [userId], push: message({ id }) }, localDay: 20_000, mostPerDay: 10 };
      },
      send: (delivery) => sendToDevices(providers, delivery, never),
      onResult: async () => undefined,
      cutOff: () => sender.cutOff(),
      close: async () => undefined,
    }),
  });
  closing.push(async () => {
    sender.cutOff();
    await deliveries.close();
    sender.close();
  });
}

async function listening(server: NetServer): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

test('a provider that answers slowly gets many notifications at a time over one connection', async () => {
  const count = 120;
  let [running, most, connections, answered, atArrival] = [0, 0, 0, 0, 0];
  const server = createPlainServer();
  server.on('session', () => (connections += 1));
  server.on('stream', (stream) => {
    most = Math.max(most, (running += 1));
    atArrival += running;
    stream.resume();
    setTimeout(() => {
      running -= 1;
      answered += 1;
      stream.respond({ ':status': 200 }, { endStream: true });
    }, SLOWLY_MS);
  });
  const port = await listening(server);
  closing.push(() => server.close());
  const { pem } = ecKey();
  await due(Array.from({ length: count }, () => randomBytes(32).toString('hex')));
  startSending(
    {
      provider: 'apns',
      privateKey: pem,
      keyId: 'ABCDE12345',
      teamId: 'FGHIJ67890',
      topic: 'a.b',
      environment: 'sandbox',
    },
    { baseUrls: { apnsSandbox: `http://127.0.0.1:${port}` } },
  );
  await until(() => answered === count);
  expect(most).toBeLessThanOrEqual(64);
  expect(connections).toBe(1);
  // On average, twice as many as at a provider that fails. The rate, and the average over time, would depend on the machine.
  expect(atArrival / count).toBeGreaterThan(2 * 4);
});

/** A browser's subscription at a server. */
function subscription(host: string, path: number): string {
  const browser = createECDH('prime256v1');
  browser.generateKeys();
  const keys = { p256dh: browser.getPublicKey('base64url'), auth: randomBytes(16).toString('base64url') };
  return JSON.stringify({ endpoint: `https://${host}/${path}`, keys });
}

test('servers of Web Push that never answer delay no others, whichever names they have', async () => {
  const [cert, key] = [await readFile(certificates.certificate), await readFile(certificates.key)];
  const ca = await readFile(certificates.authority, 'utf8');
  let arrived = 0;
  const quick = createServer({ cert, key }, (request, response) => {
    request.resume().on('end', () => {
      arrived += 1;
      response.writeHead(201).end();
    });
  });
  // A server that takes connections and says nothing, under many names.
  let [silent, mostSilent] = [0, 0];
  const sockets = new Set<Socket>();
  const silentServer = createSilentServer((socket) => {
    mostSilent = Math.max(mostSilent, (silent += 1));
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => (silent -= 1));
    socket.resume();
  });
  const silentPort = await listening(silentServer);
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    silentServer.close();
  });
  const port = await listening(quick);
  closing.push(() => {
    quick.closeAllConnections();
    quick.close();
  });
  const hostile = Array.from({ length: 80 }, (_, n) => subscription(`www.hostile${n % 20}.example:${silentPort}`, n));
  const others = Array.from({ length: 40 }, (_, n) => subscription(`localhost:${port}`, n));
  // The first notifications are for hostile servers; then half of them are.
  await due([...hostile.slice(0, 40), ...others.flatMap((other, n) => [hostile[40 + n]!, other])]);
  startSending(
    { provider: 'web_push', ...createVapidKeys(), subject: 'mailto:push@example.com' },
    { ca, attemptMs: 10_000, resolve: async () => ['127.0.0.1'] },
  );
  await until(() => arrived === others.length);
  expect(mostSilent).toBeGreaterThan(4);
  expect(mostSilent).toBeLessThanOrEqual(16 + 8);
});

describe('the servers of Web Push', () => {
  const places = async (hosts: EndpointHosts, wanted: [host: string, messageId: string][]) => {
    const entered = await Promise.all(wanted.map(([host, id]) => hosts.enter(host, id)));
    return entered.filter((one): one is HostAttempt => 'beganMs' in one);
  };

  test('are known by their domains', () => {
    const domains = ['https://a.b.example.com/x', 'https://example.com:8443', 'https://10.1.2.3', 'https://[::1]:1'];
    expect(domains.map((url) => domainOf(new URL(url)))).toEqual(['example.com', 'example.com', '10.1.2.3', '[::1]']);
  });

  test('share few places until they answer, and a user has two of them', async () => {
    const hosts = new EndpointHosts();
    const ofMany = Array.from({ length: 40 }, (_, n): [string, string] => [`h${n}`, `m${n}`]);
    expect(await places(hosts, ofMany)).toHaveLength(16 + 8);
    const ofUser = Array.from({ length: 8 }, (_, n): [string, string] => [`h${n}`, 'm']);
    expect(await places(new EndpointHosts(), ofUser)).toHaveLength(2);
    const ofHost = Array.from({ length: 8 }, (_, n): [string, string] => ['h', `m${n}`]);
    expect(await places(new EndpointHosts(), ofHost)).toHaveLength(4);
  });

  test('get more with each quick answer, and keep their places while others are slow', async () => {
    const hosts = new EndpointHosts();
    for (let n = 0; n < 40; n += 1) hosts.leave((await hosts.enter('quick', `m${n}`)) as HostAttempt, true);
    await places(
      hosts,
      Array.from({ length: 40 }, (_, n): [string, string] => [`slow${n}`, `s${n}`]),
    );
    const ofQuick = Array.from({ length: 40 }, (_, n): [string, string] => ['quick', `q${n}`]);
    expect(await places(hosts, ofQuick)).toHaveLength(32);
  });

  test('are skipped after three timeouts in a row, longer each time', async () => {
    const hosts = new EndpointHosts();
    const timeOut = (): void => hosts.leave({ host: 'h', messageId: 'm', beganMs: performance.now() - 5_000 }, false);
    for (let n = 0; n < 2; n += 1) timeOut();
    expect(hosts.skippedMs('h')).toBeNull();
    timeOut();
    expect(hosts.skippedMs('h')).toBeGreaterThan(59_000);
    expect(await hosts.enter('h', 'm')).toMatchObject({ reason: 'h did not answer repeatedly' });
    timeOut();
    expect(hosts.skippedMs('h')).toBeGreaterThan(119_000);
    hosts.leave({ host: 'h', messageId: 'm', beganMs: performance.now() }, true);
    timeOut();
    expect(hosts.skippedMs('other')).toBeNull();
  });
});
