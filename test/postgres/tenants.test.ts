import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { createPool } from '../../src/postgres/pool.ts';
import { type TenantRow, Tenants } from '../../src/postgres/tenants.ts';
import { testDatabase } from './database.ts';
import { opened } from '../stack/opened.ts';

const NOBODY = '00000000-0000-7000-8000-000000000000';
let tenants: Tenants;
let announced: string[];

const database = opened(() => testDatabase());

beforeEach(async () => {
  await database.pool.query('DELETE FROM tenants WHERE no > 0; UPDATE organisation SET multi_tenancy = false');
  announced = [];
  tenants = new Tenants({ pool: database.pool, announce: async (message) => void announced.push(message) });
  await tenants.refresh();
});

async function created(customerId: string): Promise<TenantRow> {
  const [row] = await tenants.create([{ customerId, name: customerId.toUpperCase() }], { who: 'test' });
  return row as TenantRow;
}

test("initially only the organisation's own tenant exists", () => {
  expect(tenants.multiTenancy()).toBe(false);
  expect(tenants.default()).toMatchObject({ no: 0, customerId: null });
  expect(tenants.byNo(0)).toBe(tenants.default());
});

test('a created tenant is known at once, here and after a refresh elsewhere', async () => {
  const acme = await created('acme');
  expect(acme).toMatchObject({ customerId: 'acme', name: 'ACME', status: 'active' });
  expect(acme.created).toBeInstanceOf(Date);
  expect(tenants.byCustomerId('acme')).toEqual({ no: acme.no, id: acme.id, customerId: 'acme', hasMerges: false });
  expect(tenants.byCustomerId('ACME')).toBeUndefined();
  expect(announced).toEqual(['*']);
  const elsewhere = new Tenants({ pool: database.pool, announce: async () => undefined });
  await elsewhere.refresh();
  expect(elsewhere.byNo(acme.no)?.customerId).toBe('acme');
});

test('a customer ID is free or taken, in one call too', async () => {
  await created('acme');
  const outcomes = await tenants.create(
    [
      { customerId: 'acme', name: 'A' },
      { customerId: 'beta', name: 'B' },
      { customerId: 'beta', name: 'B again' },
    ],
    { who: 'test' },
  );
  expect(outcomes).toEqual(['taken', expect.objectContaining({ customerId: 'beta', name: 'B' }), 'taken']);
  expect(announced).toEqual(['*', '*']);
  expect(await tenants.create([{ customerId: 'acme', name: 'A' }], { who: 'test' })).toEqual(['taken']);
  expect(announced).toEqual(['*', '*']);
});

test('updates set what is given and leave the rest', async () => {
  const [acme, beta] = [await created('acme'), await created('beta')];
  const outcomes = await tenants.update(
    [
      { id: acme.id, name: 'Acme Inc.' },
      { id: beta.id, customerId: 'acme' },
      { id: NOBODY, name: 'x' },
      { id: tenants.default().id, name: 'x' },
      { id: beta.id, customerId: 'gamma' },
    ],
    { who: 'test' },
  );
  expect(outcomes).toEqual([
    expect.objectContaining({ customerId: 'acme', name: 'Acme Inc.' }),
    'taken',
    'unknown',
    'unknown',
    expect.objectContaining({ customerId: 'gamma', name: 'BETA' }),
  ]);
  expect(tenants.byCustomerId('beta')).toBeUndefined();
  expect(tenants.byCustomerId('gamma')?.no).toBe(beta.no);
});

test('a deleted tenant is suspended: unknown, unlisted, its customer ID free for a new one', async () => {
  const acme = await created('acme');
  expect(await tenants.delete([acme.id, acme.id, NOBODY, tenants.default().id], { who: 'test' })).toEqual([acme.id]);
  expect(await tenants.delete([acme.id], { who: 'test' })).toEqual([]);
  expect(tenants.byCustomerId('acme')).toBeUndefined();
  expect(tenants.byNo(acme.no)).toBeUndefined();
  expect(await tenants.get(acme.id)).toBeNull();
  const again = await created('acme');
  expect(again.no).toBeGreaterThan(acme.no);
  expect(await tenants.list({ limit: 10, skip: 0 })).toEqual([again]);
});

test('lists are paged, oldest first, without the own tenant', async () => {
  for (const customerId of ['c', 'a', 'b']) await created(customerId);
  const names = async (limit: number, skip: number): Promise<string[]> =>
    (await tenants.list({ limit, skip })).map((tenant) => tenant.customerId);
  expect(await names(2, 0)).toEqual(['c', 'a']);
  expect(await names(2, 2)).toEqual(['b']);
  expect(await names(2, 3)).toEqual([]);
});

describe('refresh', () => {
  test('a call during another sees what was committed before it', async () => {
    const running = tenants.refresh();
    await database.pool.query(`INSERT INTO tenants (id, customer_id, name) VALUES (gen_random_uuid(), 'late', 'Late')`);
    await Promise.all([running, tenants.refresh()]);
    expect(tenants.byCustomerId('late')).toBeDefined();
  });

  test('keeps the known tenants when Postgres does not answer', async () => {
    await created('acme');
    const pool = createPool(database.stack.databaseUrl, { max: 1 });
    const cutOff = new Tenants({ pool, announce: async () => undefined });
    await cutOff.refresh();
    await pool.end();
    await expect(cutOff.refresh()).rejects.toThrow();
    await expect(cutOff.refresh()).rejects.toThrow();
    expect(cutOff.byCustomerId('acme')).toBeDefined();
  });
});

describe('confirm', () => {
  /** As another process commits it, before it is announced. */
  const commitElsewhere = (customerId: string): Promise<unknown> =>
    database.pool.query(
      `WITH counted AS (UPDATE organisation SET revision = revision + 1)
       INSERT INTO tenants (id, customer_id, name) VALUES (gen_random_uuid(), $1, $1)`,
      [customerId],
    );

  test('holds what was committed before the call, with any concurrent confirmation', async () => {
    for (const customerId of ['one', 'two', 'three']) {
      const earlier = tenants.confirm();
      await commitElsewhere(customerId);
      await Promise.all([earlier, tenants.confirm(), tenants.confirm()]);
      expect(tenants.byCustomerId(customerId)).toBeDefined();
    }
  });

  test('reads the tenants only if something changed', async () => {
    await tenants.confirm();
    const before = tenants.default();
    await tenants.confirm();
    expect(tenants.default()).toBe(before);
    await commitElsewhere('four');
    await tenants.confirm();
    expect(tenants.default()).not.toBe(before);
  });

  test('ignores an announced change that is still being read when Postgres answers', async () => {
    const reading = tenants.organisationChanged();
    await expect(tenants.confirm()).resolves.toBeUndefined();
    await reading;
  });

  test('does not wait for a Postgres that does not answer: trusts its state unless it is known to have changed', async () => {
    const pool = createPool(database.stack.databaseUrl, { max: 3 });
    const hanging = new Tenants({ pool, announce: async () => undefined });
    await hanging.refresh();
    const locking = await database.pool.connect();
    try {
      await locking.query('BEGIN; LOCK TABLE organisation');
      await hanging.confirm();
      const reading = hanging.organisationChanged();
      await expect(hanging.confirm()).rejects.toMatchObject({ code: 'unavailable' });
      await locking.query('ROLLBACK');
      await reading;
      await hanging.confirm();
    } finally {
      locking.release(true);
      hanging.close();
      await pool.end();
    }
  });
});

test('the organisation accepts each setting separately', async () => {
  expect(await tenants.updateOrganisation({ multiTenancy: true }, { who: 'test' })).toMatchObject({
    name: 'Laurel',
    multiTenancy: true,
    controlShare: 0,
  });
  expect(tenants.multiTenancy()).toBe(true);
  expect(await tenants.updateOrganisation({ name: 'Study', controlShare: 0.1 }, { who: 'test' })).toMatchObject({
    name: 'Study',
    multiTenancy: true,
    controlShare: 0.1,
  });
  expect(announced).toEqual(['*', '*']);
});

test('reads later a change that cannot be read when it is announced', async () => {
  const pool = createPool(database.stack.databaseUrl, { max: 2, timeoutMs: 5_000 });
  const failures: unknown[] = [];
  const elsewhere = new Tenants({ pool, announce: async () => undefined, onFailed: (error) => failures.push(error) });
  await elsewhere.refresh();
  const acme = await created('acme');
  const locking = await database.pool.connect();
  try {
    await locking.query('BEGIN; LOCK TABLE tenants');
    await elsewhere.organisationChanged();
    expect(failures).toHaveLength(1);
    expect(elsewhere.byNo(acme.no)).toBeUndefined();
    await locking.query('ROLLBACK');
    await expect.poll(() => elsewhere.byNo(acme.no)?.customerId).toBe('acme');
  } finally {
    locking.release(true);
    elsewhere.close();
    await pool.end();
  }
});

test('does not retry after it is closed', async () => {
  const pool = createPool(database.stack.databaseUrl, { max: 2, timeoutMs: 200 });
  const failures: unknown[] = [];
  const ending = new Tenants({ pool, announce: async () => undefined, onFailed: (error) => failures.push(error) });
  const locking = await database.pool.connect();
  try {
    await locking.query('BEGIN; LOCK TABLE tenants');
    const failing = ending.organisationChanged();
    ending.close();
    await failing;
    // Longer than until it would retry and fail.
    await sleep(1_000);
    expect(failures).toEqual([]);
  } finally {
    locking.release(true);
    await pool.end();
  }
});
