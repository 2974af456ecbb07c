import { beforeEach, expect, test } from 'vitest';
import { startLaurel } from '../../../../laurel.ts';
import { STUDY_APP } from '../../../../study-app.ts';
import { opened } from '../../../../stack/opened.ts';

// The client checks every answer against the contract.
const PATH = '/v1/streaks/settings';
const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));
beforeEach(async () => {
  const nothing = { frequency: 'daily', daysOff: [], metrics: [], personalization: false, freezes: null };
  await laurel.admin.patch(PATH, nothing);
});

const idOf = async (key: string): Promise<string> =>
  (await laurel.admin.get('/v1/metrics?limit=100')).body.find((one: { key: string }) => one.key === key).id;
const patch = async (changes: object) => (await laurel.admin.patch(PATH, changes)).body;

test("sets and answers the contract's settings, beside Laurel's own", async () => {
  const freezes = { startCount: 1, maxCount: 3, autoEarnInterval: 7, autoEarnAmount: 1 };
  const sent = {
    frequency: 'daily',
    evaluationMode: 'AND',
    customizationEnabled: true,
    daysOff: [6, 0],
    metrics: [{ key: 'flips', threshold: 2 }],
    freezes,
  };
  const after = await patch(sent);
  expect(after).toEqual({
    ...sent,
    enabled: true,
    weekStart: 'sunday',
    personalization: true,
    daysOff: [0, 6],
    metrics: [{ key: 'flips', metricId: await idOf('flips'), threshold: 2 }],
    freezes: { ...freezes, enabled: true, initial: 1, max: 3 },
  });
  expect((await laurel.admin.get(PATH)).body).toEqual(after);
  // The answer can be sent again unchanged.
  expect(await patch(after)).toEqual(after);
  expect((await laurel.admin.get('/v1/configuration')).body.streaks).toMatchObject({ daysOff: [0, 6] });
});

test('replaces metrics and freezes completely; null switches freezes off', async () => {
  await patch({ freezes: { startCount: 1, maxCount: 3, autoEarnInterval: 7, autoEarnAmount: 1 } });
  await patch({ metrics: [{ key: 'flips', threshold: 2 }] });
  const after = await patch({ metrics: [{ key: 'minutes', threshold: 5 }], freezes: { startCount: 0, maxCount: 2 } });
  expect(after.metrics).toMatchObject([{ key: 'minutes', threshold: 5 }]);
  expect(after.freezes).toMatchObject({ startCount: 0, maxCount: 2, autoEarnInterval: null, autoEarnAmount: null });
  expect((await patch({ freezes: null })).freezes).toBeNull();
});

test('accepts an earlier request format, field by field', async () => {
  const metricId = await idOf('flips');
  const before = await patch({
    metrics: [{ metricId, threshold: 5 }],
    freezes: { enabled: true, initial: 1, max: 4, autoEarnInterval: 5, autoEarnAmount: 2 },
    personalization: true,
    weekStart: 'monday',
  });
  expect(before).toMatchObject({ customizationEnabled: true, metrics: [{ key: 'flips', metricId, threshold: 5 }] });
  expect(await patch({ freezes: { max: 5 } })).toEqual({
    ...before,
    freezes: { ...before.freezes, max: 5, maxCount: 5 },
  });
  await patch({ weekStart: 'sunday', metrics: [] });
});

test.each([
  [{ customizationEnabled: true, personalization: false }, ['customizationEnabled', 'personalization']],
  [{ freezes: { startCount: 1, initial: 2, maxCount: 3 } }, ['freezes.startCount', 'freezes.initial']],
  [{ freezes: { startCount: 1, maxCount: 3, max: 4 } }, ['freezes.maxCount', 'freezes.max']],
  [{ freezes: { startCount: 1 } }, ['freezes.maxCount']],
  [{ freezes: { maxCount: 1 } }, ['freezes.startCount']],
  [{ freezes: { startCount: 3, maxCount: 1 } }, ['freezes.initial', 'freezes.max']],
  [{ freezes: { startCount: 1, maxCount: 3, autoEarnInterval: 3 } }, ['autoEarnInterval', 'freezes.autoEarnAmount']],
  [{ metrics: [{ threshold: 1 }] }, ['metrics[0].key']],
  [{ metrics: [{ key: 'nothing', threshold: 1 }] }, ['metrics[0].key', 'nothing']],
  [{ frequency: 'weekly', daysOff: [1] }, ['daysOff']],
])('422 for %j, naming the fields, and nothing changes', async (changes, fields) => {
  const before = (await laurel.admin.get(PATH)).body;
  const { status, body } = await laurel.admin.patch(PATH, changes);
  expect(status).toBe(422);
  for (const field of fields) expect(body.error).toContain(field);
  expect((await laurel.admin.get(PATH)).body).toEqual(before);
});

test('refuses a key and an ID of different metrics', async () => {
  const metrics = [{ key: 'flips', metricId: await idOf('minutes'), threshold: 1 }];
  const { status, body } = await laurel.admin.patch(PATH, { metrics });
  expect([status, body.error]).toEqual([422, 'metrics[0].key: names another metric than metrics[0].metricId']);
});

test.each([{ daysOff: [7] }, { daysOff: [1, 1] }, { daysOff: [0, 1, 2, 3, 4, 5, 6] }, { freezes: { maxCount: 0 } }])(
  '400 for %j',
  async (changes) => {
    expect(await laurel.admin.patch(PATH, changes)).toMatchObject({ status: 400 });
  },
);
