import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ApnsSender } from '../../../../src/engine/messages/push/apns-sender.ts';
import type { PushSender } from '../../../../src/engine/messages/push/push-sender.ts';
import { createPushSender } from '../../../../src/engine/messages/push/push-senders.ts';
import { makeCertificates } from '../../../stack/certificates.ts';
import { ecKey, message, SENT, verifiedJwt } from './push-bed.ts';
import { opened } from '../../../stack/opened.ts';

const TOKEN = 'ab'.repeat(32);
const key = ecKey();
const CREDENTIALS = {
  provider: 'apns',
  privateKey: key.pem,
  keyId: 'ABC123DEFG',
  teamId: 'DEF123GHIJ',
  topic: 'com.example.app',
  environment: 'production',
} as const;

interface Request {
  headers: IncomingHttpHeaders;
  body: string;
}
type Plan = (stream: ServerHttp2Stream, request: Request) => void;

const answer =
  (status: number, reason?: string, headers: Record<string, string> = {}): Plan =>
  (stream) => {
    stream.respond({ ':status': status, ...headers });
    stream.end(reason === undefined ? '' : JSON.stringify({ reason }));
  };
const hang: Plan = () => undefined;

let ca: string;
let server: Http2SecureServer;
let baseUrl: string;
const sessions: ServerHttp2Session[] = [];
const requests: Request[] = [];
let plan: Plan;
let sender: PushSender;
let nowMs: number;

const certificates = opened(() => makeCertificates(), 'remove');
beforeAll(async () => {
  ca = await readFile(certificates.authority, 'utf8');
  server = createSecureServer({
    cert: await readFile(certificates.certificate),
    key: await readFile(certificates.key),
  });
  server.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => undefined);
  });
  server.on('stream', (stream, headers) => {
    let body = '';
    stream.setEncoding('utf8');
    stream.on('error', () => undefined);
    stream.on('data', (text: string) => (body += text));
    stream.on('end', () => {
      requests.push({ headers, body });
      plan(stream, requests.at(-1)!);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  baseUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  for (const session of sessions) session.destroy();
  await new Promise((closed) => server.close(closed));
});
beforeEach(() => {
  nowMs = Date.UTC(2026, 10, 29, 15);
  sessions.length = 0;
  requests.length = 0;
  plan = answer(200);
  sender = open();
});
afterEach(() => {
  for (const session of sessions) session.destroy();
  sender.close();
});

function open(attemptMs = 30_000): PushSender {
  const options = { allowPrivate: false, attemptMs, ca, baseUrls: { apnsProduction: baseUrl }, now: () => nowMs };
  return createPushSender(CREDENTIALS, options);
}

/** Passes on connections to a port, until it is muted: then it swallows what existing ones, or also new ones, send. */
async function mutableProxy(port: number) {
  const sockets = new Set<Socket>();
  const muted = new Set<Socket>();
  let mutesNew = false;
  const proxy = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => undefined));
    if (mutesNew) muted.add(client);
    client.on('data', (data) => muted.has(client) || upstream.write(data));
    upstream.on('data', (data) => muted.has(client) || client.write(data));
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    url: `https://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    mute: ({ new: also = false } = {}): void => {
      mutesNew = also;
      for (const socket of sockets) muted.add(socket);
    },
    close: async (): Promise<void> => {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => proxy.close(closed));
    },
  };
}

describe('a message', () => {
  test('is sent with a signed token over one connection', async () => {
    const sent = message({ id: '0190A5F2-7C3E-7B1A-9D3E-2F6B8C1D4E50', data: { kind: 'recap', aps: 'no' } });
    expect(await sender.send(TOKEN, sent)).toEqual(SENT);
    expect(await Promise.all([sender.send(TOKEN, message()), sender.send(TOKEN, message())])).toEqual([SENT, SENT]);
    expect(sessions).toHaveLength(1);
    const [{ headers, body }] = requests as [Request];
    expect(headers).toMatchObject({
      ':method': 'POST',
      ':path': `/3/device/${TOKEN}`,
      'apns-topic': 'com.example.app',
      'apns-push-type': 'alert',
      'apns-priority': '10',
      'apns-id': '0190a5f2-7c3e-7b1a-9d3e-2f6b8c1d4e50',
      'apns-expiration': String(nowMs / 1_000 + 3_600),
      'apns-collapse-id': 'streak_reminder',
    });
    expect(JSON.parse(body)).toEqual({
      aps: { alert: { title: 'Zoë, keep your streak', body: 'It ends today. 🔥' }, sound: 'default' },
      kind: 'recap',
      url: 'https://app.example.com/streak',
    });
    const { header, claims } = verifiedJwt(headers.authorization!.replace(/^bearer /, ''), key.publicKey);
    expect(header).toEqual({ alg: 'ES256', typ: 'JWT', kid: 'ABC123DEFG' });
    expect(claims).toEqual({ iss: 'DEF123GHIJ', iat: nowMs / 1_000 });
  });

  test('is short enough and for a token; a long collapse key is hashed', async () => {
    expect(await sender.send(TOKEN, message({ body: 'ä'.repeat(2_100) }))).toMatchObject({ outcome: 'refused' });
    expect(await sender.send('../x', message())).toMatchObject({ outcome: 'token_gone' });
    expect(sessions).toEqual([]);
    await sender.send(TOKEN, message({ collapseKey: 'ä'.repeat(60), url: null }));
    expect(requests[0]!.headers['apns-collapse-id']).toMatch(/^[\w-]{43}$/);
  });

  test('uses its token for 45 minutes', async () => {
    for (const minutes of [0, 44, 2]) {
      nowMs += minutes * 60_000;
      await sender.send(TOKEN, message());
    }
    const [first, second, third] = requests.map(({ headers }) => headers.authorization);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });
});

describe('an answer', () => {
  const refused = { outcome: 'refused', concernsServer: false };
  const later = { outcome: 'later', concernsServer: true };

  test.each<[number, string, object]>([
    [410, 'Unregistered', { outcome: 'token_gone', concernsServer: false, reason: 'APNs answered 410 Unregistered' }],
    [410, 'ExpiredToken', { outcome: 'token_gone' }],
    [400, 'PayloadEmpty', refused],
    [413, 'PayloadTooLarge', refused],
    [404, 'BadPath', refused],
    [400, 'TopicDisallowed', later],
    [403, 'InvalidProviderToken', later],
    [403, 'ExpiredProviderToken', later],
    [429, 'TooManyProviderTokenUpdates', later],
    [429, 'TooManyRequests', { outcome: 'later', concernsServer: false, retryAfterMs: 9_000 }],
    [500, 'InternalServerError', later],
    [503, 'Shutdown', { ...later, retryAfterMs: 9_000 }],
  ])('%i %s', async (status, reason, expected) => {
    plan = answer(status, reason, { 'retry-after': '9' });
    expect(await sender.send(TOKEN, message())).toMatchObject(expected);
    expect(requests).toHaveLength(1);
  });

  test.each(['BadDeviceToken', 'DeviceTokenNotForTopic'])(
    '%s removes a token only if APNs took a message before',
    async (reason) => {
      plan = answer(400, reason);
      expect(await sender.send(TOKEN, message())).toMatchObject(refused);
      plan = answer(200);
      await sender.send(TOKEN, message());
      plan = answer(400, reason);
      expect(await sender.send(TOKEN, message())).toMatchObject({ outcome: 'token_gone' });
    },
  );
});

describe('a connection', () => {
  test('that breaks before an answer leaves the message unknown; the next uses another', async () => {
    plan = (stream) => stream.session!.destroy();
    expect(await sender.send(TOKEN, message())).toMatchObject({ outcome: 'unknown', concernsServer: true });
    plan = answer(200);
    expect(await sender.send(TOKEN, message())).toEqual(SENT);
    expect(sessions).toHaveLength(2);
  });

  test('that APNs announces to end: what it did not process is sent over another, what it did is waited for', async () => {
    let first: ServerHttp2Stream | null = null;
    plan = (stream) => {
      if (first === null) first = stream;
      // The last processed request is the first one.
      else if (sessions.length === 1) {
        const data = Buffer.from(JSON.stringify({ reason: 'Shutdown' }));
        stream.session!.goaway(constants.NGHTTP2_NO_ERROR, first.id!, data);
      } else answer(200)(stream, requests[0]!);
    };
    const slow = sender.send(TOKEN, message({ title: 'slow' }));
    while (requests.length === 0) await sleep(5);
    expect(await sender.send(TOKEN, message({ title: 'not processed' }))).toEqual(SENT);
    expect(sessions).toHaveLength(2);
    answer(200)(first!, requests[0]!);
    expect(await slow).toEqual(SENT);
    expect(
      requests.map(({ body }) => (JSON.parse(body) as { aps: { alert: { title: string } } }).aps.alert.title),
    ).toEqual(['slow', 'not processed', 'not processed']);
  });

  test('that ends with an error: only what APNs did not process is sent again', async () => {
    await sender.send(TOKEN, message());
    plan = (stream, request) => {
      // The first message was the last one that APNs processed.
      if (sessions.length === 1) stream.session!.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 1);
      else answer(200)(stream, request);
    };
    expect(await sender.send(TOKEN, message())).toEqual(SENT);
    expect(sessions).toHaveLength(2);
    plan = (stream) =>
      stream.session!.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, stream.id!, Buffer.from('{"reason":"Shutdown"}'));
    expect(await sender.send(TOKEN, message())).toMatchObject({
      outcome: 'unknown',
      concernsServer: true,
      reason: 'APNs closed the connection: Shutdown',
    });
  });

  test('with a request that APNs did not touch (REFUSED_STREAM) serves it again, three times in all', async () => {
    plan = (stream, request) => {
      if (requests.length === 1) stream.close(constants.NGHTTP2_REFUSED_STREAM);
      else answer(200)(stream, request);
    };
    expect(await sender.send(TOKEN, message())).toEqual(SENT);
    expect(requests).toHaveLength(2);
    plan = (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM);
    expect(await sender.send(TOKEN, message())).toMatchObject({ outcome: 'later', concernsServer: true });
    expect(requests).toHaveLength(5);
  });

  test('is not used again after a request that took too long', async () => {
    sender.close();
    sender = open(3_000);
    plan = hang;
    expect(await sender.send(TOKEN, message())).toMatchObject({
      outcome: 'unknown',
      reason: 'the attempt took too long',
    });
    plan = answer(200);
    expect(await sender.send(TOKEN, message())).toEqual(SENT);
    expect(sessions).toHaveLength(2);
  });

  test('is not waited for when the process ends', async () => {
    plan = hang;
    const sending = sender.send(TOKEN, message());
    while (requests.length === 0) await sleep(5);
    sender.cutOff();
    expect(await sending).toMatchObject({ outcome: 'unknown', reason: 'the process ended' });
  });

  test('that went silent while idle is replaced before a message is lost on it', async () => {
    const proxy = await mutableProxy(Number(new URL(baseUrl).port));
    sender.close();
    sender = new ApnsSender(CREDENTIALS, { baseUrl: proxy.url, ca, trustedMs: 50, now: () => nowMs });
    expect(await sender.send(TOKEN, message())).toEqual(SENT);
    await sleep(60);
    // The ping is answered.
    expect(await sender.send(TOKEN, message())).toEqual(SENT);
    expect(sessions).toHaveLength(1);
    await sleep(60);
    proxy.mute();
    expect(await sender.send(TOKEN, message())).toEqual(SENT);
    expect([sessions.length, requests.length]).toEqual([2, 3]);
    sender.close();
    await proxy.close();
  });

  test('that goes silent during a request takes no longer than an attempt', async () => {
    const proxy = await mutableProxy(Number(new URL(baseUrl).port));
    sender.close();
    sender = new ApnsSender(CREDENTIALS, { baseUrl: proxy.url, ca, attemptMs: 3_000, now: () => nowMs });
    expect(await sender.send(TOKEN, message())).toEqual(SENT);
    proxy.mute();
    expect(await sender.send(TOKEN, message())).toMatchObject({
      outcome: 'unknown',
      reason: 'the attempt took too long',
    });
    expect(await sender.send(TOKEN, message())).toEqual(SENT);
    expect([sessions.length, requests.length]).toEqual([2, 2]);
    sender.close();
    await proxy.close();
  });

  test('that is accepted, but never completed, takes no longer than an attempt', async () => {
    const proxy = await mutableProxy(Number(new URL(baseUrl).port));
    proxy.mute({ new: true });
    sender.close();
    sender = createPushSender(CREDENTIALS, {
      allowPrivate: false,
      attemptMs: 200,
      ca,
      baseUrls: { apnsProduction: proxy.url },
    });
    expect(await sender.send(TOKEN, message())).toMatchObject({
      outcome: 'later',
      reason: 'the attempt took too long',
    });
    expect(requests).toEqual([]);
    sender.close();
    await proxy.close();
  });

  test('from an unknown authority, or to nobody: nothing was sent', async () => {
    const options = { allowPrivate: false, baseUrls: { apnsProduction: baseUrl } };
    const stranger = createPushSender(CREDENTIALS, options);
    expect(await stranger.send(TOKEN, message())).toMatchObject({ outcome: 'later', concernsServer: true });
    stranger.close();
    const lone = createPushSender(CREDENTIALS, { ...options, baseUrls: { apnsProduction: 'https://127.0.0.1:1' } });
    expect(await lone.send(TOKEN, message())).toMatchObject({ outcome: 'later', concernsServer: true });
    lone.close();
    expect(requests).toEqual([]);
  });
});
