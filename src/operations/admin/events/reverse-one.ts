import { Type } from 'typebox';
import { EventReversal, ReversalOptions } from '../../../domain/reversal.ts';
import { operation } from '../../operation.ts';

const Body = Type.Object(ReversalOptions);

export const adminEventsReverseOne = operation({
  id: 'admin_events_reverse_one',
  surface: 'admin',
  method: 'post',
  path: '/v1/events/{id}/reverse',
  summary: 'Reverse an event, as if it had never been; or the reversal of one',
  description: `A linked event of the opposite value is added: nothing is erased. The metric's total, filtered counts and the
runs of leaderboards that are not final are as if the event had never been. Points that it awarded are taken by compensating
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
