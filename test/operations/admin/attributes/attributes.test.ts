import { expect, test } from 'vitest';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { says } from '../../issue.ts';
import { opened } from '../../../stack/opened.ts';

const PATH = '/v1/attributes';
const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));

const byKey = async (key: string) =>
  (await laurel.admin.get(`${PATH}?limit=100`)).body.find((one: { key: string }) => one.key === key);

test('admin_attributes_create: a key is unique among the attributes of its type', async () => {
  const { status, body } = await laurel.admin.post(PATH, [
    { key: 'plan', name: 'Plan', type: 'event' },
    { key: 'plan', name: 'Plan', type: 'user' },
    { key: 'x', name: 'X', type: 'tenant' },
    { key: 'x', name: 'X' },
  ]);
  expect(status).toBe(201);
  expect(body.created).toEqual([{ id: expect.any(String), key: 'plan', name: 'Plan', type: 'event' }]);
  expect(body.issues).toEqual([
    { index: 1, ...says('error', `key: another user attribute has the key 'plan'`) },
    { index: 2, ...says('error', 'type must be one of: user, event') },
    { index: 3, ...says('error', 'type is required') },
  ]);
});

test('admin_attributes_update changes the name only; admin_attributes_get shows it', async () => {
  const deck = await byKey('deck');
  const { body } = await laurel.admin.patch(PATH, [{ id: deck.id, name: 'The deck', key: 'other', type: 'user' }]);
  expect(body).toEqual({ updated: [{ ...deck, name: 'The deck' }], issues: [] });
  expect((await laurel.admin.get(`${PATH}/${deck.id}`)).body).toEqual({ ...deck, name: 'The deck' });
});

test('admin_attributes_delete: keeps an attribute in use of any kind', async () => {
  const [mood, course] = (
    await laurel.admin.post(PATH, [
      { key: 'mood', name: 'Mood', type: 'user' },
      { key: 'course', name: 'Course', type: 'event' },
    ])
  ).body.created;
  const condition = (id: string) => [{ attributeId: id, attributeValue: 'good' }];
  const [system] = (await laurel.admin.get('/v1/points')).body;
  const [flips] = (await laurel.admin.get('/v1/metrics')).body;
  const made = {
    '/v1/achievements': { name: 'Mood', trigger: 'api', key: 'mood', userAttributes: condition(mood.id) },
    [`/v1/points/${system.id}/boosts`]: {
      name: 'Mood',
      start: '2026-01-01',
      multiplier: 2,
      userAttributes: condition(mood.id),
    },
    [`/v1/points/${system.id}/triggers`]: {
      type: 'metric',
      points: 1,
      metricId: flips.id,
      metricThreshold: 1,
      eventAttributes: condition(course.id),
    },
    '/v1/leaderboards': { name: 'Mood', key: 'mood', rankBy: 'streak', breakdownAttributes: [mood.id] },
  };
  const ids: string[] = [];
  for (const [path, item] of Object.entries(made)) ids.push((await laurel.admin.post(path, [item])).body.created[0].id);

  const { body } = await laurel.admin.delete(`${PATH}?ids=${mood.id},${course.id}`);
  expect(body).toEqual({
    deleted: [],
    issues: [
      {
        id: mood.id,
        ...says(
          'error',
          `In use by achievement 'mood', boost 'Mood' of points system 'xp', leaderboard 'mood': change or delete them first`,
        ),
      },
      {
        id: course.id,
        ...says('error', `In use by metric trigger ${ids[2]} of points system 'xp': change or delete them first`),
      },
    ],
  });
  for (const [index, path] of Object.keys(made).entries()) {
    expect((await laurel.admin.delete(`${path}?ids=${ids[index]}`)).body.issues).toEqual([]);
  }
  expect((await laurel.admin.delete(`${PATH}?ids=${mood.id},${course.id}`)).body.deleted).toHaveLength(2);
  const event = await laurel.app.post('/v1/metrics/flips/event', {
    user: { id: 'ada', attributes: { mood: 'good' } },
    value: 1,
  });
  expect([event.status, event.body.error]).toEqual([422, expect.stringContaining('mood')]);
});
