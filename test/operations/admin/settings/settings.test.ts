import { expect, test } from 'vitest';
import { startLaurel } from '../../../laurel.ts';
import { opened } from '../../../stack/opened.ts';

// The client checks every answer against the contract.
const PATH = '/v1/settings';
const laurel = opened(() => startLaurel());

test('the settings of a new organisation', async () => {
  expect((await laurel.admin.get(PATH)).body).toEqual({
    branding: {
      appName: 'Laurel',
      appUrl: '',
      brandColor: '#000000',
      font: 'MODERN_SANS',
      logo: null,
      appIcon: null,
    },
    experimentation: { controlRatio: 0, userActivationWindow: 7 },
    aggregationPeriod: 'weekly',
  });
});

test('each field can be set separately, in every process, and null removes an image', async () => {
  const other = await laurel.another();
  const logo = { url: 'https://study.example/logo.png' };
  await laurel.admin.patch(PATH, { branding: { appName: 'Study', logo } });
  await laurel.admin.patch(PATH, { branding: { brandColor: '#663399', font: 'BOOK_SERIF' } });
  await laurel.admin.patch(PATH, { experimentation: { controlRatio: 25 }, aggregationPeriod: 'monthly' });
  const { status, body } = await laurel.admin.patch(PATH, { experimentation: { userActivationWindow: 14 } });
  expect([status, body]).toEqual([
    200,
    {
      branding: { appName: 'Study', appUrl: '', brandColor: '#663399', font: 'BOOK_SERIF', logo, appIcon: null },
      experimentation: { controlRatio: 25, userActivationWindow: 14 },
      aggregationPeriod: 'monthly',
    },
  ]);
  await expect.poll(async () => (await other.admin.get(PATH)).body).toEqual(body);
  expect((await laurel.admin.get('/v1/organisation')).body).toMatchObject({ name: 'Laurel', controlShare: 0.25 });
  expect((await laurel.admin.patch(PATH, { branding: { logo: null } })).body.branding).toMatchObject({ logo: null });
});

test('rounds a control share between two percents to the nearest when shown', async () => {
  await laurel.admin.patch('/v1/organisation', { controlShare: 0.126 });
  expect((await laurel.admin.get(PATH)).body.experimentation.controlRatio).toBe(13);
});

test('the audit log has the changes, before and after', async () => {
  await laurel.admin.patch(PATH, { aggregationPeriod: 'weekly', experimentation: { userActivationWindow: 30 } });
  const [entry] = (await laurel.admin.get('/v1/audit-log?limit=1')).body;
  expect(entry).toMatchObject({
    action: 'update',
    kind: 'organisation',
    after: { aggregationPeriod: 'weekly', userActivationWindow: 30 },
  });
  // Nothing changes, so there is nothing to record.
  await laurel.admin.patch(PATH, { aggregationPeriod: 'weekly' });
  expect((await laurel.admin.get('/v1/audit-log?limit=1')).body[0]).toEqual(entry);
});

test.each([
  [{ branding: { appName: '' } }, 'branding.appName'],
  [{ branding: { appUrl: 'nowhere' } }, 'branding.appUrl'],
  [{ branding: { font: 'COMIC' } }, 'branding.font'],
  [{ branding: { logo: {} } }, 'branding.logo'],
  [{ branding: { colour: 'red' } }, 'branding.colour'],
  [{ experimentation: { controlRatio: 0.5 } }, 'experimentation.controlRatio'],
  [{ experimentation: { controlRatio: 101 } }, 'experimentation.controlRatio'],
  [{ experimentation: { userActivationWindow: 2 } }, 'experimentation.userActivationWindow'],
  [{ aggregationPeriod: 'daily' }, 'aggregationPeriod'],
])('400 for %j, naming the field', async (changes, field) => {
  const { status, body } = await laurel.admin.patch(PATH, changes);
  expect([status, body.error]).toEqual([400, expect.stringContaining(field)]);
});

test("an admin key of one tenant may not access the organisation's settings", async () => {
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  await laurel.admin.post('/v1/tenants', [{ customerId: 'acme', name: 'Acme' }]);
  const made = await laurel.admin.post('/v1/admin-api-keys', [{ name: 'Acme', tenantId: 'acme' }]);
  const { key } = made.body.created[0];
  expect(await laurel.admin.get(PATH, { key, tenantId: 'acme' })).toMatchObject({ status: 403 });
});
