import { describe, expect, onTestFinished, test } from 'vitest';
import { FixedClock } from '../../../../src/clock.ts';
import { WEBHOOK_EVENTS } from '../../../../src/domain/notifications/webhook.ts';
import { signingSecrets } from '../../../../src/postgres/webhooks/secrets.ts';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { says } from '../../issue.ts';
import { opened } from '../../../stack/opened.ts';

const NOBODY = '00000000-0000-7000-8000-000000000000';
const PATH = '/v1/webhooks';
const HOOK = { name: 'News', url: 'https://example.com/laurel', events: ['achievement.completed'] };
const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 10, 22, 9);
const laurel = opened(() => startLaurel({ configuration: STUDY_APP, clock: new FixedClock(NOW_MS) }));

const create = async (...items: object[]) => laurel.admin.post(PATH, items);
const withUrl = (url: string): object => ({ ...HOOK, url });
const messages = (body: { issues: { message: string }[] }): string[] => body.issues.map(({ message }) => message);

test('admin_webhooks_create shows the secret; _list, _get and _update never do', async () => {
  const { status, body } = await create(HOOK, { ...HOOK, enabled: false, events: [...WEBHOOK_EVENTS] });
  expect(status).toBe(201);
  const [one, all] = body.created;
  expect(one).toEqual({
    ...HOOK,
    id: expect.any(String),
    enabled: true,
    header: null,
    filter: null,
    secret: expect.any(String),
  });
  expect(all).toMatchObject({ enabled: false, events: WEBHOOK_EVENTS });
  for (const { secret } of body.created) expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(one.secret).not.toBe(all.secret);

  const { secret, ...shown } = one;
  expect((await laurel.admin.get(`${PATH}/${one.id.toUpperCase()}`)).body).toEqual(shown);
  const listed = await laurel.admin.get(PATH);
  expect(listed.body).toContainEqual(shown);
  const updated = await laurel.admin.patch(PATH, [
    { id: one.id, enabled: false, secret: 'mine' },
    { id: NOBODY, enabled: false },
    { id: all.id, events: [] },
  ]);
  expect(updated.body.updated).toEqual([{ ...shown, enabled: false }]);
  expect(updated.body.issues).toEqual([
    { id: NOBODY, ...says('error', 'There is no webhook with this ID') },
    { id: all.id, ...says('error', 'events must have at least 1 item') },
  ]);
  expect(JSON.stringify([listed.body, updated.body])).not.toContain('whsec_');
  expect(JSON.stringify(listed.body)).not.toContain(secret);
});

test('refuses invalid webhooks', async () => {
  const { status, body } = await create(
    { ...HOOK, name: ' ' },
    { ...HOOK, name: 'x'.repeat(256) },
    { ...HOOK, events: ['user.created'] },
    { ...HOOK, events: ['streak.lost', 'streak.lost'] },
    { ...HOOK, events: ['achievement.complete'] },
    { name: 'No URL', events: ['streak.lost'] },
  );
  expect([status, messages(body)]).toEqual([
    200,
    [
      'name: must not be empty',
      'name must have at most 200 characters',
      expect.stringContaining('events[0] must be one of: achievement.completed, '),
      'events must not name anything twice',
      expect.stringMatching(
        /^events\[0\] is not one of the \d+ allowed values \(did you mean achievement\.completed\?\)$/,
      ),
      'url is required',
    ],
  ]);
});

const SCHEME = 'url: must be a URL that begins with http:// or https://';
const PRIVATE =
  'url: must not be a private, loopback, link-local or hosting platform address (WEBHOOK_ALLOW_PRIVATE=1 allows it)';
const PRIVATE_URLS = [
  'http://127.0.0.1/',
  'http://127.1',
  'http://2130706433/',
  'http://0x7f.0.0.1/',
  'http://0/',
  'http://10.1.2.3:8080/x',
  'http://172.16.0.1',
  'http://172.31.255.255',
  'http://192.168.1.1',
  'http://169.254.169.254/latest',
  'http://100.64.0.1',
  'http://[::1]/',
  'http://[::]/',
  'http://[fe80::1]/',
  'http://[fd00::1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:a00:1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://0177.0.0.01/',
  'http://[2002:7f00:1::]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[2001:0:7f00:1::]/',
  'http://[ff0e::1]/',
  'http://[4000::1]/',
  'http://[::7f00:1]/',
  'http://255.255.255.255/',
  'http://224.0.0.1/',
  'http://198.18.0.1/',
  // Addresses of hosting platforms, and their equivalents in IPv6
  'http://168.63.129.16/machine?comp=goalstate',
  'http://[::ffff:168.63.129.16]/',
  'http://[64:ff9b::a83f:8110]/',
  'http://[64:ff9b:1::a83f:8110]/',
  'http://[2002:a83f:8110::1]/',
  'http://[::ffff:0:a83f:8110]/',
  'http://[2001:470:1::5efe:a83f:8110]/',
  'http://[2001:470:1::200:5efe:a9fe:a9fe]/',
  'http://100.100.100.200/latest/meta-data/',
  'http://192.0.0.192/',
  'http://169.254.170.2/',
  'http://192.80.8.124/',
  'http://161.26.0.10/',
  'http://166.11.255.255/',
  'http://199.36.153.4/',
  'http://199.36.153.11/',
  'http://[2600:2d00:2:1000::1]/',
  'http://[2600:2d00:2:2000::1]/',
  'http://[fd00:ec2::254]/',
  'http://[fd20:ce::254]/',
];
const INTERNAL = 'url: must not be a name of an internal network (WEBHOOK_ALLOW_PRIVATE=1 allows it)';
const INTERNAL_URLS = [
  'http://localhost:3000/',
  'http://LOCALHOST./',
  'http://app.localhost/',
  'http://metadata.google.internal/computeMetadata/v1/',
  'http://Metadata.Google.Internal./',
  'http://instance-data/latest/meta-data/',
  'http://printer.local/',
  'http://redis/',
  'http://ｌｏｃａｌｈｏｓｔ/',
];
const PORTS = [22, 25, 53, 110, 143, 465, 587, 993, 995, 1433, 2375, 3306, 5432, 6379, 9200, 11_211, 27_017];

describe('the URL', () => {
  test.each<readonly [string, string]>([
    ['example.com/x', SCHEME],
    ['ftp://example.com', SCHEME],
    ['javascript:alert(1)', SCHEME],
    ['http://', SCHEME],
    [
      'https://ada:secret@example.com',
      'url: must not contain a user name or password: the signature identifies the sender',
    ],
    ['https://ada@example.com', 'url: must not contain a user name or password: the signature identifies the sender'],
    ['https://example.com/#x', 'url: must not have a fragment (#…): it would not be sent'],
    ...PRIVATE_URLS.map((url) => [url, PRIVATE] as const),
    ...INTERNAL_URLS.map((url) => [url, INTERNAL] as const),
    ...PORTS.map(
      (port) =>
        [
          `https://example.com:${port}/`,
          `url: must not name port ${port}: it belongs to another kind of service`,
        ] as const,
    ),
  ])('refuses %s', async (url, message) => {
    const { status, body } = await create(withUrl(url));
    expect([status, body.created, messages(body)]).toEqual([200, [], [message]]);
  });

  test('accepts public addresses and names', async () => {
    const urls = [
      'http://example.com:8080/a?token=b',
      'https://93.184.216.34/',
      'https://172.32.0.1/',
      'https://[2606:2800:220:1:248:1893:25c8:1946]/',
      'https://localhost.example.com/',
      // In addition to those of hosting platforms
      'http://168.63.129.17/',
      'http://166.12.0.0/',
      'http://199.36.153.12/',
      'http://[2600:2d00:2:3000::1]/',
      'http://[2001:470:1::5efe:808:808]/',
    ];
    const { body } = await create(...urls.map(withUrl));
    expect(body.issues).toEqual([]);
    expect(body.created.map(({ url }: { url: string }) => url)).toEqual(urls);
  });
});

test('stores a URL as it checks it and sends to it, also after a change', async () => {
  const { body } = await create(withUrl('HTTPS://EXAMPLE.com:443/a/../b'));
  expect(body.created[0].url).toBe('https://example.com/b');
  const changed = await laurel.admin.patch(PATH, [{ id: body.created[0].id, url: 'https://1572395042' }]);
  expect(changed.body.updated[0].url).toBe('https://93.184.216.34/');
});

test('allows a private address if the operator permits it', async () => {
  const allowing = await startLaurel({ webhookAllowPrivate: true });
  onTestFinished(() => allowing.close());
  const urls = [...PRIVATE_URLS, ...INTERNAL_URLS];
  const { body } = await allowing.admin.post(PATH, urls.map(withUrl));
  expect([body.created.length, body.issues]).toEqual([urls.length, []]);
});

test('admin_webhooks_rotate_secret returns another secret; the previous one also signs for 24 hours', async () => {
  const { body } = await create(HOOK);
  const [{ id, secret, ...shown }] = body.created;
  const rotated = await laurel.admin.post(`${PATH}/${id.toUpperCase()}/rotate-secret`);
  const untilMs = NOW_MS + DAY_MS;
  expect(rotated.status).toBe(200);
  expect(rotated.body).toEqual({
    id,
    secret: expect.stringMatching(/^whsec_/),
    previousUntil: new Date(untilMs).toISOString(),
  });
  expect(rotated.body.secret).not.toBe(secret);
  const signing = async (nowMs: number) => (await signingSecrets(laurel.pool, [id], nowMs)).get(id)?.secrets;
  expect(await signing(untilMs - 1)).toEqual([rotated.body.secret, secret]);
  expect(await signing(untilMs)).toEqual([rotated.body.secret]);
  // A second rotation ends the oldest.
  const { body: again } = await laurel.admin.post(`${PATH}/${id}/rotate-secret`);
  expect(await signing(NOW_MS)).toEqual([again.secret, rotated.body.secret]);
  expect((await laurel.admin.get(`${PATH}/${id}`)).body).toEqual({ id, ...shown });
  const { body: recorded } = await laurel.admin.get(`/v1/audit-log?kind=webhook&resourceId=${id}`);
  expect(recorded.map(({ action }: { action: string }) => action)).toEqual(['rotate', 'rotate', 'create']);
  expect(JSON.stringify(recorded)).not.toMatch(/whsec|secretNo/);
  for (const nobody of [NOBODY, 'no-uuid'])
    expect((await laurel.admin.post(`${PATH}/${nobody}/rotate-secret`)).status).toBe(404);
});

test('admin_webhooks_delete deletes the secret', async () => {
  const { body } = await create(HOOK);
  const [{ id }] = body.created;
  expect((await laurel.admin.delete(`${PATH}?ids=${id},${NOBODY}`)).body).toEqual({
    deleted: [{ id }],
    issues: [{ id: NOBODY, ...says('error', 'There is no webhook with this ID') }],
  });
  expect((await laurel.pool.query('SELECT FROM webhook_secrets WHERE webhook_id = $1', [id])).rowCount).toBe(0);
  expect((await laurel.admin.get(`${PATH}/${id}`)).status).toBe(404);
  expect((await laurel.admin.post(`${PATH}/${id}/rotate-secret`)).status).toBe(404);
});

test('no secret is in the configuration, its record, or its document, which leaves webhooks alone', async () => {
  await create(HOOK);
  const before = (await laurel.admin.get(`${PATH}?limit=100`)).body;
  const { body: document } = await laurel.admin.get('/v1/configuration');
  expect(document).not.toHaveProperty('webhooks');
  expect((await laurel.admin.put('/v1/configuration', document)).body.changes).toEqual([]);
  expect((await laurel.admin.put('/v1/configuration', { ...document, webhooks: [] })).status).toBe(400);
  expect((await laurel.admin.get(`${PATH}?limit=100`)).body).toEqual(before);
  for (const table of ['catalog_resources', 'audit_log']) {
    const { rows } = await laurel.pool.query(`SELECT FROM ${table} WHERE ${table}::text LIKE '%whsec%'`);
    expect(rows).toEqual([]);
  }
});

// Last: the configuration of the only tenant is suspended afterwards.
test('two tenants’ webhooks never meet', async () => {
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  await laurel.admin.post('/v1/tenants', [
    { customerId: 'a', name: 'A' },
    { customerId: 'b', name: 'B' },
  ]);
  const { body } = await laurel.admin.post(PATH, [HOOK], { tenantId: 'a' });
  const [{ id }] = body.created;
  const ofB = { tenantId: 'b' };
  expect((await laurel.admin.get(PATH, ofB)).body).toEqual([]);
  expect((await laurel.admin.get(`${PATH}/${id}`, ofB)).status).toBe(404);
  expect((await laurel.admin.post(`${PATH}/${id}/rotate-secret`, undefined, ofB)).status).toBe(404);
  expect((await laurel.admin.patch(PATH, [{ id, name: 'x' }], ofB)).body.updated).toEqual([]);
  expect((await laurel.admin.delete(`${PATH}?ids=${id}`, ofB)).body.deleted).toEqual([]);
});
