import { ADMINISTRATION_TEXTS } from './administration-texts.ts';
import { CONFIGURATION_TEXTS } from './configuration-texts.ts';
import { CORRECTION_TEXTS, GUARD_TEXTS, RECOMPUTATION_TEXTS, TIMELINE_TEXTS } from './correction-texts.ts';
import { exampleOf, type Schema } from './examples.ts';
import { JOB_TEXTS } from './job-texts.ts';
import { ANALYTICS_TEXTS, OF_RANGE, PROGRESS_TEXTS, REWARD_TEXTS, SPENDING_TEXTS } from './progress-texts.ts';
import { SYSTEM_TEXTS } from './system-texts.ts';
import { IMPORT_TEXTS, USER_TEXTS } from './user-texts.ts';
import { LIVE_TEXTS, PAYLOAD_TEXTS, WEBHOOK_LOG_TEXTS } from './webhook-texts.ts';
import { pluralOf } from '../../domain/words.ts';
import { withAlternatives } from './text-names.ts';

/**
 * What fields mean, by their name and as many names around it as decide: `awards.date`, `date`. An operation in front
 * (`users_points.date`) restricts a text to it. `created[]` is for lists only. `(gaining|losing).points` stands for two names.
 */
const TEXTS = withAlternatives({
  ...RECOMPUTATION_TEXTS,
  ...CORRECTION_TEXTS,
  ...GUARD_TEXTS,
  ...IMPORT_TEXTS,
  ...JOB_TEXTS,
  ...TIMELINE_TEXTS,
  ...LIVE_TEXTS,
  ...PROGRESS_TEXTS,
  ...REWARD_TEXTS,
  ...SPENDING_TEXTS,
  ...CONFIGURATION_TEXTS,
  ...ANALYTICS_TEXTS,
  ...ADMINISTRATION_TEXTS,
  ...SYSTEM_TEXTS,
  ...USER_TEXTS,
  ...WEBHOOK_LOG_TEXTS,
  ...PAYLOAD_TEXTS,
});

export interface Place {
  operation: string;
  path: string;
  /** Names of the fields around it, outermost first, after `body` for a request, `answer` for an answer and `payload` for a webhook. */
  names: readonly string[];
}

/** A schema whose fields all have a description and, unless they are objects, an example. */
export function describedSchema(schema: Schema, place: Place): Schema {
  const inside = (one: Schema): Schema => describedSchema(one, place);
  return {
    ...schema,
    ...(schema.properties && {
      properties: Object.fromEntries(
        Object.entries(schema.properties).map(([name, field]) => [name, describedField(field, name, place)]),
      ),
    }),
    ...(schema.items && { items: inside(schema.items) }),
    ...(schema.anyOf && { anyOf: schema.anyOf.map(inside) }),
    ...(typeof schema.additionalProperties === 'object' && {
      additionalProperties: inside(schema.additionalProperties),
    }),
  };
}

function describedField(field: Schema, name: string, place: Place): Schema {
  const names = [...place.names, name];
  const { description = fieldText(place, names, field.type === 'array'), ...schema } = describedSchema(field, {
    ...place,
    names,
  });
  const example = exampleOf(schema, name);
  return {
    ...schema,
    ...(description !== undefined && { description }),
    ...(schema.examples === undefined && example !== undefined && { examples: [example] }),
  };
}

const wordsOf = (path: string): string[] => path.split(/[/{}]+/);

/** The text with the most names around the field; of those with as many the operation's own. */
function fieldText({ operation, path, names: around }: Place, names: string[], isList: boolean): string | undefined {
  for (let from = 0; from < names.length; from += 1) {
    const name = names.slice(from).join('.');
    const text = TEXTS[`${operation}.${name}`] ?? (isList ? TEXTS[`${name}[]`] : undefined) ?? TEXTS[name];
    if (text !== undefined) return withNoun(text, [...wordsOf(path), ...around]);
  }
  return undefined;
}

export function describedParameter(
  schema: Schema,
  { operation, path, name }: Pick<Place, 'operation' | 'path'> & { name: string },
): { schema: Schema; description?: string; example?: unknown } {
  const text = PARAMETER_TEXTS[`${operation}:${name}`] ?? PARAMETER_TEXTS[name];
  const inPath = path.indexOf(`{${name}}`);
  const description = text && withNoun(text, wordsOf(inPath < 0 ? path : path.slice(0, inPath)));
  const example = exampleOf(schema, name);
  return { schema, ...(description !== undefined && { description }), ...(example !== undefined && { example }) };
}

/** The thing that a part of a path or a field is about: what `{noun}` stands for in a text. */
const NOUNS: Readonly<Record<string, string>> = {
  achievement: 'achievement',
  achievementProgress: 'achievement',
  achievements: 'achievement',
  'admin-api-keys': 'key',
  'application-api-keys': 'key',
  attributes: 'attribute',
  'audit-log': 'entry',
  awards: 'award',
  backdatings: 'job',
  boards: 'leaderboard',
  boost: 'boost',
  boosts: 'boost',
  breakdownAttributeValues: 'attribute',
  changes: 'resource',
  'dead-letters': 'entry',
  deliveries: 'message',
  demo: 'resource',
  environments: 'environment',
  eventAttribute: 'attribute',
  eventAttributes: 'attribute',
  events: 'event',
  'filtered-users': 'user',
  imports: 'user',
  jobs: 'job',
  leaderboard: 'leaderboard',
  'leaderboard-fillings': 'job',
  leaderboards: 'leaderboard',
  level: 'level',
  levels: 'level',
  metrics: 'metric',
  newLevel: 'level',
  pauses: 'pause',
  messages: 'message',
  suppressed: 'address',
  organisation: 'organisation',
  points: 'points system',
  pointsSystems: 'points system',
  previousLevel: 'level',
  quarantine: 'event',
  recomputations: 'recomputation',
  redisServers: 'server',
  claims: 'claim',
  requests: 'request',
  rewards: 'reward',
  resend: 'resend',
  resends: 'resend',
  session: 'key',
  tenants: 'tenant',
  timeline: 'entry',
  trigger: 'trigger',
  triggers: 'trigger',
  user: 'user',
  userAttributes: 'attribute',
  users: 'user',
  spread: 'job',
  verifications: 'verification',
  versions: 'version',
  webhooks: 'webhook',
};

/** Replaces `{noun}` and `{nouns}` by the innermost known word of `around`; undefined if there is none. */
function withNoun(text: string, around: readonly string[]): string | undefined {
  if (!text.includes('{noun')) return text;
  const word = around.findLast((one) => one in NOUNS);
  if (word === undefined) return undefined;
  const noun = NOUNS[word]!;
  return text.replaceAll('{nouns}', pluralOf(noun)).replaceAll('{noun}', noun);
}

/**
 * What parameters in paths and queries mean, by name, or by `<operation>:<name>` where that decides. `{noun}` is what the path
 * is about: before a parameter in the path, or as a whole.
 */
const PARAMETER_TEXTS = withAlternatives({
  key: 'Key of the {noun}.',
  id: 'ID of the {noun}.',
  'admin_events_reverse_one:id': 'ID of the event, or of the reversal to be reversed.',
  systemId: 'ID of the points system.',
  messageId: 'ID of the message: the `webhook-id` that the receiver sees.',
  ids: 'IDs of the {nouns} to delete.',
  userIds: 'IDs of the users.',

  limit: 'Maximum number of {nouns} in the answer.',
  'leaderboards_get:limit': 'Maximum number of places in the answer.',
  'streaks_rankings:limit': 'Maximum number of users in the answer.',
  skip: 'How many {nouns} to skip.',
  offset: 'How many places to skip.',
  cursor: '`nextCursor` of the previous page.',
  after: 'ID of the last user of the previous page. The page begins after it, with the same `order` and `search`.',
  'admin_users_list:order': '`asc` (default) or `desc`, by the bytes of the ID; not with `search`.',
  'admin_users_timeline:order': '`desc` (default): newest first; `asc`: oldest first.',

  userAttributes:
    'Counts only users with these values: `key:value`, repeated for several, or several in one, separated by commas.',
  'leaderboards_get:userAttributes':
    'The group of a leaderboard with breakdown attributes: `key:value`, repeated for several, or several in one, separated by commas.',
  includeIncomplete: '`true`: also achievements that the user has not completed.',
  includeFinished: '`true`: also {nouns} that have ended.',
  aggregation: 'Length of the periods of the answer.',
  startDate: 'First local day.',
  endDate: 'Last local day.',
  historyPeriods: 'Number of past periods in the answer.',
  awards: 'Maximum number of awards in the answer, newest first.',
  run: 'First day of the run to show; by default the current run.',
  'admin_analytics_metrics:days': '`true`: each metric with its events by day.',
  numEvents: 'Maximum number of entries in `history`.',
  year: 'The year; by default the current one.',
  holdId: 'ID of the hold.',
  spendingId: 'ID of the spending, or of the captured hold.',
  'admin_users_spendings:pointsSystem': 'Key of a points system; by default all.',
  'streaks_rankings:type': '`active`: by the length now; `longest`: by the longest length that a user ever had.',

  type: 'Only messages of this type.',
  'admin_webhooks_deliveries_list:from': 'Only messages created from this time on.',
  'admin_webhooks_deliveries_list:to': 'Only messages created before this time.',
  'admin_activity_get:from': 'First day, UTC; by default 29 days before the last one.',
  'admin_activity_get:to': 'Last day, UTC; by default today.',
  'admin_users_timeline:from': 'Only entries from this time on.',
  'admin_users_timeline:to': 'Only entries before this time.',
  'admin_analytics_(users|retention|metrics|metric|achievements|achievement|points|points_system|streaks):userAttributes':
    'Only users with this value: one pair `key:value`.',
  [`admin_analytics_${OF_RANGE}:from`]: 'First day; by default 29 days before the last one.',
  [`admin_analytics_${OF_RANGE}:to`]: 'Last day; by default today, UTC.',
  group: 'Only users in the control group, or only the others.',
  metricId: 'ID of the metric.',
  'admin_quarantine_list:from': 'Only events sent from this time on.',
  'admin_quarantine_list:to': 'Only events sent before this time.',
  'admin_quarantine_list:status': 'Only events with this status; by default those that wait.',
  status: 'Only {nouns} with this status.',
  kind: 'Only {nouns} of this kind.',
  'admin_audit_log_list:kind': 'Only entries about this kind of resource.',
  'admin_audit_log_list:changes': 'Omits actions that change nothing.',
  'admin_users_timeline:kind':
    'Only entries of this kind. `achievement` and `award` also find entries that caused one.',
  resourceId: 'Only entries about this resource.',
  who: 'Only changes by this key, given by its readable part.',
  userId: 'Only {nouns} about this user.',
  'leaderboards_teams:limit': 'Maximum number of teams in the answer.',
  'leaderboards_teams:team': 'The page shows the places around this team; `offset` then counts from there.',
  'leaderboards_get:userId': 'The page shows the places around this user; `offset` then counts from there.',
  'admin_application_api_keys_list:userId': 'Only keys of this user.',
  'admin_quarantine_list:userId': 'Only events of this user.',
  'admin_messages_list:userId': 'Only messages to this user.',
  'users_message_opened:messageId': '`data.messageId` of the push notification: its ID in the log.',
  medium: 'Only e-mails, or only push notifications.',
  provider: 'The provider of push notifications.',
  token: 'The end of the address that the administrator got.',
  address: 'The address. Capital letters do not matter.',
  'admin_claims_list:userId': 'Only claims of this user.',
  'admin_claims_list:reward': 'Key of a reward: only its claims.',
  state: 'Only {nouns} in this state.',
  metricKey: 'Only events of the metric with this key.',
  guard: 'Only events that this guard put into quarantine.',
  search: 'Only users whose ID, name or e-mail address begins with this.',
  'admin_users_filtered:after': '`next` of the previous call.',
  level: 'Only users with this level: the key of a points system, a colon and the key of a level.',
  minStreak: 'Only users whose current streak is at least this long.',
  seenFrom: 'Only users whose progress or profile last changed at or after this time.',
  seenBefore: 'Only users whose progress or profile last changed before this time.',
  '(admin_leaderboards_(groups|leagues|cohorts)|users_leaderboard_leagues):run':
    'First day of the run; by default the current run.',
  'admin_leaderboards_cohorts:after': 'ID of the last cohort of the page before.',

  version: 'Number of the {noun}.',
  demo: 'What happens to demo resources that the document does not name.',
  'admin_imports_create:import': 'Name of the import. An import imports each user once.',
  'admin_imports_create:dryRun': '`true`: nothing is written; the answer shows what would be imported.',
  strict: '`true`: create every item, or answer 422 and create none.',
  partial: '`true`: accept the valid events and list the others, instead of refusing the whole batch.',
  wait: '`true`: answer when the events are processed, with the result of each.',
  ticket: 'The ticket of `POST /v1/live/tickets`; not needed to continue after a last ID.',
  lastEventId:
    'ID of the last message that arrived; the stream continues after it. The header `Last-Event-ID` has priority.',
});
