import { Type } from 'typebox';
import { EventSettings } from '../../domain/fields/tenant-settings.ts';
import { EventReversal, ReversalOptions, ReversedEvents, ReverseEvents } from '../../domain/administration/reversal.ts';
import { BULK_BODY_BYTES } from '../bulk.ts';
import { operation } from '../operation.ts';

const Body = Type.Object(ReversalOptions);

export const adminEventsReverseOne = operation({
  id: 'admin_events_reverse_one',
  surface: 'admin',
  method: 'post',
  path: '/v1/events/{id}/reverse',
  summary: 'Reverse an event, as if it had never happened, or reverse a reversal',
  description: `A linked event of the opposite value is added: nothing is erased. The metric's total, filtered counts and the
runs of leaderboards that are not final are as if the event had never happened. Points that it awarded are taken by compensating
entries, never below 0; what could not be taken is the \`shortfall\`. Achievements stay, unless \`revokeAchievements\` is
true: then those that the event completed go, and composites that need them, with the points that these awarded. Reversing
the reversal, by its \`reversalId\`, restores all of it. Idempotent: what is so already is answered as \`unchanged\`. The
event's idempotency key stays used.`,
  params: Type.Object({ id: Type.String({ format: 'uuid' }) }),
  body: Body,
  isBodyOptional: true,
  knownFields: Body,
  responses: { 200: EventReversal },
  handle: async ({ catalogs, reversals }, { tenant, by, params, body }) => {
    const { revokeAchievements = false, dryRun = false } = body;
    const compiled = await catalogs.of(tenant.no);
    const request = { id: params.id, revokeAchievements, dryRun };
    return { status: 200, body: await reversals.reverse(compiled, request, by) };
  },
});

export const adminEventsReverse = operation({
  id: 'admin_events_reverse',
  surface: 'admin',
  method: 'post',
  path: '/v1/events/reverse',
  summary: 'Reverse up to 1,000 events',
  description: `By \`eventIds\`; by \`idempotencyKeys\` of the user \`userId\`; or all events of that user from \`from\` to
before \`to\`. The last two take a \`metricKey\` as well. Each event is reversed by itself, as by the operation for one; an
event that cannot be is an issue, and stops no other. Called again, it reverses what is left. In a dry run, too, each is computed
by itself, as if the others stayed.`,
  body: ReverseEvents,
  knownFields: ReverseEvents,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: ReversedEvents },
  handle: async ({ catalogs, manyReversals }, { tenant, by, body }) => ({
    status: 200,
    body: await manyReversals.reverse(await catalogs.of(tenant.no), body, by),
  }),
});

export const adminEventsSettingsGet = operation({
  id: 'admin_events_settings_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/events/settings',
  summary: 'The limit for late events, and who may write sign-up dates',
  responses: { 200: EventSettings },
  handle: async ({ configuration }, { tenant }) => ({ status: 200, body: await configuration.events(tenant.no) }),
});

export const adminEventsSettingsUpdate = operation({
  id: 'admin_events_settings_update',
  surface: 'admin',
  method: 'patch',
  path: '/v1/events/settings',
  summary: 'Set the limit for late events, and who may write sign-up dates',
  description: 'Only the sent fields change. The settings apply to later requests.',
  body: Type.Partial(EventSettings),
  knownFields: EventSettings,
  responses: { 200: EventSettings },
  handle: async ({ configuration }, { tenant, body, by }) => ({
    status: 200,
    body: await configuration.updateEvents(tenant.no, body, by),
  }),
});
