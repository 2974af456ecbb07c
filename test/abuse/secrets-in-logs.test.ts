import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { userKey } from '../../src/redis/keys.ts';
import { RunWithFaults } from './run-with-faults.ts';
import { onlyPart } from '../stack/only-part.ts';

// One run meets one fault after the other; then the test searches everything that its processes printed for planted secrets.
const planted = (what: string): string => `${what}${randomBytes(12).toString('hex')}`;

const secrets = {
  name: planted('Name'),
  refusedId: planted('refused'),
  email: `${planted('mail')}@example.com`,
  attribute: planted('Attribute'),
  userId: planted('user'),
  device: planted('device'),
  idempotencyKey: planted('idem'),
  adminBody: planted('adminbody'),
  guessedBody: planted('guess'),
  redisPassword: planted('redis'),
  newRedisPassword: planted('redisnew'),
  postgresPassword: planted('postgres'),
  newPostgresPassword: planted('postgresnew'),
  webhookPath: planted('hook'),
};
const run = new RunWithFaults({ ...secrets, adminKey: `planted.${secrets.adminBody}` });

const person = {
  id: secrets.userId,
  name: secrets.name,
  email: secrets.email,
  tz: 'Europe/London',
  deviceTokens: [secrets.device],
  attributes: { country: secrets.attribute },
};
const event = (user: object = person): Promise<number> =>
  run.call(`${run.app}/v1/metrics/flashcards-flipped/event`, { user, value: 1 });
const logged = (text: string): Promise<void> => expect.poll(() => run.output).toContain(text);
const stored = async (userId: string): Promise<boolean> =>
  (await run.postgres.query('SELECT FROM users WHERE id = $1', [userId])).rowCount === 1;

beforeAll(() => run.start());
afterAll(() => run.close());

test('accepts events and does not print a key that the operator configured', async () => {
  expect(await event()).toBe(201);
  await expect.poll(() => stored(secrets.userId)).toBe(true);
  expect(run.output).not.toContain(secrets.adminBody);
  expect(run.output).not.toContain('Admin key  ');
});

test('bad requests and unknown keys', async () => {
  expect(await event({ ...person, tz: secrets.attribute })).toBeGreaterThanOrEqual(200);
  expect(await run.call(`${run.app}/v1/users`, `{"id":"${secrets.name}`)).toBe(400);
  expect(await run.call(`${run.app}/v1/users`, { ...person, attributes: { [secrets.attribute]: 1 } })).toBe(400);
  expect(await run.call(`${run.app}/v1/users/x`, undefined, { key: `unknown.${secrets.guessedBody}` })).toBe(401);
  expect(await run.call(`${run.app}/v1/users/x`, undefined, { key: `planted.${secrets.guessedBody}` })).toBe(401);
  expect(await run.call(`${run.app}/v1/users/x`, undefined, { key: secrets.guessedBody })).toBe(401);
  const webhooks = [
    { name: 'Hook', url: `https://hooks.example.com/${secrets.webhookPath}`, events: ['points.changed'] },
  ];
  await run.call(`${run.admin}/v1/webhooks`, webhooks);
});

test('a state that cannot be read', async () => {
  // Another Redis type at the user's key.
  const victim = `${secrets.userId}-2`;
  await run.redis.set(userKey(onlyPart(0), victim), secrets.attribute);
  expect(await event({ ...person, id: victim })).toBe(500);
  await logged('not a packed user state');
  await run.redis.del(userKey(onlyPart(0), victim));
});

test("rotates Redis's password", async () => {
  await run.redis.config('SET', 'requirepass', secrets.newRedisPassword);
  try {
    await run.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await logged('WRONGPASS');
    expect(await event()).toBe(503);
  } finally {
    await run.redis.config('SET', 'requirepass', secrets.redisPassword);
  }
  await expect.poll(() => event().catch(() => 0)).toBe(201);
});

test("rotates Postgres's password; then Postgres is unavailable", async () => {
  const setPassword = (password: string) => run.postgres.query(`ALTER ROLE laurel PASSWORD '${password}'`);
  await setPassword(secrets.newPostgresPassword);
  await run.postgres.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [
    'laurel',
  ]);
  await logged('28P01');
  await setPassword(secrets.postgresPassword);
  const before = run.output.length;
  run.postgresProxy.retarget('postgres://127.0.0.1:9');
  run.postgresProxy.cutAll();
  expect(await event()).toBe(201);
  await expect.poll(() => run.output.slice(before)).toMatch(/ECONNRE|Connection terminated/);
});

test('a command while Postgres is unavailable', async () => {
  expect(await run.command(['src/cli/laurel.mjs', 'verify'])).not.toBe(0);
});

test('a failing statement: nothing identifies its row', async () => {
  run.postgresProxy.retarget((run.postgres.options.connectionString ?? '') as string);
  await run.postgres.query(
    `ALTER TABLE users ADD CONSTRAINT planted_rule CHECK (id NOT LIKE '%${secrets.refusedId}%') NOT VALID`,
  );
  expect(await event({ ...person, id: `${secrets.userId}-${secrets.refusedId}` })).toBe(201);
  await logged('planted_rule');
});

test('the log contains no planted secret, and still states what went wrong', async () => {
  await run.stop();
  expect(Object.entries(secrets).flatMap(([what, secret]) => (run.output.includes(secret) ? [what] : []))).toEqual([]);
  const lines = run.output.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as object] : []));
  expect(lines).toContainEqual(
    expect.objectContaining({
      msg: 'unexpected fault',
      err: expect.objectContaining({
        type: 'TypeError',
        message: 'not a packed user state',
        stack: expect.stringContaining(' at '),
      }),
    }),
  );
});
