import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { verifyWebhook } from '../../clients/typescript/src/index.ts';
import { NOTIFICATION_EXAMPLES } from '../../src/domain/notifications/examples.ts';

const secretOf = (byte: number): string => `whsec_${Buffer.alloc(32, byte).toString('base64')}`;
const [secret, previous, other] = [secretOf(1), secretOf(2), secretOf(3)];

const body = JSON.stringify({ ...NOTIFICATION_EXAMPLES['streak.lost'], note: 'Zoë' });
const id = '0190a5f2-7c3e-8b1a-9d3e-2f6b8c1d4e5f';

/** The headers of an attempt, signed by an independent implementation. */
function headersOf({ secrets = [secret], atMs = Date.now(), signed = body } = {}) {
  const at = new Date(atMs);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(atMs / 1_000)),
    'webhook-signature': secrets.map((one) => new Webhook(one).sign(id, at, signed)).join(' '),
    'webhook-sequence': '4711',
  };
}

test.each([
  ['an object', headersOf()],
  ['the Fetch API', new Headers(headersOf())],
])('returns the message, with headers of %s', async (_, headers) => {
  const { message, ...webhook } = await verifyWebhook({ body, headers, secret });
  expect(webhook).toEqual({ id, sentAt: expect.any(Date), sequence: 4711 });
  expect(message.type === 'streak.lost' && message.length).toBe(NOTIFICATION_EXAMPLES['streak.lost'].length);
});

test('accepts the body as bytes, either secret of a rotation, and a secret of a list', async () => {
  const bytes = new TextEncoder().encode(body);
  const rotated = headersOf({ secrets: [secret, previous] });
  for (const request of [
    { body: bytes, headers: rotated, secret: previous },
    { body: bytes, headers: rotated, secret },
    { body, headers: headersOf(), secret: [other, secret] },
  ])
    expect(await verifyWebhook(request)).toMatchObject({ message: { type: 'streak.lost' } });
});

const headers = headersOf();
test.each([
  ['another body', { body: body.replace('Zoë', 'Eve'), headers, secret }],
  ['another secret', { body, headers, secret: other }],
  ['no secret', { body, headers, secret: [] }],
  ['another ID', { body, headers: { ...headers, 'webhook-id': 'x' }, secret }],
  [
    'another time',
    { body, headers: { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) }, secret },
  ],
  ['no signature', { body, headers: { ...headers, 'webhook-signature': '' }, secret }],
  ['a signature that is not Base64', { body, headers: { ...headers, 'webhook-signature': 'v1,?!' }, secret }],
  [
    'a signature of another version',
    { body, headers: { ...headers, 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v2,') }, secret },
  ],
  ['an old attempt', { body, headers: headersOf({ atMs: Date.now() - 400_000 }), secret }],
  ['an attempt in the future', { body, headers: headersOf({ atMs: Date.now() + 400_000 }), secret }],
  ['no headers', { body, headers: {}, secret }],
  ['a time that is no number', { body, headers: { ...headers, 'webhook-timestamp': 'now' }, secret }],
])('refuses %s', async (_, request) => {
  await expect(verifyWebhook(request)).rejects.toMatchObject({ code: 'invalid_signature' });
});
