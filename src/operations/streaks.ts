import { Type } from 'typebox';
import { type AdminIssue, Ids } from '../domain/administration/admin.ts';
import type { Catalog } from '../domain/catalog.ts';
import { StreakSettingsAnswer, StreakSettingsChanges } from '../domain/streaks/streak-settings.ts';
import {
  AdminStreakPause,
  BulkStreakResponse,
  CreatedStreakFreezes,
  CreatedStreakPauses,
  DeletedStreakPauses,
  ResetStreaks,
  RestoredStreaks,
  StreakFreezeItem,
  StreakPauseItem,
  StreakRankings,
  StreakRankingType,
  StreakResponse,
  StreakUserItem,
} from '../domain/streaks/streak.ts';
import { NothingDone } from '../engine/streaks/streak-admin.ts';
import { BULK_BODY_BYTES, bulkItems, deleteEach, Warning } from './bulk.ts';
import { operation } from './operation.ts';

/** Handles the items of a bulk call one after another. Outcomes that are not errors become warnings. */
async function oneByOne<Item, Done extends object>(
  items: readonly Item[],
  work: (item: Item) => Promise<Done | string | NothingDone>,
): Promise<(Done | string | Warning)[]> {
  const outcomes: (Done | string | Warning)[] = [];
  for (const item of items) outcomes.push(toOutcome(await work(item)));
  return outcomes;
}

const toOutcome = <Done extends object>(outcome: Done | string | NothingDone): Done | string | Warning =>
  outcome instanceof NothingDone ? new Warning(outcome.reason) : outcome;

/** An issue about a user, whose ID is in `userId`. */
const byUserId = ({ id, ...issue }: AdminIssue): AdminIssue => (id === undefined ? issue : { userId: id, ...issue });

const resets = bulkItems(StreakUserItem);

export const adminStreaksReset = operation('admin_streaks_reset', 'POST /v1/streaks/reset', {
  summary: "End users' streaks now, as if they were lost; freezes stay",
  body: Type.Object({ users: resets.body }),
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: ResetStreaks },
  answer: async ({ catalogs, streakAdmin }, { tenant, by, span, body }) => {
    const compiled = await catalogs.of(tenant.no);
    const { done, issues } = await resets.each(body.users, (good) =>
      oneByOne(good, ({ id }) => streakAdmin.reset(compiled, id, { by, span })),
    );
    return { resetUsers: done.map(({ userId }) => userId), issues: issues.map(byUserId) };
  },
});

const restores = bulkItems(StreakUserItem);

export const adminStreaksRestore = operation('admin_streaks_restore', 'POST /v1/streaks/restore', {
  summary: "Restore users' longest recent streak",
  body: Type.Object({ users: restores.body }),
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: RestoredStreaks, 201: RestoredStreaks },
  handle: async ({ catalogs, streakAdmin }, { tenant, by, span, body }) => {
    const compiled = await catalogs.of(tenant.no);
    const { done, issues } = await restores.each(body.users, async (good) => {
      const ids = good.map(({ id }) => id);
      return (await streakAdmin.restore(compiled, ids, { by, span })).map(toOutcome);
    });
    return {
      status: done.length > 0 ? 201 : 200,
      body: {
        restoredUsers: done.map(({ userId }) => userId),
        issues: issues.map(byUserId),
      },
    };
  },
});

/** The streak settings in an answer. `freezes` is `null` if no user can hold any. */
function streakSettingsAnswer({ streaks, metrics }: Pick<Catalog, 'streaks' | 'metrics'>): StreakSettingsAnswer {
  const { enabled, frequency, weekStart, evaluationMode, personalization, daysOff, freezes } = streaks;
  const keys = new Map(metrics.map(({ id, key }) => [id, key]));
  return {
    enabled,
    frequency,
    weekStart,
    evaluationMode,
    customizationEnabled: personalization,
    personalization,
    daysOff,
    metrics: streaks.metrics.map(({ metricId, threshold }) => ({ key: keys.get(metricId)!, metricId, threshold })),
    freezes:
      freezes.enabled && freezes.max > 0 ? { ...freezes, startCount: freezes.initial, maxCount: freezes.max } : null,
  };
}

export const adminStreaksSettingsGet = operation('admin_streaks_settings_get', 'GET /v1/streaks/settings', {
  summary: 'The streak settings',
  responses: { 200: StreakSettingsAnswer },
  answer: async ({ configuration }, { tenant }) => streakSettingsAnswer(await configuration.streaks(tenant.no)),
});

const freezeItems = bulkItems(StreakFreezeItem);

export const adminStreaksFreezesCreate = operation('admin_streaks_freezes_create', 'POST /v1/streaks/freezes', {
  summary: 'Give users a streak freeze each, up to the maximum',
  body: Type.Object({ freezes: freezeItems.body }),
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: CreatedStreakFreezes, 201: CreatedStreakFreezes },
  handle: async ({ catalogs, streakAdmin }, { tenant, by, span, body }) => {
    const compiled = await catalogs.of(tenant.no);
    const { done, issues } = await freezeItems.each(body.freezes, (good) =>
      oneByOne(good, ({ userId }) => streakAdmin.giveFreeze(compiled, userId, { by, span })),
    );
    return { status: done.length > 0 ? 201 : 200, body: { issues } };
  },
});

const pauseItems = bulkItems(StreakPauseItem, AdminStreakPause);

export const adminStreaksPausesCreate = operation('admin_streaks_pauses_create', 'POST /v1/streaks/pauses', {
  summary: "Pause users' streaks from one local day to another, from today on",
  body: Type.Object({ pauses: pauseItems.body }),
  bodyBytes: BULK_BODY_BYTES,
  responses: { 200: CreatedStreakPauses, 201: CreatedStreakPauses },
  handle: async ({ catalogs, streakAdmin }, { tenant, by, span, body }) => {
    const compiled = await catalogs.of(tenant.no);
    const { done, issues } = await pauseItems.each(body.pauses, (good) =>
      oneByOne(good, (item) => streakAdmin.pause(compiled, item, { by, span })),
    );
    return { status: done.length > 0 ? 201 : 200, body: { created: done, issues } };
  },
});

export const adminStreaksSettingsUpdate = operation('admin_streaks_settings_update', 'PATCH /v1/streaks/settings', {
  summary: 'Set some of the streak settings',
  description:
    '`metrics` and `freezes` replace what was there; `freezes: null` switches freezes off. Of two names of one setting ' +
    '(`customizationEnabled` and `personalization`, `key` and `metricId`, `startCount` and `initial`, `maxCount` and `max`) either ' +
    'will do, and both if they agree. By `initial` and `max` alone the fields of `freezes` are set one by one.',
  body: StreakSettingsChanges,
  knownFields: StreakSettingsChanges,
  responses: { 200: StreakSettingsAnswer },
  answer: async ({ configuration }, { tenant, body, by }) =>
    streakSettingsAnswer(await configuration.updateStreaks(tenant.no, body, by)),
});

export const adminStreaksPausesDelete = operation('admin_streaks_pauses_delete', 'DELETE /v1/streaks/pauses', {
  summary: 'Delete pauses of streaks; their past days stay paused',
  query: Ids,
  responses: { 200: DeletedStreakPauses },
  answer: async ({ catalogs, streakAdmin }, { tenant, by, span, query }) => {
    const compiled = await catalogs.of(tenant.no);
    const work = (ids: string[]): Promise<string[]> => streakAdmin.deletePauses(compiled, ids, { by, span });
    return deleteEach(query.ids, { noun: 'pause', work });
  },
});

export const streaksList = operation('streaks_list', 'GET /v1/streaks', {
  summary: 'The streak lengths of up to 100 users, longest first',
  query: Type.Object({ userIds: Type.Array(Type.String()) }),
  responses: { 200: BulkStreakResponse },
  namedUsers: ({ query }) => query.userIds,
  answer: async ({ catalogs, streaks }, { tenant, query }) => streaks.list(await catalogs.of(tenant.no), query.userIds),
});

export const streaksRankings = operation('streaks_rankings', 'GET /v1/streaks/rankings', {
  summary: 'The users with the longest streaks',
  description:
    'Of an earlier version of the contract; a leaderboard of streaks is its successor. `active` ranks streaks as they stand, `longest` ' +
    'the longest that each user ever had. Users who are hidden from leaderboards are left out. An answer may be some seconds old.',
  deprecated: true,
  query: Type.Object({
    limit: Type.Integer({ default: 10 }),
    type: StreakRankingType,
  }),
  responses: { 200: StreakRankings },
  answer: async ({ catalogs, streakRankings }, { tenant, query }) =>
    streakRankings.top(await catalogs.of(tenant.no), query.type, query.limit),
});

export const usersStreak = operation('users_streak', 'GET /v1/users/{id}/streak', {
  summary: "A user's streak today, and in the periods before",
  params: Type.Object({ id: Type.String() }),
  query: Type.Object({ historyPeriods: Type.Integer({ default: 7 }) }),
  responses: { 200: StreakResponse },
  namedUsers: ({ params }) => [params.id],
  answer: async ({ catalogs, streaks }, { tenant, params, query }) =>
    streaks.ofUser(await catalogs.of(tenant.no), params.id, query.historyPeriods),
});
