import { beforeEach, expect, test } from 'vitest';
import type { Fields } from '../../src/catalog/resource-fields.ts';
import { createResources, type Resources } from '../../src/catalog/resources.ts';
import { FixedClock } from '../../src/clock.ts';
import { testDatabase } from '../postgres/database.ts';
import { opened } from '../stack/opened.ts';

let resources: Resources;
let announced: string[];
const clock = new FixedClock(Date.UTC(2026, 2, 1));

const database = opened(() => testDatabase({ redis: false }));

beforeEach(async () => {
  await database.pool.query(
    `TRUNCATE catalog_resources, audit_log CASCADE; UPDATE tenants SET catalog_version = 0, next_no = 1`,
  );
  announced = [];
  resources = createResources({
    pool: database.pool,
    announce: async (message) => void announced.push(message),
    clock,
  });
});

const metric = (key: string): Fields<'metric'> => ({
  key,
  name: key,
  description: null,
  onOverview: null,
  unitType: 'number',
  units: '',
  guards: null,
});

test('two resources may exchange their keys', async () => {
  const { result } = await resources.edit(0, { who: 'test' }, (draft) => [
    draft.create('metric', metric('a')),
    draft.create('metric', metric('b')),
  ]);
  const [a, b] = result;
  await resources.edit(0, { who: 'test' }, (draft) => {
    draft.update('metric', a!.id, metric('b'));
    draft.update('metric', b!.id, metric('a'));
  });
  const { metrics } = await resources.read(0);
  expect(metrics.map(({ id, key }) => [id, key])).toEqual([
    [a!.id, 'b'],
    [b!.id, 'a'],
  ]);
});

test('an edit that throws leaves no trace and blocks nobody', async () => {
  const failing = resources.edit(0, { who: 'test' }, (draft) => {
    draft.create('metric', metric('a'));
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect((await resources.read(0)).metrics).toEqual([]);
  expect((await resources.edit(0, { who: 'test' }, (draft) => draft.create('metric', metric('b')))).version).toBe(1);
  expect(announced).toEqual(['0:1']);
});

test('never reuses a number, and an edit without changes creates no version', async () => {
  const { result } = await resources.edit(0, { who: 'test' }, (draft) => draft.create('metric', metric('a')));
  await resources.edit(0, { who: 'test' }, (draft) => draft.remove('metric', result.id));
  const again = await resources.edit(0, { who: 'test' }, (draft) => draft.create('metric', metric('a')));
  expect([result.no, again.result.no, again.version]).toEqual([1, 2, 3]);
  const nothing = await resources.edit(0, { who: 'test' }, (draft) => {
    draft.update('metric', again.result.id, { ...metric('a'), name: 'Other' });
    draft.update('metric', again.result.id, metric('a'));
    draft.remove('metric', draft.create('metric', metric('c')).id);
  });
  expect(nothing).toMatchObject({ version: 3, changes: [] });
  expect(announced).toEqual(['0:1', '0:2', '0:3']);
});

test("a resource that is older than a field has the field's default, which is no change", async () => {
  await resources.edit(0, { who: 'test' }, (draft) => draft.create('metric', metric('a')));
  await database.pool.query(`UPDATE catalog_resources SET doc = doc - 'units' - 'guards'`);
  const [stored] = (await resources.read(0)).metrics;
  expect(stored).toMatchObject({ key: 'a', unitType: 'number', units: '', guards: null });
  const again = await resources.edit(0, { who: 'test' }, (draft) => draft.update('metric', stored!.id, metric('a')));
  expect(again.changes).toEqual([]);
});
