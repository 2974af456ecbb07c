import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

const PATH = '/v1/messages/push-channels';
const KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();
const APNS = { privateKey: KEY, keyId: 'ABC123DEFG', teamId: 'DEF123GHIJ', topic: 'com.example.app' };

const laurel = opened(() => startLaurel({ secretsKey: randomBytes(32) }));

const put = (provider: string, body: object) => laurel.admin.put(`${PATH}/${provider}`, body);
const stored = async (provider: string) => {
  const { rows } = await laurel.pool.query(
    'SELECT credentials, version FROM push_channels JOIN push_senders USING (tenant_no) WHERE provider = $1',
    [provider],
  );
  return rows[0];
};

describe('a channel', () => {
  test('is shown without secrets, which Postgres has only encrypted, and keeps them', async () => {
    expect((await laurel.admin.get(`${PATH}/apns`)).status).toBe(404);
    expect((await put('apns', {})).body.error).toBe('credentials is required for a new channel');
    const created = await put('apns', { credentials: APNS });
    const { privateKey, ...seen } = APNS;
    expect(created).toMatchObject({
      status: 200,
      body: { provider: 'apns', enabled: true, pace: 50, credentials: { ...seen, environment: 'production' } },
    });
    const before = await stored('apns');
    expect(before.credentials.toString('latin1')).not.toContain('PRIVATE KEY');
    for (const answer of [created, await laurel.admin.get(PATH), await laurel.admin.get(`${PATH}/apns`)])
      expect(JSON.stringify(answer.body)).not.toContain(privateKey.slice(30, 60));
    // Nothing changes.
    await put('apns', {});
    await put('apns', { credentials: APNS });
    expect(await stored('apns')).toEqual(before);
    expect((await put('apns', { pace: 5, enabled: false })).body).toMatchObject({ pace: 5, enabled: false });
    expect(await stored('apns')).toEqual({ credentials: before.credentials, version: before.version + 1 });
  });

  test.each([
    ['fcm', { serviceAccount: '{}' }, /^credentials\.serviceAccount\.project_id is missing/],
    ['fcm', { serviceAccount: 'x', topic: 'y' }, /^credentials\.topic does not belong to fcm/],
    ['apns', { ...APNS, keyId: 'x' }, /^credentials\.keyId must have 10/],
    ['apns', { keyId: 'ABC123DEFG' }, /^credentials\.privateKey is required for apns/],
    ['apns', { ...APNS, privateKey: 'no key' }, /^credentials\.privateKey must be a private key/],
    ['web_push', {}, /^credentials\.subject is required for web_push/],
    ['web_push', { subject: 'me' }, /^credentials\.subject must be/],
    ['web_push', { subject: 'mailto:a@example.com', publicKey: 'x' }, /^credentials\.privateKey is required/],
    ['expo', { accessToken: 'a b' }, /^credentials\.accessToken must have/],
  ])('of %s is refused with %j', async (provider, credentials, error) => {
    const { status, body } = await put(provider, { credentials });
    expect([status, body.error]).toEqual([422, expect.stringMatching(error)]);
    expect(JSON.stringify(body)).not.toContain('no key');
  });

  test('is in the audit log with what changed, without secrets', async () => {
    await put('expo', { credentials: { accessToken: 'secret-one' } });
    await put('expo', { credentials: { accessToken: 'secret-two' }, pace: 7 });
    expect((await laurel.admin.delete(`${PATH}/expo`)).status).toBe(204);
    expect((await laurel.admin.delete(`${PATH}/expo`)).status).toBe(404);
    const { body } = await laurel.admin.get('/v1/audit-log?kind=push_channel&limit=3');
    expect(body.map(({ action }: { action: string }) => action)).toEqual(['delete', 'update', 'create']);
    expect(body[1]).toMatchObject({ before: { pace: 50 }, after: { pace: 7, credentials: 'changed' } });
    expect(JSON.stringify(body)).not.toContain('secret-');
  });

  test('is written only with a key that may write', async () => {
    const { body } = await laurel.admin.post('/v1/admin-api-keys', [{ name: 'reader', access: 'read' }]);
    const { key } = body.created[0];
    expect((await laurel.admin.get(PATH, { key })).status).toBe(200);
    expect((await laurel.admin.put(`${PATH}/expo`, { credentials: {} }, { key })).status).toBe(403);
    expect((await laurel.admin.post(`${PATH}/expo/test`, { token: 'x' }, { key })).status).toBe(403);
  });
});

test('a channel of Web Push makes its keys once, and apps can read the public one while it is enabled', async () => {
  const key = () => laurel.app.get('/v1/push/web-key');
  expect((await key()).body).toEqual({ publicKey: null });
  const { body } = await put('web_push', { credentials: { subject: 'mailto:a@example.com' } });
  const { publicKey } = body.credentials;
  expect(Buffer.from(publicKey, 'base64url')).toHaveLength(65);
  expect((await key()).body).toEqual({ publicKey });
  const changed = await put('web_push', { credentials: { subject: 'mailto:b@example.com' } });
  expect(changed.body.credentials).toEqual({ publicKey, subject: 'mailto:b@example.com' });
  await put('web_push', { enabled: false });
  expect((await key()).body).toEqual({ publicKey: null });
});

test('without SECRETS_KEY, no channel can be set', async () => {
  const without = await startLaurel({});
  try {
    const { status, body } = await without.admin.put(`${PATH}/expo`, { credentials: {} });
    expect([status, body.error]).toEqual([409, expect.stringContaining('SECRETS_KEY')]);
  } finally {
    await without.close();
  }
});
