import { MCP_PATH } from '../../../src/http/mcp/endpoint.ts';
import { adminOperations, applicationOperations } from '../../../src/operations/index.ts';
import { LARGE_CONFIGURATION, LEAGUE } from './large-tenant.ts';
import type { Known } from './largest.ts';
import { largestRequest, USER, type CostlyRequest } from './requests.ts';

/** What the requests name. */
export interface Named {
  /** The first resource of each list of the Admin API, by the list's path; `null` if it has none. */
  ids: Readonly<Record<string, string | null>>;
  largeUsers: readonly string[];
  adminKey: string;
}

/** How the costliest request of an operation differs from the largest one that its schemas allow. */
interface Case {
  /** Values of parameters and fields; `undefined` leaves a field out. */
  given?: (named: Named) => Known;
  /** Instead of the largest body. */
  body?: (named: Named) => unknown;
  isKeyed?: true;
  /** If the answer is not a success: the operation is about something that cannot exist a second time, or not in a state that lasts. */
  status?: number;
}

const NO_ID = '0191d6f0-0000-7000-8000-000000000001';

const LARGEST: Case = {};
const given = (values: Known): Case => ({ given: () => values });
/** About something that exists for a moment, or once. Its cost is a job of a worker, or that of one row. */
const ONCE: Case = { given: () => ({ id: NO_ID }), status: 404 };
const OF_SPENDING: Case = { given: () => ({ holdId: NO_ID, spendingId: NO_ID }), status: 404 };
const DAYS = { from: '2025-11-29', to: '2026-11-28' };
/** The longest range of `days=true`. */
const DAYS_OF_EACH = { from: '2026-10-29', to: '2026-11-28' };

/** Requests to the outside are not part of this test. */
const DISABLED: Case = { status: 422 };

/** A profile of the largest size. */
const PROFILE: Known = {
  name: 'x'.repeat(1_000),
  email: 'costly@example.com',
  attributes: Object.fromEntries(Array.from({ length: 19 }, (_, at) => [`attribute-${at + 1}`, 'y'.repeat(1_000)])),
  deviceTokens: ['token'],
};
const ACHIEVEMENTS = Array.from({ length: 9_000 }, (_, at) => ({ key: `a${at}`, name: 'A', trigger: 'api' }));
const EVENT_ATTRIBUTES = Object.fromEntries(
  Array.from({ length: 10 }, (_, at) => [`attribute-${at}`, 'z'.repeat(1_000)]),
);
/** Disabled, since PUBLIC_URL is not set. */
const CHANNEL = {
  enabled: false,
  host: 'smtp.example.com',
  port: 587,
  security: 'starttls',
  senderAddress: 'a@example.com',
};
/** Of the greatest length, with as many variables as fit. */
const TEMPLATE = {
  subject: 'x'.repeat(200),
  html: `${'<p>{{user.name|x}}</p>'.repeat(4_000)}<a href="{{unsubscribeUrl}}">Unsubscribe</a>`,
  text: `${'{{user.name|x}}'.repeat(1_300)} {{unsubscribeUrl}}`,
};
/** Likewise. */
const PUSH_TEMPLATE = { title: '{{user.name|x}}'.repeat(10), body: '{{user.name|x}}'.repeat(66), url: 'myapp://x' };
const ofUser = (values: Known = {}): Case => ({ body: () => ({ user: { id: USER, ...PROFILE }, ...values }) });

/** Sent by a user's application key, as often as its rate limit allows. */
export const OF_USERS: Readonly<Record<string, Case>> = {
  metrics_event: ofUser({ value: 1, attributes: EVENT_ATTRIBUTES }),
  achievements_all: LARGEST,
  achievements_complete: { ...ofUser(), status: 422 },
  users_create: { body: () => ({ id: USER, ...PROFILE }) },
  users_get: LARGEST,
  users_identify: { body: () => PROFILE },
  users_update: { body: () => PROFILE },
  users_get_preferences: LARGEST,
  users_update_preferences: given({ key: 'flips', threshold: 1, metrics: [{ key: 'flips', threshold: 1 }] }),
  users_message_opened: given({ messageId: '5c0b7f3e-91d4-8a6e-b2f7-4d1c6a9e8b05' }),
  users_all_metrics: LARGEST,
  users_achievements: LARGEST,
  users_single_metric: LARGEST,
  users_metric_event_summary: LARGEST,
  users_points_event_summary: LARGEST,
  users_streak: given({ historyPeriods: 1_000 }),
  streaks_list: given({ userIds: [USER] }),
  streaks_rankings: LARGEST,
  users_points: LARGEST,
  users_points_boosts: LARGEST,
  spendings_spend: { body: () => ({ amount: 1 }), isKeyed: true },
  spendings_hold: { body: () => ({ amount: 1, expiresIn: 1 }), isKeyed: true },
  rewards_claim: { given: () => ({ key: 'reward-0' }), body: () => ({ userId: USER }), isKeyed: true },
  users_rewards: given({ skip: 0 }),
  users_claims: given({ cursor: undefined }),
  users_leaderboard: LARGEST,
  users_leaderboard_leagues: given({ key: LEAGUE }),
  users_wrapped: LARGEST,
  points_system: LARGEST,
  points_summary: LARGEST,
  points_boosts: LARGEST,
  points_levels: LARGEST,
  points_level_summary: LARGEST,
  leaderboards_all: LARGEST,
  leaderboards_get: LARGEST,
  leaderboards_rankings: { body: ({ largeUsers }) => ({ userIds: largeUsers.slice(0, 500) }) },
  leaderboards_teams: given({ limit: 100, run: undefined }),
  web_push_key: LARGEST,
  live_tickets_create: { body: () => ({ userId: USER, boards: ['board'] }) },
  openapi_get: LARGEST,
};

const webhook: Case = given({ cursor: undefined });
const group: Case = given({ ...DAYS, group: undefined });

/** Sent with an admin key, four at a time. */
export const OF_ADMINS: Readonly<Record<string, Case>> = {
  // First, since it waits until leaderboards are filled, which later ones cause.
  admin_users_merge: { body: ({ largeUsers }) => ({ from: largeUsers[1], into: largeUsers[2], dryRun: true }) },
  spendings_capture: OF_SPENDING,
  spendings_release: OF_SPENDING,
  spendings_refund: OF_SPENDING,
  admin_backdatings_list: LARGEST,
  admin_leaderboard_fillings_list: LARGEST,
  admin_configuration_get: LARGEST,
  admin_configuration_schema_get: LARGEST,
  admin_configuration_versions_list: given({ skip: 0 }),
  admin_configuration_versions_get: given({ version: '1' }),
  admin_configuration_put: { body: () => LARGE_CONFIGURATION },
  admin_configuration_diff: { body: () => ({ ...LARGE_CONFIGURATION, achievements: ACHIEVEMENTS }) },
  admin_attributes_list: given({ skip: 0 }),
  admin_attributes_get: LARGEST,
  admin_attributes_create: LARGEST,
  admin_attributes_update: LARGEST,
  admin_attributes_delete: LARGEST,
  admin_metrics_list: given({ skip: 0 }),
  admin_metrics_get: LARGEST,
  admin_metrics_create: LARGEST,
  // With guards, the events that are measured later would be put into quarantine.
  admin_metrics_update: given({ guards: {} }),
  admin_metrics_delete: LARGEST,
  admin_achievements_list: given({ skip: 0 }),
  admin_achievements_get: LARGEST,
  admin_achievements_create: LARGEST,
  admin_achievements_update: LARGEST,
  admin_achievements_delete: LARGEST,
  admin_achievements_preview: {
    body: ({ ids }) => ({ trigger: 'metric', metricId: ids['/v1/metrics'], metricValue: 5 }),
  },
  admin_points_systems_list: given({ skip: 0 }),
  admin_points_systems_get: LARGEST,
  admin_points_systems_create: LARGEST,
  admin_points_systems_update: LARGEST,
  admin_points_systems_delete: LARGEST,
  admin_points_levels_list: given({ skip: 0 }),
  admin_points_levels_get: LARGEST,
  admin_points_levels_create: LARGEST,
  admin_points_levels_update: LARGEST,
  admin_points_levels_delete: LARGEST,
  admin_points_boosts_list: given({ skip: 0 }),
  admin_points_boosts_get: ONCE,
  admin_points_boosts_create: LARGEST,
  admin_points_boosts_update: LARGEST,
  admin_points_boosts_delete: LARGEST,
  admin_points_triggers_list: given({ skip: 0 }),
  admin_points_triggers_get: LARGEST,
  admin_points_triggers_create: LARGEST,
  admin_points_triggers_update: LARGEST,
  admin_points_triggers_delete: LARGEST,
  admin_leaderboards_list: given({ skip: 0 }),
  admin_leaderboards_get: LARGEST,
  admin_leaderboards_create: LARGEST,
  admin_leaderboards_update: LARGEST,
  admin_leaderboards_delete: LARGEST,
  admin_rewards_list: given({ skip: 0 }),
  admin_rewards_get: LARGEST,
  admin_rewards_create: LARGEST,
  admin_rewards_update: LARGEST,
  admin_rewards_delete: LARGEST,
  admin_claims_list: given({ cursor: undefined, reward: undefined, userId: undefined }),
  admin_claims_get: ONCE,
  admin_claims_fulfil: ONCE,
  admin_claims_cancel: ONCE,
  admin_webhooks_list: given({ skip: 0 }),
  admin_webhooks_get: LARGEST,
  admin_webhooks_create: LARGEST,
  admin_webhooks_update: LARGEST,
  admin_webhooks_delete: LARGEST,
  admin_webhooks_rotate_secret: LARGEST,
  admin_webhooks_state: LARGEST,
  admin_webhooks_deliveries_list: webhook,
  admin_webhooks_deliveries_get: ONCE,
  admin_webhooks_deliveries_resend: DISABLED,
  admin_webhooks_resend: DISABLED,
  admin_webhooks_resends_list: LARGEST,
  admin_webhooks_test: DISABLED,
  admin_messages_channel_put: { body: () => CHANNEL },
  admin_messages_channel_get: LARGEST,
  admin_messages_channel_delete: LARGEST,
  // PUBLIC_URL is not set.
  admin_messages_feedback_put: { body: () => ({}), status: 409 },
  admin_messages_feedback_get: { status: 404 },
  admin_messages_feedback_delete: { status: 404 },
  admin_messages_readiness: LARGEST,
  admin_messages_preview: { body: () => ({ userId: USER, kind: 'recap', template: TEMPLATE }) },
  admin_messages_unsubscribe_preview: { body: () => ({ userId: USER, kind: 'recap' }) },
  admin_messages_list: given({ cursor: undefined, status: undefined, kind: undefined, medium: undefined }),
  admin_push_channels_list: LARGEST,
  admin_push_channels_get: { given: () => ({ provider: 'expo' }), status: 404 },
  admin_push_channels_put: { given: () => ({ provider: 'expo' }), body: () => ({ credentials: {} }), status: 409 },
  admin_push_channels_delete: { given: () => ({ provider: 'expo' }), status: 404 },
  admin_push_preview: { body: () => ({ userId: USER, kind: 'recap', template: PUSH_TEMPLATE }) },
  admin_messages_suppressed_list: given({ cursor: undefined }),
  admin_messages_suppressed_delete: { given: () => ({ address: 'nobody@example.com' }), status: 404 },
  admin_streaks_settings_get: LARGEST,
  admin_streaks_settings_update: { body: () => ({ metrics: [{ key: 'flips', threshold: 1 }] }) },
  admin_admin_api_keys_list: given({ skip: 0 }),
  admin_admin_api_keys_create: LARGEST,
  admin_admin_api_keys_update: LARGEST,
  admin_admin_api_keys_rotate: ONCE,
  admin_admin_api_keys_delete: LARGEST,
  admin_attributes_values: LARGEST,
  admin_leaderboards_groups: LARGEST,
  admin_leaderboards_leagues: { given: ({ ids }) => ({ id: ids[LEAGUE] }) },
  admin_leaderboards_cohorts: { given: ({ ids }) => ({ id: ids[LEAGUE], after: undefined }) },
  admin_activity_get: given(DAYS),
  admin_activity_completions: LARGEST,
  admin_analytics_segments: LARGEST,
  admin_analytics_users: group,
  admin_analytics_retention: group,
  admin_analytics_engagement: {
    given: ({ ids }) => ({ ...DAYS, group: undefined, metricId: ids['/v1/metrics'] }),
  },
  admin_analytics_metrics: given({ ...DAYS_OF_EACH, group: undefined, days: 'true' }),
  admin_analytics_metric: group,
  admin_analytics_achievements: group,
  admin_analytics_achievement: group,
  admin_analytics_points: group,
  admin_analytics_points_system: group,
  admin_analytics_streaks: group,
  admin_analytics_leaderboards: group,
  admin_analytics_rewards: LARGEST,
  admin_analytics_messages: given(DAYS),
  admin_analytics_messages_effect: given(DAYS),
  admin_audit_log_list: given({ skip: 0, kind: undefined }),
  admin_advice_list: LARGEST,
  admin_attention_list: LARGEST,
  admin_system_get: LARGEST,
  admin_dead_letters_list: given({ skip: 0 }),
  admin_dead_letters_get: ONCE,
  admin_dead_letters_retry: ONCE,
  admin_dead_letters_delete: LARGEST,
  admin_streaks_freezes_create: LARGEST,
  admin_streaks_pauses_create: LARGEST,
  admin_streaks_pauses_delete: LARGEST,
  admin_streaks_reset: { body: ({ largeUsers }) => ({ users: largeUsers.slice(0, 100).map((id) => ({ id })) }) },
  admin_streaks_restore: { body: ({ largeUsers }) => ({ users: largeUsers.slice(0, 100).map((id) => ({ id })) }) },
  admin_application_api_keys_list: given({ skip: 0 }),
  admin_application_api_keys_create: LARGEST,
  admin_application_api_keys_delete: LARGEST,
  admin_metrics_batch_events: LARGEST,
  admin_users_list: given({ after: undefined, order: undefined, search: undefined, skip: 19_900 }),
  admin_users_filtered: given({
    after: undefined,
    level: undefined,
    seenFrom: undefined,
    seenBefore: undefined,
    minStreak: 1_000,
  }),
  admin_users_spendings: given({ cursor: undefined, pointsSystem: undefined }),
  admin_users_timeline: given({ cursor: undefined }),
  admin_users_get: LARGEST,
  admin_users_update: LARGEST,
  admin_users_delete: LARGEST,
  admin_users_delete_one: { given: () => ({ id: 'unknown' }), status: 404 },
  admin_users_export: LARGEST,
  admin_users_guards: LARGEST,
  admin_quarantine_list: given({ cursor: undefined, metric: undefined, metricKey: undefined }),
  admin_quarantine_release: LARGEST,
  admin_quarantine_release_one: ONCE,
  admin_quarantine_drop: LARGEST,
  admin_quarantine_delete_one: ONCE,
  admin_tenants_list: given({ skip: 0 }),
  admin_tenants_get: LARGEST,
  admin_tenants_create: { body: () => Array.from({ length: 100 }, () => ({ customerId: 'large', name: 'x' })) },
  admin_tenants_update: given({ id: NO_ID }),
  admin_tenants_delete: LARGEST,
  admin_session_get: LARGEST,
  admin_session_create: { body: ({ adminKey }) => ({ key: adminKey }) },
  admin_session_delete: LARGEST,
  admin_settings_get: LARGEST,
  admin_settings_update: { body: () => ({}) },
  admin_imports_create: given({ import: 'past' }),
  admin_events_reverse: { body: () => ({ eventIds: Array.from({ length: 100 }, () => NO_ID) }) },
  admin_events_reverse_one: ONCE,
  admin_events_settings_get: LARGEST,
  admin_events_settings_update: LARGEST,
  admin_jobs_list: given({ skip: 0, kind: undefined, status: undefined }),
  admin_jobs_get: ONCE,
  admin_jobs_cancel: ONCE,
  admin_jobs_retry: ONCE,
  admin_recomputations_list: LARGEST,
  admin_recomputations_create: given({ userAttributes: undefined, userIds: undefined }),
  admin_recomputations_get: ONCE,
  admin_recomputations_apply: ONCE,
  admin_recomputations_revert: ONCE,
  admin_recomputations_cancel: ONCE,
  admin_verifications_list: LARGEST,
  admin_verifications_create: LARGEST,
  admin_verifications_get: ONCE,
  admin_spread_get: LARGEST,
  admin_spread_update: LARGEST,
  admin_environments_list: LARGEST,
  admin_organisation_get: LARGEST,
  admin_organisation_update: { body: () => ({}) },
  admin_live_tickets_create: { body: () => ({ userId: USER, boards: ['board'] }) },
  admin_requests_list: LARGEST,
  admin_openapi_get: LARGEST,
};

/** Operations whose requests are not sent again and again, with the reason. */
export const NOT_SENT: Readonly<Record<string, string>> = {
  messages_feedback: 'without a signed address it is refused before its body is read',
  live_get: 'a ticket opens one stream; test/abuse/live-streams.test.ts measures streams',
  live_ws: 'as live_get',
  admin_live_get: 'as live_get',
  admin_live_ws: 'as live_get',
  admin_messages_channel_test: 'waits for a mail server outside',
  admin_push_channels_test: 'waits for a provider outside',
  admin_messages_test: 'waits for a mail server outside',
  admin_push_test: 'waits for a provider outside',
  admin_clock_get: 'exists only with TEST_CLOCK, which production refuses',
  admin_clock_put: 'as admin_clock_get',
  admin_clock_delete: 'as admin_clock_get',
};

export interface CostlyCase {
  by: 'user' | 'admin';
  request: CostlyRequest;
  /** The status of its answer; `null` for a success. */
  status: number | null;
}

/** The list of the Admin API that has the resource in a path. */
export const listOf = (path: string): string => path.replace(/\/\{id\}.*/, '').replace('/v1/analytics/', '/v1/');

/** The costliest requests of all operations, and a call of a tool of `/mcp`. */
export function costlyCases(named: Named): CostlyCase[] {
  const operations = new Map([...applicationOperations, ...adminOperations].map((each) => [each.id, each]));
  const cases = [...Object.entries(OF_USERS), ...Object.entries(OF_ADMINS)].map(([id, one]): CostlyCase => {
    const operation = operations.get(id)!;
    const own = operation.surface === 'admin' ? (named.ids[listOf(operation.path)] ?? null) : null;
    const values: Known = {
      systemId: named.ids['/v1/points'],
      ...(own !== null && { id: own }),
      ...one.given?.(named),
    };
    const request = { ...largestRequest(operation, values), ...(one.isKeyed && { isKeyed: true }) };
    if (one.body !== undefined) request.body = JSON.stringify(one.body(named));
    return { by: id in OF_USERS ? 'user' : 'admin', request, status: one.status ?? null };
  });
  const call = { name: 'admin_users_filtered', arguments: { query: { limit: 100, minStreak: 1_000 } } };
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call };
  const mcp = { name: 'mcp', surface: 'admin', method: 'POST', path: MCP_PATH, body: JSON.stringify(message) } as const;
  return [...cases, { by: 'admin', request: mcp, status: null }];
}
