import { createECDH } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createVapidKeys, problemOfCredentials } from '../../../../src/engine/messages/push/push-credentials.ts';
import type { PushCredentials } from '../../../../src/engine/messages/push/push-sender.ts';
import { createPushSender, createPushSenders } from '../../../../src/engine/messages/push/push-senders.ts';
import { tokenProblem } from '../../../../src/engine/messages/push/push-tokens.ts';
import { Receiver } from '../../webhooks/receiver.ts';
import { ecKey, json, message, rsaKey, SENT } from './push-bed.ts';
import { opened } from '../../../stack/opened.ts';

const rsa = rsaKey().pem;
const ec = ecKey().pem;
const fcm = (changes: object = {}): PushCredentials => ({
  provider: 'fcm',
  serviceAccount: JSON.stringify({
    project_id: 'laurel-test',
    client_email: 'push@laurel-test.iam.gserviceaccount.com',
    private_key: rsa,
    ...changes,
  }),
});
const apns = (changes: object = {}): PushCredentials => ({
  provider: 'apns',
  privateKey: ec,
  keyId: 'ABC123DEFG',
  teamId: 'DEF123GHIJ',
  topic: 'com.example.app',
  environment: 'sandbox',
  ...changes,
});
const keys = createVapidKeys();
const webPush = (changes: object = {}): PushCredentials => ({
  provider: 'web_push',
  ...keys,
  subject: 'mailto:push@example.com',
  ...changes,
});
const expo = (accessToken: string | null): PushCredentials => ({ provider: 'expo', accessToken });

describe('credentials', () => {
  test.each([fcm(), apns(), webPush(), webPush({ subject: 'https://example.com/contact' }), expo(null), expo('abc')])(
    'that can work: %#',
    (credentials) => {
      expect(problemOfCredentials(credentials)).toBeNull();
      createPushSender(credentials, { allowPrivate: false }).close();
    },
  );

  const SECRET = 'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg';
  test.each<[string, PushCredentials, string]>([
    ['no JSON', { provider: 'fcm', serviceAccount: SECRET }, 'serviceAccount'],
    ['a list', { provider: 'fcm', serviceAccount: '[]' }, 'serviceAccount'],
    ['no project', fcm({ project_id: undefined }), 'serviceAccount.project_id'],
    ['a path as project', fcm({ project_id: '../x' }), 'serviceAccount.project_id'],
    ['no address', fcm({ client_email: 7 }), 'serviceAccount.client_email'],
    ['no key', fcm({ private_key: '' }), 'serviceAccount.private_key'],
    ['a broken key', fcm({ private_key: SECRET }), 'serviceAccount.private_key'],
    ['an EC key', fcm({ private_key: ec }), 'serviceAccount.private_key'],
    ['a weak key', fcm({ private_key: rsaKey(1_024).pem }), 'serviceAccount.private_key'],
    ['a broken key', apns({ privateKey: SECRET }), 'privateKey'],
    ['an RSA key', apns({ privateKey: rsa }), 'privateKey'],
    ['another curve', apns({ privateKey: ecKey('P-384').pem }), 'privateKey'],
    ['a bad key ID', apns({ keyId: 'abc' }), 'keyId'],
    ['a bad team ID', apns({ teamId: 'DEF123GHI\n' }), 'teamId'],
    ['a header in the topic', apns({ topic: 'a\r\nb: c' }), 'topic'],
    ['a header in the token', expo('a\r\nb: c'), 'accessToken'],
    ['an empty token', expo(''), 'accessToken'],
    ['no contact', webPush({ subject: 'push@example.com' }), 'subject'],
    ['a local contact', webPush({ subject: 'mailto:push@localhost' }), 'subject'],
    ['no public key', webPush({ publicKey: SECRET }), 'publicKey'],
    ['no private key', webPush({ privateKey: SECRET }), 'privateKey'],
    ['zero', webPush({ privateKey: Buffer.alloc(32).toString('base64url') }), 'privateKey'],
    ['another public key', webPush({ publicKey: createVapidKeys().publicKey }), 'publicKey'],
  ])('that cannot: %s', (_case, credentials, field) => {
    const found = problemOfCredentials(credentials);
    expect(found?.field).toBe(field);
    expect(found?.text).not.toContain(SECRET.slice(0, 20));
    expect(() => createPushSender(credentials, { allowPrivate: false })).toThrow(`${field} `);
  });

  test('VAPID keys are a pair', () => {
    const { publicKey, privateKey } = createVapidKeys();
    const ecdh = createECDH('prime256v1');
    ecdh.setPrivateKey(privateKey, 'base64url');
    expect(ecdh.getPublicKey('base64url')).toBe(publicKey);
  });
});

test.each<[PushCredentials['provider'], string, boolean]>([
  ['fcm', 'dGVzdA:APA91bF-abc_DEF', true],
  ['fcm', 'a\r\nb', false],
  ['apns', 'AB'.repeat(32), true],
  ['apns', `${'ab'.repeat(32)}/../x`, false],
  ['expo', 'ExpoPushToken[abc]', true],
  ['expo', '0190a5f2-7c3e-7b1a-9d3e-2f6b8c1d4e50', true],
  ['expo', 'ExpoPushToken["]', false],
  ['web_push', '{}', false],
])('a token of %s: %j', (provider, token, isOne) => {
  expect(tokenProblem(provider, token, { allowPrivate: false }) === null).toBe(isOne);
});

describe('kept senders', () => {
  const receiver = opened(() => Receiver.start(() => json(200, { data: { status: 'ok' } })));

  test('are the same for the same credentials', async () => {
    const senders = createPushSenders({ allowPrivate: true, baseUrls: { expo: receiver.url } });
    expect(senders.of(expo('a'))).toBe(senders.of(expo('a')));
    expect(senders.of(expo('b'))).not.toBe(senders.of(expo('a')));
    expect(() => senders.of(expo(''))).toThrow('accessToken');
    expect(await senders.of(expo('a')).send('ExpoPushToken[abc]', message())).toEqual(SENT);
    const closed = senders.of(expo('a'));
    senders.close();
    expect(await closed.send('ExpoPushToken[abc]', message())).toMatchObject({ outcome: 'later' });
    expect(await senders.of(expo('a')).send('ExpoPushToken[abc]', message())).toEqual(SENT);
    senders.close();
  });
});
