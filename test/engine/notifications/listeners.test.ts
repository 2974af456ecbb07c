import { expect, test } from 'vitest';
import type { Webhook } from '../../../src/domain/catalog.ts';
import type { WebhookFilter } from '../../../src/domain/schemas.ts';
import { emptyCatalog } from '../../../src/domain/catalog.ts';
import type { Notification, NotificationSubject } from '../../../src/domain/notifications/notification.ts';
import { compileCatalog } from '../../../src/catalog/compiled-catalog.ts';
import { type Listeners, listenersOf, messageId } from '../../../src/engine/notifications/listeners.ts';

const id = (no: number): string => `00000000-0000-4000-8000-${String(no).padStart(12, '0')}`;

const webhook = (no: number, changes: Partial<Webhook>): Webhook => ({
  id: id(no),
  no,
  created: 0,
  updated: 0,
  name: `webhook ${no}`,
  url: 'https://example.test/',
  events: ['points.changed'],
  enabled: true,
  secretNo: 1,
  header: null,
  filter: null,
  ...changes,
});

const listeners = (...webhooks: Webhook[]): Listeners => listenersOf(compileCatalog({ ...emptyCatalog(3), webhooks }));

const notification = (changes: Partial<Notification> = {}): Notification => ({
  type: 'points.changed',
  tenantNo: 3,
  userId: 'ana',
  atMs: 5,
  source: 'ab:0',
  about: {},
  payload: '{"type":"points.changed"}',
  ...changes,
});

test('only enabled webhooks listen, each to its types', () => {
  expect(listeners().wants('points.changed')).toBe(false);
  expect(listeners(webhook(1, { enabled: false })).wants('points.changed')).toBe(false);
  const some = listeners(webhook(1, { enabled: false, events: ['streak.lost'] }), webhook(2, {}), webhook(3, {}));
  expect(some.wants('points.changed')).toBe(true);
  expect(some.wants('streak.lost')).toBe(false);
  expect(some.messagesFor(notification()).map(({ webhookId }) => webhookId)).toEqual([id(2), id(3)]);
  expect(some.messagesFor(notification({ type: 'streak.lost' }))).toEqual([]);
});

test('a message contains its notification', () => {
  const [message] = listeners(webhook(1, {})).messagesFor(notification());
  expect(message).toEqual({
    id: messageId({ webhookId: id(1), type: 'points.changed', source: 'ab:0' }),
    webhookId: id(1),
    tenantNo: 3,
    type: 'points.changed',
    userId: 'ana',
    atMs: 5,
    payload: '{"type":"points.changed"}',
  });
});

const filters: [WebhookFilter, NotificationSubject, boolean][] = [
  [{}, { pointsSystemId: id(9) }, true],
  [{ pointsSystemIds: [id(9)] }, { pointsSystemId: id(9) }, true],
  [{ pointsSystemIds: [id(8), id(7)] }, { pointsSystemId: id(9) }, false],
  [{ leaderboardIds: [id(8)] }, { pointsSystemId: id(9) }, true],
  [{ pointsSystemIds: [id(8)] }, {}, true],
  [{ metricIds: [id(8)] }, { metricId: id(9) }, false],
  [{ leaderboardIds: [id(8)], pointsSystemIds: [id(9)] }, { leaderboardId: id(1) }, false],
];

test.each(filters)('the filter %j lets %j pass: %s', (filter, about, passes) => {
  const some = listeners(webhook(1, { filter }));
  expect(some.wants('points.changed')).toBe(true);
  expect(some.wants('points.changed', about)).toBe(passes);
  expect(some.messagesFor(notification({ about }))).toHaveLength(passes ? 1 : 0);
});

test('the ID of a message is a UUID of version 8, the same when it is made again, and unique', () => {
  const one = { webhookId: id(1), type: 'points.changed', source: 'ab:0' } as const;
  expect(messageId(one)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(messageId(one)).toBe('b5a7be6b-7056-8712-88dd-7a384b643211');
  const others = [
    one,
    { ...one, webhookId: id(2) },
    { ...one, type: 'streak.lost' as const },
    { ...one, source: 'ab:1' },
  ];
  expect(new Set(others.map(messageId)).size).toBe(4);
});
