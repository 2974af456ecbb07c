import { createDecipheriv, createECDH, type ECDH, hkdfSync, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createVapidKeys } from '../../../../src/engine/messages/push/push-credentials.ts';
import type { PushSender } from '../../../../src/engine/messages/push/push-sender.ts';
import { createPushSender, type PushSenderOptions } from '../../../../src/engine/messages/push/push-senders.ts';
import { makeCertificates } from '../../../stack/certificates.ts';
import { message, SENT, vapidPublicKey, verifiedJwt } from './push-bed.ts';
import { opened } from '../../../stack/opened.ts';

/** A browser: what it keeps of a subscription, and what apps get. */
class Browser {
  readonly ecdh: ECDH = createECDH('prime256v1');
  authSecret: Buffer = randomBytes(16);

  constructor() {
    this.ecdh.generateKeys();
  }

  subscription(endpoint: string, keys: Record<string, string> = {}): string {
    const [p256dh, auth] = [this.ecdh.getPublicKey('base64url'), this.authSecret.toString('base64url')];
    return JSON.stringify({ endpoint, expirationTime: null, keys: { p256dh, auth, ...keys } });
  }

  /** Decrypts a message as RFC 8291 and RFC 8188 describe it. */
  decrypted(content: Buffer): string {
    const salt = content.subarray(0, 16);
    const senderKey = content.subarray(21, 21 + content[20]!);
    const record = content.subarray(21 + content[20]!);
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), this.ecdh.getPublicKey(), senderKey]);
    const shared = hkdf(this.ecdh.computeSecret(senderKey), this.authSecret, info, 32);
    const key = hkdf(shared, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16);
    const nonce = hkdf(shared, salt, Buffer.from('Content-Encoding: nonce\0'), 12);
    const cipher = createDecipheriv('aes-128-gcm', key, nonce);
    cipher.setAuthTag(record.subarray(-16));
    const padded = Buffer.concat([cipher.update(record.subarray(0, -16)), cipher.final()]);
    const end = padded.lastIndexOf(2);
    if (padded.subarray(end + 1).some((byte) => byte !== 0)) throw new Error('the padding is wrong');
    return padded.subarray(0, end).toString('utf8');
  }
}

const hkdf = (secret: Buffer, salt: Buffer, info: Buffer, length: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, length));

const keys = createVapidKeys();
const CREDENTIALS = { provider: 'web_push', ...keys, subject: 'mailto:push@example.com' } as const;

interface Request {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}
type Answer = (response: ServerResponse) => void;
const status =
  (code: number, body = '', headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(code, headers).end(body);

let server: Server;
let origin: string;
let options: PushSenderOptions;
let sender: PushSender;
let nowMs: number;
let answer: Answer;
const browser = new Browser();
const requests: Request[] = [];

const certificates = opened(() => makeCertificates(), 'remove');
beforeAll(async () => {
  const [cert, key] = [await readFile(certificates.certificate), await readFile(certificates.key)];
  server = createServer({ cert, key }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({ path: request.url!, headers: request.headers, body: Buffer.concat(chunks) });
      answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ca = await readFile(certificates.authority, 'utf8');
  options = { allowPrivate: true, attemptMs: 30_000, ca, now: () => nowMs };
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});
beforeEach(() => {
  nowMs = Date.UTC(2026, 10, 29, 15);
  requests.length = 0;
  answer = status(201);
  sender = createPushSender(CREDENTIALS, options);
});
afterEach(() => sender.close());

const token = (path = '/push/abc'): string => browser.subscription(`${origin}${path}`);

test('the decryption is right for the example of RFC 8291', () => {
  const receiving = new Browser();
  receiving.ecdh.setPrivateKey('q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94', 'base64url');
  receiving.authSecret = Buffer.from('BTBZMqHH6r4Tts7J_aSIgg', 'base64url');
  const content =
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN';
  expect(receiving.decrypted(Buffer.from(content, 'base64url'))).toBe('When I grow up, I want to be a watermelon');
});

describe('a message', () => {
  test('is encrypted for the browser and identifies its sender', async () => {
    const sent = message();
    expect(await sender.send(token('/push/abc?x=1'), sent)).toEqual(SENT);
    const [{ path, headers, body }] = requests as [Request];
    expect(path).toBe('/push/abc?x=1');
    expect(headers).toMatchObject({
      'content-encoding': 'aes128gcm',
      'content-type': 'application/octet-stream',
      ttl: '3600',
      topic: 'streak_reminder',
    });
    expect(JSON.parse(browser.decrypted(body))).toEqual({
      id: sent.id,
      title: 'Zoë, keep your streak',
      body: 'It ends today. 🔥',
      url: 'https://app.example.com/streak',
      tag: 'streak_reminder',
      data: { kind: 'streak_reminder' },
    });
    const [, jwt, publicKey] = /^vapid t=(.+), k=(.+)$/.exec(headers.authorization!)!;
    expect(publicKey).toBe(keys.publicKey);
    const { header, claims } = verifiedJwt(jwt!, vapidPublicKey(publicKey!));
    expect(header).toEqual({ alg: 'ES256', typ: 'JWT' });
    expect(claims).toEqual({ aud: origin, exp: nowMs / 1_000 + 12 * 3_600, sub: 'mailto:push@example.com' });
  });

  test('has its own keys each time, and a token for an hour', async () => {
    for (const minutes of [0, 59, 1]) {
      nowMs += minutes * 60_000;
      await sender.send(token(), message({ collapseKey: 'ä'.repeat(20) }));
    }
    expect(new Set(requests.map(({ body }) => body.subarray(0, 86).toString('hex'))).size).toBe(3);
    const [first, second, third] = requests.map(({ headers }) => headers.authorization);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
    expect(requests[0]!.headers['topic']).toMatch(/^[\w-]{32}$/);
  });

  test('may have 4,096 bytes, encrypted', async () => {
    const empty = message({ body: '', id: '0' });
    const room = 4_096 - 103 - Buffer.byteLength(JSON.stringify({ ...empty, tag: '' })) + 40;
    let most = room;
    while ((await sender.send(token(), message({ id: '0', body: 'x'.repeat(most) }))).outcome === 'refused') most -= 1;
    expect(requests).toHaveLength(1);
    expect(requests[0]!.body).toHaveLength(4_096);
  });
});

describe('an answer', () => {
  const later = { outcome: 'later', concernsServer: false };
  const refused = { outcome: 'refused', concernsServer: false };

  test.each<[number, object]>([
    [200, SENT],
    [202, SENT],
    [204, SENT],
    [404, { outcome: 'token_gone', concernsServer: false }],
    [410, { outcome: 'token_gone', concernsServer: false }],
    [413, refused],
    [400, refused],
    [401, refused],
    [403, refused],
    [307, refused],
    [429, { ...later, retryAfterMs: 8_000 }],
    [500, { ...later, retryAfterMs: 8_000 }],
    [503, { ...later, retryAfterMs: 8_000 }],
  ])('%i', async (code, expected) => {
    const headers = { 'Retry-After': '8', Location: `${origin}/other` };
    answer = code === 204 ? status(code) : status(code, 'no /push/abc', headers);
    const result = await sender.send(token(), message());
    expect(result).toMatchObject(expected);
    expect(requests).toHaveLength(1);
    if (result.outcome !== 'sent') expect(result.reason).toBe(`${new URL(origin).host} answered ${code}: no …`);
  });

  test('that is broken, late or endless', async () => {
    answer = (response) => response.socket!.destroy();
    expect(await sender.send(token(), message())).toMatchObject({ outcome: 'unknown', concernsServer: false });
    sender.close();
    sender = createPushSender(CREDENTIALS, { ...options, attemptMs: 3_000 });
    answer = () => undefined;
    expect(await sender.send(token(), message())).toMatchObject({
      outcome: 'unknown',
      reason: 'the attempt took too long',
    });
    answer = (response) => {
      response.writeHead(201);
      const more = setInterval(() => response.write('x'.repeat(50_000)), 5);
      response.once('close', () => clearInterval(more));
    };
    expect(await sender.send(token(), message())).toEqual(SENT);
  });
});

describe('a subscription', () => {
  const off = createECDH('prime256v1').generateKeys();
  off[64]! ^= 1;
  test.each<[string, string]>([
    ['no JSON', 'x'],
    ['null', 'null'],
    ['a list', '[]'],
    ['no endpoint', '{"keys":{}}'],
    ['no URL', browser.subscription('push')],
    ['no TLS', browser.subscription('http://push.example.com/abc')],
    ['a password', browser.subscription('https://a:b@push.example.com/abc')],
    ['a port of a database', browser.subscription('https://push.example.com:6379/abc')],
    ['another protocol', browser.subscription('file:///etc/passwd')],
    ['no key', browser.subscription('https://push.example.com/abc', { p256dh: '' })],
    [
      'a key off the curve',
      browser.subscription('https://push.example.com/abc', { p256dh: off.toString('base64url') }),
    ],
    ['a short secret', browser.subscription('https://push.example.com/abc', { auth: 'abc' })],
    ['keys of another type', '{"endpoint":"https://push.example.com/abc","keys":{"p256dh":{},"auth":[]}}'],
    ['too long', browser.subscription(`https://push.example.com/${'x'.repeat(4_096)}`)],
  ])('that is invalid: %s', async (_case, text) => {
    expect(await sender.send(text, message())).toMatchObject({ outcome: 'token_gone', concernsServer: false });
    expect(requests).toEqual([]);
  });

  test.each(['127.0.0.1', '[::1]', '10.0.0.1', '169.254.169.254', 'localhost', 'redis', 'metadata.internal'])(
    'cannot reach the internal network: %s',
    async (host) => {
      const { port } = new URL(origin);
      const guarded = createPushSender(CREDENTIALS, { ...options, allowPrivate: false });
      const text = browser.subscription(`https://${host}:${port}/push/abc`);
      expect(await guarded.send(text, message())).toMatchObject({ outcome: 'token_gone' });
      expect(requests).toEqual([]);
      guarded.close();
    },
  );

  test('cannot reach it by a name either, and redirects are not followed', async () => {
    const { port } = new URL(origin);
    const resolve = async (): Promise<string[]> => ['127.0.0.1'];
    const guarded = createPushSender(CREDENTIALS, { ...options, allowPrivate: false, resolve });
    const text = browser.subscription(`https://push.example.com:${port}/push/abc`);
    expect(await guarded.send(text, message())).toMatchObject({ outcome: 'refused', concernsServer: false });
    expect(requests).toEqual([]);
    guarded.close();
  });
});
