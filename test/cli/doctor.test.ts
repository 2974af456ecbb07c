import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { diagnose } from '../../src/cli/doctor.ts';
import type { Finding } from '../../src/cli/doctor-running.ts';
import { outboxKey } from '../../src/redis/keys.ts';
import { createSealer } from '../../src/engine/messages/sealed-secrets.ts';
import { sealedPassword } from '../../src/engine/messages/smtp-channel.ts';
import { writeChannel } from '../../src/postgres/notifications/message-channels.ts';
import { transaction } from '../../src/postgres/transaction.ts';
import { startLaurel } from '../laurel.ts';
import { opened } from '../stack/opened.ts';

const laurel = opened(() => startLaurel());

const variables = (more: Record<string, string> = {}) => ({
  REDIS_URL: laurel.redisUrl,
  DATABASE_URL: laurel.databaseUrl,
  ...more,
});
const of = (findings: readonly Finding[], check: string): Finding[] => findings.filter((each) => each.check === check);

test('a running Laurel, its Redis and its Postgres', async () => {
  const [app, admin] = [laurel.appUrl, laurel.adminUrl].map((url) => new URL(url).port) as [string, string];
  const ports = { APP_PORT: app, ADMIN_PORT: admin, HOST: '127.0.0.1', ADMIN_HOST: '127.0.0.1' };
  const findings = await diagnose(variables(ports));
  expect(of(findings, 'Node')).toMatchObject([{ status: 'ok', found: process.versions.node }]);
  expect(of(findings, 'Application port')).toMatchObject([{ status: 'ok', found: `${app}: a running Laurel answers` }]);
  expect(of(findings, 'Admin port')).toMatchObject([{ status: 'ok' }]);
  expect(of(findings, 'Redis')).toMatchObject([
    { status: 'ok', found: expect.stringMatching(/^(redis|valkey) \d+\./) },
  ]);
  expect(of(findings, 'Postgres')).toMatchObject([
    { status: 'ok', found: expect.stringMatching(/^\d+.*connections$/) },
  ]);
  expect(of(findings, 'Postgres schema')).toMatchObject([{ status: 'ok', found: 'of this version' }]);
  for (const clock of ['Redis clock', 'Postgres clock']) expect(of(findings, clock)).toMatchObject([{ status: 'ok' }]);
  expect(of(findings, 'Disk')).toMatchObject([{ status: 'skipped' }]);
});

test('events that nothing stores, of a running Laurel without workers', async () => {
  const { port } = new URL(laurel.adminUrl);
  const running = () => diagnose(variables({ ADMIN_PORT: port, ADMIN_HOST: '127.0.0.1' }));
  const before = await running();
  expect(of(before, 'Readiness')).toMatchObject([{ status: 'ok', found: 'ready' }]);
  expect(of(before, 'Storing events')).toMatchObject([{ status: 'ok' }]);
  const redis = new Redis(laurel.redisUrl);
  const id = await redis.xadd(outboxKey(0), `${Date.now() - 90_000}-1`, 'an', 'entry');
  expect(of(await running(), 'Storing events')).toMatchObject([
    { status: 'warning', found: expect.stringMatching(/^events have waited \d+ s/), advice: expect.any(String) },
  ]);
  await redis.xdel(outboxKey(0), id!);
  redis.disconnect();
  expect(of(await diagnose(variables({ ADMIN_PORT: '1' })), 'Readiness')).toEqual([]);
});

test('names what must change: a port, settings of Redis and Postgres, an unavailable server, a variable', async () => {
  const other = createServer().listen({ port: 0, host: '127.0.0.1' });
  await once(other, 'listening');
  other.on('connection', (socket) => socket.destroy());
  const port = String((other.address() as AddressInfo).port);
  const redis = new Redis(laurel.redisUrl);
  try {
    await redis.config('SET', 'appendfsync', 'no');
    const findings = await diagnose(variables({ APP_PORT: port, HOST: '127.0.0.1' }));
    expect(of(findings, 'Application port')).toMatchObject([
      { status: 'failed', found: expect.stringContaining('set APP_PORT to another port') },
    ]);
    expect(of(findings, 'Redis settings')).toMatchObject([
      { status: 'warning', found: expect.stringContaining('appendfsync is "no"') },
    ]);
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    expect(of(await diagnose(variables()), 'Redis')).toMatchObject([
      { status: 'failed', found: expect.stringContaining('CONFIG SET maxmemory-policy noeviction') },
    ]);
  } finally {
    await redis.config('SET', 'maxmemory-policy', 'noeviction');
    redis.disconnect();
    other.close();
  }
  const wrongPassword = new URL(laurel.databaseUrl);
  wrongPassword.pathname = '/no_such_database';
  expect(of(await diagnose(variables({ DATABASE_URL: wrongPassword.href })), 'Postgres')).toMatchObject([
    { status: 'failed', found: expect.stringContaining('DATABASE_URL') },
  ]);
  expect(await diagnose({ APP_PORT: 'x' })).toMatchObject([
    { check: 'Node' },
    { check: 'Environment', status: 'failed', found: expect.stringContaining('APP_PORT') },
  ]);
});

test('whether the e-mails of enabled channels can be sent', async () => {
  const found = async (more: Record<string, string> = {}) => of(await diagnose(variables(more)), 'E-mails');
  expect(await found()).toMatchObject([{ status: 'skipped' }]);
  const key = Buffer.alloc(32, 1);
  const channel = { host: 'mail.invalid', port: 587, security: 'starttls', senderName: null, replyTo: null } as const;
  const login = { username: 'laurel', password: sealedPassword(createSealer(key), 0, 'x'), http: null };
  const sender = { senderAddress: 'hello@example.org', pace: 1 };
  await transaction(laurel.pool, async (client) => {
    await writeChannel(client, { tenantNo: 0, enabled: true, ...channel, ...login, ...sender }, 0);
  });
  expect(await found()).toMatchObject([{ status: 'warning', found: expect.stringContaining('PUBLIC_URL') }]);
  const PUBLIC_URL = 'https://laurel.example';
  const withKey = (bytes: Buffer) => found({ PUBLIC_URL, SECRETS_KEY: bytes.toString('base64') });
  expect(await found({ PUBLIC_URL })).toMatchObject([{ status: 'warning', found: expect.stringContaining('not set') }]);
  expect(await withKey(Buffer.alloc(32, 2))).toMatchObject([
    { status: 'warning', found: expect.stringContaining('is not the key') },
  ]);
  expect(await withKey(key)).toMatchObject([{ status: 'ok', found: '1 channel enabled' }]);
});
