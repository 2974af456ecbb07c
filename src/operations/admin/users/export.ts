import { Type } from 'typebox';
import { User, UserId } from '../../../domain/user.ts';
import { operation } from '../../operation.ts';

const Rows = Type.Array(Type.Record(Type.String(), Type.Unknown()));
const Named = Type.Record(Type.String(), Type.Unknown());

const UserDocument = Type.Object({
  exported: Type.String({ format: 'date-time' }),
  user: User,
  preferences: Named,
  /** Totals by metric; of events that meet conditions, by what they are counted for; points by system. */
  metrics: Named,
  counts: Named,
  points: Named,
  streaks: Named,
  freezes: Type.Integer(),
  leaderboards: Named,
  events: Rows,
  /** Sums by day of events, and of awards, that are older than EVENT_RETENTION_DAYS. */
  eventDays: Rows,
  awardDays: Rows,
  /** Events that guards keep or kept, and how often guards stopped events. */
  quarantine: Rows,
  guards: Rows,
  awards: Rows,
  completions: Rows,
  streakChanges: Rows,
  streakPauses: Rows,
  /** For what the last e-mail of each kind was due. */
  emailsDue: Rows,
  applicationKeys: Rows,
  /** What administrators did about the user. */
  auditLog: Rows,
  finalRanks: Rows,
  leaderboardDays: Rows,
  /** Of batches that were accepted and are not yet processed. */
  queuedEvents: Rows,
});

export const adminUsersExport = operation({
  id: 'admin_users_export',
  surface: 'admin',
  method: 'get',
  path: '/v1/users/{id}/export',
  summary: 'Everything that is held about a user, as one document',
  params: Type.Object({ id: UserId }),
  responses: { 200: UserDocument },
  handle: async ({ userExport, catalogs }, { tenant, by, params }) => ({
    status: 200,
    chunks: userExport.document(await catalogs.of(tenant.no), params.id, by),
  }),
});
