import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { smtpServer } from '../../engine/messages/smtp-server.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

const CHANNEL = {
  host: 'smtp.example.com',
  port: 587,
  security: 'starttls',
  username: 'laurel',
  password: 'p4ssw0rd',
  senderAddress: 'hello@example.com',
};
const PATH = '/v1/messages/channel';

const laurel = opened(() => startLaurel({ publicUrl: 'https://laurel.example', secretsKey: randomBytes(32) }));
beforeEach(() => laurel.pool.query('DELETE FROM message_channels'));

const put = (changes: object = {}) => laurel.admin.put(PATH, { ...CHANNEL, ...changes });

describe('a channel', () => {
  test('is shown without its password, which Postgres has only encrypted, and can be sent back', async () => {
    expect((await laurel.admin.get(PATH)).status).toBe(404);
    expect(await put()).toMatchObject({ status: 200, body: { hasPassword: true, enabled: true, pace: 5 } });
    const { body } = await laurel.admin.get(PATH);
    expect(body).toMatchObject({ host: 'smtp.example.com', username: 'laurel', hasPassword: true, senderName: null });
    expect(JSON.stringify(body)).not.toContain('p4ssw0rd');
    const stored = async () => (await laurel.pool.query('SELECT password, version FROM message_channels')).rows[0];
    const { password } = await stored();
    expect(password.toString('latin1')).not.toContain('p4ssw0rd');
    const back = await laurel.admin.put(PATH, body);
    expect(back).toMatchObject({ status: 200, body });
    // Nothing changed.
    expect(await stored()).toEqual({ password, version: 1 });
    expect((await laurel.admin.put(PATH, { ...body, pace: 2 })).body).toMatchObject({ pace: 2, hasPassword: true });
    expect(await stored()).toEqual({ password, version: 2 });
    expect((await laurel.admin.delete(PATH)).status).toBe(204);
    expect((await laurel.admin.delete(PATH)).status).toBe(404);
  });

  test('keeps its password only for the same server and login', async () => {
    await put();
    const { password, ...without } = CHANNEL;
    expect((await laurel.admin.put(PATH, without)).status).toBe(200);
    for (const change of [{ host: 'evil.example.com' }, { port: 465 }, { security: 'tls' }, { username: 'other' }]) {
      const { status, body } = await laurel.admin.put(PATH, { ...without, ...change });
      expect([status, body.error]).toEqual([422, expect.stringMatching(/^password is required again/)]);
    }
    expect((await laurel.admin.put(PATH, { ...without, host: 'new.example.com', password })).status).toBe(200);
    expect((await laurel.admin.put(PATH, { ...without, username: null })).body.hasPassword).toBe(false);
  });

  test.each([
    [{ host: '10.0.0.1' }, /^host must not be a private/],
    [{ host: 'localhost' }, /^host must not be a name of an internal/],
    [{ host: '0x7f.1' }, /^host must be a host name/],
    [{ host: '::1' }, /^host must not be a private/],
    [{ port: 6379 }, /^port must not be 6379/],
    [{ security: 'none' }, /^security must not be none/],
    [{ username: null }, /^username is required with password/],
    [{ password: null }, /^password is required/],
  ])('is refused with %j', async (change, error) => {
    const { status, body } = await put(change);
    expect([status, body.error]).toEqual([422, expect.stringMatching(error)]);
  });

  test.each([
    [{ senderAddress: 'a@b.example>\r\nBcc: all@example.com' }],
    [{ senderAddress: 'two@a.example, three@a.example' }],
    [{ senderName: 'A\nB' }],
    [{ pace: 0 }],
    [{ host: 'a b' }],
    [{ passwort: 'x' }],
  ])('is refused (400) with %j', async (change) => {
    expect((await put(change)).status).toBe(400);
  });

  test('is in the audit log with what changed, without a password', async () => {
    await put();
    await put({ pace: 1, password: 'another-p4ssw0rd' });
    await laurel.admin.delete(PATH);
    const { body } = await laurel.admin.get('/v1/audit-log?kind=message_channel&limit=3');
    expect(body.map(({ action }: { action: string }) => action)).toEqual(['delete', 'update', 'create']);
    expect(body[1]).toMatchObject({ before: { pace: 5 }, after: { pace: 1, password: 'changed' } });
    expect(JSON.stringify(body)).not.toContain('p4ssw0rd');
  });

  test('is written only with a key that may write', async () => {
    const { body } = await laurel.admin.post('/v1/admin-api-keys', [{ name: 'reader', access: 'read' }]);
    const { key } = body.created[0];
    expect((await laurel.admin.get(PATH, { key })).status).toBe(404);
    expect((await laurel.admin.put(PATH, CHANNEL, { key })).status).toBe(403);
    expect((await laurel.admin.post(`${PATH}/test`, { to: 'a@example.com' }, { key })).status).toBe(403);
  });
});

test('a test e-mail says what the mail server answered', async () => {
  const smtp = await smtpServer();
  const allowing = await startLaurel({ publicUrl: 'https://laurel.example', webhookAllowPrivate: true });
  try {
    const channel = { host: '127.0.0.1', port: smtp.port, security: 'none', senderAddress: 'hello@example.com' };
    expect((await allowing.admin.put(PATH, { ...channel, enabled: false })).status).toBe(200);
    const send = () => allowing.admin.post(`${PATH}/test`, { to: 'you@example.com' });
    expect(await send()).toMatchObject({ status: 200, body: { outcome: 'sent', reason: null } });
    expect(smtp.received[0]).toMatchObject({ from: 'hello@example.com', to: ['you@example.com'] });
    await smtp.close();
    expect(await send()).toMatchObject({ status: 200, body: { outcome: 'later' } });
    // Without SECRETS_KEY.
    const login = { ...channel, security: 'tls', username: 'laurel', password: 'x' };
    const refused = await allowing.admin.put(PATH, login);
    expect([refused.status, refused.body.error]).toEqual([409, expect.stringContaining('SECRETS_KEY')]);
  } finally {
    await allowing.close();
  }
});

test('the readiness names the settings that are missing, and whether the stored password opens', async () => {
  const readiness = async (of: TestLaurel) => (await of.admin.get('/v1/messages/readiness')).body;
  const all = { publicUrl: 'https://laurel.example', hasSecretsKey: true };
  await laurel.pool.query('DELETE FROM message_channels');
  expect(await readiness(laurel)).toEqual({ ...all, opensPassword: null });
  await put();
  expect(await readiness(laurel)).toEqual({ ...all, opensPassword: true });
  await laurel.pool.query(
    'UPDATE message_channels SET password = set_byte(password, 20, 255 - get_byte(password, 20))',
  );
  expect(await readiness(laurel)).toEqual({ ...all, opensPassword: false });
});

test('without PUBLIC_URL, no channel can be enabled', async () => {
  const without = await startLaurel({ secretsKey: randomBytes(32) });
  try {
    const { status, body } = await without.admin.put(PATH, CHANNEL);
    expect([status, body.error]).toEqual([409, expect.stringContaining('PUBLIC_URL')]);
    expect((await without.admin.get('/v1/messages/readiness')).body.publicUrl).toBe(null);
    expect((await without.admin.put(PATH, { ...CHANNEL, enabled: false })).status).toBe(200);
  } finally {
    await without.close();
  }
});
