import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { PushSender } from '../../../../src/engine/messages/push/push-sender.ts';
import { createPushSender } from '../../../../src/engine/messages/push/push-senders.ts';
import { type Answer, hang, Receiver, reset } from '../../webhooks/receiver.ts';
import { json, message, SENT } from './push-bed.ts';
import { opened } from '../../../stack/opened.ts';

const TOKEN = 'ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]';
const ACCESS = 'expo-access-token';
const ticket = (error: string): unknown => ({
  status: 'error',
  message: `"${TOKEN}" is not possible with ${ACCESS}`,
  details: { error },
});

let sender: PushSender;

const receiver = opened(() => Receiver.start());
beforeEach(() => {
  receiver.received.length = 0;
  receiver.plan = () => json(200, { data: { status: 'ok', id: 'ticket' } });
  sender = open();
});
afterEach(() => sender.close());

function open(accessToken: string | null = ACCESS, attemptMs = 30_000): PushSender {
  return createPushSender(
    { provider: 'expo', accessToken },
    { allowPrivate: true, attemptMs, baseUrls: { expo: receiver.url } },
  );
}

describe('a message', () => {
  test('is sent, with an access token if the channel has one', async () => {
    expect(await sender.send(TOKEN, message({ ttlSeconds: 59.9 }))).toEqual({ ...SENT, ticket: 'ticket' });
    const [{ path, headers, body }] = receiver.received as [(typeof receiver.received)[0]];
    expect(path).toBe('/--/api/v2/push/send');
    expect(headers).toMatchObject({ 'content-type': 'application/json', authorization: `Bearer ${ACCESS}` });
    expect(JSON.parse(body)).toEqual({
      to: TOKEN,
      title: 'Zoë, keep your streak',
      body: 'It ends today. 🔥',
      ttl: 59,
      sound: 'default',
      data: { kind: 'streak_reminder', url: 'https://app.example.com/streak' },
    });
    sender.close();
    sender = open(null);
    expect(await sender.send(TOKEN, message())).toEqual({ ...SENT, ticket: 'ticket' });
    expect(receiver.received[1]!.headers).not.toHaveProperty('authorization');
  });

  test('is short enough and for a token', async () => {
    expect(await sender.send(TOKEN, message({ body: 'ä'.repeat(2_100) }))).toMatchObject({ outcome: 'refused' });
    expect(await sender.send('ExponentPushToken[', message())).toMatchObject({ outcome: 'token_gone' });
    expect(receiver.received).toEqual([]);
  });
});

describe('an answer', () => {
  const refused = { outcome: 'refused', concernsServer: false };
  const later = { outcome: 'later', concernsServer: true };
  const errors = (code: string): unknown => ({ errors: [{ code, message: 'no' }] });

  test.each<[string, Answer, object]>([
    ['a list of tickets', json(200, { data: [{ status: 'ok', id: 'ticket' }] }), SENT],
    ['gone', json(200, { data: ticket('DeviceNotRegistered') }), { outcome: 'token_gone', concernsServer: false }],
    ['gone, as a list', json(200, { data: [ticket('DeviceNotRegistered')] }), { outcome: 'token_gone' }],
    ['too big', json(200, { data: ticket('MessageTooBig') }), refused],
    ['too often', json(200, { data: ticket('MessageRateExceeded') }), { outcome: 'later', concernsServer: false }],
    ['credentials', json(200, { data: ticket('InvalidCredentials') }), later],
    ['another error', json(200, { data: ticket('SomethingNew') }), refused],
    ['a bad request', json(400, errors('VALIDATION_ERROR')), refused],
    ['no access', json(401, errors('UNAUTHORIZED')), later],
    ['no access, as a bad request', json(400, errors('UNAUTHORIZED')), later],
    ['too many', json(429, errors('TOO_MANY_REQUESTS'), { 'Retry-After': '3' }), { ...later, retryAfterMs: 3_000 }],
    ['an outage', 503, later],
    ['not understood', json(200, { data: null }), { outcome: 'unknown', concernsServer: true }],
    ['broken', reset, { outcome: 'unknown', concernsServer: true }],
    ['silent', hang, { outcome: 'unknown', reason: 'the attempt took too long' }],
  ])('%s', async (kind, answer, expected) => {
    sender.close();
    sender = open(ACCESS, kind === 'silent' ? 3_000 : 30_000);
    receiver.plan = () => answer;
    const result = await sender.send(TOKEN, message());
    expect(result).toMatchObject(expected);
    expect(receiver.received).toHaveLength(1);
    for (const secret of [TOKEN, ACCESS]) expect(result.reason ?? '').not.toContain(secret);
  });
});
