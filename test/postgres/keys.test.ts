import { createHash } from 'node:crypto';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { createAdminKeys, type AdminKeys, type CreatedAdminKey } from '../../src/postgres/access/admin-keys.ts';
import { createApplicationKeys, type ApplicationKeys } from '../../src/postgres/access/application-keys.ts';
import { readCredentialChanges, readRevisions } from '../../src/postgres/revisions.ts';
import { keyLookup } from '../../src/postgres/access/keys.ts';
import { testDatabase } from './database.ts';
import { opened } from '../stack/opened.ts';

const ADA = { userId: 'ada', scope: 'all', expiresMs: null, formerUserIds: null, rateLimit: null } as const;
const named = (name: string) => ({ name, access: 'full', tenantId: null }) as const;

let applicationKeys: ApplicationKeys;
let adminKeys: AdminKeys;
let announced: string[];

const database = opened(() => testDatabase({ redis: false }));
beforeAll(async () => {
  const announce = async (message: string): Promise<void> => void announced.push(message);
  applicationKeys = createApplicationKeys(database.pool, announce);
  adminKeys = createAdminKeys(database.pool, announce);
});

beforeEach(async () => {
  announced = [];
  await database.pool.query('DELETE FROM admin_keys; DELETE FROM application_keys');
});

const revision = async (): Promise<number> => (await readRevisions(database.pool))!.credentials;

test('finds an application key by its prefix, and stores only a hash of its body', async () => {
  const [first, second] = await applicationKeys.create(0, [ADA, ADA], { who: 'test' });
  expect(first!.key).toMatch(/^app_[a-z0-9]{8}\.[A-Za-z0-9_-]{43}$/);
  expect(first!.key.startsWith(`${first!.prefix}.`)).toBe(true);
  expect(second!.key).not.toBe(first!.key);
  const [, body] = first!.key.split('.');
  expect(await keyLookup(database.pool).find(first!.prefix)).toEqual({
    id: first!.id,
    kind: 'application',
    prefix: first!.prefix,
    hash: createHash('sha256').update(body!).digest(),
    userId: 'ada',
    tenantNo: 0,
    active: true,
    scope: 'all',
    expiresMs: null,
    formerUserIds: null,
    rateLimit: null,
    usedMs: null,
  });
  const { rows } = await database.pool.query('SELECT application_keys::text AS row FROM application_keys');
  expect(rows.some(({ row }) => row.includes(body))).toBe(false);
});

test('deleting an application key is counted and announced, in its own tenant only', async () => {
  const [created] = await applicationKeys.create(0, [ADA], { who: 'test' });
  const before = await revision();
  expect(await applicationKeys.delete(1, [created!.id], { who: 'test' })).toEqual([]);
  expect(announced).toEqual([]);
  expect(await applicationKeys.delete(0, [created!.id, created!.id], { who: 'test' })).toEqual([created!.id]);
  expect(announced).toEqual([`*${created!.prefix}`]);
  expect(await revision()).toBe(before + 1);
  expect(await readCredentialChanges(database.pool, { after: before, upTo: before + 1 })).toEqual([created!.prefix]);
  expect(await keyLookup(database.pool).find(created!.prefix)).toBeNull();
});

test('concurrent starts create the first admin key once', async () => {
  const keys = await Promise.all(Array.from({ length: 4 }, () => adminKeys.ensureFirst(null)));
  expect(keys.filter((key) => key !== null)).toEqual([expect.stringMatching(/^adm_[a-z0-9]{8}\.[A-Za-z0-9_-]{43}$/)]);
  expect(await adminKeys.ensureFirst(null)).toBeNull();
});

test('stores a given admin key once, beside others', async () => {
  await adminKeys.create([named('Another')], { who: 'test' });
  expect(await adminKeys.ensureFirst('ops.0123456789abcdef')).toBe('ops.0123456789abcdef');
  expect(await adminKeys.ensureFirst('ops.0123456789abcdef')).toBeNull();
  const found = await keyLookup(database.pool).find('ops');
  expect(found).toMatchObject({ kind: 'admin', userId: null, tenantNo: null, active: true });
  expect(found?.hash).toEqual(createHash('sha256').update('0123456789abcdef').digest());
  await expect(adminKeys.ensureFirst('no-body')).rejects.toThrow('<prefix>.<body>');
});

test('a deleted admin key is gone and announced', async () => {
  const [made] = await adminKeys.create([named('For the nightly job'), named('Another')], { who: 'test' });
  const { id, prefix } = made as CreatedAdminKey;
  announced = [];
  expect(await adminKeys.delete([id], { who: 'test' })).toEqual({ deleted: [id], last: [] });
  expect(await keyLookup(database.pool).find(prefix)).toBeNull();
  expect(announced).toEqual(['*']);
});
