/** How quickly a tenant's push notifications are sent, with the real queue and senders. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer as createPlainServer } from 'node:http2';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { emailId } from '../../../../src/engine/messages/email-queue.ts';
import { MessageDeliveries } from '../../../../src/engine/messages/message-deliveries.ts';
import {
  type DeliveryResult,
  MOST_NOTIFICATIONS,
  ProviderLane,
  type PushDelivery,
  sendToDevices,
} from '../../../../src/engine/messages/push/device-sends.ts';
import { createVapidKeys } from '../../../../src/engine/messages/push/push-credentials.ts';
import type { PushCredentials } from '../../../../src/engine/messages/push/push-sender.ts';
import { createPushSender, type PushSenderOptions } from '../../../../src/engine/messages/push/push-senders.ts';
import { insertEmails } from '../../../../src/postgres/notifications/email-messages.ts';
import { transaction } from '../../../../src/postgres/transaction.ts';
import { testDatabase, type TestDatabase } from '../../../postgres/database.ts';
import { type Certificates, makeCertificates } from '../../../stack/certificates.ts';
import { ecKey, message } from './push-bed.ts';

const NOW_MS = Date.UTC(2026, 10, 29, 9);
let database: TestDatabase;
let certificates: Certificates;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  database = await testDatabase({ redis: false });
  certificates = await makeCertificates();
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  await database.pool.query('DELETE FROM email_messages');
});
afterAll(async () => {
  await certificates.remove();
  await database.close();
});

/** Adds a push notification for each token, whose user is named after it, the first ones first. */
async function due(tokens: readonly string[]): Promise<void> {
  await database.pool.query(
    'INSERT INTO push_senders (tenant_no, enabled, updated) VALUES (0, true, now()) ON CONFLICT DO NOTHING',
  );
  const rows = tokens.map((userId, n) => ({
    id: emailId(0, 'recap', String(n), 'push'),
    tenantNo: 0,
    userId,
    kind: 'recap' as const,
    medium: 'push' as const,
    atMs: NOW_MS - tokens.length + n,
    payload: '{}',
  }));
  await transaction(database.pool, (client) => insertEmails(client, rows));
}

/** Starts to send all that is due through one provider at the greatest pace. */
function startSending(credentials: PushCredentials, options: Partial<PushSenderOptions>): void {
  const sender = createPushSender(credentials, { allowPrivate: true, ...options });
  const { provider } = credentials;
  const lane = new ProviderLane({ provider, pace: 500, firstPauseMs: 60_000 });
  const providers = new Map([[provider, { lane, sender }]] as const);
  const never = new AbortController().signal;
  const deliveries = new MessageDeliveries<PushDelivery, DeliveryResult>({
    medium: 'push',
    pool: database.pool,
    clock: { now: () => NOW_MS },
    log: pino({ level: 'silent' }),
    mayWork: () => true,
    everyMs: 50,
    open: async () => ({
      pace: Infinity,
      mostAtATime: MOST_NOTIFICATIONS,
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

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = performance.now() + 20_000; performance.now() < endMs; await sleep(5)) if (await isSo()) return;
  throw new Error('It did not happen in time');
}

test('a provider that answers after 100 ms takes hundreds of notifications a second over one connection', async () => {
  const count = 600;
  let [running, most, connections] = [0, 0, 0];
  const tookMs: number[] = [];
  const server = createPlainServer();
  server.on('session', () => (connections += 1));
  server.on('stream', (stream) => {
    most = Math.max(most, (running += 1));
    stream.resume();
    setTimeout(() => {
      running -= 1;
      tookMs.push(performance.now());
      stream.respond({ ':status': 200 }, { endStream: true });
    }, 100);
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
  await until(() => tookMs.length === count);
  const perSecond = (count / (tookMs.at(-1)! - tookMs[0]!)) * 1_000;
  console.log({ perSecond, most, connections });
  expect(most).toBeLessThanOrEqual(64);
  expect(connections).toBe(1);
  // Four at a time would be 40 a second.
  expect(perSecond).toBeGreaterThan(100);
});
