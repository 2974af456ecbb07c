import { Type } from 'typebox';
import { type AdminIssue, DeletedResources, Ids, Paging } from '../domain/administration/admin.ts';
import { type DeadLetter as Answer, DeadLetter, ShownDeadLetter } from '../domain/administration/dead-letters.ts';
import {
  QuarantinedEvents,
  QuarantinedIds,
  QuarantineQuery,
  ReleasedEvent,
  ReleasedEvents,
} from '../domain/administration/quarantine.ts';
import { Recomputation, RecomputationDetails, RecomputationRequest } from '../domain/administration/recomputation.ts';
import { EventReversal, ReversalOptions, ReversedEvents, ReverseEvents } from '../domain/administration/reversal.ts';
import { EventSettings } from '../domain/fields/tenant-settings.ts';
import { Uuid } from '../domain/schemas.ts';
import type { QuarantineResult } from '../engine/corrections/quarantine.ts';
import { readableEntry } from '../engine/persist/dead-letters.ts';
import { AppError } from '../errors.ts';
import { picked } from '../picked.ts';
import type { DeadLetter as StoredDeadLetter } from '../postgres/corrections/dead-letters.ts';
import { BULK_BODY_BYTES, deleteEach, verdict } from './bulk.ts';
import { operation } from './operation.ts';

const Body = Type.Object(ReversalOptions);

export const adminEventsReverseOne = operation('admin_events_reverse_one', 'POST /v1/events/{id}/reverse', {
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
  answer: async ({ catalogs, reversals }, { tenant, by, params, body }) => {
    const { revokeAchievements = false, dryRun = false } = body;
    const compiled = await catalogs.of(tenant.no);
    const request = { id: params.id, revokeAchievements, dryRun };
    return reversals.reverse(compiled, request, by);
  },
});

export const adminEventsReverse = operation('admin_events_reverse', 'POST /v1/events/reverse', {
  summary: 'Reverse up to 1,000 events',
  description: `By \`eventIds\`; by \`idempotencyKeys\` of the user \`userId\`; or all events of that user from \`from\` to
before \`to\`. The last two take a \`metricKey\` as well. Each event is reversed by itself, as by the operation for one; an
event that cannot be is an issue, and stops no other. Called again, it reverses what is left. In a dry run, too, each is computed
by itself, as if the others stayed.`,
  body: ReverseEvents,
  knownFields: ReverseEvents,
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: ReversedEvents },
  answer: async ({ catalogs, manyReversals }, { tenant, by, body }) =>
    manyReversals.reverse(await catalogs.of(tenant.no), body, by),
});

export const adminEventsSettingsGet = operation('admin_events_settings_get', 'GET /v1/events/settings', {
  summary: 'The limit for late events, and who may write sign-up dates',
  responses: { 200: EventSettings },
  answer: ({ configuration }, { tenant }) => configuration.events(tenant.no),
});

export const adminEventsSettingsUpdate = operation('admin_events_settings_update', 'PATCH /v1/events/settings', {
  summary: 'Set the limit for late events, and who may write sign-up dates',
  description: 'Only the sent fields change. The settings apply to later requests.',
  body: Type.Partial(EventSettings),
  knownFields: EventSettings,
  responses: { 200: EventSettings },
  answer: ({ configuration }, { tenant, body, by }) => configuration.updateEvents(tenant.no, body, by),
});

export const adminQuarantineList = operation('admin_quarantine_list', 'GET /v1/quarantine', {
  summary: 'Events that guards hold in quarantine, newest first; with `status`, released or dropped ones',
  query: QuarantineQuery,
  responses: { 200: QuarantinedEvents },
  answer: async ({ quarantine, catalogs }, { tenant, query }) => quarantine.list(await catalogs.of(tenant.no), query),
});

/** The result for a call's single event. Throws 404 if it does not exist, 422 if it stays. */
function oneOf<T>({ settled, refused }: QuarantineResult<T>): T {
  const [only] = settled;
  if (only !== undefined) return only;
  const [text = ''] = refused.values();
  throw new AppError(text.startsWith('There is no') ? 'not_found' : 'unprocessable', text);
}

const issuesOf = ({ refused }: QuarantineResult<unknown>): AdminIssue[] =>
  [...refused].map(([id, text]) => ({ id, ...verdict('error', text) }));

const distinct = (ids: readonly string[]): string[] => [...new Set(ids.map((id) => id.toLowerCase()))];

export const adminQuarantineDeleteOne = operation('admin_quarantine_delete_one', 'DELETE /v1/quarantine/{id}', {
  summary: 'Drop an event in quarantine: it is never applied',
  params: Type.Object({ id: Uuid }),
  responses: { 200: DeletedResources },
  answer: async ({ quarantine, catalogs }, { tenant, by, params }) => {
    const id = oneOf(await quarantine.drop(await catalogs.of(tenant.no), distinct([params.id]), by));
    return { deleted: [{ id }], issues: [] };
  },
});

export const adminQuarantineDrop = operation('admin_quarantine_drop', 'POST /v1/quarantine/drop', {
  summary: 'Drop up to 1,000 events in quarantine: they are never applied',
  body: QuarantinedIds,
  knownFields: QuarantinedIds,
  responses: { 200: DeletedResources },
  answer: async ({ quarantine, catalogs }, { tenant, by, body }) => {
    const result = await quarantine.drop(await catalogs.of(tenant.no), distinct(body.ids), by);
    return { deleted: result.settled.map((id) => ({ id })), issues: issuesOf(result) };
  },
});

export const adminQuarantineReleaseOne = operation('admin_quarantine_release_one', 'POST /v1/quarantine/{id}/release', {
  summary: 'Apply an event in quarantine now; the answer has its effects',
  params: Type.Object({ id: Uuid }),
  responses: { 200: ReleasedEvent },
  answer: async ({ quarantine, catalogs }, { tenant, by, params }) =>
    oneOf(await quarantine.release(await catalogs.of(tenant.no), distinct([params.id]), by)),
});

export const adminQuarantineRelease = operation('admin_quarantine_release', 'POST /v1/quarantine/release', {
  summary: 'Apply up to 1,000 events in quarantine now, oldest first',
  body: QuarantinedIds,
  knownFields: QuarantinedIds,
  responses: { 200: ReleasedEvents },
  answer: async ({ quarantine, catalogs }, { tenant, by, body }) => {
    const result = await quarantine.release(await catalogs.of(tenant.no), distinct(body.ids), by);
    return { released: result.settled, issues: issuesOf(result) };
  },
});

export const adminRecomputationsList = operation('admin_recomputations_list', 'GET /v1/recomputations', {
  summary: 'The latest 100 recomputations, newest first',
  responses: { 200: Type.Array(Recomputation) },
  answer: async ({ catalogs, recomputations }, { tenant }) => recomputations.list(await catalogs.of(tenant.no)),
});

export const adminRecomputationsGet = operation('admin_recomputations_get', 'GET /v1/recomputations/{id}', {
  summary: 'A recomputation: its progress and figures, and some of its users',
  params: Type.Object({ id: Uuid }),
  responses: { 200: RecomputationDetails },
  answer: async ({ catalogs, recomputations }, { tenant, params }) =>
    recomputations.get(await catalogs.of(tenant.no), params.id),
});

export const adminRecomputationsCreate = operation('admin_recomputations_create', 'POST /v1/recomputations', {
  mayConflict: true,
  summary: 'Recompute what users would have under the current rules, from their whole history',
  description: `A job plans, user by user, who would gain and lose what: \`achievements\` by their current conditions, \`points\` by the
current triggers, for everything since the day \`since\`, \`boards\`: scores in runs that are not final, by all of history. Planning changes nothing. The plan is shown by
\`GET /v1/recomputations/{id}\`, and applied, exactly as shown, by \`POST …/apply\`, or at once with \`dryRun: false\`. Nobody has less
afterwards, unless \`mayRevoke\` is true. Of a tenant one is under way at a time: otherwise the answer is 409 and names it.`,
  body: RecomputationRequest,
  knownFields: RecomputationRequest,
  responses: { 202: Recomputation },
  answer: async ({ catalogs, recomputations }, { tenant, by, body }) =>
    recomputations.create(await catalogs.of(tenant.no), body, by),
});

export const adminRecomputationsApply = operation('admin_recomputations_apply', 'POST /v1/recomputations/{id}/apply', {
  mayConflict: true,
  summary: 'Apply a plan exactly as shown',
  description: `Changes each user in one step, exactly once, even after a crash. Points move by the planned difference. An achievement that
changed since the plan stays unchanged. 409 if the recomputation is not planned, or if another one was applied or reverted
since.`,
  params: Type.Object({ id: Uuid }),
  responses: { 202: Recomputation },
  answer: async ({ catalogs, recomputations }, { tenant, by, params }) =>
    recomputations.apply(await catalogs.of(tenant.no), params.id, by),
});

export const adminRecomputationsCancel = operation(
  'admin_recomputations_cancel',
  'POST /v1/recomputations/{id}/cancel',
  {
    mayConflict: true,
    summary: 'End a recomputation that is planned, being planned, or being applied',
    description: `What it has applied so far stays, and can be reverted. 409 if it is not in progress.`,
    params: Type.Object({ id: Uuid }),
    responses: { 202: Recomputation },
    answer: async ({ catalogs, recomputations }, { tenant, by, params }) =>
      recomputations.cancel(await catalogs.of(tenant.no), params.id, by),
  },
);

export const adminRecomputationsRevert = operation(
  'admin_recomputations_revert',
  'POST /v1/recomputations/{id}/revert',
  {
    mayConflict: true,
    summary: 'Revert all changes of a recomputation',
    description: `Points by compensating entries, never below 0; achievements that it completed go, those that it revoked come back
unchanged. 409 where nothing was applied.`,
    params: Type.Object({ id: Uuid }),
    responses: { 202: Recomputation },
    answer: async ({ catalogs, recomputations }, { tenant, by, params }) =>
      recomputations.revert(await catalogs.of(tenant.no), params.id, by),
  },
);

const deadLetterAnswer = (letter: StoredDeadLetter): Answer => ({
  ...picked(letter, ['id', 'shard', 'position', 'tenantNo', 'status', 'reason', 'parts', 'tries']),
  created: letter.created.toISOString(),
  updated: letter.updated.toISOString(),
});

export const adminDeadLettersList = operation('admin_dead_letters_list', 'GET /v1/dead-letters', {
  summary: 'Outbox entries that could not be stored completely and were set aside; oldest first',
  scope: 'organisation',
  query: Type.Object({ ...Paging.properties, status: Type.Optional(Type.Enum(['waiting', 'stored'])) }),
  responses: { 200: Type.Array(DeadLetter) },
  answer: async ({ deadLetters }, { query }) => (await deadLetters.list(query)).map(deadLetterAnswer),
});

export const adminDeadLettersGet = operation('admin_dead_letters_get', 'GET /v1/dead-letters/{id}', {
  summary: 'An entry that was set aside, with its readable contents and its bytes',
  scope: 'organisation',
  params: Type.Object({ id: Uuid }),
  responses: { 200: ShownDeadLetter },
  answer: async ({ deadLetters }, { params }) => {
    const { letter, fields } = await deadLetters.show(params.id);
    return { ...deadLetterAnswer(letter), entry: fields && readableEntry(fields) };
  },
});

export const adminDeadLettersDelete = operation('admin_dead_letters_delete', 'DELETE /v1/dead-letters', {
  summary: 'Drop entries that were set aside; their parts that are not stored are lost',
  scope: 'organisation',
  query: Ids,
  responses: { 200: DeletedResources },
  answer: ({ deadLetters }, { by, query }) =>
    deleteEach(query.ids, {
      noun: 'dead letter',
      work: (ids) => deadLetters.drop(ids, by),
    }),
});

export const adminDeadLettersRetry = operation('admin_dead_letters_retry', 'POST /v1/dead-letters/{id}/retry', {
  summary: 'Store the missing parts of an entry that was set aside; `status` and `reason` show the result',
  scope: 'organisation',
  params: Type.Object({ id: Uuid }),
  responses: { 200: DeadLetter },
  answer: async ({ deadLetters }, { by, params }) => deadLetterAnswer(await deadLetters.retry(params.id, by)),
});
