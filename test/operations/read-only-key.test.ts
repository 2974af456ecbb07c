import { randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../src/domain/configuration.ts';
import { Persister } from '../../src/engine/persist/persister.ts';
import type { Operation } from '../../src/operations/operation.ts';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { knownParts } from '../../src/redis/parts.ts';
import { keysOf } from '../stack/all-servers.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { APPLICATION_REQUESTS } from './requests.ts';
import { opened } from '../stack/opened.ts';
import { ok } from '../http/client.ts';

// The holder of a read-only admin key calls everything that it may call, over HTTP and as an assistant: nothing changes, and no answer has a
// secret. No worker runs, so what changes is changed by a request.

const SECRETS_KEY = randomBytes(32);
const SMTP_PASSWORD = 'p4ssw0rd-of-smtp';
const EXPO_TOKEN = 'expo-access-token-7f3a';
const CONFIGURATION: Configuration = {
  ...STUDY_APP,
  leaderboards: [
    {
      key: 'league',
      name: 'League',
      rankBy: 'metric',
      metricKey: 'flips',
      start: '2026-01-01',
      runUnit: 'day',
      runInterval: 7,
      status: 'active',
      leagues: { tiers: [{ name: 'Bronze' }, { name: 'Silver' }], cohortUsers: 30, promoted: 5, demoted: 5 },
    },
    ...STUDY_APP.leaderboards!,
  ],
};
/** What a reading POST is sent. */
const BODIES: Readonly<Record<string, unknown>> = {
  ...Object.fromEntries(
    Object.entries(APPLICATION_REQUESTS).flatMap(([id, { body }]) => (body === undefined ? [] : [[id, body('ann')]])),
  ),
  admin_achievements_preview: { key: 'new', name: 'New', trigger: 'api' },
  admin_configuration_diff: STUDY_APP,
  admin_messages_preview: { userId: 'ann', kind: 'recap' },
  admin_messages_unsubscribe_preview: { userId: 'ann', kind: 'recap' },
  admin_push_preview: { userId: 'ann', kind: 'recap', template: { title: 'T', body: 'B' } },
  admin_live_tickets_create: {},
};
const NO_ID = '0191d6f0-0000-7000-8000-000000000001';
/** Path parameters of which no list has a value. */
const GIVEN: Readonly<Record<string, string>> = { version: '1', provider: 'expo', address: 'nobody@example.com' };

let readKey: string;
/** By what they are. */
const secrets: Record<string, string> = {};

const laurel = opened(() =>
  startLaurel({
    configuration: CONFIGURATION,
    publicUrl: 'https://laurel.example',
    secretsKey: SECRETS_KEY,
    spread: 1,
  }),
);
beforeAll(async () => {
  const { admin, app, pool, redis } = laurel;
  readKey = (await ok(admin.post('/v1/admin-api-keys', [{ name: 'reader', access: 'read' }]))).created[0].key;
  const other = (await ok(admin.post('/v1/admin-api-keys', [{ name: 'other' }]))).created[0].key;
  const ofUser = (await ok(admin.post('/v1/application-api-keys', [{ userId: 'ann' }]))).created[0].key;
  const url = 'https://hooks.example.com/services/s3cr3t-of-a-path?token=s3cr3t-of-a-query';
  const hook = { name: 'Hook', url, events: ['points.changed'] };
  const webhook = (await ok(admin.post('/v1/webhooks', [hook]))).created[0];
  await ok(admin.patch('/v1/webhooks', [{ id: webhook.id, url: `${url}&more=1` }]));
  const rotated = await ok(admin.post(`/v1/webhooks/${webhook.id}/rotate-secret`, {}));
  await ok(
    admin.put('/v1/messages/channel', {
      enabled: true,
      host: 'smtp.example.com',
      port: 587,
      security: 'starttls',
      username: 'laurel',
      password: SMTP_PASSWORD,
      senderAddress: 'a@example.com',
    }),
  );
  await ok(admin.put('/v1/messages/push-channels/expo', { credentials: { accessToken: EXPO_TOKEN } }));
  const subject = 'mailto:push@example.com';
  await ok(admin.put('/v1/messages/push-channels/web_push', { credentials: { subject } }));
  const feedback = await ok(admin.put('/v1/messages/feedback', {}));
  const session = await admin.post('/v1/session', { key: laurel.adminKey }, { key: null });
  for (const id of ['ann', 'own'])
    await ok(app.post('/v1/metrics/flips/event', { user: { id, email: `${id}@example.com` }, value: 12 }));
  for (const { shard } of knownParts(redis, 0)) await new Persister({ redis, pool }).drain(shard);
  Object.assign(secrets, {
    'admin key': laurel.adminKey.split('.')[1],
    'other admin key': other.split('.')[1],
    'application key': ofUser.split('.')[1],
    'webhook secret': webhook.secret,
    "path of a webhook's address": 's3cr3t-of-a-path',
    "query of a webhook's address": 's3cr3t-of-a-query',
    'new webhook secret': rotated.secret,
    'password of the mail server': SMTP_PASSWORD,
    'token of Expo': EXPO_TOKEN,
    'address for reports': feedback.url,
    'token of a session': /laurel_session=([^;]+)/.exec(session.headers.get('set-cookie')!)![1],
    'CSRF token of a session': session.body.csrfToken,
    'SECRETS_KEY in hex': SECRETS_KEY.toString('hex'),
    'SECRETS_KEY in Base64': SECRETS_KEY.toString('base64').replaceAll('=', ''),
  });
  const { rows } = await pool.query('SELECT * FROM event_id_secret');
  for (const value of Object.values(rows[0] as object))
    if (Buffer.isBuffer(value))
      for (const encoding of ['hex', 'base64'] as const)
        secrets[`secret of event IDs in ${encoding}`] = value.toString(encoding).replaceAll('=', '');
  // Everything that a first request caches or notes.
  await callAll();
  await useAll();
});

const isReading = ({ keyScopes, opensStream, scope, id }: Operation): boolean =>
  keyScopes.includes('read') && !opensStream && scope !== 'public' && id !== 'admin_session_delete';
const READING = [...adminOperations, ...applicationOperations].filter(isReading);

/** The path with the first values of the lists that precede the parameters. */
async function pathOf({ id, path, surface }: Operation): Promise<string> {
  if (surface === 'application') return APPLICATION_REQUESTS[id]?.path('ann') ?? path;
  let found = '';
  for (const step of path.split('/').slice(1)) {
    const [, name] = /^\{(\w+)\}$/.exec(step) ?? [];
    found += `/${name === undefined ? step : encodeURIComponent(GIVEN[name] ?? (await firstOf(found)))}`;
  }
  return found;
}

async function firstOf(path: string): Promise<string> {
  if (path === '/v1/users') return 'ann';
  const { status, body } = await laurel.admin.get(path);
  const list =
    status !== 200 ? [] : Array.isArray(body) ? body : (Object.values(body as object).find(Array.isArray) ?? []);
  return ((list as { id?: string }[])[0]?.id ?? NO_ID) as string;
}

/** What the key is answered, by operation. */
async function callAll(): Promise<Map<string, { status: number; text: string }>> {
  const answers = new Map<string, { status: number; text: string }>();
  const metricId = await firstOf('/v1/metrics');
  for (const operation of READING) {
    const path = await pathOf(operation);
    const isRange = /\/analytics\/|\/activity$/.test(path);
    const { properties = {} } = (operation.query ?? {}) as { properties?: object };
    const given = Object.entries({ from: '2026-11-01', to: '2026-11-28', metricId });
    const query = new URLSearchParams(isRange ? given.filter(([name]) => name in properties) : []);
    const client = operation.surface === 'admin' ? laurel.admin : laurel.app;
    const { status, body } = await client.send(
      operation.method.toUpperCase(),
      query.size > 0 ? `${path}?${query.toString()}` : path,
      {
        key: readKey,
        ...(BODIES[operation.id] !== undefined && operation.method === 'post' && { body: BODIES[operation.id] }),
      },
    );
    answers.set(operation.id, { status, text: JSON.stringify(body) });
  }
  return answers;
}

/** What an assistant with the key is answered, for every operation. */
async function useAll(): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  for (const operation of [...adminOperations, ...applicationOperations]) {
    const given = { id: 'ann', key: 'flips', body: BODIES[operation.id] ?? {}, confirm: 'x-y' };
    for (const own of [given, { ...given, confirm: undefined }, { id: 'ann' }, {}]) {
      const call = { name: 'call_operation', arguments: { operation: operation.id, arguments: own } };
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call };
      const { body } = await laurel.admin.send('POST', '/mcp', {
        key: readKey,
        rawBody: JSON.stringify(message),
        headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
      });
      answers.set(`${operation.id} ${answers.size}`, JSON.stringify(body));
    }
  }
  return answers;
}

/** What may differ: who read what, when a key was used, the list of latest requests, and tickets of live streams. */
const NOTED = { tables: ['audit_log'], columns: ['last_used'], keys: /^\{laurel\}:(requests|live):/ };

async function stored(): Promise<Record<string, string>> {
  const { pool, redis } = laurel;
  const all: Record<string, string> = {};
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`,
  );
  for (const { name } of tables) {
    if (NOTED.tables.includes(name)) continue;
    const { rows } = await pool.query<{ row: object }>(`SELECT to_jsonb(t) AS row FROM ${name} AS t`);
    const kept = rows.map(({ row }) =>
      JSON.stringify(Object.entries(row).filter(([column]) => !NOTED.columns.includes(column))),
    );
    all[name] = kept.toSorted().join('\n');
  }
  const own = await laurel.connect();
  for (const key of await keysOf(redis, '*'))
    if (!NOTED.keys.test(key)) all[key] = (await own.dumpBuffer(key))?.toString('base64') ?? '';
  own.disconnect();
  return all;
}

const leaks = (text: string): string[] =>
  Object.entries(secrets).flatMap(([what, secret]) => (text.includes(secret) ? [what] : []));

test('everything that it may call changes nothing and shows no secret', async () => {
  expect(Object.keys(secrets).length).toBeGreaterThanOrEqual(14);
  const before = await stored();
  const answers = await callAll();
  expect(await stored()).toEqual(before);
  const refused = [...answers].filter(
    ([, { status }]) => status === 403 || status >= 500 || status === 422 || status === 400,
  );
  expect(refused.map(([id, { status, text }]) => `${id}: ${status} ${text}`)).toEqual([]);
  // What the tenant does not have is not there.
  expect([...answers].filter(([, { status }]) => status < 300).length).toBeGreaterThan(0.8 * READING.length);
  expect([...answers].flatMap(([id, { text }]) => leaks(text).map((what) => `${id}: ${what}`))).toEqual([]);
});

test("of a webhook's address it sees the host, also in the audit log; a key with full access sees all of it", async () => {
  const shown = async (key: string | undefined): Promise<unknown[]> => {
    const get = async (path: string) => (await laurel.admin.send('GET', path, { ...(key && { key }) })).body;
    const [webhook] = await get('/v1/webhooks');
    const one = await get(`/v1/webhooks/${webhook.id}`);
    const entries = await get('/v1/audit-log?kind=webhook');
    const changed = entries.find((entry: { before?: { url?: string } }) => entry.before?.url !== undefined);
    return [webhook.url, one.url, changed.before.url, changed.after.url];
  };
  const masked = 'https://hooks.example.com/…';
  expect(await shown(readKey)).toEqual([masked, masked, masked, masked]);
  const url = 'https://hooks.example.com/services/s3cr3t-of-a-path?token=s3cr3t-of-a-query';
  const all = [`${url}&more=1`, `${url}&more=1`, url, `${url}&more=1`];
  expect(await shown(undefined)).toEqual(all);
  // What it sees cannot be sent back in place of the address.
  const [{ id }] = (await laurel.admin.get('/v1/webhooks')).body;
  const { body } = await laurel.admin.patch('/v1/webhooks', [{ id, url: masked }]);
  expect(body.issues).toMatchObject([{ message: expect.stringMatching(/^url: is shortened/) }]);
  expect(await shown(undefined)).toEqual(all);
});

test('an assistant with it changes nothing and sees no secret', async () => {
  const before = await stored();
  const answers = await useAll();
  expect(await stored()).toEqual(before);
  expect([...answers].flatMap(([id, text]) => leaks(text).map((what) => `${id}: ${what}`))).toEqual([]);
});

test('a key with full access changes and sees what the others do not', async () => {
  const before = await stored();
  const [webhook] = await ok(laurel.admin.get('/v1/webhooks'));
  const { body } = await laurel.admin.post(`/v1/webhooks/${webhook.id}/rotate-secret`, {});
  secrets['latest webhook secret'] = body.secret;
  expect(leaks(JSON.stringify(body))).toEqual(['latest webhook secret']);
  expect(await stored()).not.toEqual(before);
});
