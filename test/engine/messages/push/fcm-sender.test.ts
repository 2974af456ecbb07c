import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { PushSender } from '../../../../src/engine/messages/push/push-sender.ts';
import { createPushSender } from '../../../../src/engine/messages/push/push-senders.ts';
import { type Answer, hang, Receiver, type Received, reset } from '../../webhooks/receiver.ts';
import { json, message, rsaKey, SENT, verifiedJwt } from './push-bed.ts';
import { opened } from '../../../stack/opened.ts';

const TOKEN = 'dGVzdA:APA91bF-abc_DEF';
const account = rsaKey();
const serviceAccount = JSON.stringify({
  type: 'service_account',
  project_id: 'laurel-test',
  client_email: 'push@laurel-test.iam.gserviceaccount.com',
  private_key: account.pem,
  token_uri: 'http://169.254.169.254/latest/meta-data',
});

const fcmError = (status: number, code: string, text = 'no'): unknown => ({
  error: {
    code: status,
    message: text,
    status: 'NOT_FOUND',
    details: [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode: code }],
  },
});

let sender: PushSender;
let nowMs: number;
/** Answers to messages; requests for access tokens are answered as by Google unless `plan` is changed. */
let onMessage: Answer;
let tokens: number;

const receiver = opened(() => Receiver.start());
beforeEach(() => {
  nowMs = Date.UTC(2026, 10, 29, 15);
  tokens = 0;
  receiver.received.length = 0;
  onMessage = json(200, { name: 'projects/laurel-test/messages/1' });
  receiver.plan = ({ path }) => {
    if (path !== '/token') return onMessage;
    tokens += 1;
    return json(200, { access_token: `ya29.${tokens}`, expires_in: 3_600, token_type: 'Bearer' });
  };
  sender = open();
});
afterEach(() => sender.close());

function open(attemptMs = 30_000): PushSender {
  const baseUrls = { fcm: receiver.url, google: receiver.url };
  return createPushSender(
    { provider: 'fcm', serviceAccount },
    { allowPrivate: true, attemptMs, baseUrls, now: () => nowMs },
  );
}

const messages = (): Received[] => receiver.received.filter(({ path }) => path !== '/token');

describe('a message', () => {
  test('is sent with an access token that a signed assertion bought', async () => {
    expect(await sender.send(TOKEN, message())).toEqual(SENT);
    const [granting, sent] = receiver.received as [Received, Received];
    const form = new URLSearchParams(granting.body);
    expect(granting.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const { header, claims } = verifiedJwt(form.get('assertion')!, account.publicKey);
    expect(header).toEqual({ alg: 'RS256', typ: 'JWT' });
    expect(claims).toEqual({
      iss: 'push@laurel-test.iam.gserviceaccount.com',
      scope: 'https://www.googleapis.com/auth/firebase.messaging',
      aud: 'https://oauth2.googleapis.com/token',
      iat: nowMs / 1_000,
      exp: nowMs / 1_000 + 3_600,
    });
    expect(sent.path).toBe('/v1/projects/laurel-test/messages:send');
    expect(sent.headers['authorization']).toBe('Bearer ya29.1');
    expect(JSON.parse(sent.body)).toEqual({
      message: {
        token: TOKEN,
        notification: { title: 'Zoë, keep your streak', body: 'It ends today. 🔥' },
        data: { kind: 'streak_reminder', url: 'https://app.example.com/streak' },
        android: { ttl: '3600s', collapse_key: 'streak_reminder', notification: { tag: 'streak_reminder' } },
        apns: {
          headers: { 'apns-expiration': String(nowMs / 1_000 + 3_600), 'apns-collapse-id': 'streak_reminder' },
          payload: { aps: { sound: 'default' } },
        },
        webpush: { headers: { TTL: '3600' }, fcm_options: { link: 'https://app.example.com/streak' } },
      },
    });
  });

  test('is short enough, and its life at most four weeks', async () => {
    expect(await sender.send(TOKEN, message({ body: 'ä'.repeat(2_100) }))).toMatchObject({ outcome: 'refused' });
    expect(receiver.received).toEqual([]);
    await sender.send(TOKEN, message({ ttlSeconds: 1e9, collapseKey: 'x'.repeat(65), url: null }));
    const { android, webpush } = (JSON.parse(messages()[0]!.body) as { message: Record<string, unknown> }).message;
    expect(android).toMatchObject({ ttl: '2419200s', collapse_key: expect.stringMatching(/^[\w-]{43}$/) as string });
    expect(webpush).toEqual({ headers: { TTL: '2419200' } });
  });

  test('to what cannot be a token is not sent', async () => {
    expect(await sender.send('a b', message())).toMatchObject({ outcome: 'token_gone' });
    expect(receiver.received).toEqual([]);
  });
});

describe('access tokens', () => {
  test('are shared, and renewed shortly before their end', async () => {
    await Promise.all(Array.from({ length: 5 }, () => sender.send(TOKEN, message())));
    expect(tokens).toBe(1);
    nowMs += 54 * 60_000;
    await sender.send(TOKEN, message());
    expect(tokens).toBe(1);
    nowMs += 2 * 60_000;
    await sender.send(TOKEN, message());
    expect(tokens).toBe(2);
    expect(messages().at(-1)!.headers['authorization']).toBe('Bearer ya29.2');
  });

  test('that FCM does not accept are replaced', async () => {
    onMessage = json(401, { error: { code: 401, message: 'bad ya29.1', status: 'UNAUTHENTICATED' } });
    const result = await sender.send(TOKEN, message());
    expect(result).toMatchObject({ outcome: 'later', concernsServer: true });
    expect(result.reason).toBe('FCM answered 401 UNAUTHENTICATED: bad …');
    onMessage = json(200, {});
    expect(await sender.send(TOKEN, message())).toEqual(SENT);
    expect(tokens).toBe(2);
  });

  test.each<[string, Answer, string]>([
    [
      'refused',
      json(400, { error: 'invalid_grant', error_description: 'Invalid JWT' }),
      'refused the service account: 400',
    ],
    ['unavailable', json(503, {}, { 'Retry-After': '7' }), 'gave no access token: 503'],
    ['without a token', json(200, { token_type: 'Bearer' }), 'refused the service account: 200'],
    ['broken', reset, 'the connection broke'],
    ['silent', hang, 'the attempt took too long'],
  ])('%s: the message waits', async (kind, answer, reason) => {
    receiver.plan = ({ path }) => (path === '/token' ? answer : onMessage);
    sender.close();
    sender = open(3_000);
    const result = await sender.send(TOKEN, message());
    expect(result).toMatchObject({
      outcome: 'later',
      concernsServer: true,
      reason: expect.stringContaining(reason) as string,
      retryAfterMs: kind === 'unavailable' ? 7_000 : null,
    });
    expect(messages()).toEqual([]);
  });
});

describe('an answer', () => {
  const BAD_REQUEST = 'type.googleapis.com/google.rpc.BadRequest';
  const violation = (field: string): unknown => ({
    error: {
      code: 400,
      message: 'Request contains an invalid argument.',
      status: 'INVALID_ARGUMENT',
      details: [{ '@type': BAD_REQUEST, fieldViolations: [{ field, description: 'bad' }] }],
    },
  });
  const NOT_VALID = 'The registration token is not a valid FCM registration token';
  const gone = { outcome: 'token_gone', concernsServer: false };
  const refused = { outcome: 'refused', concernsServer: false };
  const later = { outcome: 'later', concernsServer: true };

  test.each<[string, Answer, object]>([
    ['unregistered', json(404, fcmError(404, 'UNREGISTERED')), gone],
    ['no token', json(400, fcmError(400, 'INVALID_ARGUMENT', NOT_VALID)), gone],
    ['a bad token', json(400, violation('message.token')), gone],
    ['a bad value', json(400, violation('message.data[0].value')), refused],
    ['a bad argument', json(400, fcmError(400, 'INVALID_ARGUMENT', 'Message too big')), refused],
    ['an unknown project', json(404, { error: { code: 404, status: 'NOT_FOUND' } }), later],
    ['no right', json(403, { error: { code: 403, status: 'PERMISSION_DENIED' } }), later],
    ['APNs credentials', json(401, fcmError(401, 'THIRD_PARTY_AUTH_ERROR')), later],
    [
      'the quota',
      json(429, fcmError(429, 'QUOTA_EXCEEDED'), { 'Retry-After': '60' }),
      { ...later, retryAfterMs: 60_000 },
    ],
    ['unavailable', json(503, fcmError(503, 'UNAVAILABLE'), { 'Retry-After': '5' }), { ...later, retryAfterMs: 5_000 }],
    ['an internal error', json(500, fcmError(500, 'INTERNAL')), later],
    ['no JSON', 502, later],
    ['a redirect', 302, later],
  ])('%s', async (_case, answer, expected) => {
    onMessage = answer;
    expect(await sender.send(TOKEN, message())).toMatchObject(expected);
    expect(messages()).toHaveLength(1);
  });

  test('about another project removes a token only if FCM took a message before', async () => {
    const mismatch = json(403, fcmError(403, 'SENDER_ID_MISMATCH', `${TOKEN} belongs to another`));
    onMessage = mismatch;
    const first = await sender.send(TOKEN, message());
    expect(first).toMatchObject({ outcome: 'refused', reason: expect.not.stringContaining(TOKEN) as string });
    onMessage = 200;
    await sender.send(TOKEN, message());
    onMessage = mismatch;
    expect(await sender.send(TOKEN, message())).toMatchObject(gone);
  });

  test('without one, the message may have been sent', async () => {
    await sender.send(TOKEN, message());
    onMessage = reset;
    expect(await sender.send(TOKEN, message())).toMatchObject({ outcome: 'unknown', concernsServer: true });
    sender.close();
    sender = open(3_000);
    onMessage = hang;
    expect(await sender.send(TOKEN, message())).toMatchObject({
      outcome: 'unknown',
      reason: 'the attempt took too long',
    });
  });

  test('is not waited for when the process ends', async () => {
    onMessage = hang;
    const sending = sender.send(TOKEN, message());
    while (messages().length === 0) await sleep(10);
    sender.cutOff();
    expect(await sending).toMatchObject({ outcome: 'unknown', reason: 'the process ended' });
  });

  test('of nobody: without a connection, nothing was sent', async () => {
    const closed = await Receiver.start();
    const { url } = closed;
    await closed.close();
    const lone = createPushSender(
      { provider: 'fcm', serviceAccount },
      { allowPrivate: true, baseUrls: { fcm: url, google: receiver.url } },
    );
    expect(await lone.send(TOKEN, message())).toMatchObject({ outcome: 'later', concernsServer: true });
    lone.close();
  });
});
